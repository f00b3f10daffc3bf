package tests

import dev.pawl.StepKind
import dev.pawl.UsageError
import dev.pawl.WorkflowContext
import dev.pawl.PayloadError
import dev.pawl.testing.ReplayResult.Outcome
import dev.pawl.testing.Replayer
import dev.pawl.testing.TestEnvironment
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlin.time.Duration.Companion.hours

// The lines of these functions are looked at below.
private suspend fun first(ctx: WorkflowContext, n: Int): Int {
    val a = ctx.run("a") { n }.await()
    ctx.sleep(1.hours)
    return a + ctx.run("b") { 10 }.await()
}

private suspend fun second(ctx: WorkflowContext, n: Int): Int {
    val a = ctx.run("a") { n }.await()
    ctx.v(2).run("inserted") { }.await()
    ctx.removed(StepKind.TIMER)
    return a + ctx.run("b") { 10 }.await()
}

private suspend fun broken(ctx: WorkflowContext, n: Int): Int = ctx.run("c") { n }.await()

fun Harness.replayTests() {
    suspend fun recorded(): String = TestEnvironment { workflow("w", ::first) }.use { env ->
        env.start<Int, Int>("w", "w", 5).run {
            result()
            history()
        }
    }

    test("a recorded history replays, by the same code and by changed code that says so") {
        val history = recorded()
        val same = Replayer().replay(::first, 5, history)
        same(Outcome.COMPLETED to JsonPrimitive(15), same.outcome to same.result)
        same(0, same.newEntries.size)
        val open = JsonArray(Json.parseToJsonElement(history).jsonArray.take(2)).toString()
        val changed = Replayer().replay(::second, 5, open)
        same(Outcome.COMPLETED to JsonPrimitive(15), changed.outcome to changed.result)
    }
    test("code that disagrees is a violation with all its fields, and the line of this file") {
        val result = Replayer().replay(::broken, 5, recorded())
        same(Outcome.VIOLATION, result.outcome)
        val violation = result.violation!!
        same("{1}", violation.location)
        holds("expected 'c', got 'a'" in violation.headline, violation.headline)
        same("ReplayTests.kt:30", violation.sourceNow)
        same("ReplayTests.kt:18", violation.sourceThen)
        holds(violation.code.startsWith("PAWL-") && violation.advice.isNotEmpty(), violation.text)
    }
    test("a run replays with its own ids and time") {
        suspend fun named(ctx: WorkflowContext, n: Int): Int = ctx.run("${ctx.info.id} ${ctx.info.kind} ${ctx.uuid()} ${ctx.now()}") { n }.await()
        TestEnvironment { workflow<Int, Int>("named", ::named) }.use { env ->
            val run = env.start<Int, Int>("named", "n-1", 5)
            run.result()
            val replayed = Replayer().replay(::named, 5, run)
            same(Outcome.COMPLETED to JsonPrimitive(5), replayed.outcome to replayed.result)
        }
    }
    test("what is new is said, and what it waits for") {
        val result = Replayer().replay(::first, 5)
        same(Outcome.SUSPENDED, result.outcome)
        same(listOf("OperationCompleted", "TimerStarted"), result.newEntries.map { (it["event"] as JsonPrimitive).content })
        same(listOf("{2}"), result.waiting)
    }
    test("attributes of an event that are odd are no error") {
        suspend fun subject(ctx: WorkflowContext, n: Int): String = ctx.signalWithEvent<Int>("go").await().event.let { "$n ${it.subject} ${it.extensions}" }
        for ((attributes, expected) in mapOf(
            "\"subject\": 7, \"extensions\": {\"a\": [1]}" to "5 7 {a=[1]}",
            "\"subject\": {}, \"extensions\": 1" to "5  {}",
            "\"\$extra\": {\"\$text\": \"{ no JSON\"}" to "5  {}",
        )) {
            val history = """[{"seq": 1, "event": "SignalAwaited", "location": "{1}", "signalName": "go"},
                {"seq": 2, "event": "SignalReceived", "signalName": "go", "data": 1, $attributes}]"""
            val replayed = Replayer().replay(::subject, 5, history)
            same(Outcome.COMPLETED to JsonPrimitive(expected), replayed.outcome to replayed.result)
        }
    }
    test("a history that is none is refused with a sentence") {
        thrown<PayloadError> { Replayer().replay(::first, 5, "{}") }
        thrown<PayloadError> { Replayer().replay(::first, 5, "[") }
        thrown<UsageError> { Replayer().replay(::first, 5, """[{"event": "Nonsense"}]""") }
    }
}
