"""Orders that are carried out as a whole or not at all: reserve, charge, ship. If a step fails, what
was done before it is undone.

  order_saga.py [STORE]      STORE is sqlite:orders.db if not given
"""
import asyncio
import sys
from dataclasses import dataclass

import pawl


@dataclass
class Order:
    id: str
    item: str
    cents: int


class Declined(Exception):
    pass


class TooHeavy(Exception):
    pass


class BankIsBusy(Exception):
    pass


# --- Activities: what has effects on the world ---


def say(what: str) -> None:
    print(f"  {what}", flush=True)


def reserve(order: Order) -> str:
    say(f"reserve: {order.item}")
    return f"shelf of {order.id}"


async def charge(order: Order) -> str:
    if order.cents > 500_000:
        raise Declined("the card's limit is 5000.00")
    say(f"charge: {order.cents} cents")
    return f"payment of {order.id}"


def ship(order: Order) -> str:
    if order.item == "piano":
        raise TooHeavy("no carrier takes a piano")
    say(f"ship: {order.item}")
    return f"parcel with a {order.item}"


@pawl.activity
def release(shelf: str) -> None:
    say(f"release: {shelf}")


@pawl.activity(compensation_retry=pawl.Retry(attempts=10, initial=0.1))
def refund(payment: str) -> None:
    if pawl.current_attempt().number == 1:
        say("refund: the bank is busy")
        raise BankIsBusy("try again")
    say(f"refund: {payment}")


# --- The workflow ---


@pawl.workflow
async def fulfil(ctx: pawl.Context, order: Order) -> str:
    saga = pawl.Saga(ctx)

    shelf = await ctx.run("reserve", reserve, order)
    saga.add(release, shelf)

    payment = await ctx.run("charge", charge, order)
    saga.add(refund, payment)

    return await ctx.run("ship", ship, order)


ORDERS = [
    Order("order-1", "lamp", 1999),
    Order("order-2", "yacht", 9_900_000),
    Order("order-3", "piano", 499_900),
]


async def main(url: str) -> None:
    async with pawl.Engine(url, workflows=[fulfil], activities=[release, refund]) as engine:
        for order in ORDERS:
            print(f"{order.id}: {order.item}", flush=True)
            run = await engine.start(fulfil, order.id, order)
            try:
                print(f"  completed: {await run.result()}", flush=True)
            except pawl.WorkflowFailed as failed:
                print(f"  failed: {failed.type}: {failed.message}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:orders.db"))
