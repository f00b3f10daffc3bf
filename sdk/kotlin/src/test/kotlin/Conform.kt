package conform

import dev.pawl.Cancelled
import dev.pawl.ChildOptions
import dev.pawl.Future
import dev.pawl.LoopStep
import dev.pawl.Matching
import dev.pawl.PawlException
import dev.pawl.StepKind
import dev.pawl.TaskOptions
import dev.pawl.UsageError
import dev.pawl.WorkflowContext
import dev.pawl.breakWith
import dev.pawl.continueWith
import dev.pawl.payloadJson
import dev.pawl.testing.ReplayResult
import dev.pawl.testing.Replayer
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import java.io.File
import java.math.BigDecimal
import java.nio.file.Files
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds

// Runs conformance scenarios (docs/formats/scenario.md) with the public API of workflows, in the replayer.

private const val STEPS_MAX = 1_000_000 // More than a sensible scenario takes, iterations counted as well.

/** `return V` in a list of steps. */
private class Returned(val value: JsonElement)

/** An error of the program. */
private class Thrown(message: String) : RuntimeException(message)

private class Variable(var value: JsonElement = JsonNull, val future: Future<*>? = null) {
    suspend fun read() {
        value = future!!.await() as? JsonElement ?: JsonNull // A timer has no value.
    }
}

private fun JsonObject.text(name: String): String? = this[name]?.jsonPrimitive?.contentOrNull

/** The text of an error: itself, or its message. */
private fun errorText(value: JsonElement): String = when {
    value is JsonPrimitive && value.isString -> value.content
    value is JsonObject && (value["message"] as? JsonPrimitive)?.isString == true -> value.text("message")!!
    else -> value.toString()
}

private class Interpreter(private val program: JsonArray) {
    val variables = LinkedHashMap<String, Variable>()
    private var stepsTaken = 0

    /** Also where nobody sees what is thrown, as in an arm of a join that does not end. */
    var mistake: BadScenario? = null
        private set

    suspend fun run(ctx: WorkflowContext): JsonElement = runList(program, ctx, isInLoop = false)?.value ?: JsonNull

    private suspend fun runList(steps: JsonArray, ctx: WorkflowContext, isInLoop: Boolean): Returned? {
        for (step in steps) {
            runStep(step.jsonObject, ctx, ctx, isInLoop)?.let { return it }
        }
        return null
    }

