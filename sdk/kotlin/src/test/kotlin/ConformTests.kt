package tests

import java.io.File

/** The program that runs scenarios. */
fun Harness.conformTests() {
    /** What it prints for a file with [text] in it, and one after that with a scenario that holds. */
    suspend fun linesOf(text: String): List<String> {
        lateinit var lines: List<String>
        inDirectory { directory ->
            directory.resolve("a.json").toFile().writeText(text)
            directory.resolve("b.json").toFile().writeText("""{"name": "good", "program": [], "expect": {"outcome": "completed"}}""")
            val java = File(System.getProperty("java.home"), "bin/java").path
            val program = ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "conform.ConformKt", "$directory").redirectErrorStream(true)
            lines = program.start().inputStream.use { String(it.readAllBytes()) }.trim().lines()
        }
        return lines
    }

    val good = """"name": "x", "program": [], "expect": {"outcome": "completed"}"""
    val control = "\u0001"
    for ((text, problem) in mapOf(
        "[1]" to "a.json[0]: scenario: expected an object, got 1",
        "[]" to "a.json: holds no scenario",
        "{" to "",
        "[".repeat(100_000) to "",
        "{$good, \"note\": \"$control\"}" to "a.json: malformed JSON: a control character at offset 74",
        "{$good, \"note\": 0x1}" to "a.json: malformed JSON: 0x1 is no value",
        "{$good, \"note\": \"\\ud800\"}" to "a.json: a text holds half a surrogate pair",
    )) {
        test("a file that holds no scenario fails alone: ${text.take(80).replace(control, "")}") {
            val lines = linesOf(text).let { it.take(1) + it.takeLast(2) } // Some messages of the parser have more.
            same(listOf("ok good", "1 passed, 1 failed"), lines.drop(1))
            holds(lines[0].startsWith("FAIL ") && lines[0].endsWith(problem), lines[0])
        }
    }
    test("a scenario that is none is refused, with the place") {
        val refused = mapOf(
            """"name": 5""" to "name: expected a text, got 5",
            """"matching": null""" to "matching: expected one of strict, per_kind, by_name, got null",
            """"matchin": "per_kind"""" to "matchin: there is no such field; is it 'matching'?",
            """"history": {}""" to "history: expected a list, got an object",
            """"expect": {"outcome": "completed", "valuse": {}}""" to "expect.valuse: there is no such field; is it 'values'?",
        ) + mapOf(
            """1""" to ": expected an object, got 1",
            """{}""" to ": a step needs a verb as its first key",
            """{"as": "x", "now": true}""" to ": there is no step 'as' (the first key of a step is its verb)",
            """{"task": "A", "speed": 3}""" to ".speed: there is no such field",
            """{"task": "A", "as": ""}""" to ".as: must not be empty",
            """{"task": 5}""" to ".task: expected a text, got 5",
            """{"run": "a", "returns": 1, "throws": "x"}""" to ".throws: a run either returns or throws",
            """{"now": false}""" to ".now: expected true, got false",
            """{"timer": "5"}""" to ".timer: expected a whole number from 0 to 2305843009213693951, got the text \"5\"",
            """{"loop": [], "times": -1}""" to ".times: expected a whole number from 0 to 2305843009213693951, got -1",
            """{"v": "2", "do": {"now": true}}""" to ".v: expected a whole number from 1 to 4294967295, got the text \"2\"",
            """{"try": []}""" to ".catch: missing",
            """{"if": "x", "equals": 1, "then": [], "else": [{"branch": {}}]}""" to ".else[0].branch: expected a list, got an object",
            """{"join": [[], [{"await_any": []}]]}""" to ".join[1][0].await_any: must not be empty",
        ).map { (step, problem) -> """"program": [{"now": true, "as": "x"}, $step]""" to "program[1]$problem" } + mapOf(
            """"program": [{"await": "y"}]""" to "variable 'y' is not set",
            """"program": [{"join": [[{"task": "A", "as": "a"}, {"await": "a"}], [{"return": {"$": "y"}}]]}]""" to "variable 'y' is not set",
            """"program": [{"get": "k", "as": "x"}, {"loop": [], "times": {"$": "x"}}]""" to "times: expected a whole number from 0, got null",
            """"program": [{"try": [{"loop": [], "times": 1000000000}], "catch": []}]""" to "the program runs for more than 1000000 steps",
        )
        val lines = linesOf(refused.keys.joinToString(",", "[", "]") { "{$good, $it}" }) // Of two fields alike the last one counts.
        for ((i, problem) in refused.values.withIndex()) {
            holds(lines[i].startsWith("FAIL ") && lines[i].endsWith("a.json[$i]: $problem"), lines[i])
        }
        same(listOf("ok good", "1 passed, ${refused.size} failed"), lines.drop(refused.size))
    }
    test("numbers that are no whole ones of 64 bits are as near as a double") {
        val numbers = "[123456789012345678901234567890, 18446744073709551616, 5e-324, 3.141592653589793238462643383]"
        val lines = linesOf("""{"name": "x", "program": [{"return": $numbers}], "expect": {"outcome": "completed", "result": $numbers}}""")
        same("ok x", lines[0])
    }
    test("await_any gives the winner's name, also if its variable is another one by then") {
        val step = """{"run": "a", "returns": 1, "as": "x"}"""
        val lines = linesOf(
            """[
            {"name": "same variable", "program": [$step, {"await_any": ["x"], "as": "x"}],
             "expect": {"outcome": "completed", "values": {"x": "x"}}},
            {"name": "assigned meanwhile", "program": [$step, {"join": [[{"await_any": ["x"], "as": "w"}], [{"timer": 5, "as": "x"}]]}],
             "expect": {"outcome": "completed", "values": {"w": "x", "x": null}}},
            {"name": "failed", "program": [{"run": "a", "throws": "no", "as": "x"}, {"try": [{"await_any": ["x"], "as": "w"}], "catch": []}],
             "expect": {"outcome": "completed", "values": {"w": "x"}}}
            ]""",
        )
        same(listOf("ok same variable", "ok assigned meanwhile", "ok failed", "ok good", "4 passed, 0 failed"), lines)
    }
}
