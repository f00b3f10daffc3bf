"""Payloads: values as JSON, and back by type hints.

Written as JSON: plain values, dataclasses, pydantic models, enumerations (by value), datetime, date
and time (ISO 8601), timedelta (seconds), UUID, Decimal and Path (texts), bytes (base64), tuples and
sets (lists). A hint says what becomes of JSON again; without one it stays as it is.
"""
from __future__ import annotations

import base64
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import json
import pathlib
import sys
import types
import typing
import uuid
import warnings
from typing import Any, Callable, Iterable, Mapping, Optional, Union

from .errors import PayloadError, UsageError

Converter = Callable[[Any], Any]


class _Mismatch(Exception):
    """Says what is wrong, and inside of what."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path = ""

    def inside(self, part: str) -> "_Mismatch":
        self.path = part + self.path
        return self


def text_of(value: Any) -> str:
    """Never raises, whatever __str__ of the value does."""
    try:
        return str(value)
    except Exception:
        return f"({type(value).__name__} has no text)"


# --- Writing --------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    plain = _plain_value(value)
    if isinstance(plain, _CONTAINERS):
        _check_keys(plain)
    return plain


def _plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (uuid.UUID, decimal.Decimal, pathlib.PurePath)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=lambda each: (str(type(each)), str(each)))
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_CONTAINERS = (dict, list, tuple)


def _check_keys(value: Any) -> None:
    """Raises ValueError if two keys become the same text, of which one value would be lost."""
    elements: Any = value
    if isinstance(value, dict):
        elements = value.values()
        if any(type(key) is not str for key in value):
            plain = [key for key in value if isinstance(key, (str, int, float)) or key is None]
            texts = [key if isinstance(key, str) else json.dumps(key) for key in plain]
            twice = sorted(text for text in set(texts) if texts.count(text) > 1)
            if twice:
                raise ValueError(f"two keys of a mapping are {twice[0]!r} in JSON")
    for each in elements:
        if isinstance(each, _CONTAINERS):
            _check_keys(each)


_encoder = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
)


def encode(value: Any, where: str) -> bytes:
    if value is None:
        return b"null"
    try:
        payload = _encoder.encode(value).encode("utf-8")
        if isinstance(value, _CONTAINERS):
            _check_keys(value)
        return payload
    except Exception as error:  # Anything: attributes and conversions are code of the user's.
        raise PayloadError(f"{where}: {text_of(error)}") from None


def encode_arguments(
    arguments: tuple, where: str, signature: "Optional[Signature]" = None
) -> bytes:
    """One value stands for itself, several are an array. With the signature of what is called: they
    are checked, and one that would be taken for several is an array with one element."""
    if signature is not None:
        signature.check(arguments, where)
    if len(arguments) != 1:
        return encode(list(arguments) if arguments else None, where)
    payload = encode(arguments[0], where)
    if signature is not None:
        if signature.takes_several and (payload[:1] == b"[" or payload == b"null"):
            return b"[" + payload + b"]"
        if payload == b"null":
            signature.check_null(where)
    return payload


# --- Reading --------------------------------------------------------------------------------------


_read_json = json.JSONDecoder().decode  # Without asking for the encoding.


def read_json(data: bytes) -> Any:
    """Raises ValueError."""
    return _read_json(str(data, "utf-8"))


def parse(data: bytes, where: str) -> Any:
    if not data:
        return None
    try:
        return read_json(data)
    except ValueError:
        raise PayloadError(f"{where}: it is no JSON") from None
    except RecursionError:
        raise PayloadError(f"{where}: it is nested too deeply") from None


def decode(data: bytes, converter: Optional[Converter], where: str) -> Any:
    value = parse(data, where)
    return value if converter is None else convert(value, converter, where)


def convert(value: Any, converter: Optional[Converter], where: str) -> Any:
    if converter is None:
        return value
    try:
        return converter(value)
    except _Mismatch as error:
        at = f" at {error.path.lstrip('.')}" if error.path else ""
        raise PayloadError(f"{where}{at}: {error.problem}") from None


_converters: dict[Any, Optional[Converter]] = {}


def converter_for(hint: Any) -> Optional[Converter]:
    """None: JSON stays as it is."""
    try:
        if hint not in _converters:
            _converters[hint] = _make_converter(hint)
        return _converters[hint]
    except TypeError:  # Not hashable.
        return _make_converter(hint)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"


def _exactly(expected: type, name: str) -> Converter:
    def read(value: Any) -> Any:
        if type(value) is expected:
            return value
        raise _Mismatch(f"{name} is expected, not {_show(value)}")

    return read


def _read_float(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _Mismatch(f"a number is expected, not {_show(value)}")


def _by(make: Callable[[Any], Any], name: str) -> Converter:
    def read(value: Any) -> Any:
        try:
            return make(value)
        except Exception:
            raise _Mismatch(f"{name} is expected, not {_show(value)}") from None

    return read


def _read_moment(value: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(value[:-1] + "+00:00" if value[-1:] == "Z" else value)


_SIMPLE: dict[Any, Converter] = {
    int: _exactly(int, "a whole number"),
    str: _exactly(str, "a text"),
    bool: _exactly(bool, "true or false"),
    float: _read_float,
    datetime.datetime: _by(_read_moment, "a time in ISO 8601"),
    datetime.date: _by(datetime.date.fromisoformat, "a date in ISO 8601"),
    datetime.time: _by(datetime.time.fromisoformat, "a time of day in ISO 8601"),
    datetime.timedelta: _by(lambda value: datetime.timedelta(seconds=value), "seconds"),
    uuid.UUID: _by(uuid.UUID, "a UUID"),
    decimal.Decimal: _by(lambda value: decimal.Decimal(str(value)), "a decimal number"),
    bytes: _by(lambda value: base64.b64decode(value, validate=True), "base64"),
    pathlib.Path: _by(pathlib.Path, "a path"),
}

_LISTS: dict[Any, Callable[[Any], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: set,
    collections.abc.MutableSequence: list,
}
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def _make_converter(hint: Any) -> Optional[Converter]:
    if hint is Any or hint is None or hint is type(None) or hint is object:
        return None
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, typing.TypeVar):
        return None
    if hasattr(hint, "__supertype__"):  # NewType
        return converter_for(hint.__supertype__)
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Annotated:
        return converter_for(arguments[0])
    if origin is Union or origin is getattr(types, "UnionType", Union):
        return _union(arguments)
    if origin is typing.Literal:
        return _literal(arguments)
    if origin is tuple or hint is tuple:
        return _tuple(arguments)
    if (origin or hint) in _LISTS:
        return _list(_LISTS[origin or hint], arguments)
    if (origin or hint) in _MAPPINGS:
        return _mapping(arguments)
    if not isinstance(hint, type):
        return None
    if issubclass(hint, enum.Enum):
        return _by(hint, "one of " + ", ".join(_show(each.value) for each in hint))
    if hasattr(hint, "model_validate"):  # pydantic
        return _model(hint)
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint)
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        return _named_tuple(hint)
    return None


def _union(arguments: tuple) -> Optional[Converter]:
    has_none = type(None) in arguments
    others = [converter_for(each) for each in arguments if each is not type(None)]
    if None in others:
        return None

    def read(value: Any) -> Any:
        if value is None and has_none:
            return None
        problem: Optional[_Mismatch] = None
        for converter in others:
            try:
                return converter(value)  # type: ignore[misc]
            except _Mismatch as error:
                problem = problem or error
        raise problem  # type: ignore[misc]

    return read


def _literal(arguments: tuple) -> Converter:
    def read(value: Any) -> Any:
        for each in arguments:
            if each == value and type(each) is type(value):
                return each
        raise _Mismatch(f"one of {', '.join(map(repr, arguments))} is expected, not {_show(value)}")

    return read


def _elements(value: Any, converters: Any) -> list:
    elements = []
    for i, (each, converter) in enumerate(zip(value, converters)):
        try:
            elements.append(each if converter is None else converter(each))
        except _Mismatch as error:
            raise error.inside(f"[{i}]") from None
    return elements


def _check_list(value: Any) -> list:
    if not isinstance(value, list):
        raise _Mismatch(f"a list is expected, not {_show(value)}")
    return value


def _list(make: Callable[[Any], Any], arguments: tuple) -> Converter:
    converter = converter_for(arguments[0]) if arguments else None

    def read(value: Any) -> Any:
        return make(_elements(_check_list(value), [converter] * len(value)))

    return read


def _tuple(arguments: tuple) -> Converter:
    is_open = not arguments or arguments[-1] is Ellipsis
    if arguments == ((),):  # tuple[()] before 3.11
        arguments = ()
    converters = [converter_for(each) for each in arguments if each is not Ellipsis]

    def read(value: Any) -> Any:
        _check_list(value)
        if is_open:
            return tuple(_elements(value, (converters or [None]) * len(value)))
        if len(value) != len(converters):
            raise _Mismatch(f"{len(converters)} elements are expected, not {len(value)}")
        return tuple(_elements(value, converters))

    return read


def _mapping(arguments: tuple) -> Converter:
    key = _key(converter_for(arguments[0])) if arguments else None
    element = converter_for(arguments[1]) if arguments else None

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"an object is expected, not {_show(value)}")
        result = {}
        for name, each in value.items():
            try:
                result[name if key is None else key(name)] = (
                    each if element is None else element(each)
                )
            except _Mismatch as error:
                raise error.inside(f".{name}") from None
        return result

    return read


def _key(converter: Optional[Converter]) -> Optional[Converter]:
    """Keys are texts in JSON: "1" may stand for 1, "true" for True."""
    if converter is None:
        return None
    known = converter

    def read(text: Any) -> Any:
        try:
            return known(text)
        except _Mismatch as problem:
            try:
                return known(json.loads(text))
            except (_Mismatch, ValueError):
                raise problem from None

    return read


def _named_tuple(cls: Any) -> Converter:
    converters: list = []
    names = cls._fields
    required = len(names) - len(cls._field_defaults)

    def read(value: Any) -> Any:
        if not converters:  # Late, as of a dataclass.
            hints = _class_hints(cls)
            converters.extend(converter_for(hints.get(name, Any)) for name in names)
        if not isinstance(value, list) or not required <= len(value) <= len(names):
            raise _Mismatch(f"{cls.__name__} as a list is expected, not {_show(value)}")
        return cls(*_elements(value, converters))

    return read


def _model(model: Any) -> Converter:
    # By alias, as it is written; by name, as it was.
    has_names = "by_name" in inspect.signature(model.model_validate).parameters
    options = {"by_alias": True, "by_name": True} if has_names else {}

    def read(value: Any) -> Any:
        try:
            return model.model_validate(value, **options)
        except ValueError as error:
            raise _Mismatch(f"{model.__name__}: {error}") from None

    return read


def _dataclass(cls: Any) -> Converter:
    fields: dict[str, Optional[Converter]] = {}
    required: set[str] = set()
    _prepared = False

    def prepare() -> None:  # Late: a class may refer to itself.
        nonlocal _prepared
        hints = _class_hints(cls)
        for field in dataclasses.fields(cls):
            if field.init:
                fields[field.name] = converter_for(hints.get(field.name, Any))
                if (
                    field.default is dataclasses.MISSING
                    and field.default_factory is dataclasses.MISSING
                ):
                    required.add(field.name)
        _prepared = True

    def read(value: Any) -> Any:
        if not _prepared:
            prepare()
        if not isinstance(value, dict):
            raise _Mismatch(f"an object ({cls.__name__}) is expected, not {_show(value)}")
        arguments = {}
        for name, converter in fields.items():
            if name in value:
                try:
                    each = value[name]
                    arguments[name] = each if converter is None else converter(each)
                except _Mismatch as error:
                    raise error.inside(f".{name}") from None
            elif name in required:
                raise _Mismatch(f"{cls.__name__} needs '{name}'")
        return cls(**arguments)

    return read


# --- Hints ------------------------------------------------------------------------------------------


def _resolve(
    annotations: Mapping[str, Any], names: Iterable[str], globals_: Any, locals_: Any, owner: str
) -> dict[str, Any]:
    """One by one: a name that only type checkers know does not spoil the others."""
    hints = {}
    for name in names:
        if name not in annotations:
            continue
        hint = annotations[name]
        holder = types.SimpleNamespace(__annotations__={name: hint})
        try:
            hints.update(typing.get_type_hints(holder, globals_, locals_))
        except Exception as error:
            warnings.warn(
                f"pawl: the hint {hint!r} of '{name}' in {owner} cannot be resolved "
                f"({text_of(error)}): it stays as it is in JSON",
                stacklevel=2,
            )
    return hints


def _function_hints(function: Any, names: Iterable[str]) -> dict[str, Any]:
    function = _plain_function(function)
    try:
        return typing.get_type_hints(function)
    except Exception:
        inner = inspect.unwrap(function)
        return _resolve(
            getattr(function, "__annotations__", {}), names, getattr(inner, "__globals__", {}),
            None, f"{_name_of(function)}()",
        )


def _class_hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except Exception:
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            annotations = base.__dict__.get("__annotations__", {})
            module = sys.modules.get(base.__module__)
            hints.update(
                _resolve(
                    annotations, annotations, getattr(module, "__dict__", {}), dict(vars(base)),
                    base.__qualname__,
                )
            )
        return hints


def _plain_function(function: Any) -> Any:
    """What has the hints of something that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", None) or getattr(function, "__qualname__", "it"))


