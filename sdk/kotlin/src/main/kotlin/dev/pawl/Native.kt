package dev.pawl

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Files
import java.nio.file.Path

/** What a call of the native library refused. Thrown by its functions; users see one of the classes of Errors.kt. */
internal class NativeFailure(@JvmField val status: Int, text: ByteArray) : RuntimeException(String(text), null, false, false)

/** The functions of native/pawl_jni.c: the C ABI (include/pawl.h), one by one. */
internal object Native {
    init {
        // An Error leaves an initializer as it is; anything else would lose its text.
        try {
            loadLibraries()
            check(abiVersion() == headerVersion()) {
                "libpawl has version ${abiVersion()} of the C ABI, and this SDK was built for ${headerVersion()}; install the two together"
            }
        } catch (error: Exception) {
            throw UnsatisfiedLinkError(error.message).apply { initCause(error) }
        }
    }

    @JvmStatic external fun abiVersion(): Int
    @JvmStatic external fun headerVersion(): Int
    @JvmStatic external fun version(): String
    @JvmStatic external fun statusName(status: Int): String
    @JvmStatic external fun numbers(): ByteArray

    @JvmStatic external fun contextCreate(runId: ByteArray?, matching: Int, startedAt: Long, history: ByteArray?, definitionThen: ByteArray?, definitionNow: ByteArray?): Long
    @JvmStatic external fun contextFree(context: Long)
    @JvmStatic external fun contextSetTime(context: Long, now: Long)
    @JvmStatic external fun contextOpen(context: Long, kind: Int, branch: Int, name: ByteArray?, childKind: ByteArray?, target: Int, stepKey: ByteArray?, version: Int, source: ByteArray?, payload: ByteArray?, clear: Boolean, number: Long, checkpointEvery: Int, extra: ByteArray?, out: IntArray)
    @JvmStatic external fun contextRemoved(context: Long, kind: Int, branch: Int, name: ByteArray?, stepKey: ByteArray?, version: Int, source: ByteArray?)
    @JvmStatic external fun contextComplete(context: Long, future: Int, outcome: Int, payload: ByteArray)
    @JvmStatic external fun contextCheckVersion(context: Long, branch: Int, latest: Int, source: ByteArray?): Int
    @JvmStatic external fun contextCloseBranch(context: Long, branch: Int)
    @JvmStatic external fun contextLoopPosition(context: Long, loop: Int): ByteArray
    @JvmStatic external fun contextEnterIteration(context: Long, loop: Int): Int
    @JvmStatic external fun contextContinueLoop(context: Long, loop: Int, state: ByteArray): Int
    @JvmStatic external fun contextEndLoop(context: Long, loop: Int, state: ByteArray, result: ByteArray): Int
    @JvmStatic external fun contextAbandonLoop(context: Long, loop: Int)
    @JvmStatic external fun contextOutcome(context: Long, future: Int): ByteArray
    @JvmStatic external fun contextTakeSignal(context: Long, branch: Int, name: ByteArray): ByteArray?
    @JvmStatic external fun contextCommandId(context: Long, future: Int): ByteArray
    @JvmStatic external fun contextBeginAwait(context: Long, mode: Int, futures: IntArray, isShielded: Boolean, out: LongArray)
    @JvmStatic external fun contextNextDelivery(context: Long): LongArray?
    @JvmStatic external fun contextNow(context: Long): Long
    @JvmStatic external fun contextCancelled(context: Long): ByteArray?
    @JvmStatic external fun contextState(context: Long, key: ByteArray): ByteArray?
    @JvmStatic external fun contextUuid(context: Long, branch: Int): String
    @JvmStatic external fun contextRandom(context: Long, branch: Int): Long
    @JvmStatic external fun contextSignalCount(context: Long, name: ByteArray): Long
    @JvmStatic external fun contextFinish(context: Long, end: Int, payload: ByteArray)
    @JvmStatic external fun contextTakeNew(context: Long): ByteArray
    @JvmStatic external fun contextReport(context: Long): ByteArray
    @JvmStatic external fun contextViolation(context: Long): Array<ByteArray>?
    @JvmStatic external fun contextExecute(context: Long, future: Int, attempts: Int, initial: Long, maximum: Long, factor: Double, jitter: Double, finalTypes: ByteArray?, timeout: Long)
    @JvmStatic external fun contextSend(context: Long, future: Int, runId: ByteArray, signal: ByteArray, payload: ByteArray, extra: ByteArray?, dedupe: ByteArray?)
    @JvmStatic external fun contextYield(context: Long)

    @JvmStatic external fun taskExtra(queue: ByteArray, priority: Int, waitTimeout: Long, attemptTimeout: Long, totalTimeout: Long, heartbeatTimeout: Long, attempts: Int, initial: Long, maximum: Long, factor: Double, jitter: Double, finalTypes: ByteArray?): ByteArray
    @JvmStatic external fun childExtra(parentClose: Int, tags: ByteArray?): ByteArray
    @JvmStatic external fun promiseToken(runId: ByteArray, promise: ByteArray): ByteArray
    @JvmStatic external fun promiseTokenParts(token: ByteArray): Array<ByteArray>

