package conform

import dev.pawl.Matching
import dev.pawl.StepKind
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.io.File
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import kotlin.math.abs

// What a file of scenarios may hold (docs/formats/scenario.md).

/** A mistake in the scenario itself; the message names the place. No program catches it. */
internal class BadScenario(message: String) : Throwable(message, null, false, false)

/** Takes a value and its place. */
private typealias Check = (JsonElement, String) -> Unit

/** Those whose name ends in ? may be left out. */
private typealias Fields = Map<String, Check>

private fun described(value: JsonElement): String = when (value) {
    is JsonArray -> "a list"
    is JsonObject -> "an object"
    is JsonPrimitive -> (if (value.isString) "the text " else "") + value.toString().take(60)
}

private fun ensure(holds: Boolean, expected: String, value: JsonElement, place: String) {
    if (!holds) throw BadScenario("$place: expected $expected, got ${described(value)}")
}

// --- Types of values ---

private val any: Check = { _, _ -> }
private val text: Check = { value, place -> ensure(value is JsonPrimitive && value.isString, "a text", value, place) }
private val name: Check = { value, place ->
    text(value, place)
    if ((value as JsonPrimitive).content.isEmpty()) throw BadScenario("$place: must not be empty")
}
private val isTrue: Check = { value, place -> ensure(value == JsonPrimitive(true), "true", value, place) }

/** The number that it is, if it is a whole one. */
internal fun wholeOf(value: JsonElement): Long? = try {
    (value as? JsonPrimitive)?.takeUnless { it.isString }?.content?.toBigDecimalOrNull()?.longValueExact()
} catch (_: ArithmeticException) {
    null
}

private fun whole(range: LongRange): Check = { value, place ->
    ensure(wholeOf(value)?.let { it in range } == true, "a whole number from ${range.first} to ${range.last}", value, place)
}

private fun oneOf(words: List<String>): Check = { value, place ->
    ensure(value is JsonPrimitive && value.isString && value.content in words, "one of ${words.joinToString()}", value, place)
}

/** {"$": "x"} */
internal fun isVariable(value: JsonElement): Boolean =
    value is JsonObject && value.size == 1 && (value["$"] as? JsonPrimitive)?.isString == true

private fun orVariable(check: Check): Check = { value, place -> if (!isVariable(value)) check(value, place) }

private fun listOf(least: Int = 0, check: Check): Check = { value, place ->
    ensure(value is JsonArray, "a list", value, place)
    val list = value as JsonArray
    if (list.size < least) throw BadScenario("$place: must not be empty")
    list.forEachIndexed { i, each -> check(each, "$place[$i]") }
}

/** In an open one unknown fields are for people, unless they look like a misspelt one. */
private fun objectOf(fields: Fields, isOpen: Boolean = false): Check {
    val known = fields.mapKeys { it.key.removeSuffix("?") }
    return { value, place ->
        ensure(value is JsonObject, "an object", value, place.ifEmpty { "scenario" })
        fun at(field: String) = if (place.isEmpty()) field else "$place.$field"
        for ((field, each) in value as JsonObject) {
            val check = known[field]
            if (check != null) {
                check(each, at(field))
                continue
            }
            val meant = known.keys.find { slips(field, it) <= if (it.length < 5) 1 else 2 }
            if (meant != null || !isOpen) throw BadScenario("${at(field)}: there is no such field${meant?.let { "; is it '$it'?" } ?: ""}")
        }
        fields.keys.find { !it.endsWith("?") && it !in value }?.let { throw BadScenario("${at(it)}: missing") }
    }
}

/** How many letters have to be put in, taken out or changed; about, if they are many. */
private fun slips(a: String, b: String): Int {
    if (abs(a.length - b.length) > 2) return 3
    var row = (0..b.length).toList()
    for ((i, x) in a.withIndex()) {
        val next = arrayListOf(i + 1)
        for ((j, y) in b.withIndex()) next += minOf(next[j] + 1, row[j + 1] + 1, row[j] + if (x == y) 0 else 1)
        row = next
    }
    return row.last()
}

private fun checkStep(value: JsonElement, place: String) {
    ensure(value is JsonObject, "an object", value, place)
    val step = value as JsonObject
    val verb = step.keys.firstOrNull() ?: throw BadScenario("$place: a step needs a verb as its first key")
    val check = steps[verb] ?: throw BadScenario("$place: there is no step '$verb' (the first key of a step is its verb)")
    check(step, place)
    if (verb == "run" && "returns" in step && "throws" in step) throw BadScenario("$place.throws: a run either returns or throws")
}

// --- What there is ---

private const val NUMBER_MAX = Long.MAX_VALUE / 4
private val duration = whole(0..NUMBER_MAX)
private val version = whole(1..(1L shl 32) - 1)
private val list = listOf(check = ::checkStep)
private val key: Fields = mapOf("stepKey?" to name)
private val input: Fields = mapOf("input?" to any) + key

