"""Records: what tellall finds, declared once; their JSON, its schema and a strict reader are made from them.

A record is a frozen dataclass that extends `Record`. What a field is goes with its type::

    @dataclass(frozen=True)
    class Cell(Record):
        '''A published cell.'''

        low: Annotated[float, Meaning("The least count.", least=0)]
        high: Annotated[float, Meaning("The largest count."), ENDLESS]
        joint: Annotated[object, NOT_WRITTEN] = None

        @property
        def open(self) -> Annotated[bool, Meaning("Whether there is no largest."), WRITTEN]:
            return math.isinf(self.high)

`plain` gives what is written, `schema_of` the JSON schema, `read` the record again. Code that makes, shows or
compares records uses attributes; names in quotes are for files alone.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

import numpy as np

from tellall.core.checks import is_whole
from tellall.core.errors import InvalidInput, invalid
from tellall.core.text import one_line

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema, ErrorDetails

__all__ = [
    "ALWAYS",
    "ENDLESS",
    "IF_KNOWN",
    "MAYBE_WHOLE",
    "NOT_WRITTEN",
    "UNKNOWN",
    "VERSION",
    "WRITTEN",
    "Meaning",
    "Record",
    "WrittenAs",
    "meanings",
    "outdated",
    "plain",
    "problems",
    "read",
    "same_fields",
    "schema_of",
    "written_of",
]

VERSION: Literal[2] = 2
_Kind = TypeVar("_Kind", bound="Record")
# the reader reads JSON into dataclasses; people write Python or TOML, and name keys
_WORDS = {
    "missing_argument": "Field required",
    "unexpected_keyword_argument": "Extra inputs are not permitted",
    "tuple_type": "Input should be a valid list",
    "list_type": "Input should be a valid list",
    "dict_type": "Input should be a table of keys and values",
    "dataclass_type": "Input should be a table of keys and values",
}


@dataclass(frozen=True)
class Meaning:
    """What a field of a record is, in words, with its unit and its limits.

    Parameters
    ----------
    words
        A sentence, for the schema and for readers of the code.
    unit
        What it is measured in, such as "people".
    least, most, above, below
        Its limits; ``above`` and ``below`` are not allowed themselves.
    longest, shortest
        The most and fewest letters of a text, or entries of a list.
    pattern
        A regular expression that a text must match.
    key
        Its name in JSON, where that is not the attribute's.
    formerly
        Other names that it had in documents of this version; they are still read.
    """

    words: str = ""
    unit: str = ""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    longest: int | None = None
    shortest: int | None = None
    pattern: str | None = None
    key: str = ""
    formerly: tuple[str, ...] = ()

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True  # pydantic looks inside

    def __iter__(self) -> Iterator[Any]:
        """The limits and the words in pydantic's terms."""
        import pydantic

        yield pydantic.Field(
            ge=self.least,
            le=self.most,
            gt=self.above,
            lt=self.below,
            max_length=self.longest,
            min_length=self.shortest,
            pattern=self.pattern,
            description=self.words or None,
            json_schema_extra={"unit": self.unit} if self.unit else None,
        )


class _NotWritten:
    """A field that stays in this process: documents do not have it, and reading one leaves its default."""


class _Always:
    """A field that every document has, although Python may leave it out: what it is, and of which version."""


class _IfKnown:
    """A field that documents leave out where it is None."""


class _Written:
    """A property that documents have too; reading one finds it again from the fields."""


@dataclass(frozen=True)
class _Null:
    """A number that JSON does not have, and writes as null."""

    number: float

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        number = core_schema.nullable_schema(handler(source))
        return core_schema.no_info_after_validator_function(self._read, number)

    def _read(self, value: float | None) -> float:
        return self.number if value is None else value