    @JvmStatic external fun engineOpen(url: ByteArray?, workerName: ByteArray?, lease: Long, cacheBytes: Long, payloadBytesMax: Long, queues: ByteArray?, isTest: Boolean, replayEveryTurn: Boolean): Long
    @JvmStatic external fun engineAddWorkflow(engine: Long, kind: ByteArray, matching: Int, fingerprint: ByteArray?, onChange: Int)
    @JvmStatic external fun engineAddActivity(engine: Long, name: ByteArray, attempts: Int, initial: Long, maximum: Long, factor: Double, jitter: Double, finalTypes: ByteArray?)
    @JvmStatic external fun engineStart(engine: Long)
    @JvmStatic external fun engineStop(engine: Long)
    @JvmStatic external fun engineFree(engine: Long)
    @JvmStatic external fun enginePoll(engine: Long, kinds: Int, limit: Int, timeout: Long): ByteArray

    @JvmStatic external fun attemptComplete(engine: Long, attempt: Long, result: ByteArray)
    @JvmStatic external fun attemptFail(engine: Long, attempt: Long, type: ByteArray, message: ByteArray, details: ByteArray?, isFinal: Boolean, isCancelled: Boolean, nextDelay: Long)
    @JvmStatic external fun attemptHeartbeat(engine: Long, attempt: Long, details: ByteArray?): Boolean
    @JvmStatic external fun attemptShouldStop(engine: Long, attempt: Long): Boolean

    @JvmStatic external fun clientStart(engine: Long, kind: ByteArray, id: ByteArray, input: ByteArray, onExisting: Int, tags: ByteArray?, signal: ByteArray?, signalPayload: ByteArray?, signalEvent: ByteArray?, tag: Long)
    @JvmStatic external fun clientResult(engine: Long, runId: ByteArray, tag: Long)
    @JvmStatic external fun clientSignal(engine: Long, runId: ByteArray, signal: ByteArray, payload: ByteArray, event: ByteArray?, tag: Long)
    @JvmStatic external fun clientResolve(engine: Long, runId: ByteArray, promise: ByteArray, payload: ByteArray, tag: Long)
    @JvmStatic external fun clientReject(engine: Long, runId: ByteArray, promise: ByteArray, type: ByteArray, message: ByteArray, details: ByteArray?, tag: Long)
    @JvmStatic external fun clientCancel(engine: Long, runId: ByteArray, reason: ByteArray, tag: Long)
    @JvmStatic external fun clientTerminate(engine: Long, runId: ByteArray, reason: ByteArray, tag: Long)
    @JvmStatic external fun clientPause(engine: Long, runId: ByteArray, isPaused: Boolean, tag: Long)
    @JvmStatic external fun clientResume(engine: Long, runId: ByteArray, tag: Long)
    @JvmStatic external fun clientDescribe(engine: Long, runId: ByteArray, tag: Long)
    @JvmStatic external fun clientList(engine: Long, query: ByteArray, tag: Long)
    @JvmStatic external fun clientHistory(engine: Long, runId: ByteArray, tag: Long)

    @JvmStatic external fun testNow(engine: Long): Long
    @JvmStatic external fun testAdvance(engine: Long, duration: Long, tag: Long)
}

/** Reads what native code has put together. */
internal class Block(bytes: ByteArray) {
    private val buffer: ByteBuffer = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder())

    fun int(): Int = buffer.getInt()
    fun long(): Long = buffer.getLong()
    fun bytes(): ByteArray = ByteArray(int()).also { buffer.get(it) }
    fun text(): String = String(bytes())
}

/**
 * The jar carries both libraries. They are put into a directory of their own and loaded from there. With the
 * environment variable PAWL_LIBRARY, that libpawl is taken instead of the jar's.
 */
private fun loadLibraries() {
    val directory = Files.createTempDirectory("pawl-")
    val files = ArrayList<Path>()
    try {
        val own = System.getenv("PAWL_LIBRARY")
        if (!own.isNullOrEmpty()) {
            val path = Path.of(own).toAbsolutePath()
            require(Files.exists(path)) { "PAWL_LIBRARY is '$own', and there is no such file" }
            System.load(path.toString()) // The other library finds it by its name.
        } else {
            files.add(unpack("libpawl.so.1", directory))
        }
        files.add(unpack("libpawl_jni.so", directory))
        System.load(files.last().toString())
    } finally {
        files.forEach(Files::deleteIfExists) // Loaded, they need no name.
        Files.deleteIfExists(directory)
    }
}

private fun unpack(name: String, directory: Path): Path {
    val machine = System.getProperty("os.name").lowercase() + "-" + System.getProperty("os.arch")
    val resource = "/dev/pawl/native/$machine/$name"
    val stream = Native::class.java.getResourceAsStream(resource)
        ?: error("this jar has no $resource: it was built for another kind of machine")
    val file = directory.resolve(name)
    stream.use { Files.copy(it, file) }
    return file
}
