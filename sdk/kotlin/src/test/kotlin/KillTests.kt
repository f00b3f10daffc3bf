package tests

import dev.pawl.Engine
import dev.pawl.Pawl
import dev.pawl.TaskOptions
import dev.pawl.WorkflowContext
import dev.pawl.breakWith
import dev.pawl.continueWith
import dev.pawl.LoopStep
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardOpenOption.APPEND
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.WRITE
import java.nio.ByteBuffer
import java.util.concurrent.TimeUnit
import kotlin.random.Random

private const val RUNS = 40
private const val STEPS = 12

/** Says on disk which step was executed, before its result is recorded. */
private class Diary(path: Path) {
    private val file = FileChannel.open(path, CREATE, WRITE, APPEND)

    fun write(line: String) = synchronized(this) {
        file.write(ByteBuffer.wrap("$line\n".toByteArray()))
    }
}

private suspend fun work(ctx: WorkflowContext, diary: Diary, n: Int): Int {
    val id = ctx.info.id
    var sum = 0
    for (i in 1..STEPS) {
        sum += ctx.run("step", i) {
            diary.write("$id $i")
            n * it
        }.await()
    }
    val both = ctx.join({ it.schedule<Int, Int>("twice", sum).await() }, { it.run("half", sum) { whole -> whole / 2 }.await() })
    return ctx.loop<Int, Int>(0, checkpointEvery = 2) { step, state ->
        val next = step.run("count", state) { it + 1 }.await()
        val result: LoopStep<Int, Int> = if (next == 5) breakWith(both.sum() + next) else continueWith(next)
        result
    }
}

private fun expected(n: Int): Int {
    val sum = n * STEPS * (STEPS + 1) / 2
    return 2 * sum + sum / 2 + 5
}

private fun open(directory: Path): Engine {
    val diary = Diary(directory.resolve("diary"))
    return Pawl.open("sqlite:$directory/runs.db") {
        workflow<Int, Int>("work", { ctx, n -> work(ctx, diary, n) })
        activity<Int, Int>("twice", { n: Int -> 2 * n })
    }
}

/** The process that is killed: works on what there is until then. */
object KillHost {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val engine = open(Path.of(arguments[0]))
        engine.blocking { for (n in 1..RUNS) start<Int, Int>("work", "run-$n", n) }
        println("working")
        Thread.sleep(Long.MAX_VALUE)
    }
}

fun Harness.killTests() {
    test("a process is killed in the middle, again and again: every run ends right, and nothing recorded is executed twice") {
        val seed = System.nanoTime()
        val random = Random(seed)
        println("   seed $seed")
        inDirectory { directory ->
            val diary = directory.resolve("diary")
            fun written() = if (Files.exists(diary)) Files.readAllLines(diary).size else 0
            var kills = 0
            var recorded: Map<String, Set<Int>> = emptyMap()
            val counts = HashMap<String, Int>() // Lines of steps that were recorded when they were counted.
            while (kills < 3) {
                val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
                val process = ProcessBuilder(java, "-Xmx256m", "-cp", System.getProperty("java.class.path"), "tests.KillHost", directory.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start()
                process.inputStream.bufferedReader().readLine()
                val goal = minOf(written() + random.nextInt(20, 120), RUNS * STEPS - 1)
                while (written() < goal && process.isAlive) Thread.onSpinWait()
                process.destroyForcibly() // SIGKILL
                holds(process.waitFor(10, TimeUnit.SECONDS), "it does not die")
                same(128 + 9, process.exitValue())
                ++kills
                // What was recorded before must not have been executed again since.
                val lines = Files.readAllLines(diary).groupingBy { it }.eachCount()
                for ((line, count) in counts) same("$line $count", "$line ${lines[line]}")
                recorded = Pawl.open("sqlite:$directory/runs.db") { work = false }.use { client ->
                    (1..RUNS).associate { "run-$it" to recordedSteps(client.get<Int>("run-$it").history()) }
                }
                for ((run, steps) in recorded) for (i in steps) counts["$run $i"] = lines["$run $i"] ?: 0
            }
            holds(recorded.values.sumOf { it.size } > 0, "nothing was recorded before the kills")
            open(directory).use { engine ->
                for (n in 1..RUNS) same("run-$n: ${expected(n)}", "run-$n: ${engine.get<Int>("run-$n").result()}")
            }
            val lines = Files.readAllLines(diary).groupingBy { it }.eachCount()
            for ((line, count) in counts) same("$line $count", "$line ${lines[line]}")
            same(RUNS * STEPS, lines.size)
        }
    }
}

/** Which of the numbered steps the history holds. */
private fun recordedSteps(history: String): Set<Int> {
    val entries = kotlinx.serialization.json.Json.parseToJsonElement(history) as kotlinx.serialization.json.JsonArray
    return entries.mapNotNull { it as? kotlinx.serialization.json.JsonObject }
        .filter { it["event"].toString() == "\"OperationCompleted\"" && it["operationName"].toString() == "\"step\"" }
        .map { it["location"].toString().trim('"', '{', '}').toInt() }.toSet()
}
