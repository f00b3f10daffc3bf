package dev.pawl

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

    /** To take tasks from, with how many at once; an empty map: none. */
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

    internal fun check() {
        if (activityThreads < 1) throw UsageError("open: activityThreads is $activityThreads; it is at least 1")
        if (cacheBytes < 0) throw UsageError("open: cacheBytes is $cacheBytes; 0 is for the default")
        if (payloadBytesMax < 0) throw UsageError("open: payloadBytesMax is $payloadBytesMax; 0 is for the default")
        if (!lease.isPositive() || lease == Duration.INFINITE) throw UsageError("open: lease is $lease; it is longer than zero, and finite")
        for ((queue, count) in queues) {
            if (queue.isEmpty()) throw UsageError("open: the name of a queue must not be empty")
            if (count < 1) throw UsageError("open: of queue '$queue', $count tasks at once are to be taken; it is at least 1")
        }
    }

    /** For runs of this kind: [function] takes the context and the input. */
    public inline fun <reified I, reified R> workflow(kind: String, noinline function: suspend (WorkflowContext, I) -> R): Unit =
        workflow(kind, Matching.STRICT, function = function)

    /** One without input. */
    public inline fun <reified R> workflow(kind: String, noinline function: suspend (WorkflowContext) -> R): Unit =
        workflow(kind, Matching.STRICT, function = function)

    /** [fingerprint]: of the code; with another one, open runs are treated as [onChange] says. */
    public inline fun <reified I, reified R> workflow(
        kind: String,
        matching: Matching = Matching.STRICT,
        fingerprint: String = "",
        onChange: OnChange = OnChange.VERIFY,
        noinline function: suspend (WorkflowContext, I) -> R,
    ): Unit = add(kind, codecOf { "input of workflow '$kind'" }, codecOf { "result of workflow '$kind'" }, function, matching, fingerprint, onChange)

    /** One without input. */
    public inline fun <reified R> workflow(
        kind: String,
        matching: Matching = Matching.STRICT,
        fingerprint: String = "",
        onChange: OnChange = OnChange.VERIFY,
        noinline function: suspend (WorkflowContext) -> R,
    ): Unit = add<Unit, R>(kind, codecOf { "" }, codecOf { "result of workflow '$kind'" }, { ctx, _ -> function(ctx) }, matching, fingerprint, onChange)

    /** [function] may suspend or block. */
    public inline fun <reified I, reified R> activity(name: String, noinline function: suspend (I) -> R): Unit =
        activity(name, null, function)

    /** One that wants to know about its attempt. */
    public inline fun <reified I, reified R> activity(name: String, noinline function: suspend (Activity, I) -> R): Unit =
        activity(name, null, function)

    /** [compensationRetry]: when it runs as a compensation; null: ten attempts. */
    public inline fun <reified I, reified R> activity(name: String, compensationRetry: Retry?, noinline function: suspend (I) -> R): Unit =
        activity<I, R>(name, compensationRetry) { _: Activity, input: I -> function(input) }

    public inline fun <reified I, reified R> activity(
        name: String,
        compensationRetry: Retry?,
        noinline function: suspend (Activity, I) -> R,
    ): Unit = addActivity(name, codecOf { "input of activity '$name'" }, codecOf { "result of activity '$name'" }, function, compensationRetry)

    @PublishedApi internal fun <I, R> add(
        kind: String,
        inputs: Codec<I>,
        results: Codec<R>,
        function: suspend (WorkflowContext, I) -> R,
        matching: Matching,
        fingerprint: String,
        onChange: OnChange,
    ) {
        if (kind.isEmpty()) throw UsageError("workflow: the kind must not be empty")
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
        checkName("activity", name)
        val before = activities.put(name, ActivityDefinition(compensationRetry, bodyOf(name, inputs, results, function)))
        if (before != null) throw UsageError("activity '$name' has been added before")
    }

    internal fun <I, R> bodyOf(name: String, inputs: Codec<I>, results: Codec<R>, function: suspend (Activity, I) -> R): suspend (Activity, ByteArray) -> ByteArray =
        { activity, payload ->
            results.encode(function(activity, inputs.decode(payload) { "input of activity '$name'" })) { "result of activity '$name'" }
        }
}
