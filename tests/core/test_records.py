"""Records: what is written can be read back, and nothing else can."""

import json
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.core.records import (
    ALWAYS,
    ENDLESS,
    IF_KNOWN,
    NOT_WRITTEN,
    UNKNOWN,
    VERSION,
    WRITTEN,
    Meaning,
    Record,
    WrittenAs,
    meanings,
    plain,
    read,
    schema_of,
)


@dataclass(frozen=True)
class Spot(Record):
    """A place,
    on two lines.

    And more.
    """

    low: Annotated[float, Meaning("The least.", least=0)]
    high: Annotated[float, Meaning("The most.", unit="people"), ENDLESS] = math.inf
    kind: Literal["a", "b"] = "a"
    note: Annotated[str | None, Meaning("What to add.", longest=20), IF_KNOWN] = None


@dataclass(frozen=True, kw_only=True)
class Sheet(Record):
    """A sheet."""

    schema_version: Annotated[Literal[2], ALWAYS] = 2
    document: Annotated[Literal["sheet"], ALWAYS] = "sheet"
    what: Annotated[str, Meaning("A word.", key="class")]
    spots: Annotated[tuple[Spot, ...], Meaning("Places.", shortest=1)]
    pair: tuple[int, int] = (0, 0)
    count: int | float | None = None
    by: dict[str, tuple[Spot, ...]] = field(default_factory=dict)
    values: tuple[Annotated[float, ENDLESS], ...] = ()
    tool: Annotated[object, NOT_WRITTEN] = None


SHEET = Sheet(
    what="x",
    spots=(Spot(1.0), Spot(0.0, 2.5, "b", "so")),
    pair=(1, 2),
    count=3,
    by={"f": (Spot(4.0),)},
    values=(math.inf, 1.0),
)


def changed(**changes):
    return {**SHEET.as_json(), **changes}


def test_what_is_written():
    assert json.loads(json.dumps(SHEET.as_json(), allow_nan=False)) == {
        "schema_version": VERSION,
        "document": "sheet",
        "class": "x",
        "spots": [
            {"low": 1.0, "high": None, "kind": "a"},
            {"low": 0.0, "high": 2.5, "kind": "b", "note": "so"},
        ],
        "pair": [1, 2],
        "count": 3,
        "by": {"f": [{"low": 4.0, "high": None, "kind": "a"}]},
        "values": [None, 1.0],
    }
    assert list(SHEET.as_json())[:3] == ["schema_version", "document", "class"]


def test_what_is_written_is_read_back():
    for given_ in (SHEET.as_json(), json.dumps(SHEET.as_json())):
        again = read(Sheet, given_, what="sheet")
        assert again == SHEET
        assert isinstance(again.count, int)
        assert isinstance(again.spots[0], Spot)
        with pytest.raises(FrozenInstanceError):
            again.what = "y"


@given(
    st.builds(
        Spot,
        st.floats(0, 1e300),
        st.floats(allow_nan=False).filter(lambda value: value != -math.inf),
        st.sampled_from("ab"),
        st.text(max_size=20, alphabet=st.characters(exclude_categories=["Cs"])) | st.none(),
    )
)
def test_any_record_is_read_back(spot):
    assert read(Spot, json.dumps(spot.as_json()), what="spot") == spot


def test_numbers_of_numpy_are_written_as_numbers():
    made = plain(
        {"a": np.float32(0.5), "b": np.int64(3), "c": np.arange(2), "d": np.bool_(True), "e": np.nan}
    )
    assert made == {"a": 0.5, "b": 3, "c": [0, 1], "d": True, "e": None}
    assert [type(value) for value in made.values()] == [float, int, list, bool, type(None)]


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (changed(more=1), "sheet: more: Extra inputs are not permitted."),
        (changed(tool=1), "sheet: tool: Extra inputs are not permitted."),
        (changed(what="x"), "sheet: what: Extra inputs"),
        ({k: v for k, v in changed().items() if k != "class"}, "sheet: class: Field required."),
        ({k: v for k, v in changed().items() if k != "document"}, "sheet: document: Field required."),
        ({k: v for k, v in changed().items() if k != "schema_version"}, "schema_version must be 2; got None"),
        (changed(schema_version=1), "written for an earlier tellall"),
        (changed(schema_version=3), "Update tellall."),
        (changed(schema_version=True), "Update tellall."),
        (changed(document="audit"), "sheet: document: Input should be 'sheet'."),
        (changed(spots=[]), "sheet: spots: "),
        (changed(spots={}), "sheet: spots: Input should be a valid list."),
        (changed(spots=[3]), "sheet: spots.0: Input should be a table of keys and values."),
        (changed(spots=[{"low": "1"}]), "sheet: spots.0.low: Input should be a valid number."),
        (changed(spots=[{"low": -1}]), "sheet: spots.0.low: Input should be greater than or equal to 0."),
        (changed(spots=[{"low": True}]), "sheet: spots.0.low: Input should be a valid number."),
        (changed(spots=[{"low": None}]), "sheet: spots.0.low: "),
        (changed(spots=[{"low": math.nan}]), "sheet: spots.0.low: Input should be a finite number."),
        (changed(spots=[{"low": math.inf}]), "sheet: spots.0.low: Input should be a finite number."),
        (changed(spots=[{"low": 1, "kind": "c"}]), "sheet: spots.0.kind: "),
        (changed(spots=[{"low": 1, "note": "x" * 21}]), "sheet: spots.0.note: "),
        (changed(pair=[1]), "sheet: pair"),
        (changed(pair=[1, 2.5]), "sheet: pair.1: "),
        (changed(by=[["f", []]]), "sheet: by: Input should be a table of keys and values."),
        ("[1]", "sheet must be a JSON object; got list."),
        ("{", "sheet must be whole JSON"),
        ("[" * 100_000, "sheet must be whole JSON"),
        (changed(pair=object()), "sheet must be plain data"),
        (changed(**{"x\x1b[31m" * 100: 1}), "sheet: "),
        (changed(what_is="\ud800"), "sheet"),
    ],
)
def test_everything_else_is_refused(given_, says):
    with pytest.raises(ta.InvalidInput) as refused:
        read(Sheet, given_, what="sheet")
    assert says in str(refused.value)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 600


