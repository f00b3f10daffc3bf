package dev.pawl

import kotlinx.serialization.json.JsonElement
import kotlin.time.Duration

/** What Pawl throws, but for [DeterminismViolation]. */
public open class PawlException(message: String, cause: Throwable? = null) : RuntimeException(message, cause)

/** A call that can never work: an empty name, a context used outside of its workflow … */
public class UsageError internal constructor(message: String, internal val problem: String) : PawlException(message) {
    public constructor(message: String) : this(message, message)
}

/** A payload that cannot be written, or that does not hold what the code expects. */
public open class PayloadError(message: String, cause: Throwable? = null) : PawlException(message, cause)

/** It is larger than the engine allows. Nothing of it was recorded or sent. */
public class PayloadTooLarge(message: String) : PayloadError(message)

/** Why the code of a workflow and its history disagree: the fields of the report, and all of it as [text]. */
public data class Violation(
    val code: String,
    val headline: String,
    val runId: String,
    val location: String,
    val label: String,
    val recorded: String,
    val asked: String,
    val sourceNow: String,
    val sourceThen: String,
    val lastAgreed: String,
    val definitionThen: String,
    val definitionNow: String,
    val advice: String,
    val text: String,
)

/**
 * The code of the workflow disagrees with its history. The run goes no further, whether this is caught or not: it is
 * an [Error], so that handlers for exceptions do not see it. The report is stored with the run.
 */
public class DeterminismViolation(public val violation: Violation) : Error(violation.text)

/**
 * The run was asked to end. Leaving the workflow, it ends the run as cancelled. To clean up, catch it and go on: what
 * is awaited after it is not interrupted again.
 */
public class Cancelled(public val reason: String = "") : PawlException(if (reason.isEmpty()) "cancelled" else "cancelled: $reason")

/** What failed elsewhere and was recorded: by type and text, since the object itself is long gone. */
public open class Failure(
    /** What failed: "task 'charge'". */
    public val subject: String,
    /** The name of the original error's class. */
    public val type: String,
    override val message: String,
    public val details: JsonElement?,
) : PawlException(message) {
    override fun toString(): String = "${javaClass.simpleName}: $subject failed: ${if (type.isEmpty()) "" else "$type: "}$message"
}

/** An operation or a task failed for good. */
public class ActivityFailed(subject: String, type: String, message: String, details: JsonElement?) : Failure(subject, type, message, details)

public class ChildFailed(subject: String, type: String, message: String, details: JsonElement?) : Failure(subject, type, message, details)

public class PromiseRejected(subject: String, type: String, message: String, details: JsonElement?) : Failure(subject, type, message, details)

/** For clients: how a run ended. */
public class WorkflowFailed(subject: String, type: String, message: String, details: JsonElement?) : Failure(subject, type, message, details)

/** A promise, a signal, a future awaited with a limit, or the time limit of a client's call. */
public class TimedOut(message: String) : PawlException(message)

public class TaskCancelled(message: String) : PawlException(message)

public class TimerCancelled(message: String) : PawlException(message)

public class ChildCancelled(message: String) : PawlException(message)

/** For clients: how a run ended. */
public class WorkflowCancelled(runId: String, public val reason: String) :
    PawlException("run '$runId' was cancelled" + if (reason.isEmpty()) "" else ": $reason")

/** The store cannot be opened, or does not work. */
public class StoreError(message: String) : PawlException(message)

/** No such run or promise. */
public class NotFound(message: String) : PawlException(message)

/** There is a run with this id, or the promise has its answer. */
public class AlreadyExists(message: String) : PawlException(message)

/** The run has ended, or the engine has been closed. */
public class Closed(message: String) : PawlException(message)

/** Thrown by an activity that has more to say than a class and a text. */
public class ActivityError(
    public val type: String,
    message: String,
    public val details: JsonElement? = null,
    /** Not tried again, whatever the retry policy says. */
    public val isFinal: Boolean = false,
    /** Before the next attempt, instead of the policy's. */
    public val nextDelay: Duration? = null,
) : PawlException(message)

/** Thrown by [Activity.checkStop]: the attempt ends because nobody wants it any more. */
public class ActivityStopped : PawlException("the attempt was asked to stop")

/** Ends the workflow's function on its way to the next run. No error, and no handler should see it. */
internal class Recurred(val input: ByteArray) : Throwable(null, null, false, false)

/** What a refused call is for users. */
internal fun exceptionFor(status: Int, message: String): PawlException = when (status) {
    Numbers.PAWL_NOT_FOUND -> NotFound(message)
    Numbers.PAWL_ALREADY_EXISTS -> AlreadyExists(message)
    Numbers.PAWL_CLOSED -> Closed(message)
    Numbers.PAWL_TIMED_OUT -> TimedOut(message)
    Numbers.PAWL_LIMIT_EXCEEDED -> PayloadTooLarge(message)
    Numbers.PAWL_MALFORMED_INPUT, Numbers.PAWL_INVALID_ARGUMENT, Numbers.PAWL_INVALID_STATE -> UsageError(message)
    Numbers.PAWL_CORRUPT_LOG, in Numbers.PAWL_STORE_BUSY..Numbers.PAWL_UNKNOWN_OUTCOME -> StoreError(message)
    else -> PawlException("$message (${Native.statusName(status)})")
}

internal fun checkName(what: String, name: String) {
    if (name.isEmpty()) throw UsageError("$what: the name must not be empty")
}

/** Calls native code; what it refuses is thrown as users know it. */
internal inline fun <T> native(call: () -> T): T = try {
    call()
} catch (failure: NativeFailure) {
    throw exceptionFor(failure.status, failure.message ?: "")
}
