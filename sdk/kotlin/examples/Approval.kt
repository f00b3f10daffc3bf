package examples

import dev.pawl.Pawl
import dev.pawl.TimedOut
import dev.pawl.WorkflowContext
import kotlinx.serialization.Serializable
import kotlin.time.Duration.Companion.days

// A person decides: by a signal, within three days. Until then the run costs nothing.

@Serializable
data class Decision(val approved: Boolean, val by: String)

suspend fun approval(ctx: WorkflowContext, what: String): String {
    ctx.set("status", "waiting for a decision on $what")
    val decision = try {
        ctx.signal<Decision>("decision", timeout = 3.days).await()
    } catch (late: TimedOut) {
        return "$what: nobody decided"
    }
    ctx.set("status", "decided")
    return if (decision.approved) "$what: approved by ${decision.by}" else "$what: refused by ${decision.by}"
}

object Approval {
    @JvmStatic
    fun main(arguments: Array<String>) = Pawl.open("sqlite:approvals.db") { workflow("approval", ::approval) }.use { engine ->
        engine.blocking {
            val run = start<String, String>("approval", "travel-1", "a journey to Bergen")
            run.signal("decision", Decision(approved = true, by = "Ida"))
            println(run.result())
        }
    }
}