/** By verb: of what type its value is, and which other fields it has. */
private val verbs: Map<String, Pair<Check, Fields>> = mapOf(
    "task" to (name to input),
    "run" to (name to mapOf("returns?" to any, "throws?" to orVariable(name)) + input),
    "timer" to (duration to mapOf("id?" to name) + key),
    "promise" to (name to mapOf("timeout?" to duration) + key),
    "child" to (name to mapOf("kind" to name) + input),
    "signal" to (name to mapOf("timeout?" to duration) + key),
    "await" to (name to mapOf()),
    "await_all" to (listOf(check = text) to mapOf()),
    "await_any" to (listOf(1, text) to mapOf()),
    "cancel" to (name to mapOf()),
    "set" to (name to mapOf("value" to any) + key),
    "clear" to (name to key),
    "get" to (name to mapOf()),
    "has_signal" to (name to mapOf()),
    "drain" to (name to mapOf()),
    "now" to (isTrue to mapOf()),
    "uuid" to (isTrue to mapOf()),
    "random" to (isTrue to mapOf()),
    "cancelled" to (isTrue to mapOf()),
    "branch" to (list to key),
    "join" to (listOf(check = list) to mapOf()),
    "loop" to (list to mapOf("times" to orVariable(duration), "checkpointEvery?" to version) + key),
    "v" to (version to mapOf("do" to ::checkStep)),
    "removed" to (oneOf(StepKind.entries.map { it.name.lowercase() }) to mapOf("name?" to name) + key),
    "check_version" to (version to mapOf()),
    "compensate" to (name to input),
    "if" to (name to mapOf("equals" to any, "then" to list, "else?" to list)),
    "try" to (list to mapOf("catch" to list)),
    "shield" to (list to mapOf()),
    "return" to (any to mapOf()),
    "throw" to (orVariable(name) to mapOf()),
    "recur" to (any to mapOf()),
)
private val steps: Map<String, Check> =
    verbs.mapValues { (verb, parts) -> objectOf(mapOf(verb to parts.first, "as?" to name) + parts.second) }

private val expectation = objectOf(
    mapOf(
        "outcome" to oneOf(listOf("completed", "failed", "cancelled", "recurred", "suspended", "violation")),
        "result?" to any,
        "error?" to objectOf(mapOf("contains?" to listOf(check = text), "location?" to text, "code?" to text)),
        "new?" to listOf(check = objectOf(mapOf(), isOpen = true)),
        "values?" to objectOf(mapOf(), isOpen = true),
        "waiting?" to listOf(check = text),
        "orphaned?" to listOf(check = text),
    ),
)
private val run = mapOf("id?" to name, "kind?" to text, "input?" to any, "startedAt?" to whole(-NUMBER_MAX..NUMBER_MAX))
private val scenario = objectOf(
    mapOf(
        "name" to name,
        "matching?" to oneOf(Matching.entries.map { it.name.lowercase() }),
        "run?" to objectOf(run, isOpen = true),
        "history?" to listOf(check = any), // The core looks at its entries.
        "program" to list,
        "expect" to expectation,
    ),
    isOpen = true,
)

/** Throws a [BadScenario] if it is none. */
internal fun checkScenario(value: JsonElement): Unit = scenario(value, "")

// --- Files ---

private val json = Json { maxNestingDepth = 2000 }
private val literal = Regex("true|false|null|-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?")
private val utf8 = Charsets.UTF_8.newEncoder()

/** Refuses what the parser lets through: control characters in texts. */
private fun checkTexts(source: String) {
    var isInText = false
    var i = 0
    while (i < source.length) {
        val c = source[i]
        if (c < ' ' && (isInText || c !in "\t\r\n")) throw BadScenario("malformed JSON: a control character at offset $i")
        if (c == '"') isInText = !isInText
        i += if (c == '\\') 2 else 1
    }
}

/** Refuses what the parser lets through: words that are no JSON, and texts that are no Unicode. */
private fun checkValues(value: JsonElement) {
    when (value) {
        is JsonArray -> value.forEach(::checkValues)
        is JsonObject -> value.forEach { (name, each) ->
            checkValues(JsonPrimitive(name))
            checkValues(each)
        }
        is JsonPrimitive ->
            if (value.isString) {
                if (!utf8.canEncode(value.content)) throw BadScenario("a text holds half a surrogate pair")
            } else if (!literal.matches(value.content)) {
                throw BadScenario("malformed JSON: ${value.content} is no value")
            }
    }
}

/** The scenarios in a file, each with its place. */
internal fun readScenarios(file: File): List<Pair<String, JsonElement>> {
    val source = try {
        Charsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(file.readBytes())).toString()
    } catch (_: CharacterCodingException) {
        throw BadScenario("malformed JSON: this is no UTF-8")
    }
    checkTexts(source)
    val content = json.parseToJsonElement(source)
    checkValues(content)
    if (content !is JsonArray) return listOf(file.path to content)
    if (content.isEmpty()) throw BadScenario("holds no scenario")
    return content.mapIndexed { i, each -> "$file[$i]" to each }
}
