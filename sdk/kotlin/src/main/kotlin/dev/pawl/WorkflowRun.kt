package dev.pawl

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.Delay
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.ThreadContextElement
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.Continuation
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.coroutineContext
import kotlin.coroutines.intrinsics.COROUTINE_SUSPENDED
import kotlin.coroutines.intrinsics.createCoroutineUnintercepted
import kotlin.coroutines.intrinsics.intercepted
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn
import kotlin.coroutines.resume

/** A workflow's function, with its types removed. */
internal typealias WorkflowBody = suspend (WorkflowContext, ByteArray) -> ByteArray

/** What executes an operation's attempt: takes what it may know about it, returns the encoded result. */
internal typealias ActivityBody = suspend (Activity) -> ByteArray

/** What differs between the runs of an engine and those of a replayer. */
internal interface RunHost {
    /** Before an entry is made. */
    fun beforeEntry(run: WorkflowRun)
    fun execute(run: WorkflowRun, future: Int, name: String, input: ByteArray?, body: ActivityBody, retry: Retry, timeoutMs: Long)
    fun send(run: WorkflowRun, future: Int, runId: String, signal: String, payload: ByteArray, extra: ByteArray?, dedupe: ByteArray?)
    fun failurePayload(error: Throwable): ByteArray

    /** The future has its outcome: nobody is asked to execute it any more. */
    fun delivered(future: Int)
}

/** How a workflow's function ended: a number of PAWL_END_…, and its payload. */
internal class RunEnd(val kind: Int, val payload: ByteArray, val error: Throwable? = null)

/**
 * The code of one run. It is driven by one thread at a time: what is ready goes on in the order in which it became
 * ready, until all of it is blocked on steps; then the next delivery says who goes on.
 */
internal class WorkflowRun(val context: Long, val host: RunHost, val info: RunInfo) {
    private val blocked = HashMap<Long, Continuation<Over>>()
    private val ready = ArrayDeque<() -> Unit>()
    private val strands = LinkedHashSet<Strand>()
    private val ints = IntArray(3)
    private val longs = LongArray(3)

    @Volatile private var driver: Thread? = null

    @Volatile private var lost: UsageError? = null

    private var recurred: Recurred? = null

    /** The code is not run any more: it disagrees with history. */
    var violation: DeterminismViolation? = null
        private set
    var end: RunEnd? = null
        private set

    // --- Driving ---

    fun start(body: WorkflowBody, input: ByteArray) = drive {
        val root = Strand(this, shields = 0)
        val function: suspend () -> ByteArray = { body(WorkflowContext(this, 0, 0), input) }
        launch(root, function) { result -> end = endOf(result) }
    }

    /** Delivers what there is; the code has run as far as it can. */
    fun goOn() = drive {
        while (violation == null && end == null) {
            checkNotLost()
            if (end != null) break
            val woken = call("") { Native.contextNextDelivery(context) } ?: break
            if (woken[0] != 0L) host.delivered(woken[0].toInt())
            for (i in 1 until woken.size step 3) {
                blocked.remove(woken[i])?.resume(Over(woken[i + 1].toInt(), woken[i + 2].toInt()))
                runReady()
            }
        }
    }

    /** Tells how it ended. What the library does not take as a result fails the run. */
    fun finish() = drive {
        lost?.let { end = RunEnd(Numbers.PAWL_END_FAILED, host.failurePayload(it), it) }
        val end = end ?: return@drive
        host.beforeEntry(this)
        val refusal = finishAs(end.kind, end.payload) ?: return@drive
        if (refusal.status != Numbers.PAWL_LIMIT_EXCEEDED) throw refusal
        val error = PayloadTooLarge("result of workflow '${info.kind}': ${refusal.message}")
        finishAs(Numbers.PAWL_END_FAILED, host.failurePayload(error))?.let { throw it }
    }

    /** What the library refuses, unless it is a violation. */
    private fun finishAs(kind: Int, payload: ByteArray): NativeFailure? {
        try {
            Native.contextFinish(context, kind, payload)
        } catch (failure: NativeFailure) {
            if (failure.status != Numbers.PAWL_DETERMINISM_VIOLATION) return failure
            violate()
        }
        return null
    }

