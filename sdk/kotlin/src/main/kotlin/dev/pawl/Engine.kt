package dev.pawl

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import kotlin.concurrent.thread
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlin.time.Duration.Companion.milliseconds

public object Pawl {
    /** Opens the store, e.g. "sqlite:shop.db" or "postgres://…", and starts to work on what [setup] names. */
    public fun open(url: String, setup: EngineBuilder.() -> Unit = {}): Engine {
        if (url.isEmpty()) throw UsageError("open: the url is empty: give e.g. \"sqlite:app.db\"")
        return Engine(url, EngineBuilder().apply(setup), isTest = false, replayEveryTurn = false)
    }

    /** Of the native library: "1.2.3". */
    public val version: String get() = Native.version()
}

/**
 * Runs workflows on a store, and is the client for them. Thread-safe. A run is named by its id; the newest one with
 * that id is meant. Not to be used from workflow code.
 */
public open class Engine internal constructor(url: String, builder: EngineBuilder, private val isTest: Boolean, replayEveryTurn: Boolean) : AutoCloseable {
    init {
        builder.check()
    }

    private val handle: Long
    internal val engineHandle: Long get() = handle
    private val workflows = builder.workflows
    private val activities = builder.activities
    private val fakes = builder.fakes
    private val onTrouble = builder.onTrouble
    private val runs = ConcurrentHashMap<Long, EngineRun>()
    private val orphans = ConcurrentHashMap<Long, Orphans>()
    private val calls = ConcurrentHashMap<Long, CancellableContinuation<Reply>>()
    private val lastTag = AtomicLong()
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO.limitedParallelism(builder.activityThreads))
    private val pollers: List<Thread>

    @Volatile private var isClosed = false

    /** Of workflow code; null: none runs. */
    @Volatile private var turn: Turn? = null
    internal val runsInMemory: Int get() = runs.size

    init {
        handle = native {
            Native.engineOpen(
                url.toByteArray(), builder.workerName.toByteArray(), builder.lease.roundedMs, builder.cacheBytes,
                builder.payloadBytesMax, payloadJson.encodeToString(builder.queues).toByteArray(), isTest, replayEveryTurn,
            )
        }
        try {
            native { register(builder.work) }
        } catch (error: Throwable) {
            Native.engineFree(handle)
            throw error
        }
        pollers = listOf(
            poller("pawl-workflows", Numbers.PAWL_EVENT_ACTIVATION or Numbers.PAWL_EVENT_FORGET),
            poller("pawl-events", Numbers.PAWL_EVENT_OPERATION or Numbers.PAWL_EVENT_TASK or Numbers.PAWL_EVENT_REPLY or Numbers.PAWL_EVENT_TROUBLE),
        )
        scope.launch(Dispatchers.Default) { watchTurns() }
    }

    /** Code does not change within a process: what disagrees with a test's history is not deterministic. */
    private fun fingerprintOf(workflow: WorkflowDefinition) = workflow.fingerprint.ifEmpty { if (isTest) "test" else "" }

    private fun register(work: Boolean) {
        for ((kind, it) in workflows) {
            Native.engineAddWorkflow(handle, kind.toByteArray(), it.matching.number, fingerprintOf(it).toByteArray(), it.onChange.number)
        }
        for (name in activities.keys + fakes.keys) {
            val retry = activities[name]?.compensationRetry
            Native.engineAddActivity(
                handle, name.toByteArray(), retry?.attempts ?: -1, retry?.initial?.roundedMs ?: 0,
                retry?.maximum?.roundedMs ?: 0, retry?.factor ?: 0.0, retry?.jitter ?: 0.0, retry?.finalTypesText,
            )
        }
        if (work) Native.engineStart(handle)
    }

    /** Gives back the runs and stops. Nothing works after it. */
    override fun close() {
        synchronized(this) {
            if (isClosed) return
            isClosed = true
        }
        Native.engineStop(handle)
        scope.cancel()
        pollers.filter { it !== Thread.currentThread() }.forEach { it.join(STOP_MS) } // A workflow that never blocks keeps its thread.
        Native.engineFree(handle)
        calls.keys.forEach { tag -> calls.remove(tag)?.resumeWithException(closed()) }
    }

    internal fun checkOpen() {
        if (isClosed) throw closed()
    }

    private fun closed() = Closed("the engine has been closed")

    // --- Events ---

    private class Event(block: Block) {
        val kind = block.int()
        val isNew = block.int() != 0
        val context = block.long()
        val attempt = block.long()
        val future = block.int()
        val number = block.int()
        val status = block.int()
        val runStatus = block.int()
        val flag = block.int() != 0
        val runId = block.text()
        val runUuid = block.text()
        val name = block.text()
        val payload = block.bytes()
        val key = block.text()
        val details = block.bytes()
    }

    private fun poller(name: String, kinds: Int) = thread(name = name, isDaemon = true) {
        try {
            while (true) {
                val block = Block(Native.enginePoll(handle, kinds, EVENTS_AT_ONCE, -1))
                repeat(block.int()) { handleSafely(Event(block)) }
            }
        } catch (failure: NativeFailure) {
            if (!isClosed) trouble("polling has ended: ${failure.message}")
        }
    }

    /** What goes wrong with one event must not be the end of all others. */
    private fun handleSafely(event: Event) {
        try {
            handle(event)
        } catch (error: Throwable) {
            trouble("run '${event.runId}': a defect of this SDK: $error")
        }
    }

    private fun trouble(text: String) {
        try {
            onTrouble(text)
        } catch (error: Throwable) {
            System.err.println("pawl: $text (and onTrouble has thrown a ${error.javaClass.name})")
        }
    }

    private fun handle(event: Event) {
        when (event.kind) {
            Numbers.PAWL_EVENT_ACTIVATION -> activate(event)
            Numbers.PAWL_EVENT_FORGET -> forget(event.context)
            Numbers.PAWL_EVENT_OPERATION -> attempt(event, (runs[event.context]?.operations ?: orphans[event.context]?.operations)?.get(event.future))
            Numbers.PAWL_EVENT_TASK -> attempt(event, (fakes[event.name] ?: activities[event.name])?.let { found -> { found.body(it, event.payload) } })
            Numbers.PAWL_EVENT_REPLY -> answerCall(event)
            Numbers.PAWL_EVENT_TROUBLE -> trouble(String(event.payload))
        }
    }

    /**
     * The code is gone, but attempts of its operations may be on their way, or in the hands of the other thread: their
     * functions are kept for a while.
     */
    private fun forget(context: Long) {
        val now = System.nanoTime()
        orphans.values.removeIf { now - it.since > ORPHANS_NS }
        val run = runs[context] ?: return
        if (run.operations.isNotEmpty()) orphans[context] = Orphans(now, run.operations)
        runs.remove(context)
    }

    private class Orphans(val since: Long, val operations: Map<Int, ActivityBody>)

    /**
     * The code of a run goes on, on this thread, as far as it can. However that ends, the context is given back, or the
     * run would wait for it. One that is taken away because the engine stops is nobody's trouble.
     */
    private fun activate(event: Event) {
        turn = Turn(event.runId)
        try {
            if (event.isNew) {
                val info = RunInfo(event.runId, event.number, event.name, event.runUuid)
                val run = EngineRun(event.context, info)
                runs[event.context] = run
                run.code.start(workflows.getValue(event.name).body, event.payload)
            }
            val run = runs.getValue(event.context)
            run.code.goOn()
            if (run.code.end != null) {
                run.code.finish()
                if (run.code.violation == null) forget(event.context)
            }
        } catch (failure: NativeFailure) {
            refused(event, failure)
        } catch (error: Throwable) {
            if (isClosed) return
            trouble("run '${event.runId}': a defect of this SDK: $error")
            giveUp(event, error)
        } finally {
            giveBack(event)
            turn = null
        }
    }

    private fun refused(event: Event, failure: NativeFailure) {
        if (!isClosed) trouble("run '${event.runId}': ${failure.message}")
    }

    private fun giveUp(event: Event, error: Throwable) {
        try {
            Native.contextFinish(event.context, Numbers.PAWL_END_FAILED, RecordedFailure.of(error).toPayload())
            forget(event.context)
        } catch (_: NativeFailure) {
            // It cannot be finished: given back as it is.
        }
    }

    private fun giveBack(event: Event) {
        try {
            Native.contextYield(event.context)
        } catch (failure: NativeFailure) {
            refused(event, failure)
        }
    }

    private class Turn(val runId: String) {
        private val since = System.nanoTime()
        private var isTold = false

        /** True once, when it has taken too long. */
        fun isNews(): Boolean = (!isTold && System.nanoTime() - since > LONG_TURN_NS).also { if (it) isTold = true }
    }

    private suspend fun watchTurns() {
        while (true) {
            delay(WATCH_MS)
            val long = turn?.takeIf { it.isNews() } ?: continue
            trouble(
                "run '${long.runId}': its code runs for seconds without a step, and all other runs of this engine wait: " +
                    "put what blocks or takes long into an activity",
            )
        }
    }

    private inner class EngineRun(context: Long, info: RunInfo) : RunHost {
        val code = WorkflowRun(context, this, info)
        val operations = ConcurrentHashMap<Int, ActivityBody>()

        override fun beforeEntry(run: WorkflowRun) = Unit

        override fun execute(run: WorkflowRun, future: Int, name: String, input: ByteArray?, body: ActivityBody, retry: Retry, timeoutMs: Long) {
            val function = fakes[name]?.let { fake -> { activity -> fake.body(activity, input ?: nullPayload) } } ?: body
            operations[future] = function
            run.call("run '$name'") {
                Native.contextExecute(
                    run.context, future, retry.attempts, retry.initial.roundedMs, retry.maximum.roundedMs,
                    retry.factor, retry.jitter, retry.finalTypesText, timeoutMs,
                )
            }
        }

        override fun send(run: WorkflowRun, future: Int, runId: String, signal: String, payload: ByteArray, extra: ByteArray?, dedupe: ByteArray?) =
            run.call("sendSignal '$signal'") {
                Native.contextSend(run.context, future, runId.toByteArray(), signal.toByteArray(), payload, extra, dedupe)
            }

        override fun failurePayload(error: Throwable): ByteArray = RecordedFailure.of(error).toPayload()

        override fun delivered(future: Int) {
            operations.remove(future)
        }
    }

    // --- Attempts ---

    private inner class Attempt(event: Event) : Activity(event.runId, event.name, event.key, event.number, event.details) {
        private val number = event.attempt

        override val shouldStop: Boolean get() = isClosed || Native.attemptShouldStop(handle, number)

        override fun heartbeatPayload(details: ByteArray?): Boolean = !isClosed && !native { Native.attemptHeartbeat(handle, number, details) }
    }

    private fun attempt(event: Event, body: ActivityBody?) {
        if (body == null) return fail(event, IllegalStateException("nobody has the code of '${event.name}' any more"))
        scope.launch {
            val result = try {
                body(Attempt(event))
            } catch (error: Throwable) {
                return@launch fail(event, error)
            }
            answer { Native.attemptComplete(handle, event.attempt, result) }
        }
    }

    private fun fail(event: Event, error: Throwable) = answer {
        val failure = RecordedFailure.of(error)
        val told = error as? ActivityError
        Native.attemptFail(
            handle, event.attempt, failure.type.toByteArray(), failure.message.toByteArray(), failure.details?.toString()?.toByteArray(),
            isFinal = told?.isFinal == true || error is PayloadError, isCancelled = error is ActivityStopped,
            nextDelay = told?.nextDelay?.coerceAtLeast(1.milliseconds)?.inWholeMilliseconds ?: -1,
        )
    }

    private inline fun answer(call: () -> Unit) {
        try {
            call()
        } catch (failure: NativeFailure) {
            val isUnwanted = isClosed || failure.status == Numbers.PAWL_NOT_FOUND || failure.status == Numbers.PAWL_CLOSED
            if (!isUnwanted) trouble("the end of an attempt: ${failure.message}")
        }
    }

    // --- Clients' calls ---

    internal class Reply(val status: Int, val payload: ByteArray, val runStatus: Int, val flag: Boolean)

    /** Never runs the caller's code on this thread, which others wait for. */
    private fun answerCall(event: Event) {
        val waiting = calls.remove(event.attempt) ?: return
        val reply = Reply(event.status, event.payload, event.runStatus, event.flag)
        when (waiting.context[ContinuationInterceptor]) {
            null, Dispatchers.Unconfined -> Dispatchers.Default.dispatch(EmptyCoroutineContext) { waiting.resume(reply) }
            else -> waiting.resume(reply)
        }
    }

    /** Workflow code that waited for an engine would wait for itself, and would do it again on each replay. */
    internal fun refuseInWorkflow(what: String) {
        if (WorkflowRun.isAnyDrivenHere) throw UsageError("$what from workflow code: use ctx.child(), ctx.sendSignal(), or an activity")
    }

    internal suspend fun ask(call: (Long, Long) -> Unit): Reply {
        refuseInWorkflow("a call of an engine")
        val reply = suspendCancellableCoroutine { waiting ->
            val tag = lastTag.incrementAndGet()
            calls[tag] = waiting
            waiting.invokeOnCancellation { calls.remove(tag) }
            try {
                checkOpen()
                native { call(handle, tag) }
            } catch (error: PawlException) {
                calls.remove(tag)?.resumeWithException(if (isClosed) closed() else error)
            }
        }
        if (reply.status != 0) throw exceptionFor(reply.status, String(reply.payload))
        return reply
    }

    /** Starts a run. An empty id: a new one is made. Its kind need not be one of this engine's. */
    public suspend inline fun <reified I, reified R> start(
        kind: String,
        id: String,
        input: I,
        onExisting: OnExisting = OnExisting.RETURN,
        tags: Map<String, String> = emptyMap(),
    ): RunHandle<R> = startRun(kind, id, encodeFor(input) { "input of run '$id'" }, onExisting, tags, codecOf { "result of run '$id'" })

    /** One without input. */
    public suspend inline fun <reified R> start(
        kind: String,
        id: String,
        onExisting: OnExisting = OnExisting.RETURN,
        tags: Map<String, String> = emptyMap(),
    ): RunHandle<R> = startRun(kind, id, nullPayload, onExisting, tags, codecOf { "result of run '$id'" })

    /** Starts the run unless it is there, and sends it a signal, in one commit. */
    public suspend inline fun <reified I, reified T, reified R> signalWithStart(
        kind: String,
        id: String,
        input: I,
        signal: String,
        value: T,
        event: SignalEvent = SignalEvent(),
        onExisting: OnExisting = OnExisting.RETURN,
        tags: Map<String, String> = emptyMap(),
    ): RunHandle<R> = startRun(
        kind, id, encodeFor(input) { "input of run '$id'" }, onExisting, tags, codecOf { "result of run '$id'" },
        signal, encodeFor(value) { "signal '$signal'" }, event,
    )

    /** A handle to a run that is there. Throws [NotFound]. */
    public suspend inline fun <reified R> get(id: String): RunHandle<R> {
        describe(id)
        return handleOf(id, codecOf { "result of run '$id'" })
    }

    public suspend fun describe(id: String): Description =
        payloadJson.decodeFromString(String(ask { engine, tag -> Native.clientDescribe(engine, id.toByteArray(), tag) }.payload))

    /** A page of runs: all of what is given must hold. [cursor] is [RunList.next] of the page before. */
    public suspend fun list(
        kinds: List<String> = emptyList(),
        statuses: List<Status> = emptyList(),
        tags: Map<String, String> = emptyMap(),
        limit: Int = 100,
        cursor: String = "",
    ): RunList {
        val query = buildJsonObject {
            put("kinds", JsonArray(kinds.map(::JsonPrimitive)))
            put("statuses", JsonArray(statuses.map { JsonPrimitive(it.name.lowercase()) }))
            put("tags", JsonObject(tags.mapValues { JsonPrimitive(it.value) }))
            put("limit", JsonPrimitive(limit))
            put("cursor", JsonPrimitive(cursor))
        }
        return payloadJson.decodeFromString(String(ask { engine, tag -> Native.clientList(engine, query.toString().toByteArray(), tag) }.payload))
    }

    public suspend inline fun <reified T> resolve(runId: String, promise: String, value: T): Unit =
        resolvePromise(runId, promise, encodeFor(value) { "promise '$promise'" })

    public suspend fun reject(runId: String, promise: String, type: String, message: String, details: JsonElement? = null) {
        checkName("reject", promise)
        ask { engine, tag ->
            Native.clientReject(
                engine, runId.toByteArray(), promise.toByteArray(), type.toByteArray(), message.toByteArray(), details?.toString()?.toByteArray(), tag,
            )
        }
    }

    /** By the text that [PromiseFuture.token] gave. */
    public suspend inline fun <reified T> resolveToken(token: String, value: T) {
        val (run, promise) = partsOf(token)
        resolve(run, promise, value)
    }

    public suspend fun rejectToken(token: String, type: String, message: String, details: JsonElement? = null) {
        val (run, promise) = partsOf(token)
        reject(run, promise, type, message, details)
    }

    /** For callers that do not suspend: `engine.blocking { start<…>(…).result() }`. */
    public fun <T> blocking(calls: suspend Engine.() -> T): T {
        refuseInWorkflow("blocking")
        return runBlocking { calls() }
    }

    @PublishedApi internal fun partsOf(token: String): Pair<String, String> =
        native { Native.promiseTokenParts(token.toByteArray()) }.let { String(it[0]) to String(it[1]) }

    @PublishedApi internal inline fun <reified T> encodeFor(value: T, where: () -> String): ByteArray = encode(where(), codecOf(where), value)

    @PublishedApi internal fun <T> encode(where: String, codec: Codec<T>, value: T): ByteArray = codec.encode(value) { where }

    @PublishedApi internal fun <R> handleOf(id: String, codec: Codec<R>): RunHandle<R> = RunHandle(this, id, false, codec)

    @PublishedApi internal suspend fun resolvePromise(runId: String, promise: String, payload: ByteArray) {
        checkName("resolve", promise)
        ask { engine, tag -> Native.clientResolve(engine, runId.toByteArray(), promise.toByteArray(), payload, tag) }
    }

    @PublishedApi internal suspend fun <R> startRun(
        kind: String,
        id: String,
        input: ByteArray,
        onExisting: OnExisting,
        tags: Map<String, String>,
        codec: Codec<R>,
        signal: String? = null,
        signalPayload: ByteArray? = null,
        event: SignalEvent = SignalEvent(),
    ): RunHandle<R> {
        if (kind.isEmpty()) throw UsageError("start: the kind must not be empty")
        if (signal != null) checkName("signalWithStart", signal)
        val tagsText = if (tags.isEmpty()) null else payloadJson.encodeToString(tags).toByteArray()
        val reply = ask { engine, tag ->
            Native.clientStart(
                engine, kind.toByteArray(), id.toByteArray(), input, onExisting.number, tagsText,
                signal?.toByteArray(), signalPayload, event.toPayload(), tag,
            )
        }
        return RunHandle(this, String(reply.payload), reply.flag, codec)
    }

    private companion object {
        const val EVENTS_AT_ONCE = 256
        const val STOP_MS = 10_000L
        const val ORPHANS_NS = 60_000_000_000L
        const val LONG_TURN_NS = 4_000_000_000L
        const val WATCH_MS = 1_000L
    }
}

/** Null if nothing is given. */
internal fun SignalEvent.toPayload(): ByteArray? = if (this == SignalEvent()) {
    null
} else {
    checkExtensions()
    val fields = listOf(
        "id" to id, "source" to source, "type" to type, "subject" to subject, "time" to time,
        "datacontenttype" to datacontenttype, "dataschema" to dataschema,
    ).filter { it.second.isNotEmpty() } + extensions.toList()
    JsonObject(fields.associate { it.first to JsonPrimitive(it.second) }).toString().toByteArray()
}
