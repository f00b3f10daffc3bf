import collections
import datetime
import decimal
import enum
import typing
import unittest
import uuid
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, NamedTuple, Optional, Set, Tuple, Union

import pydantic
import hints
from pawl import PayloadError
from pawl.payload import Signature, converter_for, decode, encode
from support import SOON, Environment


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclass
class Item:
    name: str
    price: decimal.Decimal
    colour: Colour = Colour.RED
    parts: "List[Item]" = field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: int


class Stop(NamedTuple):
    when: datetime.datetime
    colour: Colour
    note: Optional[str] = None


class Aliased(pydantic.BaseModel):
    number: int = pydantic.Field(alias="theNumber")


class Model(pydantic.BaseModel):
    number: int
    when: datetime.datetime


def there_and_back(value: Any, hint: Any) -> Any:
    return decode(encode(value, "test"), converter_for(hint), "test")


class PayloadTest(unittest.TestCase):
    def test_values_come_back_as_what_they_were(self) -> None:
        moment = datetime.datetime(2026, 2, 3, 4, 5, 6, 789000, datetime.timezone.utc)
        for value, hint in [
            (None, type(None)), (True, bool), (12345678901234567890123, int), (1.5, float),
            ("äö☃", str), (b"\0\xff", bytes), ([1, 2], List[int]), ((1, "a"), Tuple[int, str]),
            ((1, 2, 3), Tuple[int, ...]), ({1, 2}, Set[int]), ({"a": 1}, Dict[str, int]),
            (Stop(moment, Colour.RED), Stop), (Aliased(theNumber=3), Aliased),
            ({"x": Aliased(theNumber=3)}, Dict[str, Aliased]),
            ({1.5: 1}, Dict[float, int]), ({True: 1, False: 2}, Dict[bool, int]),
            ({None: 1, 4: 2}, Dict[Optional[int], int]),
            ({3: Colour.BLUE}, Dict[int, Colour]), (Colour.RED, Colour), (moment, datetime.datetime),
            (moment.date(), datetime.date), (moment.time(), datetime.time),
            (datetime.timedelta(seconds=1.5), datetime.timedelta),
            (uuid.UUID(int=7), uuid.UUID), (decimal.Decimal("1.10"), decimal.Decimal),
            (Item("lamp", decimal.Decimal("9.99"), Colour.BLUE, [Item("bulb", decimal.Decimal(1))]),
             Item),
            (Point(1, 2), Point), (Model(number=1, when=moment), Model),
            ([Item("a", decimal.Decimal(1))], List[Item]), (None, Optional[Item]),
            (Item("a", decimal.Decimal(1)), Optional[Item]), (5, Union[str, int]),
            ("b", Literal["a", "b"]), ({"x": [1, None]}, Any),
            (3, typing.NewType("Id", int)),
        ]:
            with self.subTest(hint=hint):
                back = there_and_back(value, hint)
                self.assertEqual(back, value)
                self.assertIs(type(back), type(value))

    def test_a_utc_time_may_end_with_z(self) -> None:
        self.assertEqual(decode(b'"2026-01-02T03:04:05Z"', converter_for(datetime.datetime), ""),
                         datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc))

    def test_what_does_not_fit_is_told_with_its_place(self) -> None:
        for data, hint, message in [
            (b'"1"', int, 'test: a whole number is expected, not "1"'),
            (b"true", int, "test: a whole number is expected, not true"),
            (b'{"name":"a"}', Item, "test: Item needs 'price'"),
            (b'{"name":"a","price":"1","parts":[{"name":3,"price":"1"}]}', Item,
             "test at parts[0].name: a text is expected, not 3"),
            (b'"green"', Colour, 'test: one of "red", 2 is expected, not "green"'),
            (b"[1]", Tuple[int, int], "test: 2 elements are expected, not 1"),
            (b'"x"', datetime.datetime, 'test: a time in ISO 8601 is expected, not "x"'),
            (b"{", int, "test: it is no JSON"),
            (b'"c"', Literal["a", "b"], "test: one of 'a', 'b' is expected, not \"c\""),
        ]:
            with self.subTest(data=data):
                with self.assertRaises(PayloadError) as caught:
                    decode(data, converter_for(hint), "test")
                self.assertEqual(str(caught.exception), message)

    def test_older_texts_of_models_are_read(self) -> None:
        self.assertEqual(decode(b'{"number":3}', converter_for(Aliased), ""), Aliased(theNumber=3))
        self.assertEqual(decode(b'["2026-01-02T03:04:05Z","red"]', converter_for(Stop), "")[1:],
                         (Colour.RED, None))

    def test_keys_that_become_the_same_are_refused(self) -> None:
        @dataclass
        class Holder:
            value: Any

        both = {1: "a", "1": "b"}
        for value in (both, [both], collections.OrderedDict(both), {"x": both}, Holder(both), Holder([{"y": Holder(both)}]),
                      {True: 1, "true": 2}, {None: 1, "null": 2}, {1.5: 1, "1.5": 2}):
            with self.subTest(value=value):
                with self.assertRaisesRegex(PayloadError, "here: two keys of a mapping are '"):
                    encode(value, "here")
        self.assertEqual(encode({1: 1, "2": 2, 2.5: 3}, ""), b'{"1":1,"2":2,"2.5":3}')

    def test_what_is_no_json_is_refused(self) -> None:
        for value in (object(), float("nan"), {"a": {1j}}, "\ud800"):
            with self.subTest(value=repr(value)):
                with self.assertRaisesRegex(PayloadError, "^here: "):
                    encode(value, "here")

    def test_hints_are_resolved_late_and_one_by_one(self) -> None:
        order = hints.make(1, hints.make(2))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with Environment(workflows=[hints.late, hints.partly]) as env:
                run = env.start(hints.late, "late", order, 1).wait(SOON)
                self.assertEqual(run.result().wait(SOON), order)
                for i in range(3):
                    run = env.start(hints.partly, f"partly-{i}", order).wait(SOON)
                    self.assertEqual(run.result().wait(SOON), [order, order])
        texts = sorted(str(each.message) for each in told if str(each.message).startswith("pawl: "))
        self.assertEqual(len(texts), 2, texts)
        self.assertIn("'Optional[Thing]' of 'thing' in Order cannot be resolved", texts[0])
        self.assertIn("'Optional[Thing]' of 'thing' in partly() cannot be resolved", texts[1])

    def test_arguments_of_functions(self) -> None:
        def none() -> None: ...
        def one(item: Item) -> None: ...
        def two(a: int, b: str = "x") -> None: ...
        def any_number(*args: int) -> None: ...

        def arguments(function: Any, data: bytes) -> list:
            return Signature(function, skip=0).arguments(data, "input")

        self.assertEqual(arguments(none, b"null"), [])
        self.assertEqual(arguments(one, b'{"name":"a","price":"1"}'),
                         [Item("a", decimal.Decimal(1))])
        self.assertEqual(arguments(two, b'[1,"b"]'), [1, "b"])
        self.assertEqual(arguments(two, b"1"), [1])
        self.assertEqual(arguments(any_number, b"[1,2]"), [1, 2])
        self.assertEqual(arguments(any_number, b"null"), [])
        with self.assertRaisesRegex(PayloadError, "no arguments are expected, not 5"):
            arguments(none, b"5")
        with self.assertRaisesRegex(PayloadError, r"input\[1\]: a whole number is expected"):
            arguments(any_number, b'[1,"x"]')
        with self.assertRaisesRegex(PayloadError, r"input\[1\]: a text is expected"):
            arguments(two, b"[1,2]")
        with self.assertRaisesRegex(PayloadError, "a list of 2 arguments is expected"):
            arguments(two, b"[1,2,3]")


if __name__ == "__main__":
    unittest.main()
