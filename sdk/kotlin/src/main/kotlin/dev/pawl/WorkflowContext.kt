package dev.pawl

import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.contentOrNull
import java.time.Instant
import kotlin.time.Duration
import kotlin.time.toKotlinDuration

/**
 * What workflow code asks the world through. Every step is recorded; on replay the recorded outcome is given back, in
 * the order in which it was seen the first time. A step that gives a [Future] does not wait: await() does.
 *
 * For the code of its own workflow only, while that runs: anything else throws [UsageError]. In all steps, `stepKey`
 * is a name to match this step by, instead of its place in the code.
 */
public class WorkflowContext internal constructor(
    @PublishedApi internal val run: WorkflowRun,
    private val branch: Int,
    private val version: Int,
) {
    // --- Activities ---

    /**
     * Calls [function] in this process, once all that came before is durable, and records what it returns or throws.
     * It runs on another thread, and maybe more than once: it must not touch what the workflow changes.
     */
    public inline fun <reified R> run(
        name: String,
        retry: Retry = Retry(),
        timeout: Duration? = null,
        stepKey: String? = null,
        noinline function: suspend Activity.() -> R,
    ): Future<R> {
        val codec = codecOf<R> { "result of '$name'" }
        return operation(name, null, codec, retry, timeout, stepKey) { activity -> encodeResult(codec, name, function(activity)) }
    }

    /** The same with an input, which is recorded. */
    public inline fun <reified I, reified R> run(
        name: String,
        input: I,
        retry: Retry = Retry(),
        timeout: Duration? = null,
        stepKey: String? = null,
        noinline function: suspend Activity.(I) -> R,
    ): Future<R> {
        val codec = codecOf<R> { "result of '$name'" }
        return operation(name, encodeFor(input) { "argument of run '$name'" }, codec, retry, timeout, stepKey) { activity ->
            encodeResult(codec, name, function(activity, input))
        }
    }

    /** Puts a task on a queue, for whichever worker has an activity of this type. */
    public inline fun <reified I, reified R> schedule(type: String, input: I, options: TaskOptions = TaskOptions()): Future<R> =
        task(type, encodeFor(input) { "input of task '$type'" }, codecOf { "result of task '$type'" }, options)

    public inline fun <reified R> schedule(type: String, options: TaskOptions = TaskOptions()): Future<R> =
        task(type, null, codecOf { "result of task '$type'" }, options)

    // --- Time ---

    /** Waits that long. */
    public suspend fun sleep(duration: Duration, id: String = "", stepKey: String? = null): Unit = timer(duration, id, stepKey).await()

    /** Not before [time]; at once if that has passed. */
    public suspend fun sleepUntil(time: Instant, id: String = "", stepKey: String? = null) {
        val left = java.time.Duration.between(now(), time).plusNanos(999_999) // Timers take whole milliseconds.
        sleep(left.toKotlinDuration().coerceAtLeast(Duration.ZERO), id, stepKey)
    }

    /** [sleep] as a future. With an [id], that is compared on replay. */
    public fun timer(duration: Duration, id: String = "", stepKey: String? = null): Future<Unit> {
        val opened = open("timer", StepKind.TIMER, id, stepKey, number = duration.inWholeMilliseconds, mayBeUnnamed = true)
        return Future(run, opened.future, StepKind.TIMER, id) {}
    }

    /** The time of the last thing that this run has seen. */
    public fun now(): Instant {
        run.check("now")
        return Instant.ofEpochMilli(run.call("now") { Native.contextNow(run.context) })
    }

    /** The future's value, or [TimedOut] after [limit]. The future itself is not cancelled then. */
    public suspend fun <T> withTimeout(future: Future<T>, limit: Duration): T {
        val timer = timer(limit)
        if (any(future, timer) === timer) throw TimedOut("${future.subject} took longer than $limit")
        cancel(timer)
        return future.value()
    }

    // --- From outside ---

    /** Waits for the next signal of this name. They queue up while nobody waits. */
    public inline fun <reified T> signal(name: String, timeout: Duration? = null, stepKey: String? = null): Future<T> {
        val codec = codecOf<T> { "signal '$name'" }
        return wait(StepKind.SIGNAL, name, timeout, stepKey) { payload, _ -> decode("signal '$name'", codec, payload) }
    }

    /** The same, with the event that the signal came as. */
    public inline fun <reified T> signalWithEvent(name: String, timeout: Duration? = null, stepKey: String? = null): Future<Signal<T>> {
        val codec = codecOf<T> { "signal '$name'" }
        return wait(StepKind.SIGNAL, name, timeout, stepKey) { payload, extra ->
            Signal(decode("signal '$name'", codec, payload), eventOf(extra))
        }
    }

    /** A signal that nobody has taken is there. */
    public fun hasSignal(name: String): Boolean {
        run.check("hasSignal")
        checkName("hasSignal", name)
        return run.call("hasSignal") { Native.contextSignalCount(run.context, name.toByteArray()) } > 0
    }

    /** Takes it, without waiting; null if there is none. */
    public inline fun <reified T> trySignal(name: String): Signal<T>? {
        val codec = codecOf<T> { "signal '$name'" }
        return takeSignal(name) { payload, extra -> Signal(decode("signal '$name'", codec, payload), eventOf(extra)) }
    }

    /** Something that somebody outside will resolve or reject, once. */
    public inline fun <reified T> promise(name: String, timeout: Duration? = null, stepKey: String? = null): PromiseFuture<T> {
        val codec = codecOf<T> { "promise '$name'" }
        return openPromise(name, timeout, stepKey) { payload -> decode("promise '$name'", codec, payload) }
    }

    // --- Other runs ---

    /** Starts a run of its own. If there is one with this id, it fails: [ChildFailed]. */
    public inline fun <reified I, reified R> child(kind: String, id: String, input: I, options: ChildOptions = ChildOptions()): Future<R> =
        openChild(kind, id, encodeFor(input) { "input of child '$id'" }, codecOf { "result of child '$id'" }, options)

    public inline fun <reified R> child(kind: String, id: String, options: ChildOptions = ChildOptions()): Future<R> =
        openChild(kind, id, null, codecOf { "result of child '$id'" }, options)

    /** Sends a signal to another run, once. Complete when it is on its way; nobody gets it if there is no such run. */
    public inline fun <reified T> sendSignal(
        runId: String,
        signal: String,
        value: T,
        event: SignalEvent = SignalEvent(),
        stepKey: String? = null,
    ): Future<Unit> = send(runId, signal, encodeFor(value) { "signal '$signal'" }, event, stepKey)

    // --- State: values that people can see from outside while the run goes on ---

    public inline fun <reified T> set(key: String, value: T, stepKey: String? = null): Unit =
        setState(key, encodeFor(value) { "state '$key'" }, stepKey)

    public inline fun <reified T> get(key: String): T? = getState(key, codecOf { "state '$key'" })

    public fun clear(key: String, stepKey: String? = null) {
        open("clear", StepKind.STATE, key, stepKey, clear = true)
    }

    // --- Instead of what must not be used in a workflow ---

    public fun uuid(): String {
        run.check("uuid")
        return run.call("uuid") { Native.contextUuid(run.context, branch) }
    }

    /** 64 random bits. */
    public fun randomBits(): Long {
        run.check("random")
        return run.call("random") { Native.contextRandom(run.context, branch) }
    }

    /** In [0, 1). */
    public fun random(): Double = (randomBits() ushr 11) * (1.0 / (1L shl 53))

    // --- Several things at once ---

    /** Waits for all of them: their values. The first failure to be seen is thrown at once. */
    public suspend fun <T> all(futures: List<Future<out T>>): List<T> {
        check("all", futures)
        val failed = run.await(Numbers.PAWL_AWAIT_ALL, idsOf(futures))
        if (failed != 0 && futures.size > 1) futures.first { it.id == failed }.value()
        return futures.map { it.value() }
    }

    public suspend fun <T> all(vararg futures: Future<out T>): List<T> = all(futures.asList())

    /** Waits for the first one that is complete: that one. Its value, or how it failed, is await()'s. */
    public suspend fun <T> any(futures: List<Future<out T>>): Future<out T> {
        check("any", futures)
        if (futures.isEmpty()) throw UsageError("any: there are no futures, it would wait for ever")
        val first = run.await(Numbers.PAWL_AWAIT_ANY, idsOf(futures))
        return futures.first { it.id == first }
    }

    public suspend fun <T> any(vararg futures: Future<out T>): Future<out T> = any(futures.asList())

    // --- Cancelling ---

    /** A cancel request has been delivered. */
    public val isCancelled: Boolean
        get() {
            run.check("isCancelled")
            return run.call("isCancelled") { Native.contextCancelled(run.context) } != null
        }

    /** Asks to cancel a task or a timer. Nothing happens if it is complete or was asked before. */
    public fun cancel(future: Future<*>) {
        check("cancel", listOf(future))
        open("cancel", StepKind.CANCEL_TASK, "", null, target = future.id, mayBeUnnamed = true)
    }

    /** What is awaited in [block] is not interrupted by a cancel request. */
    public suspend fun <T> shield(block: suspend () -> T): T {
        run.check("shield")
        val strand = run.strand()
        ++strand.shields
        try {
            return block()
        } finally {
            --strand.shields
        }
    }

    // --- Structure ---

    /** Runs [body] with locations of its own. */
    public suspend fun <T> branch(stepKey: String? = null, body: suspend (WorkflowContext) -> T): T {
        val inner = openBranch("branch", stepKey)
        return run.inBranch(inner.branch) { body(inner) }
    }

    /** Runs several of them concurrently, till all have ended. The first error, in the order of arguments, is thrown then. */
    public suspend fun <T> join(bodies: List<suspend (WorkflowContext) -> T>): List<T> {
        val branches = bodies.map { openBranch("join", null) }
        val arms = bodies.zip(branches) { body, inner -> suspend { run.inBranch(inner.branch) { body(inner) } } }
        return run.join(arms).map { it.getOrThrow() }
    }

    public suspend fun <T> join(vararg bodies: suspend (WorkflowContext) -> T): List<T> = join(bodies.asList())

    /**
     * Runs [body] until it breaks: the value of the break. What finished iterations recorded is replaced by the state
     * every now and then: nothing that was made in one iteration may be used in another, but by way of the state.
     */
    public suspend inline fun <reified S, reified V> loop(
        state: S,
        checkpointEvery: Int = 20,
        stepKey: String? = null,
        noinline body: suspend (WorkflowContext, S) -> LoopStep<S, V>,
    ): V = runLoop(codecOf { "state of a loop" }, codecOf { "result of a loop" }, state, { true }, checkpointEvery, stepKey, body).value

    /** The same as long as [goesOn] holds for the state: a pure function of it. */
    public suspend inline fun <reified S, reified V> loopWhile(
        state: S,
        noinline goesOn: (S) -> Boolean,
        checkpointEvery: Int = 20,
        stepKey: String? = null,
        noinline body: suspend (WorkflowContext, S) -> LoopStep<S, V>,
    ): LoopEnd<S, V> = runLoop(codecOf { "state of a loop" }, codecOf { "result of a loop" }, state, goesOn, checkpointEvery, stepKey, body)

    /**
     * Ends this run; the next one of the same id starts with [input]. Never returns: it throws what is no Exception;
     * a handler of any Throwable must throw it again.
     */
    public inline fun <reified I> recur(input: I): Nothing = recurWith(encodeFor(input) { "input of recur" })

    /**
     * Registers a compensation: an activity by its name, with its input. When the workflow fails or is cancelled, those
     * that were registered run, last in first out, without the workflow's code.
     */
    public inline fun <reified I> compensate(activity: String, input: I, stepKey: String? = null): Unit =
        register(activity, encodeFor(input) { "input of compensation '$activity'" }, stepKey)

    public fun compensateWithoutInput(activity: String, stepKey: String? = null): Unit = register(activity, null, stepKey)

    // --- Changes of code that has open runs; see docs/replay.md ---

    /** The steps made by way of the returned context have this version: ctx.v(2).run(…). */
    public fun v(version: Int): WorkflowContext {
        if (version < 1) throw UsageError("v: versions begin with 1")
        return WorkflowContext(run, branch, version)
    }

    /** Stands for a step that the code once had. An empty name: any. */
    public fun removed(kind: StepKind, name: String = "", stepKey: String? = null): Unit = run.removed(kind, branch, version, name, stepKey)

    /** Which version of the code this run follows here: [latest] if it gets here for the first time. */
    public fun checkVersion(latest: Int): Int {
        if (latest < 1) throw UsageError("checkVersion: versions begin with 1")
        return run.checkVersion(branch, latest)
    }

    public val info: RunInfo get() = run.info

    // --- What the functions above stand on ---

    private fun open(
        what: String,
        kind: StepKind,
        name: String,
        stepKey: String?,
        payload: ByteArray? = null,
        number: Long = 0,
        clear: Boolean = false,
        target: Int = 0,
        childKind: String? = null,
        checkpointEvery: Int = 0,
        extra: ByteArray? = null,
        mayBeUnnamed: Boolean = false,
    ): WorkflowRun.Opened {
        if (name.isEmpty() && !mayBeUnnamed) throw UsageError("$what: the name must not be empty")
        if (number < 0) throw UsageError("$what: the duration is negative")
        val text = if (name.isEmpty()) what else "$what '$name'"
        return run.open(text, kind, branch, version, name, childKind, target, stepKey, payload, clear, number, checkpointEvery, extra)
    }

    @PublishedApi internal inline fun <reified T> encodeFor(value: T, where: () -> String): ByteArray = encode(where(), codecOf(where), value)

    @PublishedApi internal fun <T> encode(where: String, codec: Codec<T>, value: T): ByteArray = codec.encode(value) { where }

    @PublishedApi internal fun <T> decode(where: String, codec: Codec<T>, payload: ByteArray?): T = codec.decode(payload) { where }

    @PublishedApi internal fun <T> encodeResult(codec: Codec<T>, name: String, value: T): ByteArray = codec.encode(value) { "result of '$name'" }

    @PublishedApi internal fun <R> operation(
        name: String,
        input: ByteArray?,
        codec: Codec<R>,
        retry: Retry,
        timeout: Duration?,
        stepKey: String?,
        body: suspend (Activity) -> ByteArray,
    ): Future<R> {
        val timeoutMs = timeout.limitMs { "run '$name': the timeout" }
        val opened = open("run", StepKind.OPERATION, name, stepKey, payload = input)
        if (opened.mustExecute) {
            run.host.execute(run, opened.future, name, input, body, retry, timeoutMs)
        }
        return Future(run, opened.future, StepKind.OPERATION, name) { codec.decode(it.payload) { "result of '$name'" } }
    }

    @PublishedApi internal fun <R> task(type: String, input: ByteArray?, codec: Codec<R>, options: TaskOptions): Future<R> {
        val opened = open("schedule", StepKind.TASK, type, options.stepKey, payload = input, extra = options.toExtra(type))
        return Future(run, opened.future, StepKind.TASK, type) { codec.decode(it.payload) { "result of task '$type'" } }
    }

    @PublishedApi internal fun <T> wait(
        kind: StepKind,
        name: String,
        timeout: Duration?,
        stepKey: String?,
        read: (ByteArray?, ByteArray) -> T,
    ): Future<T> {
        val opened = open("signal", kind, name, stepKey, number = timeout.limitMs { "signal '$name': the timeout" })
        return Future(run, opened.future, kind, name) { read(it.payload, it.extra) }
    }

    @PublishedApi internal fun <T> openPromise(name: String, timeout: Duration?, stepKey: String?, read: (ByteArray?) -> T): PromiseFuture<T> {
        val opened = open("promise", StepKind.PROMISE, name, stepKey, number = timeout.limitMs { "promise '$name': the timeout" })
        return PromiseFuture(run, opened.future, name) { read(it.payload) }
    }

    @PublishedApi internal fun <T> takeSignal(name: String, read: (ByteArray?, ByteArray) -> T): T? {
        run.check("trySignal")
        checkName("trySignal", name)
        val block = Block(run.call("trySignal") { Native.contextTakeSignal(run.context, branch, name.toByteArray()) } ?: return null)
        block.int() // It is there.
        val hasPayload = block.int() != 0
        val payload = block.bytes()
        return read(if (hasPayload) payload else null, block.bytes())
    }

    @PublishedApi internal fun eventOf(extra: ByteArray): SignalEvent {
        if (extra.isEmpty()) return SignalEvent()
        val fields = try {
            payloadJson.parseToJsonElement(String(extra)) as? JsonObject
        } catch (_: SerializationException) {
            null
        } ?: return SignalEvent() // Whoever sent it: the workflow cannot do anything about it.
        fun text(name: String) = (fields[name] as? JsonPrimitive)?.contentOrNull ?: ""
        val extensions = (fields["extensions"] as? JsonObject)?.mapValues { (it.value as? JsonPrimitive)?.content ?: it.value.toString() }
        return SignalEvent(
            text("id"), text("source"), text("type"), text("subject"), text("eventTime"), text("datacontenttype"), text("dataschema"),
            extensions ?: emptyMap(),
        )
    }

    @PublishedApi internal fun <R> openChild(kind: String, id: String, input: ByteArray?, codec: Codec<R>, options: ChildOptions): Future<R> {
        if (kind.isEmpty()) throw UsageError("child: the kind must not be empty")
        val opened = open("child", StepKind.CHILD, id, options.stepKey, payload = input, childKind = kind, extra = options.toExtra())
        return Future(run, opened.future, StepKind.CHILD, id) { codec.decode(it.payload) { "result of child '$id'" } }
    }

    @PublishedApi internal fun send(runId: String, signal: String, payload: ByteArray, event: SignalEvent, stepKey: String?): Future<Unit> {
        if (runId.isEmpty()) throw UsageError("sendSignal: the run's id must not be empty")
        if (signal.isEmpty()) throw UsageError("sendSignal: the name must not be empty")
        val name = "send $signal"
        val opened = open("sendSignal", StepKind.OPERATION, name, stepKey, payload = payload)
        if (opened.mustExecute) {
            val once = if (event.id.isEmpty() || event.source.isEmpty()) event.id else "${event.id}\n${event.source}"
            run.host.send(run, opened.future, runId, signal, payload, extraOf(signal, event), once.takeIf { it.isNotEmpty() }?.toByteArray())
        }
        return Future(run, opened.future, StepKind.OPERATION, name) {}
    }

    private fun extraOf(signal: String, event: SignalEvent): ByteArray? {
        if (event == SignalEvent()) return null
        val fields = buildJsonObject {
            fun put(name: String, text: String) {
                if (text.isNotEmpty()) put(name, JsonPrimitive(text))
            }
            put("id", event.id)
            put("source", event.source)
            put("type", event.type.ifEmpty { signal })
            put("subject", event.subject)
            put("eventTime", event.time)
            put("datacontenttype", event.datacontenttype)
            put("dataschema", event.dataschema)
            event.checkExtensions()
            if (event.extensions.isNotEmpty()) put("extensions", JsonObject(event.extensions.mapValues { JsonPrimitive(it.value) }))
        }
        return fields.toString().toByteArray()
    }

    @PublishedApi internal fun setState(key: String, value: ByteArray, stepKey: String?) {
        open("set", StepKind.STATE, key, stepKey, payload = value)
    }

    @PublishedApi internal fun <T> getState(key: String, codec: Codec<T>): T? {
        run.check("get")
        checkName("get", key)
        return run.call("get") { Native.contextState(run.context, key.toByteArray()) }?.let { codec.decode(it) { "state '$key'" } }
    }

    @PublishedApi internal fun register(activity: String, input: ByteArray?, stepKey: String?) {
        open("compensate", StepKind.COMPENSATION, activity, stepKey, payload = input)
    }

    @PublishedApi internal fun recurWith(input: ByteArray): Nothing = run.recur(input)

    private fun openBranch(what: String, stepKey: String?): WorkflowContext =
        WorkflowContext(run, open(what, StepKind.BRANCH, "", stepKey, mayBeUnnamed = true).branch, 0)

    private fun check(what: String, futures: List<Future<*>>) {
        run.check(what)
        if (futures.any { it.run !== run }) throw UsageError("$what: a future belongs to another run")
    }

    private fun idsOf(futures: List<Future<*>>) = IntArray(futures.size) { futures[it].id }

    @PublishedApi internal suspend fun <S, V> runLoop(
        states: Codec<S>,
        values: Codec<V>,
        initial: S,
        goesOn: (S) -> Boolean,
        checkpointEvery: Int,
        stepKey: String?,
        body: suspend (WorkflowContext, S) -> LoopStep<S, V>,
    ): LoopEnd<S, V> {
        if (checkpointEvery < 1) throw UsageError("loop: checkpointEvery is at least 1")
        val where = { "state of a loop" }
        val first = states.encode(initial, where)
        val opened = open("loop", StepKind.LOOP, "", stepKey, first, checkpointEvery = checkpointEvery, mayBeUnnamed = true)
        val loop = opened.branch
        run.passCheckpoint(opened.future)
        val position = run.loopPosition(loop)
        var encoded = position.state.takeIf { it.isNotEmpty() } ?: first
        var state = states.decode(encoded, where)
        var result = if (position.isDone) position.result else ByteArray(0)
        var isOver = position.isDone
        while (!isOver && goesOn(state)) {
            val iteration = WorkflowContext(run, run.enterIteration(loop), 0)
            var checkpoint = 0
            try {
                when (val step = body(iteration, state)) {
                    is LoopStep.Continue -> encoded = states.encode(step.state, where)
                    is LoopStep.Break -> {
                        isOver = true
                        result = values.encode(step.value) { "result of a loop" }
                        if (step.hasState) encoded = states.encode(step.state(), where)
                    }
                }
                state = states.decode(encoded, where)
                if (!isOver && goesOn(state)) checkpoint = run.continueLoop(loop, encoded)
            } catch (error: Throwable) {
                if (run.violation == null) run.abandonLoop(loop)
                throw error
            }
            run.passCheckpoint(checkpoint)
        }
        run.passCheckpoint(run.endLoop(loop, encoded, result))
        return LoopEnd(state, if (result.isEmpty()) null else ({ values.decode(result) { "result of a loop" } }))
    }
}

