"""What an audit says of people: counts that the threat-model page lists, and nothing that travels."""

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tellall as ta
from tellall.audits.attacks import key_of
from tellall.audits.document import PeopleCounted
from tellall.core import checkpoint
from tellall.core.checkpoint import Checkpoint
from tellall.core.records import meanings
from tests.conftest import random_people

PLAN = {"steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}


def crowd(changed: float | None = None) -> ta.Dataset:
    """Incomes to the cent; the last person's can be changed within its bin."""
    income = np.round(np.linspace(10_000.11, 90_000.77, 40), 2)
    income[-1] = income[-1] if changed is None else changed
    table = {"income": income, "car": np.arange(40) % 2, "ill": np.arange(40) // 3 % 2}
    return ta.Dataset.from_frame(table, secret="ill", bins={"income": [30_000.0, 60_000.0]})


@pytest.fixture
def documents() -> list[dict]:
    return [ta.audit(people, PLAN).document for people in (crowd(), crowd(88_888.88))]


def test_the_people_are_counted_and_no_more():
    """Whoever adds a field says on the threat-model page what it tells."""
    listed = "name people distinct_public_rows secret meaning holders counts dropped columns left_out"
    assert set(meanings(PeopleCounted)) == set(listed.split())


def test_a_number_that_no_table_shows_is_in_no_document(documents):
    """Who guesses knows the exact numbers of public columns: attacks hang on them, and nothing else does."""
    assert "88888" not in json.dumps(documents[1])
    for document in documents:
        for finding in document["findings"]:
            assert finding.pop("decoders")
    one, other = documents
    assert one == other


def test_a_column_that_is_not_public_changes_no_document():
    """The last person's income is changed within its bin, then into another."""
    documents = []
    for income in (None, 88_888.88, 12.34):
        table = {"home": np.arange(40) // 7 % 2, "car": np.arange(40) % 2, "ill": np.arange(40) // 3 % 2}
        rows = {"income": np.asarray(crowd(income).public.numbers[0]), **table}
        people = ta.Dataset.from_frame(rows, secret="ill", public=["home", "car"])
        documents.append(ta.audit(people, PLAN).document)
    one, *others = documents
    assert all(one == other for other in others)


def test_the_page_lists_what_is_published_beside_the_values(documents):
    told = " ".join(documents[0]["published_too"])
    assert "How many people there are: 40." in told
    assert "income (3), car (2)" in told
    assert "Where income is cut: 30000, 60000" in told
    assert "A stated ε is about the published values." in told


# Folders of finished pieces: with the people's file they continue the work, without it they say nothing.

KEPT: dict[str, Any] = {
    "releases": [
        {"statistic": {"kind": "Marginals", "ways": 3}},
        {
            "statistic": {"kind": "Marginals", "ways": 2},
            "protect": [{"kind": "Gaussian", "std": 2.0}],
        },
    ]
}


def texts_in(thing: Any) -> Iterator[str]:
    """Every text in plain data, names included."""
    if isinstance(thing, dict):
        thing = [*thing, *thing.values()]
    if isinstance(thing, list):
        for part in thing:
            yield from texts_in(part)
    elif isinstance(thing, str):
        yield thing


def codes_in(folder: Path) -> list[np.ndarray]:
    """Who is proved, as far as the files of a folder say so, in the order that its random number gives."""
    number = np.frombuffer((folder / ".secret").read_bytes(), dtype=np.uint32)
    found = []
    for path in folder.rglob("*.json"):
        for text in texts_in(json.loads(path.read_text())):
            try:
                codes = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<u2")
            except (ValueError, zlib.error):
                continue
            back = np.zeros(codes.size, dtype=int)
            back[np.random.default_rng(number).permutation(codes.size)] = codes
            found.append(back)
    return found


def test_a_folder_of_finished_pieces_names_nobody(tmp_path):
    people = random_people(40, 6, seed=2)
    done = ta.audit(people, KEPT, work=tmp_path)
    assert done.overall.proved > 0
    files = list(tmp_path.rglob("*.json"))
    assert files
    assert codes_in(tmp_path) == []
    told = " ".join(path.read_text() for path in files)
    assert not any(word in told for word in ("proofs", "hits", "proved", "Marginals", "outcomes"))


def test_the_pieces_open_only_with_everybodys_secret(tmp_path):
    people = random_people(40, 6, seed=2)
    done = ta.audit(people, KEPT, work=tmp_path)
    kept = Checkpoint(tmp_path, (tmp_path / ".secret").read_bytes())
    other = people.secret.copy()
    other[-1] = 1 - other[-1]
    loaded = []
    for one in (people, replace(people, secret=other), replace(people, secret=1 - people.secret)):
        key = key_of(done.plan, one)
        piece = checkpoint.checkpoint_key(key, "alone", [[0, 0]])
        loaded.append((kept.load(piece) is not None, kept.derive(key, "order of people")))
    assert [found for found, _ in loaded] == [True, False, False]
    assert len({number for _, number in loaded}) == 3


def test_masked_pieces_of_two_peoples_have_nothing_in_common(tmp_path, monkeypatch):
    """Of 8000 bits or more, half agree but for luck: 6 standard deviations are a chance below 1e-8."""
    monkeypatch.setattr(checkpoint.secrets, "token_hex", lambda size: "0" * (2 * size))
    monkeypatch.setattr(checkpoint.secrets, "token_bytes", lambda size: b"s" * size)
    people = random_people(40, 6, seed=2)
    other = people.secret.copy()
    other[0] = 1 - other[0]
    found = []
    for number, secret in enumerate((people.secret, other)):
        work = tmp_path / str(number)
        ta.audit(replace(people, secret=secret), {**KEPT, "releases": KEPT["releases"][:1]}, work=work)
        (path,) = work.rglob("*.json")
        found.append(np.frombuffer(base64.b85decode(json.loads(path.read_text())["masked"]), np.uint8))
    shared = min(map(len, found))
    same = np.unpackbits(found[0][:shared]) == np.unpackbits(found[1][:shared])
    assert same.size >= 8000
    assert abs(same.mean() - 0.5) <= 6 * 0.5 / np.sqrt(same.size)


def test_a_resumed_audit_is_a_fresh_one(tmp_path):
    people, seen = random_people(40, 6, seed=2), []
    fresh = ta.audit(people, KEPT)

    def stop(done: int, total: int) -> None:
        if done == 6:  # two sets of releases, three decoders each
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ta.audit(people, KEPT, stop, work=tmp_path)
    assert list(tmp_path.rglob("*.json"))
    again = ta.audit(people, KEPT, lambda *done: seen.append(done), work=tmp_path)
    assert seen[0][0] == 6
    assert again.document == fresh.document
    assert again.overall.proved == fresh.overall.proved > 0
