package tests

import dev.pawl.Activity
import dev.pawl.ActivityError
import dev.pawl.ActivityFailed
import dev.pawl.Pawl
import dev.pawl.PayloadTooLarge
import dev.pawl.Retry
import dev.pawl.TaskCancelled
import dev.pawl.TaskOptions
import dev.pawl.UsageError
import dev.pawl.WorkflowFailed
import dev.pawl.testing.TestEnvironment
import kotlinx.coroutines.delay
import kotlinx.serialization.json.JsonPrimitive
import java.util.Collections
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

private class OutOfStock(message: String) : RuntimeException(message)

private fun plain(n: Int): Int = n + 1

private suspend fun suspending(n: Int): Int {
    delay(1)
    return n + 2
}

private fun knowing(activity: Activity, n: Int): String = "${activity.name} ${activity.runId} ${activity.attempt} $n ${activity.key.length}"

private fun buggy(n: Int): Int = listOf<Int>()[n]

fun Harness.activityTests() {
    test("activities: plain, suspending, and knowing their attempt") {
        TestEnvironment {
            activity("plain", ::plain)
            activity("suspending", ::suspending)
            activity("knowing", ::knowing)
            workflow<Int, List<String>>("w", { ctx, n ->
                val a = ctx.schedule<Int, Int>("plain", n)
                val b = ctx.schedule<Int, Int>("suspending", n, TaskOptions(priority = 3))
                val c = ctx.schedule<Int, String>("knowing", n)
                listOf(a.await().toString(), b.await().toString(), c.await())
            })
        }.use { same(listOf("2", "3", "knowing w 1 1 36"), it.start<Int, List<String>>("w", "w", 1).result()) }
    }
    test("an operation is tried again as its policy says, and its failure is typed") {
        val attempts = AtomicInteger()
        TestEnvironment {
            workflow<Unit, String>("w", { ctx, _ ->
                val third = ctx.run("flaky", retry = Retry(attempts = 5, initial = 1.minutes)) {
                    if (attempt < 3) throw OutOfStock("attempt $attempt")
                    attempts.set(attempt)
                    "at ${attempt}"
                }.await()
                val failed = try {
                    ctx.run<String>("hopeless", retry = Retry(attempts = 5, finalTypes = listOf("OutOfStock"))) { throw OutOfStock("none left") }.await()
                } catch (error: ActivityFailed) {
                    "${error.type}: ${error.message} (${error.subject})"
                }
                "$third; $failed"
            })
        }.use { same("at 3; OutOfStock: none left (operation 'hopeless')", it.start<Unit, String>("w", "w", Unit).result()) }
        same(3, attempts.get())
    }
    test("the longest interval of a retry policy is a minute, or the first one if that is longer") {
        same(1.minutes, Retry(attempts = 5).maximum)
        same(2.minutes, Retry(attempts = 5, initial = 2.minutes).maximum)
        thrown<UsageError> { Retry(attempts = 5, initial = 2.minutes, maximum = 1.minutes) }
    }
    test("an attempt that ends after its time limit does not take the code from the next one") {
        inDirectory { directory ->
            val attempts = AtomicInteger()
            val first = CountDownLatch(1)
            Pawl.open("sqlite:$directory/a.db") {
                workflow<Unit, Int>("w", { ctx, _ ->
                    val retry = Retry(attempts = 3, initial = 500.milliseconds, maximum = 1.seconds, jitter = 0.0)
                    ctx.run("op", retry = retry, timeout = 100.milliseconds) {
                        val attempt = attempts.incrementAndGet()
                        if (attempt == 1) {
                            while (!shouldStop) Thread.sleep(10)
                            first.countDown()
                        }
                        attempt
                    }.await()
                })
            }.use {
                same(2, it.start<Unit, Int>("w", "w", Unit).result())
                same(0L, first.count)
            }
        }
    }
    test("an exception whose message cannot be read fails an operation and a workflow") {
        class Evil : RuntimeException() {
            override val message: String get() = error("no message")
        }
        TestEnvironment {
            workflow<Unit, Int>("operation", { ctx, _ -> ctx.run<Int>("evil") { throw Evil() }.await() })
            workflow<Unit, Int>("workflow", { _, _ -> throw Evil() })
        }.use {
            for (kind in listOf("operation", "workflow")) {
                val failure = thrown<WorkflowFailed> { it.start<Unit, Int>(kind, kind, Unit).result(5.seconds) }
                same("Evil: its message cannot be read", "${failure.type}: ${failure.message}")
            }
        }
    }
    test("a bug leaves its place with the failure, unless the error says more") {
        TestEnvironment {
            activity("buggy", ::buggy)
            activity<Int, Int>("says more") { throw ActivityError("Refused", "no", JsonPrimitive(42)) }
            workflow<String, Int>("w") { ctx, type -> if (type.isEmpty()) buggy(1) else ctx.schedule<Int, Int>(type, 1).await() }
            workflow<Unit, Int>("operation") { ctx, _ -> ctx.run<Int>("o") { buggy(1) }.await() }
        }.use { env ->
            suspend fun detailsOf(type: String) = thrown<WorkflowFailed> { env.start<String, Int>("w", "w $type", type).result() }.details.toString()
            same("42", detailsOf("says more"))
            val operation = thrown<WorkflowFailed> { env.start<Unit, Int>("operation", "o", Unit).result() }.details.toString()
            for (details in listOf(detailsOf("buggy"), detailsOf(""), operation)) {
                holds(Regex("\\{\"at\":\\[\"ActivityTests.kt:\\d+ buggy\".*").matches(details), details)
            }
        }
    }
    test("an error of an activity carries type, details, an end and a delay") {
        val times = Collections.synchronizedList(ArrayList<Long>())
        TestEnvironment {
            activity<Int, Int>("later", { activity: Activity, n: Int ->
                if (activity.attempt == 1) throw ActivityError("Busy", "come back", nextDelay = 3.hours) else n
            })
            activity<Int, Int>("final", { _: Int -> throw ActivityError("Refused", "no", details = JsonPrimitive(42), isFinal = true) })
            workflow<Unit, String>("w", { ctx, _ ->
                times += ctx.now().toEpochMilli()
                ctx.schedule<Int, Int>("later", 1, TaskOptions(retry = Retry(attempts = 2))).await()
                times += ctx.now().toEpochMilli()
                try {
                    ctx.schedule<Int, Int>("final", 1, TaskOptions(retry = Retry(attempts = 9))).await().toString()
                } catch (error: ActivityFailed) {
                    "${error.type} ${error.message} ${error.details}"
                }
            })
        }.use { same("Refused no 42", it.start<Unit, String>("w", "w", Unit).result()) }
        holds(times.last() - times.first() >= 3.hours.inWholeMilliseconds, "the delay was not waited for: $times")
    }
    test("heartbeats carry details to the next attempt") {
        TestEnvironment {
            activity<Unit, String>("long", { activity: Activity, _: Unit ->
                if (activity.attempt == 1) {
                    activity.heartbeat(listOf("half", "done"))
                    throw OutOfStock("gone")
                }
                "${activity.lastDetails<List<String>>()}"
            })
            workflow<Unit, String>("w", { ctx, _ -> ctx.schedule<Unit, String>("long", Unit, TaskOptions(retry = Retry(attempts = 2))).await() })
        }.use { same("[half, done]", it.start<Unit, String>("w", "w", Unit).result()) }
    }
    test("a task that is cancelled is told so") {
        val begun = CountDownLatch(1)
        TestEnvironment {
            activity<Unit, Unit>("endless", { activity: Activity, _: Unit ->
                begun.countDown()
                while (true) {
                    activity.checkStop()
                    delay(1)
                }
            })
            workflow<Unit, String>("w", { ctx, _ ->
                val task = ctx.schedule<Unit, Unit>("endless", Unit)
                ctx.signal<Unit>("stop").await()
                ctx.cancel(task)
                try {
                    task.await()
                    "ended"
                } catch (error: TaskCancelled) {
                    error.message!!
                }
            })
        }.use {
            val run = it.start<Unit, String>("w", "w", Unit)
            begun.await()
            run.signal("stop")
            same("task 'endless' was cancelled", run.result())
        }
    }
    test("fakes stand for operations and for activities that are nowhere") {
        TestEnvironment {
            fake<Int, String>("charge") { "fake $it" }
            fake<Int, String>("elsewhere") { "task $it" }
            workflow<Int, String>("w", { ctx, n ->
                ctx.run<Int, String>("charge", n) { error("the real one") }.await() + ", " + ctx.schedule<Int, String>("elsewhere", n).await()
            })
        }.use { same("fake 7, task 7", it.start<Int, String>("w", "w", 7).result()) }
    }
    test("a payload over the limit is refused at the call") {
        TestEnvironment {
            payloadBytesMax = 1000
            workflow<Unit, String>("w", { ctx, _ ->
                try {
                    ctx.set("big", "x".repeat(2000))
                    "taken"
                } catch (error: PayloadTooLarge) {
                    error.message!!.substringBefore(" has")
                }
            })
            workflow<Unit, String>("result", { _, _ -> "x".repeat(2000) })
        }.use {
            same("set 'big': command.payload", it.start<Unit, String>("w", "w", Unit).result())
            same("PayloadTooLarge", thrown<WorkflowFailed> { it.start<Unit, String>("result", "r", Unit).result() }.type)
            thrown<PayloadTooLarge> { it.start<String, String>("w", "w-2", "x".repeat(2000)) }
        }
    }
}