    /** `inner`: the same context without a version, which is for one step and not for a list. */
    private suspend fun runStep(step: JsonObject, ctx: WorkflowContext, inner: WorkflowContext, isInLoop: Boolean): Returned? {
        count()
        val (verb, subject) = step.entries.first()
        val word = (subject as? JsonPrimitive)?.content ?: ""
        val key = step.text("stepKey")
        val timeout = step["timeout"]?.let(::wholeOf)?.milliseconds
        val input = step["input"]?.let(::resolve)
        when (verb) {
            "task" -> {
                val options = TaskOptions(stepKey = key)
                hold(step, input?.let { ctx.schedule<JsonElement, JsonElement>(word, it, options) } ?: ctx.schedule<JsonElement>(word, options))
            }
            "run" -> {
                val outcome = {
                    step["throws"]?.let { throw Thrown(errorText(resolve(it))) }
                    step["returns"]?.let(::resolve) ?: JsonNull
                }
                hold(
                    step,
                    input?.let { ctx.run<JsonElement, JsonElement>(word, it, stepKey = key) { outcome() } }
                        ?: ctx.run<JsonElement>(word, stepKey = key) { outcome() },
                )
            }
            "timer" -> hold(step, ctx.timer(wholeOf(subject)!!.milliseconds, step.text("id") ?: "", key))
            "promise" -> hold(step, ctx.promise<JsonElement>(word, timeout, key))
            "child" -> {
                val options = ChildOptions(stepKey = key)
                val kind = step.text("kind")!!
                hold(step, input?.let { ctx.child<JsonElement, JsonElement>(kind, word, it, options) } ?: ctx.child<JsonElement>(kind, word, options))
            }
            "signal" -> hold(step, ctx.signal<JsonElement>(word, timeout, key))
            "await" -> runAll(listOf(word), ctx)
            "await_all" -> runAll(subject.jsonArray.map { it.jsonPrimitive.content }, ctx)
            "await_any" -> runAny(step, subject.jsonArray.map { it.jsonPrimitive.content }, ctx)
            "cancel" -> find(word).future?.let { ctx.cancel(it) }
            "set" -> ctx.set<JsonElement>(word, resolve(step.getValue("value")), key)
            "clear" -> ctx.clear(word, key)
            "get" -> assign(step, ctx.get<JsonElement>(word) ?: JsonNull)
            "has_signal" -> assign(step, JsonPrimitive(ctx.hasSignal(word)))
            "drain" -> assign(step, JsonArray(generateSequence { ctx.trySignal<JsonElement>(word)?.value }.toList()))
            "now" -> assign(step, JsonPrimitive(ctx.now().toEpochMilli()))
            "uuid" -> assign(step, JsonPrimitive(ctx.uuid()))
            "random" -> assign(step, JsonPrimitive(ctx.random()))
            "cancelled" -> assign(step, JsonPrimitive(ctx.isCancelled))
            "branch" -> assign(step, ctx.branch(key) { runList(subject.jsonArray, it, isInLoop)?.value ?: JsonNull })
            "join" -> {
                val arms: List<suspend (WorkflowContext) -> JsonElement> =
                    subject.jsonArray.map { arm -> { branch -> runList(arm.jsonArray, branch, isInLoop)?.value ?: JsonNull } }
                assign(step, JsonArray(ctx.join(arms)))
            }
            "loop" -> runLoop(step, subject.jsonArray, ctx, key, isInLoop)
            "v" -> return runStep(step.getValue("do").jsonObject, ctx.v(intOf(subject)), inner, isInLoop)
            "removed" -> ctx.removed(StepKind.entries.first { it.name.lowercase() == word }, step.text("name") ?: "", key)
            "check_version" -> assign(step, JsonPrimitive(ctx.checkVersion(intOf(subject))))
            "compensate" -> if (input != null) ctx.compensate<JsonElement>(word, input, key) else ctx.compensateWithoutInput(word, key)
            "if" -> {
                val holds = sameJson(find(word).value, resolve(step.getValue("equals")))
                return step[if (holds) "then" else "else"]?.let { runList(it.jsonArray, inner, isInLoop) }
            }
            "try" -> {
                try {
                    return runList(subject.jsonArray, inner, isInLoop)
                } catch (error: RuntimeException) {
                    // What the core said, without the name of this API's function.
                    variables["error"] = Variable(JsonPrimitive((error as? UsageError)?.problem ?: error.message))
                }
                return runList(step.getValue("catch").jsonArray, inner, isInLoop)
            }
            "shield" -> return ctx.shield { runList(subject.jsonArray, inner, isInLoop) }
            "return" -> return Returned(resolve(subject))
            "throw" -> throw Thrown(errorText(resolve(subject)))
            "recur" -> ctx.recur<JsonElement>(resolve(subject))
        }
        return null
    }

    private suspend fun runAll(names: List<String>, ctx: WorkflowContext) {
        val found = names.map(::find).filter { it.future != null }
        val failure = try {
            ctx.all(found.map { it.future!! })
            null
        } catch (cancelled: Cancelled) {
            throw cancelled
        } catch (failed: PawlException) {
            failed
        }
        for (variable in found) {
            // Those that are there, also if another one failed.
            try {
                if (variable.future!!.isDone) variable.read()
            } catch (_: PawlException) {
            }
        }
        failure?.let { throw it }
    }

    private suspend fun runAny(step: JsonObject, names: List<String>, ctx: WorkflowContext) {
        val awaited = names.map { it to find(it) } // While it waits, another arm may give the name to another variable.
        val plain = awaited.firstOrNull { it.second.future == null }
        if (plain != null) return assign(step, JsonPrimitive(plain.first)) // A value that never was a future is there at once.
        val first = ctx.any(awaited.map { it.second.future!! })
        val (name, variable) = awaited.first { it.second.future === first }
        assign(step, JsonPrimitive(name))
        variable.read()
    }

