package languages

import dev.pawl.Pawl
import dev.pawl.TaskOptions
import dev.pawl.WorkflowContext
import dev.pawl.testing.Replayer
import java.io.File
import kotlin.time.Duration.Companion.milliseconds

// The workflow of the test of all languages together, in Kotlin; see sdk/languages/relay.py.

suspend fun relay(ctx: WorkflowContext, start: Int): Int {
    var number = ctx.run("begin", start) { it + 1 }.await()
    for (language in listOf("py", "ts", "kt")) {
        number = ctx.schedule<Int, Int>("add.$language", number, TaskOptions(queue = language)).await()
    }
    ctx.set("number", number)
    ctx.sleep(50.milliseconds)
    return number + ctx.signal<Int>("go").await()
}

suspend fun add(number: Int): Int = number + 1000

fun main(arguments: Array<String>) {
    if (arguments[0] == "work") {
        Pawl.open(arguments[1]) {
            workflow("relay", ::relay)
            activity("add.kt", ::add)
            queues = mapOf("kt" to 64)
            workerName = "kt"
        }.use {
            println("ready")
            System.`in`.readAllBytes()
        }
    } else {
        val replayed = Replayer().replay(::relay, arguments[2].toInt(), File(arguments[1]).readText())
        println("${replayed.outcome.name.lowercase()} ${replayed.result}")
    }
}
