"""Hints that are not known where they are written."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, List, Optional

import pawl

if TYPE_CHECKING:
    from nowhere import Thing


@pawl.workflow
async def late(ctx: pawl.Context, order: Order, count: int) -> Order:
    assert type(order) is Order and type(order.parts[0]) is Order
    return order


@pawl.workflow
async def partly(ctx: pawl.Context, order: Order, thing: Optional[Thing] = None) -> List[Order]:
    assert type(order) is Order
    return [order, await ctx.run("own", own, order)]


def own(order: Thing) -> Order:
    return order  # type: ignore[no-any-return]


@dataclass
class Order:
    cents: int
    parts: List[Order]
    thing: Optional[Thing] = None


def make(cents: int, *parts: Any) -> Order:
    return Order(cents, list(parts))