    private suspend fun runLoop(step: JsonObject, steps: JsonArray, ctx: WorkflowContext, key: String?, isInLoop: Boolean) {
        val given = resolve(step.getValue("times"))
        val times = wholeOf(given)?.takeIf { it >= 0 } ?: refuse("times: expected a whole number from 0, got $given")
        val outer = variables["i"]
        val every = step["checkpointEvery"]?.let(::intOf) ?: 20
        val end = ctx.loopWhile<Long, JsonElement>(0L, { it < times }, every, key) { iteration, finished ->
            count()
            variables["i"] = Variable(JsonPrimitive(finished + 1))
            val returned = runList(steps, iteration, true)
            val next: LoopStep<Long, JsonElement> = if (returned != null) breakWith(returned.value, finished + 1) else continueWith(finished + 1)
            next
        }
        if (isInLoop && outer != null) variables["i"] = outer
        assign(step, if (end.isBroken) end.value else JsonPrimitive(end.state))
    }

    private fun <T> hold(step: JsonObject, future: Future<T>) {
        step.text("as")?.let { variables[it] = Variable(future = future) }
    }

    private fun assign(step: JsonObject, value: JsonElement) {
        step.text("as")?.let { variables[it] = Variable(value) }
    }

    private fun find(name: String): Variable = variables[name] ?: refuse("variable '$name' is not set")

    private fun resolve(value: JsonElement): JsonElement = when {
        value is JsonArray -> JsonArray(value.map(::resolve))
        isVariable(value) -> find((value as JsonObject).text("$")!!).value
        value is JsonObject -> JsonObject(value.mapValues { resolve(it.value) })
        else -> value
    }

    private fun count() {
        if (++stepsTaken > STEPS_MAX) refuse("the program runs for more than $STEPS_MAX steps")
    }

    private fun refuse(what: String): Nothing = throw BadScenario(what).also { mistake = it }

    private fun intOf(value: JsonElement): Int = wholeOf(value)!!.toInt().also { if (it < 0) refuse("$value is too large for an Int") }
}

/** A number of 64 bits is that number, any other the double next to it. */
private fun numberOf(text: String): BigDecimal? {
    val number = text.toBigDecimalOrNull() ?: return null
    val isWhole = number.stripTrailingZeros().scale() <= 0
    if (isWhole && number.abs() < TWO_TO_64) return number
    return number.toDouble().let { if (it.isFinite()) BigDecimal(it) else number }
}

private val TWO_TO_64 = 2.toBigDecimal().pow(64)

/** Numbers are equal if their values are. */
fun sameJson(a: JsonElement, b: JsonElement): Boolean = when {
    a is JsonArray && b is JsonArray -> a.size == b.size && a.zip(b).all { (x, y) -> sameJson(x, y) }
    a is JsonObject && b is JsonObject -> a.keys == b.keys && a.all { (name, x) -> sameJson(x, b.getValue(name)) }
    a is JsonPrimitive && b is JsonPrimitive && !a.isString && !b.isString ->
        a.content == b.content || numberOf(a.content)?.let { x -> numberOf(b.content)?.compareTo(x) == 0 } ?: false
    else -> a == b
}

/** Locations may be written with or without blanks. */
private fun normalised(location: JsonElement): JsonElement =
    (location as? JsonPrimitive)?.contentOrNull?.let { JsonPrimitive(it.replace(" ", "").replace(",", ", ")) } ?: location

private class Actual(val result: ReplayResult, val variables: Map<String, Variable>)

private fun run(scenario: JsonObject): Actual {
    val run = scenario["run"]?.jsonObject ?: JsonObject(emptyMap())
    val replayer = Replayer(
        matching = Matching.entries.first { it.name.lowercase() == (scenario.text("matching") ?: "strict") },
        runId = run.text("id") ?: "",
        startedAtMs = run["startedAt"]?.let(::wholeOf) ?: 0,
    )
    val interpreter = Interpreter(scenario.getValue("program").jsonArray)
    val result = replayer.replay(
        { ctx, _ -> payloadJson.encodeToString(JsonElement.serializer(), interpreter.run(ctx)).toByteArray() },
        (run["input"] ?: JsonNull).toString().toByteArray(),
        (scenario["history"] ?: JsonArray(emptyList())).toString(),
        // In scenarios an error is its text.
        failures = { JsonPrimitive(it.message).toString().toByteArray() },
    )
    interpreter.mistake?.let { throw it }
    return Actual(result, interpreter.variables)
}

