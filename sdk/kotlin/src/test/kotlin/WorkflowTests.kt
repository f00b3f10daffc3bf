package tests

import dev.pawl.ActivityFailed
import dev.pawl.Cancelled
import dev.pawl.ChildFailed
import dev.pawl.ChildOptions
import dev.pawl.LoopStep
import dev.pawl.ParentClose
import dev.pawl.PromiseRejected
import dev.pawl.SignalEvent
import dev.pawl.Status
import dev.pawl.TaskOptions
import dev.pawl.TimedOut
import dev.pawl.TimerCancelled
import dev.pawl.UsageError
import dev.pawl.WorkflowCancelled
import dev.pawl.WorkflowContext
import dev.pawl.WorkflowFailed
import dev.pawl.breakWith
import dev.pawl.continueWith
import dev.pawl.testing.TestBuilder
import dev.pawl.testing.TestEnvironment
import kotlinx.serialization.Serializable
import java.time.Instant
import kotlin.time.Duration
import kotlin.time.Duration.Companion.days
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

@Serializable
data class Order(val id: Long, val items: List<String> = emptyList(), val note: String? = null)

@Serializable
data class Receipt(val order: Long, val payment: String)

/** Runs [test] as usual, and again with every run replayed after each turn. */
private suspend fun both(setup: TestBuilder.() -> Unit, test: suspend TestEnvironment.() -> Unit) {
    for (each in listOf(false, true)) {
        TestEnvironment {
            setup()
            replayEveryTurn = each
        }.use { it.test() }
    }
}

private suspend fun countTo(ctx: WorkflowContext, limit: Int): List<Int> {
    val seen = ctx.loop<List<Int>, List<Int>>(emptyList(), checkpointEvery = 3) { step, state ->
        val next = state + step.run("next") { state.size + 1 }.await()
        val result: LoopStep<List<Int>, List<Int>> = if (next.size == limit) breakWith(next) else continueWith(next)
        result
    }
    return seen
}