    private inline fun drive(code: () -> Unit) {
        driver = Thread.currentThread()
        driven.set(this)
        try {
            code()
            runReady()
        } catch (_: DeterminismViolation) {
            // Told by `violation`.
        } finally {
            driven.remove()
            driver = null
        }
    }

    /** Runs what is not the workflow's code, in the middle of it, on its thread. */
    inline fun <T> outside(code: () -> T): T {
        driver = null
        driven.remove()
        try {
            return code()
        } finally {
            driven.set(this)
            driver = Thread.currentThread()
        }
    }

    private fun runReady() {
        while (violation == null && end == null) {
            (ready.removeFirstOrNull() ?: return)()
        }
    }

    /** Everything that has not ended must wait for a step, or nobody would ever wake it. */
    private fun checkNotLost() {
        val error = lost ?: if (strands.any { it.waits == 0 }) notAStep() else return
        end = RunEnd(Numbers.PAWL_END_FAILED, host.failurePayload(error), error)
    }

    fun notAStep() = UsageError(
        "the workflow waits for something that is not a step, e.g. delay() or withContext(): use ctx.sleep(), or put it into an activity",
    )

    private fun endOf(result: Result<ByteArray>): RunEnd? {
        val error = result.exceptionOrNull()
        val next = recurred
        return when {
            violation != null -> null
            next != null -> RunEnd(Numbers.PAWL_END_RECURRED, next.input)
            error == null -> RunEnd(Numbers.PAWL_END_COMPLETED, result.getOrThrow())
            error is Cancelled -> RunEnd(
                Numbers.PAWL_END_CANCELLED,
                Native.contextCancelled(context) ?: payloadJson.encodeToString(error.reason).toByteArray(),
                error,
            )
            else -> RunEnd(Numbers.PAWL_END_FAILED, host.failurePayload(error), error)
        }
    }

    // --- Strands: the root and the arms of joins ---

    /** Runs it at once until it blocks. */
    private fun <T> launch(strand: Strand, function: suspend () -> T, ended: (Result<T>) -> Unit) {
        strands += strand
        val completion = object : Continuation<T> {
            override val context: CoroutineContext = strand + ThreadGuard(this@WorkflowRun)

            override fun resumeWith(result: Result<T>) {
                strands -= strand
                ended(result)
            }
        }
        function.createCoroutineUnintercepted(completion).resume(Unit)
    }

    /** Runs each in a strand of its own until all have ended. */
    suspend fun <T> join(functions: List<suspend () -> T>): List<Result<T>> {
        val parent = strand()
        val results = arrayOfNulls<Result<T>>(functions.size)
        var running = functions.size
        var waiting: Continuation<Unit>? = null
        functions.forEachIndexed { i, function ->
            if (violation == null) {
                launch(Strand(this, parent.shields), function) { result ->
                    results[i] = result
                    if (--running == 0) waiting?.resume(Unit)
                }
            }
        }
        violation?.let { throw it }
        if (running > 0) {
            parent.block<Unit> { waiting = it }
        }
        return results.map { it!! }
    }

    val isDrivenHere: Boolean get() = Thread.currentThread() === driver

    /** The run fails, also if its code goes on as if nothing had happened. */
    fun lose() {
        lost = notAStep()
    }

    /** A continuation of the run's code wants to go on. */
    fun schedule(go: () -> Unit) {
        if (isDrivenHere) {
            ready.addLast(go)
        } else {
            lose() // Whoever resumed it is no step.
        }
    }

    // --- Calls of the code ---

    /** Only the code of this run may ask, and only while it is being driven. */
    fun check(what: String) {
        checkDriven(what)
        recurred?.let { throw it }
    }

    /** What ends a branch or a loop works also when the run recurs: the code is on its way out. */
    private fun checkDriven(what: String) {
        if (!isDrivenHere) {
            throw UsageError(
                "$what: the context or future was used outside of its workflow, e.g. in an activity, on another thread or after the end",
            )
        }
        violation?.let { throw it }
    }

