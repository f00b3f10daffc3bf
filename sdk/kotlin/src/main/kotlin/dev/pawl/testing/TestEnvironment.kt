package dev.pawl.testing

import dev.pawl.Activity
import dev.pawl.ActivityDefinition
import dev.pawl.Codec
import dev.pawl.Engine
import dev.pawl.EngineBuilder
import dev.pawl.Native
import dev.pawl.checkName
import dev.pawl.codecOf
import dev.pawl.native
import java.time.Instant
import kotlin.time.Duration

public class TestBuilder internal constructor() : EngineBuilder() {
    /** Every run is thrown out of memory after each turn and comes back by replay: finds code that is not deterministic. */
    public var replayEveryTurn: Boolean = false

    /** Calls [function] instead of the operation or activity of this name, which need not be registered. */
    public inline fun <reified I, reified R> fake(name: String, noinline function: suspend (I) -> R): Unit =
        addFake<I, R>(name, codecOf { "input of fake '$name'" }, codecOf { "result of fake '$name'" }) { _, input -> function(input) }

    @PublishedApi internal fun <I, R> addFake(name: String, inputs: Codec<I>, results: Codec<R>, function: suspend (Activity, I) -> R) {
        checkName("fake", name)
        fakes[name] = ActivityDefinition(null, bodyOf(name, inputs, results, function))
    }
}

/**
 * An engine for tests, with all its calls and a store of its own. Time stands still, but for when somebody waits for
 * a result or advances it: then it jumps to the next moment at which something is due. Sleeps cost nothing.
 */
public class TestEnvironment internal constructor(builder: TestBuilder) : Engine("", builder, isTest = true, builder.replayEveryTurn) {
    public constructor(setup: TestBuilder.() -> Unit) : this(TestBuilder().apply(setup))

    public fun now(): Instant {
        checkOpen()
        return Instant.ofEpochMilli(native { testNow() })
    }

    /** Lets time pass, and what becomes due on the way be done. */
    public suspend fun advance(duration: Duration) {
        ask { engine, tag -> Native.testAdvance(engine, duration.inWholeMilliseconds, tag) }
    }

    private fun testNow() = Native.testNow(engineHandle)
}
