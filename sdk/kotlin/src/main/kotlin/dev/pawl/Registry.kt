package dev.pawl

import kotlinx.serialization.serializer
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

internal class WorkflowDefinition(val matching: Matching, val fingerprint: String, val onChange: OnChange, val body: WorkflowBody)

internal class ActivityDefinition(val compensationRetry: Retry?, val body: suspend (Activity, ByteArray) -> ByteArray)

/** What an engine works on, and how. */
public open class EngineBuilder internal constructor() {
    /** False: clients' calls only. */
    public var work: Boolean = true

    /** For people; empty: host and process. */
    public var workerName: String = ""

    /** To take tasks from, with how many at once. */
    public var queues: Map<String, Int> = mapOf("default" to 64)
    public var lease: Duration = 30.seconds

    /** For runs that wait in memory; 0: 256 MiB. */
    public var cacheBytes: Long = 0

    /** Larger payloads are refused; 0: 64 MiB. */
    public var payloadBytesMax: Long = 0

    /** Activities and operations that run at once, each on a thread of its own while it does not suspend. */
    public var activityThreads: Int = 64

    /** Told of trouble that no call can report. From any thread; must not block. */
    public var onTrouble: (String) -> Unit = { System.err.println("pawl: $it") }

    internal val workflows = LinkedHashMap<String, WorkflowDefinition>()
    internal val activities = LinkedHashMap<String, ActivityDefinition>()
    internal val fakes = LinkedHashMap<String, ActivityDefinition>()

    public inline fun <reified I, reified R> workflow(
        kind: String,
        noinline function: suspend (WorkflowContext, I) -> R,
        matching: Matching = Matching.STRICT,
        fingerprint: String = "",
        onChange: OnChange = OnChange.VERIFY,
    ): Unit = add(kind, Codec(serializer<I>()), Codec(serializer<R>()), function, matching, fingerprint, onChange)

    /** One without input. */
    public inline fun <reified R> workflow(
        kind: String,
        noinline function: suspend (WorkflowContext) -> R,
        matching: Matching = Matching.STRICT,
        fingerprint: String = "",
        onChange: OnChange = OnChange.VERIFY,
    ): Unit = add(kind, Codec(serializer<Unit>()), Codec(serializer<R>()), { ctx, _ -> function(ctx) }, matching, fingerprint, onChange)

    /** [function] may suspend or block. [compensationRetry]: when it runs as a compensation; null: ten attempts. */
    public inline fun <reified I, reified R> activity(name: String, noinline function: suspend (I) -> R, compensationRetry: Retry? = null): Unit =
        addActivity(name, Codec(serializer<I>()), Codec(serializer<R>()), { _, input -> function(input) }, compensationRetry)

    /** One that wants to know about its attempt. */
    public inline fun <reified I, reified R> activity(
        name: String,
        noinline function: suspend (Activity, I) -> R,
        compensationRetry: Retry? = null,
    ): Unit = addActivity(name, Codec(serializer<I>()), Codec(serializer<R>()), function, compensationRetry)

    @PublishedApi internal fun <I, R> add(
        kind: String,
        inputs: Codec<I>,
        results: Codec<R>,
        function: suspend (WorkflowContext, I) -> R,
        matching: Matching,
        fingerprint: String,
        onChange: OnChange,
    ) {
        val body: WorkflowBody = { ctx, payload ->
            val input = inputs.decode(payload) { "input of workflow '$kind'" }
            results.encode(function(ctx, input)) { "result of workflow '$kind'" }
        }
        val before = workflows.put(kind, WorkflowDefinition(matching, fingerprint, onChange, body))
        if (before != null) throw UsageError("workflow '$kind' has been added before")
    }

    @PublishedApi internal fun <I, R> addActivity(
        name: String,
        inputs: Codec<I>,
        results: Codec<R>,
        function: suspend (Activity, I) -> R,
        compensationRetry: Retry?,
    ) {
        val before = activities.put(name, ActivityDefinition(compensationRetry, bodyOf(name, inputs, results, function)))
        if (before != null) throw UsageError("activity '$name' has been added before")
    }

    internal fun <I, R> bodyOf(name: String, inputs: Codec<I>, results: Codec<R>, function: suspend (Activity, I) -> R): suspend (Activity, ByteArray) -> ByteArray =
        { activity, payload ->
            results.encode(function(activity, inputs.decode(payload) { "input of activity '$name'" })) { "result of activity '$name'" }
        }
}