def test_a_list_within_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(ta.InvalidInput, match="plain data"):
        read(Sheet, changed(by=endless), what="sheet")


def test_the_schema_says_what_the_fields_are():
    schema = schema_of(Sheet, "sheet")
    assert json.loads(json.dumps(schema)) == schema
    assert schema["title"] == "tellall sheet"
    assert schema["properties"]["schema_version"]["const"] == VERSION
    assert schema["required"] == ["schema_version", "document", "class", "spots"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["spots"]["minItems"] == 1
    (spot,) = schema["$defs"].values()
    assert spot["description"] == "A place, on two lines."
    assert spot["additionalProperties"] is False
    assert spot["properties"]["low"] == {
        "description": "The least.",
        "minimum": 0,
        "title": "Low",
        "type": "number",
    }
    high = spot["properties"]["high"]
    assert [one["type"] for one in high["anyOf"]] == ["number", "null"]
    assert (high["description"], high["anyOf"][0]["unit"]) == ("The most.", "people")
    assert "tool" not in schema["properties"]


def test_meanings_are_kept_with_the_fields():
    assert meanings(Spot)["high"] == Meaning("The most.", unit="people")
    assert list(meanings(Sheet))[:3] == ["schema_version", "document", "what"]


@dataclass(frozen=True)
class Word:
    """A word that is written as text, and its codes apart from it."""

    text: str
    codes: tuple[str, ...] = ()

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class Told(Record):
    """A record that says more than it holds."""

    word: Annotated[Word, WrittenAs(str, str, Word)]
    parts: Annotated[tuple[int, ...], WrittenAs(lambda parts: parts[:2])]
    share: Annotated[float, UNKNOWN] = math.nan

    def __post_init__(self, *written):
        if written and written[0] is not None:
            object.__setattr__(self, "word", Word(self.word.text, tuple(written[0])))

    @property
    def codes(self) -> Annotated[tuple[str, ...], Meaning("The codes."), WRITTEN]:
        return self.word.codes

    @property
    def total(self) -> Annotated[int, WRITTEN]:
        return sum(self.parts)


def test_what_follows_from_fields_is_written_and_found_again():
    told = Told(Word("x", ("a", "b")), (1, 2, 3))
    written = told.as_json()
    assert written == {"word": "x", "parts": [1, 2], "share": None, "codes": ["a", "b"], "total": 6}
    again = read(Told, json.dumps(written), what="told")
    assert (again.word, again.parts, again.total) == (told.word, (1, 2), 3)
    assert math.isnan(again.share)
    without = {name: value for name, value in written.items() if name not in ("codes", "total")}
    assert read(Told, without, what="told").word == Word("x")
    schema = schema_of(Told, "told")
    assert schema["properties"]["word"]["type"] == "string"
    assert schema["properties"]["codes"]["description"] == "The codes."
    assert schema["required"] == ["word", "parts"]
    with pytest.raises(ta.InvalidInput, match="told: total"):
        read(Told, {**written, "total": "six"}, what="told")


def test_making_and_writing_records_loads_no_pydantic():
    code = """
import sys
from dataclasses import dataclass
from typing import Annotated
from tellall.core.records import Meaning, Record
@dataclass(frozen=True)
class One(Record):
    low: Annotated[float, Meaning("The least.", least=0)]
assert One(1.0).as_json() == {"low": 1.0}
assert not [name for name in sys.modules if name.startswith(("pydantic", "annotated_types"))]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