    /** Calls native code for the workflow's code. */
    inline fun <T> call(what: String, native: () -> T): T = try {
        native()
    } catch (failure: NativeFailure) {
        throw refused(what, failure)
    }

    fun refused(what: String, failure: NativeFailure): Throwable = when (failure.status) {
        Numbers.PAWL_DETERMINISM_VIOLATION -> violate()
        Numbers.PAWL_LIMIT_EXCEEDED -> PayloadTooLarge("$what: ${failure.message}")
        else -> UsageError(if (what.isEmpty()) failure.message!! else "$what: ${failure.message}", failure.message!!)
    }

    private fun violate(): DeterminismViolation {
        val texts = Native.contextViolation(context)!!.map { String(it) }
        val found = DeterminismViolation(
            Violation(
                code = texts[0], headline = texts[1], runId = texts[2], location = texts[3], label = texts[4],
                recorded = texts[5], asked = texts[6], sourceNow = texts[7], sourceThen = texts[8], lastAgreed = texts[9],
                definitionThen = texts[10], definitionNow = texts[11], advice = texts[12], text = texts[13],
            ),
        )
        violation = found
        blocked.clear()
        ready.clear()
        return found
    }

    class Opened(val future: Int, val branch: Int, val mustExecute: Boolean)

    fun open(
        what: String,
        kind: StepKind,
        branch: Int,
        version: Int,
        name: String = "",
        childKind: String? = null,
        target: Int = 0,
        stepKey: String? = null,
        payload: ByteArray? = null,
        clear: Boolean = false,
        number: Long = 0,
        checkpointEvery: Int = 0,
        extra: ByteArray? = null,
    ): Opened {
        check(what)
        host.beforeEntry(this)
        val source = Source.here()
        call(what) {
            Native.contextOpen(
                context, kind.number, branch, name.toByteArray(), childKind?.toByteArray(), target, stepKey?.toByteArray(),
                version, source, payload, clear, number, checkpointEvery, extra, ints,
            )
        }
        return Opened(ints[0], ints[1], ints[2] != 0)
    }

    fun removed(kind: StepKind, branch: Int, version: Int, name: String, stepKey: String?) {
        check("removed")
        host.beforeEntry(this)
        call("removed") {
            Native.contextRemoved(context, kind.number, branch, name.toByteArray(), stepKey?.toByteArray(), version, Source.here())
        }
    }

    fun checkVersion(branch: Int, latest: Int): Int {
        check("checkVersion")
        host.beforeEntry(this)
        return call("checkVersion") { Native.contextCheckVersion(context, branch, latest, Source.here()) }
    }

    fun recur(input: ByteArray): Nothing {
        check("recur")
        throw Recurred(input).also { recurred = it }
    }

    // --- Awaits ---

    /** How an await ended. */
    private class Over(val state: Int, val decidedBy: Int)

    suspend fun strand(): Strand = coroutineContext[ContinuationInterceptor] as? Strand
        ?: throw UsageError("a step was awaited in a coroutine that is not the workflow's own")

    /** Waits for all of them or for any: what decided it, or 0. */
    suspend fun await(mode: Int, futures: IntArray, isShielded: Boolean = false): Int {
        check("await")
        val strand = strand()
        call("await") { Native.contextBeginAwait(context, mode, futures, isShielded || strand.shields > 0, longs) }
        val await = longs[0]
        val begun = Over(longs[1].toInt(), longs[2].toInt())
        val over = if (begun.state == Numbers.PAWL_AWAIT_BLOCKED) strand.block { blocked[await] = it } else begun
        check("await")
        if (over.state == Numbers.PAWL_AWAIT_CANCELLED) {
            throw Cancelled(RecordedFailure.read(Native.contextCancelled(context) ?: ByteArray(0)).message)
        }
        return over.decidedBy
    }

    // --- Structure ---

