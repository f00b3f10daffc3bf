package examples

import dev.pawl.Pawl
import dev.pawl.WorkflowContext
import kotlin.time.Duration.Companion.seconds

suspend fun hello(ctx: WorkflowContext, name: String): String {
    val greeting = ctx.run("greet", name) { "Hello, $it!" }.await()
    ctx.sleep(1.seconds)
    return ctx.run("shout", greeting) { it.uppercase() }.await()
}

suspend fun main() = Pawl.open("sqlite:hello.db") { workflow("hello", ::hello) }.use { engine ->
    val run = engine.start<String, String>("hello", "hello-1", "World")
    println(run.result())
}
