package dev.pawl.testing

import dev.pawl.Activity
import dev.pawl.ActivityBody
import dev.pawl.Codec
import dev.pawl.Description
import dev.pawl.Matching
import dev.pawl.Native
import dev.pawl.Numbers
import dev.pawl.PayloadError
import dev.pawl.RecordedFailure
import dev.pawl.Retry
import dev.pawl.RunHandle
import dev.pawl.RunHost
import dev.pawl.RunInfo
import dev.pawl.Violation
import dev.pawl.WorkflowBody
import dev.pawl.WorkflowContext
import dev.pawl.WorkflowRun
import dev.pawl.codecOf
import dev.pawl.native
import dev.pawl.payloadJson
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.longOrNull

/** What the code of a workflow makes of a history. */
public class ReplayResult internal constructor(
    public val outcome: Outcome,
    /** Of a completed one. */
    public val result: JsonElement?,
    /** Of a failed or cancelled one: what left the workflow. */
    public val error: Throwable?,
    public val violation: Violation?,
    /** What it would record next. */
    public val newEntries: List<JsonObject>,
    /** Locations of what it waits for. */
    public val waiting: List<String>,
    /** Locations of what history holds and the code did not ask for. */
    public val orphaned: List<String>,
) {
    public enum class Outcome { COMPLETED, FAILED, CANCELLED, RECURRED, SUSPENDED, VIOLATION }
}

/**
 * Runs a workflow's function against a history, without a store. Operations that are not in it are executed where
 * they are asked for; anything else that is new is left to wait.
 */
public class Replayer(
    private val matching: Matching = Matching.STRICT,
    /** A UUID; empty: all zeros. */
    private val runId: String = "",
    private val startedAtMs: Long = 0,
    private val info: RunInfo = RunInfo("replay", 1, "workflow", runId),
) {
    /** [history] is a JSON array, as of a client's history(). */
    public inline fun <reified I, reified R> replay(
        noinline workflow: suspend (WorkflowContext, I) -> R,
        input: I,
        history: String = "[]",
    ): ReplayResult {
        val inputs = codecOf<I> { "input" }
        val results = codecOf<R> { "result" }
        return replayTyped(inputs, results, workflow, input, history)
    }

    /** Against the history of [run], with its ids and its time. */
    public suspend inline fun <reified I, reified R> replay(
        noinline workflow: suspend (WorkflowContext, I) -> R,
        input: I,
        run: RunHandle<*>,
    ): ReplayResult = of(run.describe()).replay(workflow, input, run.history())

    @PublishedApi internal fun of(run: Description): Replayer =
        Replayer(matching, run.uuid, run.started, RunInfo(run.id, run.number, run.kind, run.uuid))

    @PublishedApi internal fun <I, R> replayTyped(
        inputs: Codec<I>,
        results: Codec<R>,
        workflow: suspend (WorkflowContext, I) -> R,
        input: I,
        history: String,
    ): ReplayResult {
        val body: WorkflowBody = { ctx, payload ->
            results.encode(workflow(ctx, inputs.decode(payload) { "input" })) { "result" }
        }
        return replay(body, inputs.encode(input) { "input" }, history) { RecordedFailure.of(it).toPayload() }
    }

    internal fun replay(body: WorkflowBody, input: ByteArray, history: String, failures: (Throwable) -> ByteArray): ReplayResult {
        val lastSeq = lastSeqOf(history)
        val context = native {
            Native.contextCreate(runId.toByteArray(), matching.number, startedAtMs, history.toByteArray(), null, null)
        }
        try {
            val host = ReplayHost(context, startedAtMs, lastSeq, failures)
            val run = WorkflowRun(context, host, info)
            run.start(body, input)
            run.goOn()
            run.finish()
            return resultOf(run, host)
        } finally {
            Native.contextFree(context)
        }
    }

    private fun resultOf(run: WorkflowRun, host: ReplayHost): ReplayResult {
        val report = payloadJson.parseToJsonElement(String(Native.contextReport(run.context))).jsonObject
        fun locations(name: String) = report.getValue(name).jsonArray.map { (it as JsonPrimitive).content }
        val end = run.end
        val outcome = when {
            run.violation != null -> ReplayResult.Outcome.VIOLATION
            end == null -> ReplayResult.Outcome.SUSPENDED
            else -> when (end.kind) {
                Numbers.PAWL_END_COMPLETED -> ReplayResult.Outcome.COMPLETED
                Numbers.PAWL_END_CANCELLED -> ReplayResult.Outcome.CANCELLED
                Numbers.PAWL_END_RECURRED -> ReplayResult.Outcome.RECURRED
                else -> ReplayResult.Outcome.FAILED
            }
        }
        val isCompleted = outcome == ReplayResult.Outcome.COMPLETED
        host.takeNew()
        return ReplayResult(
            outcome = outcome,
            result = if (isCompleted) payloadJson.parseToJsonElement(String(end!!.payload)) else null,
            error = end?.error,
            violation = run.violation?.violation,
            newEntries = if (run.violation == null) host.newEntries else emptyList(),
            waiting = if (end == null) locations("waiting") else emptyList(),
            orphaned = locations("orphaned"),
        )
    }

    /** Entries without one count from the entry before. */
    private fun lastSeqOf(history: String): Long {
        val entries = try {
            payloadJson.parseToJsonElement(history) as? JsonArray
        } catch (_: SerializationException) {
            null
        } ?: throw PayloadError("history: a JSON array of entries is expected")
        return entries.fold(0L) { last, entry -> ((entry as? JsonObject)?.get("seq") as? JsonPrimitive)?.longOrNull ?: (last + 1) }
    }
}

