package dev.pawl

/** The outcome to come of a step. For the code of its own workflow only. */
public open class Future<T> internal constructor(
    internal val run: WorkflowRun,
    internal val id: Int,
    private val kind: StepKind,
    private val name: String,
    private val read: (Outcome) -> T,
) {
    internal class Outcome(val payload: ByteArray?, val extra: ByteArray)

    /** Its value. Throws how it failed, or [Cancelled] if the run is asked to end while it waits. */
    public suspend fun await(): T {
        run.await(Numbers.PAWL_AWAIT_ALL, intArrayOf(id))
        return value()
    }

    /** It has an outcome that this run has seen. */
    public val isDone: Boolean
        get() {
            run.check("isDone")
            return Block(run.call("isDone") { Native.contextOutcome(run.context, id) }).int() != 0
        }

    /** "task 'charge'" */
    internal val subject: String
        get() = "${kind.word} '${name.ifEmpty { String(run.call("await") { Native.contextCommandId(run.context, id) }) }}'"

    internal fun value(): T {
        val block = Block(run.call("await") { Native.contextOutcome(run.context, id) })
        val outcome = block.int()
        val hasPayload = block.int() != 0
        val payload = block.bytes()
        when (outcome) {
            Numbers.PAWL_VALUE -> return read(Outcome(if (hasPayload) payload else null, block.bytes()))
            Numbers.PAWL_TIMEOUT -> throw TimedOut("$subject timed out")
            Numbers.PAWL_CANCELLED -> throw cancelled("$subject was cancelled")
            Numbers.PAWL_FAILED -> throw failed(if (hasPayload) RecordedFailure.read(payload) else RecordedFailure("", "$subject failed", null))
            else -> throw UsageError("$subject is not complete")
        }
    }

    private fun cancelled(text: String): PawlException = when (kind) {
        StepKind.TIMER -> TimerCancelled(text)
        StepKind.CHILD -> ChildCancelled(text)
        else -> TaskCancelled(text)
    }

    private fun failed(failure: RecordedFailure): Failure = when (kind) {
        StepKind.CHILD -> ChildFailed(subject, failure.type, failure.message, failure.details)
        StepKind.PROMISE -> PromiseRejected(subject, failure.type, failure.message, failure.details)
        else -> ActivityFailed(subject, failure.type, failure.message, failure.details)
    }
}

/** A promise: somebody outside resolves or rejects it, by the run's id and its name or by [token]. */
public class PromiseFuture<T> internal constructor(run: WorkflowRun, id: Int, private val name: String, read: (Outcome) -> T) :
    Future<T>(run, id, StepKind.PROMISE, name, read) {
    public val token: String
        get() = String(run.call("token") { Native.promiseToken(run.info.id.toByteArray(), name.toByteArray()) })
}
