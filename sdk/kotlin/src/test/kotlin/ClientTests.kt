package tests

import dev.pawl.AlreadyExists
import dev.pawl.Closed
import dev.pawl.NotFound
import dev.pawl.OnExisting
import dev.pawl.Pawl
import dev.pawl.PayloadError
import dev.pawl.Status
import dev.pawl.TimedOut
import dev.pawl.UsageError
import dev.pawl.WorkflowFailed
import dev.pawl.testing.TestEnvironment
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** A directory that is gone afterwards. */
suspend fun inDirectory(test: suspend (Path) -> Unit) {
    val directory = Files.createTempDirectory("pawl-test-")
    try {
        test(directory)
    } finally {
        directory.toFile().deleteRecursively()
    }
}

fun Harness.clientTests() {
    fun waiting() = TestEnvironment {
        workflow<Int, Int>("wait", { ctx, n -> n + ctx.signal<Int>("go").await() })
    }

    test("what is not there is NotFound, also for a result") {
        waiting().use { env ->
            thrown<NotFound> { env.get<Int>("nobody") }
            val run = env.start<Int, Int>("wait", "w", 1)
            run.terminate("test")
            thrown<NotFound> { env.resolve("w-none", "p", 1) }
            thrown<NotFound> { env.describe("nobody") }
        }
    }
    test("a run that exists is returned, refused or replaced") {
        waiting().use { env ->
            val first = env.start<Int, Int>("wait", "w", 1)
            holds(first.isNew, "the first is not new")
            holds(!env.start<Int, Int>("wait", "w", 2).isNew, "the second is new")
            thrown<AlreadyExists> { env.start<Int, Int>("wait", "w", 2, OnExisting.FAIL) }
            val third = env.start<Int, Int>("wait", "w", 3, OnExisting.REPLACE)
            third.signal("go", 10)
            same(13, third.result())
            same(2, third.describe().number)
        }
    }
    test("an id is made if none is given") {
        waiting().use { env -> holds(env.start<Int, Int>("wait", "", 1).id.length > 8, "the id is short") }
    }
    test("describe, list by pages, pause and unpause") {
        waiting().use { env ->
            val runs = (1..5).map { env.start<Int, Int>("wait", "w-$it", it, tags = mapOf("n" to "$it")) }
            env.advance(1.seconds)
            same(Status.WAITING to "signal go", runs[0].describe().let { it.status to it.waitingFor })
            val first = env.list(limit = 3)
            same(3, first.runs.size)
            same(5, first.runs.size + env.list(limit = 3, cursor = first.next).runs.size)
            same(listOf("w-2"), env.list(kinds = listOf("wait"), statuses = listOf(Status.WAITING), tags = mapOf("n" to "2")).runs.map { it.id })
            thrown<UsageError> { env.list(cursor = "nonsense") }
            holds(runs[0].pause(), "it was paused before")
            holds(!runs[0].pause(), "it was not paused before")
            runs[0].signal("go", 1)
            env.advance(1.hours)
            holds(runs[0].describe().paused, "it is not paused")
            runs[0].unpause()
            same(2, runs[0].result())
        }
    }
    test("terminate ends a run at once, and what has ended is closed") {
        waiting().use { env ->
            val run = env.start<Int, Int>("wait", "w", 1)
            run.terminate("enough")
            thrown<WorkflowFailed> { run.result() }
            thrown<Closed> { run.signal("go", 1) }
        }
    }
    test("a result of another type is a clear error") {
        waiting().use { env ->
            val run = env.start<Int, Int>("wait", "w", 1)
            run.signal("go", 1)
            run.result()
            val error = thrown<PayloadError> { env.get<List<String>>("w").result() }
            holds("result of run 'w'" in error.message!!, error.message!!)
        }
    }
    test("calls may block, have limits, and end with the engine") {
        inDirectory { directory ->
            val engine = Pawl.open("sqlite:$directory/a.db") { workflow<Int, Int>("wait", { ctx, n -> n + ctx.signal<Int>("go").await() }) }
            val run = engine.blocking { start<Int, Int>("wait", "w", 1) }
            thrown<TimedOut> { run.result(20.milliseconds) }
            engine.blocking { run.signal("go", 1) }
            same(2, run.resultBlocking())
            val open = engine.start<Int, Int>("wait", "w-2", 1)
            coroutineScope {
                val result = async { runCatching { open.result() } }
                while (engine.describe("w-2").status != Status.WAITING) Thread.onSpinWait()
                engine.close()
                holds(result.await().exceptionOrNull() is Closed, "${result.await()}")
            }
            thrown<Closed> { engine.describe("w") }
            engine.close()
        }
    }
    test("runs go on in the next engine, and a client without work sees them") {
        inDirectory { directory ->
            val url = "sqlite:$directory/a.db"
            fun open() = Pawl.open(url) { workflow<Int, Int>("wait", { ctx, n -> ctx.run("one") { n * 2 }.await() + ctx.signal<Int>("go").await() }) }
            open().use { engine ->
                engine.start<Int, Int>("wait", "w", 4)
                while (engine.describe("w").status != Status.WAITING) Thread.onSpinWait()
            }
            Pawl.open(url) { work = false }.use { client -> holds(client.get<Int>("w").signal("go", 1), "not sent") }
            open().use { same(9, it.get<Int>("w").result()) }
        }
    }
    test("code of callers without a dispatcher does not run on the engine's threads") {
        waiting().use { env ->
            kotlinx.coroutines.withContext(kotlinx.coroutines.Dispatchers.Unconfined) {
                val run = env.start<Int, Int>("wait", "w", 1)
                holds(!Thread.currentThread().name.startsWith("pawl-"), Thread.currentThread().name)
                env.blocking { run.signal("go", 1) } // Would wait for itself there.
                same(2, run.resultBlocking())
            }
        }
    }
    test("an engine without queues takes no task") {
        inDirectory { directory ->
            val url = "sqlite:$directory/a.db"
            val taken = java.util.concurrent.atomic.AtomicInteger()
            Pawl.open(url) {
                queues = emptyMap()
                activity<Int, Int>("t") { n: Int -> taken.incrementAndGet() + n }
                workflow<Int, Int>("w") { ctx, n -> ctx.schedule<Int, Int>("t", n).await() }
            }.use { engine ->
                thrown<TimedOut> { engine.start<Int, Int>("w", "w", 1).result(500.milliseconds) }
            }
            same(0, taken.get())
        }
    }
    test("after its end a test's engine is closed, also for the time") {
        val env = waiting()
        env.close()
        thrown<Closed> { env.now() }
        thrown<Closed> { env.advance(1.seconds) }
    }
    test("runs that are thrown out of memory come back") {
        inDirectory { directory ->
            Pawl.open("sqlite:$directory/a.db") {
                cacheBytes = 1
                workflow<Int, Int>("sum", { ctx, n -> ctx.run("one") { n }.await() + ctx.signal<Int>("go").await() + ctx.run("two") { n }.await() })
            }.use { engine ->
                val runs = (1..50).map { engine.start<Int, Int>("sum", "r-$it", it) }
                runs.forEach { run -> while (run.describe().status != Status.WAITING) Thread.onSpinWait() }
                while (engine.runsInMemory > 1) Thread.onSpinWait()
                runs.forEach { it.signal("go", 1000) }
                same((1..50).map { 1000 + 2 * it }, runs.map { it.result() })
                same(0, engine.runsInMemory)
            }
        }
    }
    test("an operation that runs while the engine closes is executed again by the next one") {
        inDirectory { directory ->
            val begun = java.util.concurrent.CountDownLatch(1)
            val attempts = java.util.concurrent.atomic.AtomicInteger()
            fun open(waits: Boolean) = Pawl.open("sqlite:$directory/a.db") {
                workflow<Unit, Int>("w", { ctx, _ ->
                    ctx.run("slow") {
                        val attempt = attempts.incrementAndGet()
                        begun.countDown()
                        if (waits) kotlinx.coroutines.awaitCancellation()
                        attempt
                    }.await()
                })
            }
            open(true).use { engine ->
                engine.start<Unit, Int>("w", "w", Unit)
                begun.await()
            }
            open(false).use { same(2, it.get<Int>("w").result()) }
        }
    }
    test("an engine that is closed while workflow code runs has no trouble to tell of") {
        inDirectory { directory ->
            val told = java.util.concurrent.ConcurrentLinkedQueue<String>()
            val runs = java.util.concurrent.CountDownLatch(1)
            Pawl.open("sqlite:$directory/a.db") {
                workflow<Unit>("w") { ctx ->
                    ctx.join(
                        { it.sleep(1.hours) },
                        {
                            runs.countDown()
                            while (runCatching { ctx.now() }.isSuccess) Thread.sleep(1) // Until the engine has stopped.
                        },
                    )
                }
                onTrouble = { told += it }
            }.use { engine ->
                engine.start<Unit>("w", "w")
                runs.await()
            }
            same(emptyList(), told.toList())
        }
    }
    test("a thousand runs at once") {
        inDirectory { directory ->
            Pawl.open("sqlite:$directory/a.db") {
                workflow<Int, Int>("sum", { ctx, n -> (1..3).sumOf { i -> ctx.run("step", i) { it * n }.await() } })
            }.use { engine ->
                val sums = coroutineScope { (1..1000).map { n -> async { engine.start<Int, Int>("sum", "r-$n", n).result() } }.awaitAll() }
                same((1..1000).map { it * 6 }, sums)
            }
        }
    }
}