private fun compare(expect: JsonObject, actual: Actual): List<String> {
    val differences = ArrayList<String>()
    val result = actual.result
    fun same(path: String, expected: JsonElement, got: JsonElement?) {
        if (got == null || !sameJson(expected, got)) differences += "$path: expected $expected, got ${got ?: "nothing"}"
    }
    val outcome = result.outcome.name.lowercase()
    same("outcome", expect.getValue("outcome"), JsonPrimitive(outcome))
    val message = result.violation?.text ?: result.error?.message
    if (expect.text("outcome") != outcome && message != null) differences += "error: ${message.lineSequence().first()}"
    for ((key, expected) in expect) {
        when (key) {
            "result" -> same("result", expected, result.result)
            "error" -> {
                val error = expected.jsonObject
                if (message == null) differences += "error: expected one, got none"
                error["contains"]?.jsonArray?.forEach {
                    if (message?.contains(it.jsonPrimitive.content) == false) differences += "error: $it does not occur in $message"
                }
                error["location"]?.let { same("error.location", normalised(it), JsonPrimitive(result.violation?.location)) }
                error["code"]?.let { same("error.code", it, JsonPrimitive(result.violation?.code)) }
            }
            "new" -> {
                val entries = expected.jsonArray
                entries.zip(result.newEntries).forEachIndexed { i, (wanted, got) ->
                    for ((name, value) in wanted.jsonObject) {
                        same("new[$i].$name", if (name == "location" || name == "loop") normalised(value) else value, got[name])
                    }
                }
                if (entries.size != result.newEntries.size) {
                    differences += "new: expected ${entries.size} entries, got ${result.newEntries.size} (${result.newEntries.map { it["event"] }})"
                }
            }
            "values" -> expected.jsonObject.forEach { (name, value) -> same("values.$name", value, actual.variables[name]?.value) }
            "waiting" -> same(key, JsonArray(expected.jsonArray.map(::normalised)), JsonArray(result.waiting.map(::JsonPrimitive)))
            "orphaned" -> same(key, JsonArray(expected.jsonArray.map(::normalised)), JsonArray(result.orphaned.map(::JsonPrimitive)))
        }
    }
    return differences
}

class Totals(var passed: Int = 0, var failed: Int = 0)

/** On one line, whatever it holds. */
private fun say(line: String) = println(line.replace("\n", "; ").filter { it >= ' ' && it != '\u007f' })

private fun runOne(place: String, scenario: JsonElement, totals: Totals) {
    val given = (scenario as? JsonObject)?.get("name") as? JsonPrimitive
    val name = given?.takeIf { it.isString && it.content.isNotEmpty() }?.content ?: place
    val problem = try {
        checkScenario(scenario)
        compare(scenario.jsonObject.getValue("expect").jsonObject, run(scenario.jsonObject)).joinToString("; ")
    } catch (mistake: BadScenario) {
        if (name == place) mistake.message!! else "$place: ${mistake.message}"
    } catch (error: Throwable) { // Also a stack that is too small for it.
        "$place: $error"
    }
    if (problem.isEmpty()) ++totals.passed else ++totals.failed
    say(if (problem.isEmpty()) "ok $name" else "FAIL $name: $problem")
}

private fun runFile(file: File, totals: Totals) {
    val scenarios = try {
        readScenarios(file)
    } catch (mistake: BadScenario) {
        ++totals.failed
        return say("FAIL $file: ${mistake.message}")
    } catch (error: Throwable) { // Also a memory that is too small for it.
        ++totals.failed
        return say("FAIL $file: $error")
    }
    for ((place, scenario) in scenarios) runOne(place, scenario, totals)
}

private fun runAll(paths: List<File>): Totals {
    val totals = Totals()
    for (path in paths) {
        val walk = path.walkTopDown().onEnter { it == path || !Files.isSymbolicLink(it.toPath()) }
        val files = walk.filter { !it.isDirectory && (it == path || it.extension == "json") }.sorted().toList()
        if (files.isEmpty()) {
            say("FAIL $path: there is no such file, or no .json file in it")
            ++totals.failed
        }
        files.forEach { runFile(it, totals) }
    }
    println("${totals.passed} passed, ${totals.failed} failed")
    return totals
}

fun main(arguments: Array<String>) {
    // What is nested deeply is read, run and compared by recursion: a thread may have a large stack.
    Thread(null, { exitProcess(if (runAll(arguments.map(::File)).failed == 0) 0 else 1) }, "scenarios", 256L shl 20).start()
}