# --- Functions --------------------------------------------------------------------------------------


class Signature:
    """How JSON becomes the arguments of a function, and its result is read again. Hints are resolved
    when they are needed first: they may name what is defined below the function."""

    def __init__(self, function: Callable[..., Any], skip: int) -> None:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # Functions in C need not tell.
            parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
        while skip and parameters and parameters[0].kind != inspect.Parameter.VAR_POSITIONAL:
            del parameters[0]
            skip -= 1
        self._function = function
        self._all = parameters
        self._parameters = [
            each
            for each in parameters
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        self._rest = next((each for each in parameters if each.kind == each.VAR_POSITIONAL), None)
        self._needs_keyword = any(
            each.kind == each.KEYWORD_ONLY and each.default is each.empty for each in parameters
        )
        self._required = sum(1 for each in self._parameters if each.default is each.empty)
        self.takes_several = self._rest is not None or len(self._parameters) > 1

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        names = [each.name for each in self._parameters]
        if self._rest is not None:
            names.append(self._rest.name)
        return _function_hints(self._function, [*names, "return"])

    @functools.cached_property
    def result(self) -> Optional[Converter]:
        return converter_for(self._hints.get("return", Any))

    @functools.cached_property
    def _converters(self) -> list:
        return [converter_for(self._hints.get(each.name, Any)) for each in self._parameters]

    @functools.cached_property
    def _rest_converter(self) -> Optional[Converter]:
        return None if self._rest is None else converter_for(self._hints.get(self._rest.name, Any))

    def _show(self) -> str:
        return f"{_name_of(self._function)}{inspect.Signature(self._all)}"

    def check(self, arguments: tuple, where: str) -> None:
        """Raises UsageError if the function cannot be called with them."""
        count = len(arguments)
        if self._required <= count and not self._needs_keyword:
            if count <= len(self._parameters) or self._rest is not None:
                return
        try:
            inspect.Signature(self._all).bind(*arguments)
        except TypeError as error:
            raise UsageError(f"{where}: {error}: {self._show()}") from None

    def check_null(self, where: str) -> None:
        """Of one parameter: null says that nothing was given."""
        default = self._parameters[0].default if self._parameters else None
        if default is not None and default is not inspect.Parameter.empty:
            raise UsageError(
                f"{where}: None cannot be told from no argument, which is {default!r}: "
                f"{self._show()}"
            )

    def arguments(self, data: bytes, where: str) -> list:
        value = parse(data, where)
        if not self._parameters and self._rest is None:
            if value in (None, [], {}):
                return []
            raise PayloadError(f"{where}: no arguments are expected, not {_show(value)}")
        if value is None and self._required == 0:
            return []
        if not self.takes_several or (not isinstance(value, list) and self._required <= 1):
            converter = self._converters[0] if self._parameters else self._rest_converter
            return [convert(value, converter, where)]
        if (
            not isinstance(value, list)
            or len(value) < self._required
            or (self._rest is None and len(value) > len(self._parameters))
        ):
            count = self._required if self._rest is not None else len(self._parameters)
            least = "at least " if self._rest is not None else ""
            raise PayloadError(
                f"{where}: a list of {least}{count} arguments is expected, not {_show(value)}"
            )
        converters = self._converters + [self._rest_converter] * len(value)
        return [
            convert(each, converter, f"{where}[{i}]")
            for i, (each, converter) in enumerate(zip(value, converters))
        ]


_results: dict[Any, Optional[Converter]] = {}


def result_converter(function: Any) -> Optional[Converter]:
    """By what `function` says that it returns."""
    if not inspect.isfunction(function):
        function = _plain_function(function)
    code = getattr(function, "__code__", None)
    annotations = getattr(function, "__annotations__", None)
    if code is None or not annotations or "return" not in annotations:
        return None
    key = (id(code), id(annotations["return"]))
    found = _results.get(key, _results)
    if found is _results:
        hint = _function_hints(function, ["return"]).get("return", Any)
        found = _results[key] = converter_for(hint)
        _kept.append((code, annotations["return"]))  # So that the ids stay theirs.
    return found  # type: ignore[return-value]


_kept: list = []
