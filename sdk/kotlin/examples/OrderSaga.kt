package examples

import dev.pawl.EngineBuilder
import dev.pawl.Pawl
import dev.pawl.Retry
import dev.pawl.TaskOptions
import dev.pawl.WorkflowContext
import dev.pawl.WorkflowFailed
import kotlinx.serialization.Serializable
import kotlin.time.Duration.Companion.milliseconds

// An order: reserve, charge, ship. What was done is undone, last in first out, if a later step fails for good.

@Serializable
data class Order(val id: Long, val item: String, val cents: Long)

@Serializable
data class Hold(val item: String)

@Serializable
data class Payment(val id: String, val cents: Long)

class OutOfStock(item: String) : RuntimeException("there is no $item left")

/** Stands for the services of a shop. */
class Shop {
    val log: MutableList<String> = java.util.Collections.synchronizedList(ArrayList())

    fun reserve(order: Order): Hold = Hold(order.item).also { log += "reserve ${order.item}" }

    fun release(hold: Hold) {
        log += "release ${hold.item}"
    }

    fun charge(order: Order): Payment = Payment("p-${order.id}", order.cents).also { log += "charge ${it.id}" }

    fun refund(payment: Payment) {
        log += "refund ${payment.id}"
    }

    fun ship(order: Order): String = if (order.item == "unicorn") throw OutOfStock(order.item) else "parcel-${order.id}".also { log += "ship $it" }
}

suspend fun order(ctx: WorkflowContext, order: Order): String {
    val hold = ctx.schedule<Order, Hold>("reserve", order).await()
    ctx.compensate("release", hold)
    val payment = ctx.schedule<Order, Payment>("charge", order).await()
    ctx.compensate("refund", payment)
    val retry = Retry(attempts = 3, initial = 100.milliseconds, finalTypes = listOf("OutOfStock"))
    return ctx.schedule<Order, String>("ship", order, TaskOptions(retry = retry)).await()
}

fun EngineBuilder.addShop(shop: Shop) {
    workflow("order", ::order)
    activity("reserve", shop::reserve)
    activity("release", shop::release)
    activity("charge", shop::charge)
    activity("refund", shop::refund)
    activity("ship", shop::ship)
}

object OrderSaga {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val shop = Shop()
        Pawl.open("sqlite:orders.db") { addShop(shop) }.use { engine ->
            engine.blocking {
                println(start<Order, String>("order", "order-17", Order(17, "lamp", 4900)).result())
                try {
                    start<Order, String>("order", "order-18", Order(18, "unicorn", 99900)).result()
                } catch (failed: WorkflowFailed) {
                    println("order-18: ${failed.type}: ${failed.message}")
                }
            }
        }
        println(shop.log.joinToString(", "))
    }
}
