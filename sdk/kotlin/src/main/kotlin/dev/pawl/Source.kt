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
    }?.let { frame ->
        texts.computeIfAbsent(frame.declaringClass) { ConcurrentHashMap() }.computeIfAbsent(frame.lineNumber) { line ->
            "${frame.fileName}:${lineOf(frame.declaringClass, line)}".toByteArray()
        }
    }

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