class _MaybeWhole:
    """A number that is read as it was written: 7 as 7, and not as 7.0."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(int | float)


@dataclass(frozen=True)
class WrittenAs:
    """How a field is written, where that is not as it is; ``read`` makes it again of what was written.

    Parameters
    ----------
    write
        From the field to what is written.
    kind, read
        The type of what is written, and from it to the field; left out where both are of one type.
    """

    write: Callable[[Any], Any]
    kind: Any = None
    read: Callable[[Any], Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        if self.read is None:
            return handler(source)
        return core_schema.no_info_after_validator_function(self.read, handler.generate_schema(self.kind))


ALWAYS = _Always()
IF_KNOWN = _IfKnown()
NOT_WRITTEN = _NotWritten()
WRITTEN = _Written()
MAYBE_WHOLE = _MaybeWhole()
ENDLESS, UNKNOWN = _Null(math.inf), _Null(math.nan)  # null is: no end; nobody knows


class Record:
    """A frozen dataclass with a JSON form, a schema and a strict reader; see the module."""

    def as_json(self) -> dict[str, Any]:
        """The record as plain data, ready for JSON."""
        return {
            part.key: plain(part.write(value))
            for part in _parts(type(self))
            if (value := getattr(self, part.name)) is not None or not part.if_known
        }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        remembers = hasattr(cls, "__post_init__")  # it gets what was written of properties, in their order
        parts = [
            core_schema.dataclass_field(
                part.name,
                _with_default(part, handler.generate_schema(part.hint)),
                kw_only=True,
                init_only=part.field is None,
                validation_alias=_names_in_documents(part),
                serialization_alias=part.key,
            )
            for part in _parts(cls)
        ]
        return core_schema.dataclass_schema(
            cls,
            core_schema.dataclass_args_schema(cls.__name__, parts, collect_init_only=remembers),
            [part.name for part in _parts(cls) if part.field is not None],
            post_init=remembers,
            ref=f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
            config={"extra_fields_behavior": "forbid", "strict": True, "allow_inf_nan": False},
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler.resolve_ref_schema(made := handler(core))
        found["additionalProperties"] = False
        found["description"] = " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
        for part in _parts(cls):  # beside "null is infinite", not within
            if part.meaning.words:
                found["properties"][part.key].setdefault("description", part.meaning.words)
        return made


@dataclass(frozen=True)
class _Part:
    """A field as documents have it, or a property: then ``field`` is None."""

    name: str
    field: Field[Any] | None
    hint: Any
    key: str
    meaning: Meaning
    always: bool
    if_known: bool
    write: Callable[[Any], Any]


def _parts(kind: type[Record]) -> tuple[_Part, ...]:
    """The fields that documents have, in their order."""
    known: Any = kind  # mypy would compare its hash with that of an instance
    return _parts_of(known)


@cache
def _parts_of(kind: Any) -> tuple[_Part, ...]:
    hints = get_type_hints(kind, include_extras=True)
    known = [(field.name, field, hints[field.name]) for field in fields(kind)]
    found = []
    for name, field, hint in (*known, *_written_properties(kind)):
        said = getattr(hint, "__metadata__", ())
        if NOT_WRITTEN in said:
            continue
        # what the field says comes after what its type says
        meaning = next((one for one in reversed(said) if isinstance(one, Meaning)), Meaning())
        write = next((one.write for one in said if isinstance(one, WrittenAs)), _as_it_is)
        marks = ALWAYS in said, IF_KNOWN in said
        found.append(_Part(name, field, hint, meaning.key or name, meaning, *marks, write))
    return tuple(found)


def _as_it_is(value: object) -> Any:
    return value


def _written_properties(kind: Any) -> Iterator[tuple[str, Field[Any] | None, Any]]:
    """The properties that documents have, those of the first class of the family first."""
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, property) and value.fget is not None:
                hint = get_type_hints(value.fget, include_extras=True).get("return")
                if WRITTEN in getattr(hint, "__metadata__", ()):
                    yield name, None, hint


def _names_in_documents(part: _Part) -> list[list[str | int]]:
    """The names that a field has, or had, as paths."""
    names: list[str | int] = [part.key, *part.meaning.formerly]
    return [[name] for name in names]


def _with_default(part: _Part, schema: CoreSchema) -> CoreSchema:
    """The schema of a field; documents may leave out those with a default."""
    from pydantic_core import core_schema

    if part.field is None:
        return core_schema.with_default_schema(schema, default=None)
    if part.always:
        return schema
    if part.field.default_factory is not MISSING:
        return core_schema.with_default_schema(schema, default_factory=part.field.default_factory)
    if part.field.default is not MISSING:
        return core_schema.with_default_schema(schema, default=part.field.default)
    return schema


def written_of(kind: type[Record], values: Sequence[object]) -> dict[str, Any]:
    """What a document says of the properties of a kind of record, from what its ``__post_init__`` gets."""
    return dict(zip((part.name for part in _parts(kind) if part.field is None), values, strict=False))


def same_fields(kind: type[_Kind], source: object, **given: object) -> _Kind:
    """A record of that kind with what a source has under the names of its fields; ``given`` are the others.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Row(Record):
    ...     loss: float
    >>> @dataclass(frozen=True)
    ... class Named(Record):
    ...     name: str
    ...     loss: float
    >>> same_fields(Named, Row(2.0), name="exact")
    Named(name='exact', loss=2.0)
    """
    known: Any = kind
    names = [field.name for field in fields(known) if field.name not in given]
    had = {name: value for name in names if (value := getattr(source, name, MISSING)) is not MISSING}
    return kind(**had, **given)


def meanings(kind: type[Record]) -> dict[str, Meaning]:
    """What each field of a kind of record is, by attribute, in the order of documents."""
    return {part.name: part.meaning for part in _parts(kind)}


def plain(value: object) -> Any:
    """What is written of a value: records as objects, tuples and arrays as lists, infinite and NaN as null.

    Examples
    --------
    >>> plain({"low": (np.float64(1.5), float("inf"))})
    {'low': [1.5, None]}
    """
    if isinstance(value, Record):
        return value.as_json()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def schema_of(kind: type[Record], name: str) -> dict[str, object]:
    """The JSON schema of a kind of record, as the document of this name."""
    from pydantic import TypeAdapter

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://tellall.invalid/schemas/{name}-v{VERSION}.json",
        **TypeAdapter(kind).json_schema(),
        "title": f"tellall {name}",
    }


def read(kind: type[_Kind], given: str | Mapping[str, object], *, what: str) -> _Kind:
    """The record in a JSON text, or in plain data of Python or TOML; errors call it `what`.

    Everything is checked: types without conversion, limits, unknown keys, the version.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Row(Record):
    ...     loss: float
    >>> read(Row, {"loss": 2}, what="row")
    Row(loss=2.0)
    >>> read(Row, {"loss": 2, "los": 3}, what="row")
    Traceback (most recent call last):
    tellall.core.errors.InvalidInput: row: los: Extra inputs are not permitted.
    """
    from pydantic import ValidationError

    try:
        return _read(kind, given, what)
    except ValidationError as error:
        found = problems(error)
        path, words = next((one for one in found if one[0] == ("document",)), found[0])
        raise InvalidInput(f"{what}: {one_line('.'.join(path))}: {one_line(words, 400)}.") from None


def _read(kind: type[_Kind], given: str | Mapping[str, object], what: str) -> _Kind:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise invalid(what, "whole JSON", "text that is not") from None
        if not isinstance(given, dict):
            raise invalid(what, "a JSON object", type(given).__name__)
    _check_version(kind, given, what)
    try:
        text = json.dumps(given)
    except (TypeError, ValueError, RecursionError):  # a date of TOML, an object of Python, a list in itself
        raise invalid(what, "plain data: texts, numbers, lists and tables", "something else") from None
    known: Any = kind
    made: _Kind = _adapter_of(known).validate_json(text)
    return made


@cache
def _adapter_of(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _check_version(kind: type[Record], given: Mapping[str, object], what: str) -> None:
    """Refuses another version of this document; that it is another document is said by the reader."""
    parts = {part.key: part for part in _parts(kind)}
    version, name = parts.get("schema_version"), parts.get("document")
    if version is None or (name is not None and given.get("document") not in get_args(_bare(name.hint))):
        return
    if version.always or "schema_version" in given:
        found = given.get("schema_version")
        if advice := outdated(found):
            raise invalid(f"{what}: schema_version", f"{VERSION}", found, advice)


def _bare(hint: object) -> Any:
    """A type without what is said about it."""
    return getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint


def problems(error: ValidationError) -> list[tuple[tuple[str, ...], str]]:
    """What pydantic found wrong: where, and what, in words for those who write Python or TOML."""
    details: list[ErrorDetails] = error.errors(include_url=False, include_input=False)
    return [(_path(one["loc"]), _WORDS.get(one["type"], one["msg"])) for one in details]


def _path(places: Sequence[int | str]) -> tuple[str, ...]:
    """Where it is, without pydantic's words for one of several types: ``tuple[float, ...]``."""
    return tuple(str(place) for place in places if not (isinstance(place, str) and "[" in place))


def outdated(version: object) -> str:
    """What to do about a document of another version; empty if it is ours.

    Examples
    --------
    >>> outdated(1)
    'It was written for an earlier tellall: make it again with this one.'
    """
    if version == VERSION and not isinstance(version, bool):
        return ""
    earlier = is_whole(version) and 0 < version < VERSION
    return (
        "It was written for an earlier tellall: make it again with this one."
        if earlier
        else "Update tellall."
    )
