package bench

import dev.pawl.Pawl
import dev.pawl.WorkflowContext
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.DurationUnit
import kotlin.time.measureTime

// W1: many runs of ten steps, some at a time, on SQLite with its default durability. W2: one run with many steps.

suspend fun steps(ctx: WorkflowContext, count: Int): Int {
    var sum = 0
    for (i in 1..count) sum += ctx.run("step", i) { it }.await()
    return sum
}

fun inDirectory(body: (Path) -> Unit) {
    val directory = Files.createTempDirectory(Path.of(System.getProperty("bench.directory", ".")), "bench-")
    try {
        body(directory)
    } finally {
        directory.toFile().deleteRecursively()
    }
}

fun w1(runs: Int, concurrency: Int): Duration {
    var time = Duration.ZERO
    inDirectory { directory ->
        Pawl.open("sqlite:$directory/w1.db") { workflow("steps", ::steps) }.use { engine ->
            val next = AtomicInteger()
            time = measureTime {
                runBlocking(Dispatchers.Default) {
                    coroutineScope {
                        repeat(concurrency) {
                            launch {
                                while (true) {
                                    val n = next.incrementAndGet()
                                    if (n > runs) break
                                    check(engine.start<Int, Int>("steps", "run-$n", 10).result() == 55)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    return time
}

fun w2(steps: Int): Duration {
    var time = Duration.ZERO
    inDirectory { directory ->
        Pawl.open("sqlite:$directory/w2.db") { workflow("steps", ::steps) }.use { engine ->
            time = measureTime { engine.blocking { check(start<Int, Int>("steps", "run", steps).result() == steps * (steps + 1) / 2) } }
        }
    }
    return time
}

fun main(arguments: Array<String>) {
    val runs = arguments.getOrNull(0)?.toInt() ?: 5000
    w1(runs / 5, 128) // Warm.
    val time = w1(runs, 128)
    println("W1: $runs runs of 10 steps, 128 at a time: %.0f steps/s".format(runs * 10 / time.toDouble(DurationUnit.SECONDS)))
    w2(1000)
    for (steps in listOf(1000, 10_000)) {
        println("W2: one run of $steps steps: %.1f µs per step".format(w2(steps).toDouble(DurationUnit.MICROSECONDS) / steps))
    }
}
