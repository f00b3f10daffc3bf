package tests

import dev.pawl.WorkflowFailed
import dev.pawl.testing.TestEnvironment
import examples.Decision
import examples.Order
import examples.Shop
import examples.addShop
import examples.approval
import examples.hello

fun Harness.exampleTests() {
    test("example: hello") {
        TestEnvironment { workflow("hello", ::hello) }.use { same("HELLO, ADA!", it.start<String, String>("hello", "h", "Ada").result()) }
    }
    test("example: an order that works, and one that is undone") {
        val shop = Shop()
        TestEnvironment { addShop(shop) }.use { env ->
            same("parcel-1", env.start<Order, String>("order", "o-1", Order(1, "lamp", 100)).result())
            same(listOf("reserve lamp", "charge p-1", "ship parcel-1"), shop.log.toList())
            shop.log.clear()
            same("OutOfStock", thrown<WorkflowFailed> { env.start<Order, String>("order", "o-2", Order(2, "unicorn", 100)).result() }.type)
            same(listOf("reserve unicorn", "charge p-2", "refund p-2", "release unicorn"), shop.log.toList())
        }
    }
    test("example: an approval that is given, and one that nobody gives") {
        TestEnvironment { workflow("approval", ::approval) }.use { env ->
            val given = env.start<String, String>("approval", "a-1", "lamp")
            given.signal("decision", Decision(false, "Bo"))
            same("lamp: refused by Bo", given.result())
            same("desk: nobody decided", env.start<String, String>("approval", "a-2", "desk").result())
        }
    }
}
