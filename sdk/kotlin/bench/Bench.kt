package bench

import dev.pawl.Pawl
import dev.pawl.WorkflowContext
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
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

/** When the steps that are looked at were executed. */
val marks = ConcurrentHashMap<Int, Long>()

suspend fun marked(ctx: WorkflowContext, count: Int) {
    for (i in 1..count) ctx.run("step", i) { if (it % 1000 == 0 || it == 1) marks[it] = System.nanoTime() }.await()
}

/** Microseconds per step, of the first thousand and of the last. */
fun w2(steps: Int): Pair<Double, Double> {
    inDirectory { directory ->
        Pawl.open("sqlite:$directory/w2.db") { workflow("marked", ::marked) }.use { engine ->
            engine.blocking { start<Int, Unit>("marked", "run", steps).result() }
        }
    }
    fun perStep(first: Int, last: Int) = (marks.getValue(last) - marks.getValue(first)) / 1e3 / (last - first)
    return perStep(1, 1000) to perStep(maxOf(1, steps - 1000), steps)
}

fun main(arguments: Array<String>) {
    val runs = arguments.getOrNull(0)?.toInt() ?: 5000
    w1(runs / 5, 128) // Warm.
    val time = w1(runs, 128)
    println("W1: $runs runs of 10 steps, 128 at a time: %.0f steps/s".format(runs * 10 / time.toDouble(DurationUnit.SECONDS)))
    w2(2000)
    for (steps in listOf(1000, 10_000)) {
        val (first, last) = w2(steps)
        println("W2: one run of $steps steps: %.0f µs per step in the first thousand, %.0f in the last".format(first, last))
    }
}
