package tests

import kotlin.system.exitProcess

fun main(arguments: Array<String>) {
    val harness = Harness(arguments.firstOrNull())
    harness.nativeTests()
    harness.workflowTests()
    harness.activityTests()
    harness.clientTests()
    harness.mistakeTests()
    harness.replayTests()
    harness.exampleTests()
    harness.conformTests()
    harness.killTests()
    println("${harness.passed} passed, ${harness.failed} failed")
    exitProcess(if (harness.failed == 0) 0 else 1)
}
