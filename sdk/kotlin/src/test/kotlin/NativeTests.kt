package tests

import dev.pawl.Native
import dev.pawl.Numbers
import dev.pawl.Pawl
import dev.pawl.StoreError
import dev.pawl.UsageError
import java.io.File

/** For the test of a library that is not there. */
fun main() = println(Pawl.version)

fun Harness.nativeTests() {
    // The header's numbers as C sees them.
    val native = String(Native.numbers()).lines().filter { it.isNotEmpty() }.associate { it.substringBefore('=') to it.substringAfter('=').toInt() }

    test("the numbers of Kotlin are those of the header") {
        val fields = Numbers::class.java.declaredFields.filter { it.type == Int::class.javaPrimitiveType }
        holds(fields.size > 50, "only ${fields.size} numbers")
        fields.forEach { field ->
            field.isAccessible = true
            same(field.name to native[field.name], field.name to field.getInt(null))
        }
    }
    test("the table of numbers has every enumerator of the header") {
        val header = File(System.getProperty("pawl.header")).readText().replace(Regex("""/\*.*?\*/""", RegexOption.DOT_MATCHES_ALL), "")
        val names = Regex("""enum \{(.*?)\}""", RegexOption.DOT_MATCHES_ALL).findAll(header)
            .flatMap { Regex("""(PAWL_\w+) =""").findAll(it.groupValues[1]).map { found -> found.groupValues[1] } }.toSet()
        same(names, native.keys)
    }
    test("the library says its version") {
        holds(Pawl.version.matches(Regex("""\d+\.\d+\.\d+""")), Pawl.version)
    }
    test("a library that is not there is one clear sentence") {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val program = ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "tests.NativeTestsKt").redirectErrorStream(true)
        program.environment()["PAWL_LIBRARY"] = "/nowhere/libpawl.so"
        val text = program.start().inputStream.use { String(it.readAllBytes()) }
        holds("Error: PAWL_LIBRARY is '/nowhere/libpawl.so', and there is no such file" in text.lines().first(), text)
    }
    test("a store that cannot be opened is one clear sentence") {
        val error = thrown<StoreError> { Pawl.open("sqlite:/nowhere/at/all/x.db") }
        holds("/nowhere/at/all/x.db" in error.message!!, error.message!!)
    }
    test("a url that is none is refused") {
        thrown<UsageError> { Pawl.open("") }
        thrown<UsageError> { Pawl.open("mongo:x") }
    }
}