/** What the body of a loop returns: [continueWith] or [breakWith]. */
public sealed class LoopStep<out S, out V> {
    internal class Continue<S>(val state: S) : LoopStep<S, Nothing>()

    internal class Break<S, V>(val value: V, val hasState: Boolean, val state: () -> S) : LoopStep<S, V>()
}

public fun <S> continueWith(state: S): LoopStep<S, Nothing> = LoopStep.Continue(state)

/** The state of the loop stays what it was. */
public fun <V> breakWith(value: V): LoopStep<Nothing, V> = LoopStep.Break(value, false) { error("there is none") }

public fun <S, V> breakWith(value: V, state: S): LoopStep<S, V> = LoopStep.Break(value, true) { state }

/** How a loop ended. */
public class LoopEnd<S, V> internal constructor(public val state: S, private val read: (() -> V)?) {
    public val isBroken: Boolean get() = read != null

    /** Of the break. */
    public val value: V get() = (read ?: throw UsageError("loop: it ended without a break, and so has no value"))()
}

public data class TaskOptions(
    val queue: String = "default",
    /** Higher ones are taken first. */
    val priority: Int = 0,
    /** Of one attempt; null: none, here and below. */
    val timeout: Duration? = null,
    /** Of all of it, from the call on. */
    val totalTimeout: Duration? = null,
    /** Until a worker takes it, each time. */
    val waitTimeout: Duration? = null,
    /** Between two heartbeats. */
    val heartbeatTimeout: Duration? = null,
    val retry: Retry = Retry(),
    val stepKey: String? = null,
) {
    internal fun toExtra(type: String): ByteArray {
        if (queue.isEmpty()) throw UsageError("schedule '$type': the queue must not be empty")
        return native {
            Native.taskExtra(
                queue.toByteArray(), priority, waitTimeout.limitMs { "schedule '$type': the waitTimeout" },
                timeout.limitMs { "schedule '$type': the timeout" }, totalTimeout.limitMs { "schedule '$type': the totalTimeout" },
                heartbeatTimeout.limitMs { "schedule '$type': the heartbeatTimeout" }, retry.attempts, retry.initial.roundedMs,
                retry.maximum.roundedMs, retry.factor, retry.jitter, retry.finalTypesText,
            )
        }
    }
}

public data class ChildOptions(
    val parentClose: ParentClose = ParentClose.CANCEL,
    val tags: Map<String, String> = emptyMap(),
    val stepKey: String? = null,
) {
    internal fun toExtra(): ByteArray = native {
        Native.childExtra(parentClose.number, if (tags.isEmpty()) null else payloadJson.encodeToString(tags).toByteArray())
    }
}
