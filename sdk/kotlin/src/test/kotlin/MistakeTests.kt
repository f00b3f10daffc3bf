package tests

import dev.pawl.Closed
import dev.pawl.Native
import dev.pawl.Numbers
import dev.pawl.Pawl
import dev.pawl.PayloadError
import dev.pawl.Retry
import dev.pawl.TaskOptions
import dev.pawl.UsageError
import dev.pawl.WorkflowContext
import dev.pawl.WorkflowFailed
import dev.pawl.Status
import dev.pawl.testing.TestEnvironment
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.supervisorScope
import kotlinx.coroutines.withContext
import java.util.UUID
import java.util.concurrent.CountDownLatch
import kotlin.coroutines.suspendCoroutine
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

/** Workflow code that does what it must not: each time one clear sentence. */
fun Harness.mistakeTests() {
    suspend fun failureOf(code: suspend (WorkflowContext) -> Unit): WorkflowFailed {
        TestEnvironment { workflow<Unit>("w", { ctx -> code(ctx) }) }.use { env ->
            return thrown<WorkflowFailed> { env.start<Unit>("w", "w").result() }
        }
    }

    fun mistake(name: String, part: String, code: suspend (WorkflowContext) -> Unit) = test(name) {
        val failure = failureOf(code)
        same("UsageError", failure.type)
        holds(part in failure.message, failure.message)
    }

    mistake("delay() in a workflow", "use ctx.sleep()") { delay(1) }
    mistake("suspendCoroutine() in a workflow", "not a step") { suspendCoroutine<Unit> { } }
    mistake("async() in a workflow", "not a step") { coroutineScope { async { }.await() } }
    test("withContext() in a workflow") {
        val end = CountDownLatch(1)
        val failure = failureOf { withContext(Dispatchers.IO) { end.await() } }
        end.countDown()
        holds("not a step" in failure.message, failure.message)
    }
    test("withContext() whose block ends at once is noticed each time") {
        repeat(50) {
            val failure = failureOf { withContext(Dispatchers.Default) { } }
            holds("not a step" in failure.message, failure.message)
        }
    }
    test("what stays on the workflow's thread is allowed") {
        TestEnvironment {
            workflow<Unit, Int>("w") { ctx, _ ->
                val one = coroutineScope { ctx.run("one") { 1 }.await() }
                val two = withContext(NonCancellable) {
                    ctx.sleep(1.seconds)
                    ctx.run("two") { 2 }.await()
                }
                one + two + ctx.join({ b -> supervisorScope { b.run("three") { 3 }.await() } }, { b -> b.run("four") { 4 }.await() }).sum()
            }
        }.use { same(10, it.start<Unit, Int>("w", "w", Unit).result()) }
    }
    mistake("withTimeout() of kotlinx in a workflow", "use ctx.sleep()") { ctx ->
        kotlinx.coroutines.withTimeout(3_600_000) { ctx.run("step") { }.await() }
    }
    test("clients' calls in a workflow are refused, of its own engine and of another one") {
        TestEnvironment { workflow<Unit>("other", { }) }.use { other ->
            lateinit var own: TestEnvironment
            val calls = listOf<suspend () -> Any>(
                { own.blocking { describe("w") } },
                { other.blocking { start<Unit>("other", "o").result() } },
                { other.start<Unit>("other", "o") },
                { kotlinx.coroutines.runBlocking { own.describe("w") } },
            )
            TestEnvironment { workflow<Int, Unit>("w", { _, i -> calls[i]() }) }.use { env ->
                own = env
                calls.indices.forEach { i ->
                    val failure = thrown<WorkflowFailed> { env.start<Int, Unit>("w", "w-$i", i).result(5.seconds) }
                    holds("from workflow code: use ctx.child()" in failure.message, failure.message)
                }
            }
        }
    }
    test("a workflow that keeps the engine's thread is told of") {
        val told = CompletableDeferred<String>()
        TestEnvironment {
            workflow<Unit>("slow", { while (!told.isCompleted) Thread.sleep(10) })
            onTrouble = { told.complete(it) }
        }.use { env ->
            env.start<Unit>("slow", "s-1").result()
            holds("run 's-1'" in told.await() && "without a step" in told.await(), told.await())
        }
    }
    test("onTrouble may throw, and the engine goes on") {
        inDirectory { directory ->
            val told = CompletableDeferred<String>()
            fun open(print: String, name: String) = Pawl.open("sqlite:$directory/a.db") {
                workflow<Unit, String>("w", fingerprint = print) { ctx, _ -> ctx.run(name) { name }.await() + ctx.signal<String>("go").await() }
                workflow<Int, Int>("echo", { ctx, n -> ctx.run("same", n) { it }.await() })
                onTrouble = {
                    told.complete(it)
                    error("thrown by onTrouble")
                }
            }
            open("1", "a").use { engine ->
                engine.start<Unit, String>("w", "w", Unit)
                while (engine.describe("w").status != Status.WAITING) Thread.onSpinWait()
            }
            open("2", "b").use { engine ->
                engine.get<String>("w").signal("go", "!")
                told.await()
                same(7, engine.start<Int, Int>("echo", "e", 7).result(5.seconds))
            }
        }
    }
    mistake("delay() in one arm of a join", "use ctx.sleep()") { ctx ->
        ctx.join({ it.sleep(1.seconds) }, { delay(1) })
    }
    mistake("an empty name", "the name must not be empty") { it.run("") { }.await() }
    mistake("a negative duration", "negative") { it.sleep((-1).seconds) }
    mistake("any of nothing", "would wait for ever") { it.any<Unit>() }
    mistake("version 0", "begin with 1") { it.v(0) }
    mistake("a retry policy that cannot be", "retry") { it.run("x", retry = dev.pawl.Retry(attempts = 2, factor = 0.1)) { }.await() }

    mistake("a negative limit of a signal", "signal 'x': the timeout is -1s, which is negative") { it.signal<Int>("x", timeout = (-1).seconds) }
    mistake("a negative limit of an operation", "run 'x': the timeout is -1s") { it.run("x", timeout = (-1).seconds) { } }
    mistake("a negative limit of a task", "schedule 'x': the heartbeatTimeout is -1s") {
        it.schedule<Int, Int>("x", 1, TaskOptions(heartbeatTimeout = (-1).seconds))
    }
    mistake("a retry policy whose jitter cannot be", "retry: jitter is 3.0; it is from 0 to 1") { Retry(jitter = 3.0) }
    mistake("a retry policy whose interval is negative", "retry: initial is -1s") { Retry(initial = (-1).seconds) }
    test("a class without serializer is named, with its step") {
        class Plain(val n: Int)
        val failure = failureOf { ctx -> ctx.run("make") { Plain(1) }.await() }
        same("PayloadError", failure.type)
        holds("result of 'make': " in failure.message && "Plain" in failure.message, failure.message)
        val error = thrown<PayloadError> { TestEnvironment { workflow<Plain, Int>("w", { _, it -> it.n }) } }
        holds("input of workflow 'w': " in error.message!!, error.message!!)
    }
    test("what an engine is opened with is checked, in this language's terms") {
        suspend fun refused(part: String, setup: dev.pawl.testing.TestBuilder.() -> Unit) {
            val error = thrown<UsageError> { TestEnvironment { setup() }.close() }
            holds(part in error.message!!, error.message!!)
        }
        refused("activityThreads is 0") { activityThreads = 0 }
        refused("cacheBytes is -1") { cacheBytes = -1 }
        refused("payloadBytesMax is -1") { payloadBytesMax = -1 }
        refused("lease is -1s") { lease = (-1).seconds }
        refused("queue 'a'") { queues = mapOf("a" to 0) }
        refused("the name of a queue") { queues = mapOf("" to 1) }
        refused("workflow: the kind must not be empty") { workflow<Unit>("", { }) }
        refused("activity: the name must not be empty") { activity<Int, Int>("", { n: Int -> n }) }
        TestEnvironment { workflow<Unit>("w", { it.signal<Unit>("x").await() }) }.use { env ->
            holds("start: the kind" in thrown<UsageError> { env.start<Unit>("", "w") }.message!!, "another message")
            val run = env.start<Unit>("w", "w")
            holds("signal: the name" in thrown<UsageError> { run.signal("") }.message!!, "another message")
            holds("resolve: the name" in thrown<UsageError> { run.resolve("", 1) }.message!!, "another message")
        }
    }
    test("a context used in an operation is refused there") {
        val failure = failureOf { ctx -> ctx.run<Unit>("inner") { ctx.run("nested") { } }.await() }
        same("UsageError", failure.type)
        holds("outside of its workflow" in failure.message, failure.message)
    }
    test("code that is not deterministic fails the run with the whole report") {
        var count = 0
        TestEnvironment {
            replayEveryTurn = true
            workflow<Unit, Unit>("w") { ctx, _ ->
                ++count
                ctx.run("step $count") { }.await()
                ctx.sleep(1.seconds)
            }
        }.use { env ->
            val failure = thrown<WorkflowFailed> { env.start<Unit, Unit>("w", "w", Unit).result() }
            same("DETERMINISM_VIOLATION", failure.type)
            holds("expected 'step 2', got 'step 1'" in failure.message, failure.toString())
        }
    }
    test("what a step's name has from elsewhere than ctx is found by replay at every turn") {
        val elsewhere = listOf({ "${System.nanoTime()}" }, { "${Random.nextLong()}" }, { "${UUID.randomUUID()}" })
        for (text in elsewhere) {
            TestEnvironment {
                replayEveryTurn = true
                workflow<Unit>("w") { ctx ->
                    ctx.run("step ${text()}") { }.await()
                    ctx.sleep(1.seconds)
                }
            }.use { env -> same("DETERMINISM_VIOLATION", thrown<WorkflowFailed> { env.start<Unit>("w", "w").result() }.type) }
        }
    }
    test("a deploy that breaks a run blocks it, also if its result is too large") {
        inDirectory { directory ->
            suspend fun version(print: String, code: suspend (WorkflowContext) -> String, body: suspend (dev.pawl.Engine) -> Unit) =
                Pawl.open("sqlite:$directory/a.db") {
                    payloadBytesMax = 1000
                    workflow<String>("w", fingerprint = print) { code(it) }
                    onTrouble = {}
                }.use { body(it) }
            version("1", { ctx -> ctx.run("a") { "a" }.await() + ctx.signal<String>("go").await() }) { engine ->
                engine.start<String>("w", "w")
                while (engine.describe("w").status != Status.WAITING) Thread.onSpinWait()
            }
            version("2", { "x".repeat(2000) }) { engine ->
                engine.get<String>("w").signal("go", "!")
                while (engine.describe("w").status != Status.BLOCKED) delay(1)
            }
        }
    }
    test("a run is given back also when the library refuses what this SDK asks") {
        val told = CompletableDeferred<String>()
        TestEnvironment {
            workflow<Int>("w") { ctx -> 1.also { Native.contextFinish(ctx.run.context, Numbers.PAWL_END_COMPLETED, "7".toByteArray()) } }
            onTrouble = { told.complete(it) }
        }.use { env ->
            same(7, env.start<Int>("w", "w").result(5.seconds))
            holds("run 'w'" in told.await(), told.await())
        }
    }
    test("a deploy that breaks a run blocks it, and the fixed one goes on") {
        inDirectory { directory ->
            suspend fun version(print: String, name: String, body: suspend (dev.pawl.Engine) -> Unit) = Pawl.open("sqlite:$directory/a.db") {
                workflow<Unit, String>("w", fingerprint = print) { ctx, _ -> ctx.run(name) { name }.await() + ctx.signal<String>("go").await() }
                onTrouble = {}
            }.use { body(it) }
            version("1", "a") { engine ->
                engine.start<Unit, String>("w", "w", Unit)
                while (engine.describe("w").status != Status.WAITING) Thread.onSpinWait()
            }
            version("2", "b") { engine ->
                engine.get<String>("w").signal("go", "!")
                while (engine.describe("w").status != Status.BLOCKED) Thread.onSpinWait()
                val reason = engine.describe("w").reason
                holds("expected 'b', got 'a'" in reason, reason)
            }
            version("3", "a") { engine ->
                try {
                    engine.get<String>("w").resume()
                } catch (_: Closed) {
                    // It went on by itself, since the code has changed, and has ended.
                }
                same("a!", engine.get<String>("w").result())
            }
        }
    }
    test("the same workflow twice is refused") {
        thrown<UsageError> {
            TestEnvironment {
                workflow<Unit>("w", { })
                workflow<Unit>("w", { })
            }
        }
    }
}
