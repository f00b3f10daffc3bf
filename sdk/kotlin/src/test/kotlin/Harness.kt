package tests

import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlin.time.Duration.Companion.seconds

/** The smallest thing that runs tests and counts them. */
class Harness(private val only: String?) {
    var passed = 0
    var failed = 0

    fun test(name: String, body: suspend () -> Unit) {
        if (only != null && only !in name) return
        try {
            runBlocking { withTimeout(60.seconds) { body() } }
            ++passed
            println("ok $name")
        } catch (error: Throwable) {
            ++failed
            println("FAIL $name: $error")
            error.stackTrace.filter { it.className.startsWith("tests.") }.take(3).forEach { println("    at $it") }
        }
    }
}

fun <T> same(expected: T, actual: T) {
    if (expected != actual) throw AssertionError("expected $expected, got $actual")
}

fun holds(condition: Boolean, what: String) {
    if (!condition) throw AssertionError(what)
}

/** The error of this class that [body] throws. */
suspend inline fun <reified E : Throwable> thrown(body: suspend () -> Unit): E {
    try {
        body()
    } catch (error: Throwable) {
        if (error is E) return error
        throw AssertionError("expected ${E::class.simpleName}, got $error", error)
    }
    throw AssertionError("expected ${E::class.simpleName}, got none")
}
