package dev.pawl

import java.util.concurrent.ConcurrentHashMap

/**
 * Where in the user's code a step was asked for: "Order.kt:17", for reports.
 *
 * Code that the compiler has put inline stands on lines behind the end of its file; the class file has a table that
 * says from which line it was called.
 */
internal object Source {
    private class InlineLine(val first: Int, val count: Int, val calledFrom: Int)

    private val walker: StackWalker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE)
    private val tables = ConcurrentHashMap<Class<*>, List<InlineLine>>()
    private val texts = ConcurrentHashMap<Class<*>, ConcurrentHashMap<Int, ByteArray>>()

    fun here(): ByteArray? = walker.walk { frames ->
        frames.filter { !it.className.startsWith("dev.pawl.") }.findFirst().orElse(null)
    }?.takeUnless { frame ->
        // Code of this SDK that goes on by itself after a wait: nobody called it.
        frame.className.startsWith("kotlin.") || frame.className.startsWith("java.")
    }?.let { frame ->
        texts.computeIfAbsent(frame.declaringClass) { ConcurrentHashMap() }.computeIfAbsent(frame.lineNumber) { line ->
            "${frame.fileName}:${lineOf(frame.declaringClass, line)}".toByteArray()
        }
    }

    /** The innermost frames of the user's code: "Order.kt:17 charge". */
    fun framesOf(error: Throwable, limit: Int): List<String> = error.stackTrace.asSequence()
        .filter { frame -> frame.lineNumber > 0 && NOT_THE_USERS.none { frame.className.startsWith(it) } }
        .take(limit)
        .map { "${it.fileName}:${it.lineNumber} ${nameOf(it)}" }
        .toList()

    /** Lambdas have no name: that of the function around them. */
    private fun nameOf(frame: StackTraceElement): String = when (val name = frame.methodName) {
        "invokeSuspend", "invoke" -> frame.className.substringAfterLast('.').split('$').getOrElse(1) { name }
        else -> name.substringBefore('$')
    }

    private val NOT_THE_USERS = listOf("dev.pawl.", "kotlin.", "kotlinx.", "java.", "javax.", "jdk.", "sun.")

    private fun lineOf(type: Class<*>, line: Int): Int =
        tables.computeIfAbsent(type, ::readTable).firstOrNull { line >= it.first && line < it.first + it.count }?.calledFrom ?: line

    private fun readTable(type: Class<*>): List<InlineLine> {
        val file = type.getResourceAsStream(type.name.substringAfterLast('.') + ".class") ?: return emptyList()
        val text = file.use { String(it.readBytes(), Charsets.ISO_8859_1) }
        val table = text.substringAfter("*S KotlinDebug\n", "").substringAfter("*L\n").substringBefore("*E")
        // 17#1:101,3 means: lines 101 to 103 are called from line 17.
        return Regex("""(\d+)#\d+(?:,\d+)?:(\d+)(?:,(\d+))?""").findAll(table).map {
            val (from, first, count) = it.destructured
            InlineLine(first.toInt(), count.toIntOrNull() ?: 1, from.toInt())
        }.toList()
    }
}
