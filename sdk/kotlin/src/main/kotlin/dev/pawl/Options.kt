package dev.pawl

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlin.time.Duration
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

/** A limit; 0: none. What is shorter than a millisecond is one. */
internal inline fun Duration?.limitMs(what: () -> String): Long = when {
    this == null || this == Duration.INFINITE -> 0
    isNegative() -> throw UsageError("${what()} is $this, which is negative")
    else -> inWholeMilliseconds.coerceAtLeast(1)
}

/** Zero stays zero; what is shorter than a millisecond is one. */
internal val Duration.roundedMs: Long get() = if (this > Duration.ZERO) inWholeMilliseconds.coerceAtLeast(1) else 0

/** When and how often an activity is tried again. */
public data class Retry(
    /** In all; 0: no limit. */
    val attempts: Int = 1,
    val initial: Duration = 1.seconds,
    /** Not less than [initial]. */
    val maximum: Duration = maxOf(1.minutes, initial),
    val factor: Double = 2.0,
    /** Part of the interval that is random: 0 to 1. */
    val jitter: Double = 0.1,
    /** Types of failures that are not tried again. */
    val finalTypes: List<String> = emptyList(),
) {
    init {
        if (attempts < 0) throw UsageError("retry: attempts is $attempts; 0 is for no limit")
        if (initial.isNegative()) throw UsageError("retry: initial is $initial; it is at least zero")
        if (maximum < initial) throw UsageError("retry: maximum is $maximum; it is at least initial, which is $initial")
        if (!(factor >= 1 && factor.isFinite())) throw UsageError("retry: factor is $factor; it is at least 1")
        if (!(jitter in 0.0..1.0)) throw UsageError("retry: jitter is $jitter; it is from 0 to 1")
        finalTypes.forEach { if (it.isEmpty() || '\n' in it) throw UsageError("retry: finalTypes has '$it', which is no type") }
    }

    internal val finalTypesText: ByteArray? get() = if (finalTypes.isEmpty()) null else finalTypes.joinToString("\n").toByteArray()
}

/** What happens to a child that is open when its parent ends. */
public enum class ParentClose(internal val number: Int) {
    CANCEL(Numbers.PAWL_PARENT_CLOSE_CANCEL),
    ABANDON(Numbers.PAWL_PARENT_CLOSE_ABANDON),
    TERMINATE(Numbers.PAWL_PARENT_CLOSE_TERMINATE),
}

/** How the steps of the code are found in the history; see docs/replay.md. */
public enum class Matching(internal val number: Int) {
    STRICT(Numbers.PAWL_STRICT),
    PER_KIND(Numbers.PAWL_PER_KIND),
    BY_NAME(Numbers.PAWL_BY_NAME),
}

/** What to do with open runs that were started under another fingerprint. */
public enum class OnChange(internal val number: Int) {
    /** Replay all of the history: if the code agrees with it, go on. */
    VERIFY(Numbers.PAWL_ON_CHANGE_VERIFY),

    /** Blocked until somebody decides. */
    REFUSE(Numbers.PAWL_ON_CHANGE_REFUSE),
}

/** What start does when there is a run with this id. */
public enum class OnExisting(internal val number: Int) {
    /** A handle to that one, whatever became of it. */
    RETURN(Numbers.PAWL_EXISTING_RETURN),

    /** Throws [AlreadyExists]. */
    FAIL(Numbers.PAWL_EXISTING_FAIL),

    /** An open one is terminated; the new one has the next number. */
    REPLACE(Numbers.PAWL_EXISTING_REPLACE),
}

@Serializable
public enum class Status(internal val number: Int) {
    @SerialName("running") RUNNING(Numbers.PAWL_RUN_RUNNING),

    @SerialName("waiting") WAITING(Numbers.PAWL_RUN_WAITING),

    @SerialName("compensating") COMPENSATING(Numbers.PAWL_RUN_COMPENSATING),

    @SerialName("completed") COMPLETED(Numbers.PAWL_RUN_COMPLETED),

    @SerialName("failed") FAILED(Numbers.PAWL_RUN_FAILED),

    @SerialName("cancelled") CANCELLED(Numbers.PAWL_RUN_CANCELLED),

    @SerialName("recurred") RECURRED(Numbers.PAWL_RUN_RECURRED),

    /** Needs a person; [Description.reason] says why. */
    @SerialName("blocked") BLOCKED(Numbers.PAWL_RUN_BLOCKED),
}

/** Kinds of steps, for [WorkflowContext.removed]. */
public enum class StepKind(internal val number: Int, internal val word: String) {
    TASK(Numbers.PAWL_TASK, "task"),
    OPERATION(Numbers.PAWL_OPERATION, "operation"),
    TIMER(Numbers.PAWL_TIMER, "timer"),
    PROMISE(Numbers.PAWL_PROMISE, "promise"),
    CHILD(Numbers.PAWL_CHILD, "child"),
    STATE(Numbers.PAWL_STATE, "state"),
    SIGNAL(Numbers.PAWL_SIGNAL, "signal"),
    BRANCH(Numbers.PAWL_BRANCH, "branch"),
    LOOP(Numbers.PAWL_LOOP, "loop"),
    VERSION_CHECK(Numbers.PAWL_VERSION_CHECK, "version_check"),
    COMPENSATION(Numbers.PAWL_COMPENSATION, "compensation"),
    CANCEL_TASK(Numbers.PAWL_CANCEL_TASK, "cancel_task"),
    CANCEL_TIMER(Numbers.PAWL_CANCEL_TIMER, "cancel_timer"),
}

/** The CloudEvents attributes of a signal. By [id] and [source] it is sent once. */
@Serializable
public data class SignalEvent(
    val id: String = "",
    val source: String = "",
    val type: String = "",
    val subject: String = "",
    val time: String = "",
    val datacontenttype: String = "",
    val dataschema: String = "",
    /** Other attributes, by their names. */
    val extensions: Map<String, String> = emptyMap(),
) {
    internal fun checkExtensions() {
        val bad = extensions.keys.firstOrNull { it in ATTRIBUTES || !it.matches(Regex("[a-z0-9]+")) } ?: return
        throw UsageError("the event's attribute '$bad' is no extension: that is named with a-z and 0-9, and not like another attribute")
    }

    private companion object {
        val ATTRIBUTES = setOf("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data")
    }
}

/** A signal's value with its event. */
public data class Signal<T>(val value: T, val event: SignalEvent)

/** Which run a workflow's code is for. */
public data class RunInfo(val id: String, val number: Int, val kind: String, val uuid: String)

/** What is known about a run. */
@Serializable
public data class Description(
    val id: String,
    val number: Int,
    val kind: String,
    val uuid: String,
    val status: Status,
    /** E.g. "signal approved". */
    val waitingFor: String = "",
    /** Milliseconds since 1970, as is [changed]: when the status last did. */
    val started: Long,
    val changed: Long,
    val paused: Boolean = false,
    val tags: Map<String, String> = emptyMap(),
    /** Of a blocked one: why. */
    val reason: String = "",
)

/** A page of runs, the newest first. */
@Serializable
public data class RunList(
    val runs: List<Description>,
    /** Where the next page begins; empty: that was all. */
    val next: String,
)
