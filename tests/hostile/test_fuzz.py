"""Inputs that get past the first checks: every one is answered or refused in words, and nothing is left."""

import json
import random
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tellall as ta
from tests.hostile.bending import bent
from tests.hostile.inputs import KINDS, make
from tests.hostile.running import PEOPLE, run

# how many of each kind: 10,000 in all with the saved work
MANY = {"plan": 2400, "people": 1700, "release": 1700, "table": 800, "genotypes": 700, "audit": 150}
MANY |= {"described": 900, "draft": 500, "acro": 600, "packed": 250, "site": 100}
SAVED = 200
PLAN = {
    "steps": False,
    "releases": [
        {"statistic": {"kind": "Marginals", "ways": 2}},
        {"statistic": {"kind": "Marginals", "ways": 2}, "protect": [{"kind": "Rounding", "base": 3}]},
    ],
}


def go_through(kind: str, seeds: range) -> Counter[str]:
    """How many inputs were accepted and refused; the first that ended wrongly is an error."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        with TemporaryDirectory() as name:
            folder = Path(name)
            ended = run(make(kind, seed, folder), folder)
        assert ended.wrong == (), f"{kind} {seed}: left with {ended.code}: {ended.error}"
        counts["accepted" if ended.accepted else "refused"] += 1
    return counts


@pytest.mark.filterwarnings("default")  # a warning is a line, as the command prints it
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("audit", "site")])
def test_a_few_inputs_of_every_kind_end_well(kind):
    go_through(kind, range(5))


@pytest.mark.hostile
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", KINDS)
def test_many_inputs_of_every_kind_end_well(kind):
    counts = go_through(kind, range(MANY[kind]))
    assert counts["accepted"] >= counts["refused"]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (most if sys.platform == "darwin" else most * 1024) < 2 << 30
    print(kind, dict(counts), f"most memory {most >> 10} MiB")


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> tuple[Path, dict[str, object]]:
    """A folder of finished work, and what comes of it."""
    work = tmp_path_factory.mktemp("saved")
    return work, ta.audit(PEOPLE, PLAN, work=work).document


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(SAVED), marks=pytest.mark.hostile)])
def test_saved_work_that_was_changed_is_done_again(saved, seeds, tmp_path):
    whole, expected = saved
    for seed in seeds:
        rng = random.Random(seed)
        work = Path(shutil.copytree(whole, tmp_path / str(seed)))
        piece = rng.choice(sorted(work.glob("*/*.json")))
        what = rng.randrange(4)
        if what == 0:
            piece.write_bytes(piece.read_bytes()[: rng.randrange(200)])
        elif what == 1:
            (work / ".secret").write_bytes(rng.randbytes(rng.choice([0, 31, 32, 64])))
        else:
            piece.write_text(json.dumps(bent(rng, json.loads(piece.read_text()))))
        assert ta.audit(PEOPLE, PLAN, work=work).document == expected, seed
        shutil.rmtree(work)


@pytest.mark.hostile
def test_a_few_hundred_inputs_through_the_command_itself(tmp_path):
    accepted = 0
    for number in range(200):
        kind = ["plan", "people", "release", "genotypes"][number % 4]
        folder = tmp_path / str(number)
        folder.mkdir()
        command = make(kind, 100_000 + number, folder)
        done = subprocess.run(
            [sys.executable, "-m", "tellall", *command],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
        )
        assert done.returncode in (0, 2, 3), (kind, number, done.stderr)
        assert "Traceback" not in done.stderr
        assert "fault in tellall" not in done.stderr
        accepted += done.returncode != 2
        shutil.rmtree(folder)
    assert accepted >= 100