fun Harness.workflowTests() {
    test("a run of steps gives its result, and survives replay at every turn") {
        both({
            workflow<Order, Receipt>("order", { ctx, order ->
                val payment = ctx.run("charge", order) { "p-${it.id}" }.await()
                ctx.sleep(2.days)
                Receipt(order.id, payment)
            })
        }) {
            val before = now()
            same(Receipt(17, "p-17"), start<Order, Receipt>("order", "o-17", Order(17, listOf("ä", "😀"))).result())
            holds(now().toEpochMilli() - before.toEpochMilli() >= 2.days.inWholeMilliseconds, "time did not pass")
        }
    }
    test("names and payloads are any Unicode") {
        both({ workflow<String, String>("größe 😀", { ctx, text -> ctx.run("Schritt 😀", text) { "$it!" }.await() }) }) {
            same("😀 ü \u0000 end!", start<String, String>("größe 😀", "lauf-ü😀", "😀 ü \u0000 end").result())
        }
    }
    test("steps run at once, all and any") {
        both({
            workflow<Unit, String>("w", { ctx, _ ->
                val all = ctx.all(ctx.run("a") { 1 }, ctx.run("b") { 2 }, ctx.run("c") { 3 })
                val slow = ctx.timer(1.hours)
                val quick = ctx.timer(1.minutes)
                val first = ctx.any(slow, quick)
                ctx.cancel(slow)
                val error = try {
                    slow.await()
                    ""
                } catch (error: TimerCancelled) {
                    "cancelled"
                }
                "$all ${first === quick} $error"
            })
        }) { same("[1, 2, 3] true cancelled", start<Unit, String>("w", "w", Unit).result()) }
    }
    test("operations that run while their run leaves memory are neither lost nor failed") {
        both({ workflow<Int, Int>("w", { ctx, n -> ctx.all((1..8).map { i -> ctx.run("step", i) { it * n } }).sum() }) }) {
            same((1..100).map { it * 36 }, (1..100).map { start<Int, Int>("w", "w-$it", it) }.map { it.result() })
        }
    }
    test("sleep until a moment: not before it, and at once if it has passed") {
        both({
            workflow<Unit, List<Long>>("w", { ctx, _ ->
                val before = ctx.now()
                suspend fun slept(time: Instant): Long {
                    ctx.sleepUntil(time)
                    return ctx.now().toEpochMilli() - before.toEpochMilli()
                }
                listOf(slept(before.plusSeconds(5)), slept(before), slept(before.plusSeconds(5)), slept(before.plusSeconds(6).plusNanos(1)))
            })
        }) { same(listOf(5000L, 5000L, 5000L, 6001L), start<Unit, List<Long>>("w", "w", Unit).result()) }
    }
    test("branches, joins and their errors") {
        both({
            workflow<Unit, List<String>>("w", { ctx, _ ->
                val one = ctx.branch { it.run("one") { "1" }.await() }
                val two = ctx.join(
                    { b ->
                        b.sleep(10.seconds)
                        b.run("slow") { "slow" }.await()
                    },
                    { b -> b.run("quick") { "quick" }.await() },
                )
                val error = try {
                    ctx.join<String>({ b -> b.run<String>("bad") { error("first") }.await() }, { b -> b.run<String>("worse") { error("second") }.await() })
                    "none"
                } catch (failed: ActivityFailed) {
                    "${failed.type}: ${failed.message}"
                }
                listOf(one) + two + error
            })
        }) { same(listOf("1", "slow", "quick", "IllegalStateException: first"), start<Unit, List<String>>("w", "w", Unit).result()) }
    }
    test("a loop forgets its iterations and keeps its state") {
        both({ workflow("count", ::countTo) }) {
            val run = start<Int, List<Int>>("count", "c", 10)
            same((1..10).toList(), run.result())
            holds(run.history().split("OperationCompleted").size < 5, "iterations are not forgotten: ${run.history()}")
        }
    }
    test("signals in order, with events once, with a limit, and looked at") {
        both({
            workflow<Unit, List<String>>("w", { ctx, _ ->
                val first = ctx.signalWithEvent<String>("go").await()
                val second = ctx.signal<String>("go").await()
                val late = try {
                    ctx.signal<String>("never", timeout = 5.minutes).await()
                } catch (error: TimedOut) {
                    error.message!!
                }
                val taken = ctx.hasSignal("more")
                val more = ctx.trySignal<Int>("more")?.value
                listOf(first.value, first.event.id, first.event.source, second, late, "$taken $more ${ctx.trySignal<Int>("more")}")
            })
        }) {
            val run = signalWithStart<Unit, String, List<String>>("w", "w", Unit, "go", "one", SignalEvent(id = "e-1", source = "/test"))
            holds(!run.signal("go", "again", SignalEvent(id = "e-1", source = "/test")), "an event was taken twice")
            holds(run.signal("more", 7), "the signal was not sent")
            holds(run.signal("go", "two"), "the signal was not sent")
            same(listOf("one", "e-1", "/test", "two", "signal 'never' timed out", "true 7 null"), run.result())
        }
    }
    test("an event keeps all its attributes, from clients and from workflows") {
        val event = SignalEvent("e-1", "/test", "go", "s", "2026-01-01T00:00:00Z", "text/plain", "urn:schema", mapOf("traceparent" to "00-1"))
        both({
            workflow<Unit, List<SignalEvent>>("w", { ctx, _ -> listOf(ctx.signalWithEvent<Int>("go").await().event, ctx.signalWithEvent<Int>("go").await().event) })
            workflow<Unit, Unit>("sender", { ctx, _ -> ctx.sendSignal("w", "go", 2, event.copy(id = "e-2")).await() })
        }) {
            val run = signalWithStart<Unit, Int, List<SignalEvent>>("w", "w", Unit, "go", 1, event)
            start<Unit, Unit>("sender", "s", Unit).result()
            same(listOf(event, event.copy(id = "e-2")), run.result())
            val error = thrown<UsageError> { run.signal("go", 3, SignalEvent(extensions = mapOf("Subject" to "x"))) }
            holds("'Subject' is no extension" in error.message!!, error.message!!)
        }
    }
    test("promises by name and by token, rejected and timed out") {
        both({
            workflow<Unit, String>("w", { ctx, _ ->
                val named = ctx.promise<Int>("named")
                val token = ctx.promise<Int>("token")
                ctx.set("token", token.token)
                val bad = ctx.promise<Int>("bad")
                val sum = named.await() + token.await()
                val why = try {
                    bad.await().toString()
                } catch (error: PromiseRejected) {
                    "${error.type}: ${error.message}"
                }
                val late = try {
                    ctx.promise<Int>("late", timeout = 1.hours).await().toString()
                } catch (error: TimedOut) {
                    error.message!!
                }
                "$sum $why $late"
            })
        }) {
            val run = start<Unit, String>("w", "w", Unit)
            while (run.describe().status != Status.WAITING) advance(1.seconds)
            run.resolve("named", 1)
            val token = Regex(""""key":"token"[^}]*"value":"([^"]*)"|"value":"([^"]*)"[^}]*"key":"token"""").find(run.history())!!.groupValues.drop(1).first { it.isNotEmpty() }
            resolveToken(token, 2)
            run.reject("bad", "Refused", "not today")
            same("3 Refused: not today promise 'late' timed out", run.result())
        }
    }
    test("children: results, failures, and signals between runs") {
        both({
            workflow<Int, Int>("double", { _, n -> if (n < 0) throw IllegalArgumentException("negative") else 2 * n })
            workflow<String, Int>("listen", { ctx, _ -> ctx.signal<Int>("tell").await() })
            workflow<Unit, String>("parent", { ctx, _ ->
                val listener = ctx.child<String, Int>("listen", "listener", "x", ChildOptions(parentClose = ParentClose.ABANDON, tags = mapOf("by" to "parent")))
                val twice = ctx.child<Int, Int>("double", "d-1", 21).await()
                val failure = try {
                    ctx.child<Int, Int>("double", "d-2", -1).await().toString()
                } catch (error: ChildFailed) {
                    "${error.type}: ${error.message}"
                }
                ctx.sendSignal("listener", "tell", 5).await()
                "$twice $failure ${listener.await()}"
            })
        }) {
            same("42 IllegalArgumentException: negative 5", start<Unit, String>("parent", "p", Unit).result())
            same(listOf("listener"), list(tags = mapOf("by" to "parent")).runs.map { it.id })
        }
    }
    test("state, time, ids and random numbers are the same on replay") {
        both({
            workflow<Unit, List<String>>("w", { ctx, _ ->
                ctx.set("step", 1)
                val before = listOf(ctx.uuid(), ctx.random().toString(), ctx.now().toString())
                ctx.set("seen", before)
                ctx.sleep(1.hours)
                ctx.clear("step")
                val after = ctx.get<List<String>>("seen")!!
                after + listOf("${ctx.get<Int>("step")}", ctx.info.id, ctx.info.kind)
            })
        }) {
            val result = start<Unit, List<String>>("w", "w-1", Unit).result()
            same(listOf("null", "w-1", "w"), result.drop(3))
        }
    }
    test("a cancel request interrupts once, not in a shield, and ends the run as cancelled") {
        both({
            workflow<Unit, String>("w", { ctx, _ ->
                try {
                    ctx.sleep(10.hours)
                    "slept"
                } catch (cancelled: Cancelled) {
                    ctx.run("clean") { }.await()
                    throw cancelled
                }
            })
            workflow<Unit, String>("shielded", { ctx, _ -> ctx.shield { ctx.sleep(10.hours) }.let { "slept ${ctx.isCancelled}" } })
        }) {
            val run = start<Unit, String>("w", "w", Unit)
            val other = start<Unit, String>("shielded", "s", Unit)
            advance(1.hours)
            run.cancel("no longer wanted")
            other.cancel()
            same("no longer wanted", thrown<WorkflowCancelled> { run.result() }.reason)
            same(Status.CANCELLED, run.describe().status)
            same("slept true", other.result())
        }
    }
    test("a reason to cancel is a text as it is, whatever it looks like") {
        for (reason in listOf("\"quoted\"", "{\"message\":\"hi\"}", "null", "")) {
            TestEnvironment {
                workflow<String, Unit>("asked", { ctx, _ ->
                    try {
                        ctx.signal<Unit>("never").await()
                    } catch (cancelled: Cancelled) {
                        ctx.set("seen", cancelled.reason)
                        same(reason, cancelled.reason)
                        throw cancelled
                    }
                })
                workflow<String, Unit>("itself", { _, it -> throw Cancelled(it) })
            }.use { env ->
                val run = env.start<String, Unit>("asked", "w", reason)
                run.cancel(reason)
                same(reason, thrown<WorkflowCancelled> { run.result() }.reason)
                same(reason, thrown<WorkflowCancelled> { env.start<String, Unit>("itself", "i", reason).result() }.reason)
            }
        }
    }
    test("a limit that is shorter than a millisecond, or zero, is a limit") {
        TestEnvironment {
            workflow<Unit, String>("w", { ctx, _ ->
                suspend fun ends(future: () -> dev.pawl.Future<Int>) = try {
                    future().await().toString()
                } catch (error: TimedOut) {
                    "over"
                } catch (error: ActivityFailed) {
                    "failed"
                }
                listOf(
                    ends { ctx.signal<Int>("s", timeout = 300.microseconds) },
                    ends { ctx.promise<Int>("p", timeout = Duration.ZERO) },
                    ends { ctx.schedule<Int>("t", TaskOptions(totalTimeout = 300.microseconds)) },
                ).toString()
            })
        }.use { same("[over, over, failed]", it.start<Unit, String>("w", "w", Unit).result(10.seconds)) }
    }
    test("the function of a workflow or an activity may stand behind the parentheses") {
        TestEnvironment {
            activity<Int, Int>("add") { it + 1 }
            activity<Int, Int>("attempt") { activity, n -> activity.attempt * n }
            activity<Int, Int>("retried", compensationRetry = null) { n: Int -> n + 2 }
            workflow<Int, Int>("w") { ctx, n -> ctx.all(listOf("add", "attempt", "retried").map { ctx.schedule<Int, Int>(it, n) }).sum() }
            workflow<Int>("none") { it.info.number }
            workflow<Int>("printed", fingerprint = "1") { ctx -> ctx.info.number }
        }.use {
            same(30, it.start<Int, Int>("w", "w", 9).result())
            same(2, it.start<Int>("none", "n").result() + it.start<Int>("printed", "p").result())
        }
    }
    test("a saga compensates last in, first out") {
        val done = java.util.Collections.synchronizedList(ArrayList<String>())
        TestEnvironment {
            activity<String, Unit>("undo", { what: String -> done += what })
            workflow<Unit, Unit>("w", { ctx, _ ->
                ctx.compensate("undo", "first")
                ctx.run("one") { }.await()
                ctx.compensate("undo", "second")
                ctx.run<Unit>("two") { throw IllegalStateException("broken") }.await()
            })
        }.use { env ->
            val error = thrown<WorkflowFailed> { env.start<Unit, Unit>("w", "w", Unit).result() }
            same("IllegalStateException" to "broken", error.type to error.message)
            same(listOf("second", "first"), done.toList())
        }
    }
    test("recur goes on with the next input under the same id") {
        both({
            workflow<Int, String>("w", { ctx, n ->
                ctx.run("work") { n }.await()
                if (n < 3) ctx.recur(n + 1)
                "run ${ctx.info.number} with $n"
            })
        }) { same("run 3 with 3", start<Int, String>("w", "w", 1).result()) }
    }
    test("a future with a limit") {
        both({
            workflow<Unit, String>("w", { ctx, _ ->
                val quick = ctx.withTimeout(ctx.run("quick") { "quick" }, 1.hours)
                val slow = try {
                    ctx.withTimeout(ctx.signal<String>("never"), 1.hours)
                } catch (error: TimedOut) {
                    error.message
                }
                "$quick; $slow"
            })
        }) { same("quick; signal 'never' took longer than 1h", start<Unit, String>("w", "w", Unit).result()) }
    }
}