/** A new entry's time is the start plus its seq. */
private class ReplayHost(
    private val context: Long,
    private val startedAtMs: Long,
    private var lastSeq: Long,
    private val failures: (Throwable) -> ByteArray,
) : RunHost {
    val newEntries = ArrayList<JsonObject>()

    fun takeNew() {
        val entries = payloadJson.parseToJsonElement(String(Native.contextTakeNew(context))).jsonArray
        entries.mapTo(newEntries) { it.jsonObject }
        (entries.lastOrNull()?.jsonObject?.get("seq") as? JsonPrimitive)?.longOrNull?.let { lastSeq = it }
    }

    override fun beforeEntry(run: WorkflowRun) {
        takeNew()
        Native.contextSetTime(context, startedAtMs + lastSeq + 1)
    }

    override fun execute(run: WorkflowRun, future: Int, name: String, input: ByteArray?, body: ActivityBody, retry: Retry, timeoutMs: Long) {
        val key = String(Native.contextCommandId(context, future))
        var outcome = Numbers.PAWL_VALUE
        val payload = try {
            run.outside { runBlocking { body(ReplayedActivity(run.info.id, name, key)) } }
        } catch (error: Exception) {
            outcome = Numbers.PAWL_FAILED
            failures(error)
        }
        beforeEntry(run)
        run.call("run '$name'") { Native.contextComplete(context, future, outcome, payload) }
    }

    override fun send(run: WorkflowRun, future: Int, runId: String, signal: String, payload: ByteArray, extra: ByteArray?, dedupe: ByteArray?) {
        beforeEntry(run)
        run.call("sendSignal") { Native.contextComplete(context, future, Numbers.PAWL_VALUE, "null".toByteArray()) }
    }

    override fun failurePayload(error: Throwable): ByteArray = failures(error)

    override fun delivered(future: Int) = Unit
}

private class ReplayedActivity(runId: String, name: String, key: String) : Activity(runId, name, key, 1, null) {
    override val shouldStop: Boolean get() = false

    override fun heartbeatPayload(details: ByteArray?): Boolean = true
}
