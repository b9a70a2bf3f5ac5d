"""What commands write is what Python gives, and is read back as the same record."""

import json
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall.attack.prove.row_files import RowsFound
from tellall.attack.reconstruct.attack_files import AttackOnNumbers, AttackOnValues
from tellall.audits.regression_profile import ProfileFound
from tellall.core.records import read
from tellall.privacy.bounds.table import BoundsFound
from tellall.tracing.limit_files import LimitFound
from tellall.tracing.trace_files import TracingFound


@pytest.fixture
def tellall(tellall):
    """Files of 40 people, of what is published about them, and of whom to trace."""
    rng = np.random.default_rng(2)
    codes, ill, pay = rng.integers(0, 2, (40, 5)), np.arange(40) % 2, rng.integers(1, 900, 40)
    lines = [",".join(map(str, [*row, bit, sum_])) for row, bit, sum_ in zip(codes, ill, pay, strict=True)]
    Path("people.csv").write_text("\n".join(["a,b,c,d,e,ill,pay", *lines]) + "\n")
    known = [",".join(map(str, row)) for row in codes]
    Path("known.csv").write_text("\n".join(["a,b,c,d,e", *known]) + "\n")
    frame = {name: codes[:, at] for at, name in enumerate("abcde")}
    bits = ta.Dataset.from_frame({**frame, "ill": ill}, secret="ill")
    ta.publish(bits, ta.Marginals(3)).save("bits.json")
    numbers = ta.Dataset.from_frame({**frame, "pay": pay}, secret="pay")
    ta.publish(numbers, ta.Sums(2)).save("numbers.json")
    Path("rows.csv").write_text("sex,age,count\nm,0-9,3\nm,10-19,5\nf,0-9,1\nf,10-19,0\n")
    share = rng.uniform(0.1, 0.9, 300)
    everybody = (rng.random((60, 300)) < share).astype(int)
    head = ",".join(["id", *(f"s{at}" for at in range(300))])
    for name, rows in (("targets.csv", everybody[:20]), ("reference.csv", everybody[20:])):
        told = [",".join(map(str, [f"{name[0]}{at}", *row])) for at, row in enumerate(rows)]
        Path(name).write_text("\n".join([head, *told]) + "\n")
    means = [f"s{at},{mean}" for at, mean in enumerate(everybody[:10].mean(axis=0))]
    Path("means.csv").write_text("\n".join(["name,mean", *means]) + "\n")
    return tellall


TRACED = ("--release", "means.csv", "--targets", "targets.csv", "--reference", "reference.csv")
DOCUMENTS = {
    "rows": (RowsFound, ("rows.csv", "--jobs", "1")),
    "bounds": (BoundsFound, ("-n", "100", "--attributes", "6", "--ways", "2")),
    "limit": (LimitFound, ("means.csv", "-n", "10", "--trials", "200", "--round", "0.1")),
    "profile": (ProfileFound, ("people.csv", "-y", "pay", "-x", "a", "--html", "page.html")),
    "trace": (TracingFound, (*TRACED, "--people", "10")),
    "attack": (AttackOnValues, ("bits.json", "--public", "known.csv")),
    "attack ": (AttackOnNumbers, ("numbers.json", "--public", "known.csv")),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_written_is_read_back(tellall, name):
    kind, options = DOCUMENTS[name]
    _, out, _ = tellall(name.strip(), *options, "--json")
    found = read(kind, out, what=name)
    assert found.as_json() == json.loads(out)
    for record in (json.loads(out) | {"more": 1}, json.loads(out) | {"schema_version": 1}):
        with pytest.raises(ta.InvalidInput):
            read(kind, record, what=name)


def test_python_gives_what_the_commands_write(tellall):
    for made, command in (
        (ta.rows_of_files(["rows.csv"]), ("rows", "rows.csv", "--jobs", "1")),
        (ta.attack_files(["bits.json"], "known.csv").found, ("attack", "bits.json", "--public", "known.csv")),
        (ta.profile_of_file("people.csv", "pay", ["a"]), ("profile", "people.csv", "-y", "pay", "-x", "a")),
        (
            ta.limit_of_file("means.csv", 10, trials=200),
            ("limit", "means.csv", "-n", "10", "--trials", "200"),
        ),
        (ta.trace_files("means.csv", "targets.csv", "reference.csv", people=10).found, ("trace", *TRACED)),
    ):
        more = ("--people", "10") if command[0] == "trace" else ()
        _, out, _ = tellall(*command, *more, "--json")
        again = {"repeat", "command"}  # only a command knows how it was called
        written = {name: value for name, value in json.loads(out).items() if name not in again}
        assert {name: value for name, value in made.as_json().items() if name not in again} == written
