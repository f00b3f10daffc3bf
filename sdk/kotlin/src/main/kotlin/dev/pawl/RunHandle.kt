package dev.pawl

import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration

/** A run, to ask about it and to act on it. */
public class RunHandle<R> internal constructor(
    private val engine: Engine,
    public val id: String,
    /** The call that gave this handle has started it. */
    public val isNew: Boolean,
    private val codec: Codec<R>,
) {
    private val name = id.toByteArray()

    /**
     * Waits for the end of the run, and of those it recurs to; a blocked one has not ended. Throws [WorkflowFailed] or
     * [WorkflowCancelled].
     */
    public suspend fun result(): R {
        val reply = engine.ask { handle, tag -> Native.clientResult(handle, name, tag) }
        when (reply.runStatus) {
            Numbers.PAWL_RUN_COMPLETED -> return codec.decode(reply.payload) { "result of run '$id'" }
            Numbers.PAWL_RUN_CANCELLED -> throw WorkflowCancelled(id, RecordedFailure.read(reply.payload).message)
            else -> {
                val failure = RecordedFailure.read(reply.payload)
                throw WorkflowFailed("run '$id'", failure.type, failure.message, failure.details)
            }
        }
    }

    /** The same, or [TimedOut] after [limit]. */
    public suspend fun result(limit: Duration): R {
        class Box(val value: R)
        return (withTimeoutOrNull(limit) { Box(result()) } ?: throw TimedOut("run '$id' has not ended within $limit")).value
    }

    public suspend fun describe(): Description = engine.describe(id)

    /** Its log: a JSON array. */
    public suspend fun history(): String = String(engine.ask { handle, tag -> Native.clientHistory(handle, name, tag) }.payload)

    /** False: the event, by its id and source, was sent before. */
    public suspend inline fun <reified T> signal(signal: String, value: T, event: SignalEvent = SignalEvent()): Boolean =
        send(signal, codecOf { "signal '$signal'" }, value, event)

    public suspend fun signal(signal: String): Boolean = signal(signal, Unit)

    public suspend inline fun <reified T> resolve(promise: String, value: T): Unit = resolveWith(promise, codecOf { "promise '$promise'" }, value)

    public suspend fun reject(promise: String, type: String, message: String): Unit = engine.reject(id, promise, type, message)

    public suspend fun cancel(reason: String = "") {
        // It is recorded as it is; what would be read as JSON is written as JSON.
        val isPlain = RecordedFailure.read(reason.toByteArray()).message == reason
        val payload = if (isPlain) reason else payloadJson.encodeToString(reason)
        engine.ask { handle, tag -> Native.clientCancel(handle, name, payload.toByteArray(), tag) }
    }

    /** Ends it at once; no code of it runs any more, no compensation either. */
    public suspend fun terminate(reason: String = "") {
        engine.ask { handle, tag -> Native.clientTerminate(handle, name, reason.toByteArray(), tag) }
    }

    /** Holds it where it is. False: it was so before. */
    public suspend fun pause(): Boolean = engine.ask { handle, tag -> Native.clientPause(handle, name, true, tag) }.flag

    public suspend fun unpause(): Boolean = engine.ask { handle, tag -> Native.clientPause(handle, name, false, tag) }.flag

    /** Has a blocked run tried again. */
    public suspend fun resume() {
        engine.ask { handle, tag -> Native.clientResume(handle, name, tag) }
    }

    /** For callers that do not suspend. */
    public fun resultBlocking(): R {
        engine.refuseInWorkflow("resultBlocking")
        return runBlocking { result() }
    }

    @PublishedApi internal suspend fun <T> send(signal: String, codec: Codec<T>, value: T, event: SignalEvent): Boolean {
        checkName("signal", signal)
        val payload = codec.encode(value) { "signal '$signal'" }
        return engine.ask { handle, tag -> Native.clientSignal(handle, name, signal.toByteArray(), payload, event.toPayload(), tag) }.flag
    }

    @PublishedApi internal suspend fun <T> resolveWith(promise: String, codec: Codec<T>, value: T): Unit =
        engine.resolvePromise(id, promise, codec.encode(value) { "resolve '$promise'" })
}
