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

    for ((text, problem) in mapOf(
        "[1]" to "a.json[0]: a scenario is an object",
        """{"name": {}, "program": [], "expect": {"outcome": "completed"}}""" to "a.json[0]: name: a text is expected",
    )) {
        test("a scenario that is none fails alone: $text") {
            val lines = linesOf(text)
            same(listOf("ok good", "1 passed, 1 failed"), lines.drop(1))
            holds(lines[0].startsWith("FAIL ") && lines[0].endsWith(problem), lines[0])
        }
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