    /** The code of one branch: whatever happens in it, the branch is closed at its end. */
    suspend fun <T> inBranch(branch: Int, body: suspend () -> T): T {
        val result = runCatching { body() }
        leave("branch") { Native.contextCloseBranch(context, branch) }
        return result.getOrThrow()
    }

    class LoopPosition(val state: ByteArray, val isDone: Boolean, val result: ByteArray)

    fun loopPosition(loop: Int): LoopPosition {
        check("loop")
        val block = Block(call("loop") { Native.contextLoopPosition(context, loop) })
        block.long() // How many iterations there were, nobody asks.
        val isDone = block.int() != 0
        return LoopPosition(block.bytes(), isDone, block.bytes())
    }

    fun enterIteration(loop: Int): Int {
        check("loop")
        return call("loop") { Native.contextEnterIteration(context, loop) }
    }

    fun continueLoop(loop: Int, state: ByteArray): Int {
        check("loop")
        return leave("loop") { Native.contextContinueLoop(context, loop, state) }
    }

    fun endLoop(loop: Int, state: ByteArray, result: ByteArray): Int {
        check("loop")
        return leave("loop") { Native.contextEndLoop(context, loop, state, result) }
    }

    fun abandonLoop(loop: Int) = leave("loop") { Native.contextAbandonLoop(context, loop) }

    suspend fun passCheckpoint(checkpoint: Int) {
        if (checkpoint != 0) await(Numbers.PAWL_AWAIT_ALL, intArrayOf(checkpoint), isShielded = true)
    }

    private inline fun <T> leave(what: String, native: () -> T): T {
        checkDriven(what)
        host.beforeEntry(this)
        return call(what, native)
    }

    companion object {
        /** What each thread drives. */
        private val driven = ThreadLocal<WorkflowRun>()

        val isAnyDrivenHere: Boolean get() = driven.get() != null
    }
}

/** Notices code of the workflow on another thread, even if that has ended before anybody looks. */
private class ThreadGuard(private val run: WorkflowRun) : AbstractCoroutineContextElement(ThreadGuard), ThreadContextElement<Unit> {
    override fun updateThreadContext(context: CoroutineContext) {
        if (!run.isDrivenHere) run.lose()
    }

    override fun restoreThreadContext(context: CoroutineContext, oldState: Unit) = Unit

    companion object : CoroutineContext.Key<ThreadGuard>
}

/**
 * One line of execution in a run: its continuations go on in the run's order, on the run's thread. It is a [Delay] to be
 * asked for the real clock, which it has not.
 */
@OptIn(InternalCoroutinesApi::class)
internal class Strand(private val run: WorkflowRun, var shields: Int) :
    AbstractCoroutineContextElement(ContinuationInterceptor), ContinuationInterceptor, Delay {
    /** Steps and joins that it waits for. */
    var waits: Int = 0
        private set

    private var isBlocking = false

    /** Asked for by whoever is about to suspend the code. Who is not [block] waits for something that is no step. */
    override fun <T> interceptContinuation(continuation: Continuation<T>): Continuation<T> {
        if (!isBlocking && run.isDrivenHere) throw run.notAStep()
        return object : Continuation<T> {
            override val context: CoroutineContext get() = continuation.context

            override fun resumeWith(result: Result<T>) = run.schedule { continuation.resumeWith(result) }
        }
    }

    override fun scheduleResumeAfterDelay(timeMillis: Long, continuation: CancellableContinuation<Unit>) = throw realClock()

    override fun invokeOnTimeout(timeMillis: Long, block: Runnable, context: CoroutineContext): DisposableHandle = throw realClock()

    private fun realClock() = UsageError("a workflow has no real clock: use ctx.sleep() instead of delay(), ctx.withTimeout() instead of withTimeout()")

    suspend fun <T> block(keep: (Continuation<T>) -> Unit): T {
        ++waits
        val result = suspendCoroutineUninterceptedOrReturn<T> { continuation ->
            isBlocking = true
            keep(continuation.intercepted())
            isBlocking = false
            COROUTINE_SUSPENDED
        }
        --waits
        return result
    }
}
