package dev.pawl

/** One attempt of an activity or an operation, for the function that runs it. */
public abstract class Activity internal constructor(
    public val runId: String,
    public val name: String,
    /** The same for every attempt of this step and for no other one: an idempotency key. */
    public val key: String,
    /** From 1. */
    public val attempt: Int,
    @PublishedApi internal val lastDetailsPayload: ByteArray?,
) {
    /** The time limit is over, somebody cancelled it, its run has ended, or the engine stops: end soon. */
    public abstract val shouldStop: Boolean

    /** Throws [ActivityStopped] if it should stop. */
    public fun checkStop() {
        if (shouldStop) throw ActivityStopped()
    }

    /** Says that it is alive. False: it should stop. */
    public fun heartbeat(): Boolean = heartbeatPayload(null)

    /** The next attempt gets [details], if this one fails. */
    public inline fun <reified T> heartbeat(details: T): Boolean = heartbeatPayload(encodeDetails(codecOf { "heartbeat of '$name'" }, details))

    /** What an earlier attempt said last. */
    public inline fun <reified T> lastDetails(): T? = decodeDetails(codecOf { "heartbeat details of '$name'" })

    @PublishedApi internal fun <T> encodeDetails(codec: Codec<T>, details: T): ByteArray = codec.encode(details) { "heartbeat of '$name'" }

    @PublishedApi internal fun <T> decodeDetails(codec: Codec<T>): T? =
        lastDetailsPayload?.takeIf { it.isNotEmpty() }?.let { codec.decode(it) { "heartbeat details of '$name'" } }

    @PublishedApi internal abstract fun heartbeatPayload(details: ByteArray?): Boolean
}
