"""Every erratum that is cited anywhere is explained in the reference, with its kind and a command."""

import re
from pathlib import Path

import pytest
from tests.papers.test_index import PAPERS
from typer.testing import CliRunner

from tellall.cli import app
from tellall.core.errors import InvalidInput
from tellall.papers import robust_tracing
from tellall.papers.claims import objects_in

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "false": "false as worded",
    "gap": "gap in the proof",
    "constant": "constant",
    "wording": "wording",
    "copy": "copy",
}
SHORT = {
    "LR": "linear-reconstruction",
    "CT": "contingency-tables",
    "RT": "robust-tracing",
    "PO": "private-ols",
    "RN": "regression-noise",
}


def explained():
    """Erratum → kinds, command, from the reference."""
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (E-[A-Z]{2}-\d+) \| ([a-z, ]+) \| (.+?) \| (.+?) \| `([^`]+)` \|$", text, re.MULTILINE
    )
    assert len({row[0] for row in rows}) == len(rows)
    return {name: (kinds.split(", "), command) for name, kinds, says, instead, command in rows}


def cited():
    files = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.toml"),
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("*.md"),
    ]
    return {
        name for file in files for name in re.findall(r"E-[A-Z]{2}-\d+", file.read_text(encoding="utf-8"))
    }


def test_every_erratum_that_is_cited_is_explained_and_no_other():
    assert set(explained()) == cited()


@pytest.mark.parametrize("name", sorted(explained()))
def test_its_kind_is_the_verdict_of_a_claim_and_its_command_names_the_paper(name):
    kinds, command = explained()[name]
    paper = SHORT[name[2:4]]
    assert command == f"{paper} --about {name}"
    claims = [claim for claim in PAPERS[paper].claims if name in objects_in(claim.where)]
    verdicts = {verdict for claim in claims for verdict in claim.possible}
    corrections = verdicts & set(KINDS.values())
    assert {KINDS[kind] for kind in kinds} <= corrections
    grave = corrections - {KINDS[kind] for kind in kinds}
    assert "false as worded" not in grave  # nothing is called false on a page that is not in the reference


def test_the_docs_call_nothing_false_without_numbers_and_an_erratum():
    text = (
        (ROOT / "docs" / "papers.md")
        .read_text(encoding="utf-8")
        .split("## What we found")[1]
        .split("## Writing")[0]
    )
    found = [text[match.start() :][:300] for match in re.finditer(r"false as (worded|printed)(?! \|)", text)]
    assert len(found) >= 2
    for words in found:
        assert re.search(r"E-[A-Z]{2}-\d", words), words
        assert re.search(r"\d\.\d", words), words


def test_the_command_prints_the_evidence():
    """What is about an erratum is run alone."""
    run = CliRunner()
    for name, words in (
        ("E-RT-4", "1.000 against 0.874"),
        ("E-RT-5", "gap in the proof"),
        ("Fig. 1", "0.0025 = δ²"),
    ):
        found = run.invoke(app, ["paper", "robust-tracing", "--about", name, "--quiet"])
        assert found.exit_code == 0, found.output
        assert words in found.output
        assert "Lemma 25" not in found.output
    none = run.invoke(app, ["paper", "robust-tracing", "--about", "E-RT-99", "--quiet"])
    assert none.exit_code != 0
    with pytest.raises(InvalidInput, match="about must be a number of the paper"):
        robust_tracing.PAPER.check_about("E-RT-99")


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["contingency-tables", "linear-reconstruction", "robust-tracing"])
def test_the_whole_rerun_gives_every_erratum_its_kinds(paper):
    from importlib import import_module

    found = import_module(f"tellall.papers.{paper.replace('-', '_')}").rerun(rng=0)
    for name, (kinds, _) in explained().items():
        if SHORT[name[2:4]] == paper:
            verdicts = {one.verdict for one in found.about(name).statements}
            assert {KINDS[kind] for kind in kinds} <= verdicts, name
            assert not verdicts & {"false as worded"} - {KINDS[kind] for kind in kinds}, name
            assert "not reproduced" not in verdicts, name
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    words = re.search(r"^\| paper \| objects \| (.+) \|$", text, re.MULTILINE).group(1).split(" | ")
    (row,) = re.findall(rf"^\| {paper} \| (.+) \|$", text, re.MULTILINE)
    objects, *counts = map(int, row.split(" | "))
    assert objects == len(found.index)
    assert dict(zip(words, counts, strict=True)) == {
        word: sum(one.verdict == word for one in found.index) for word in words
    }
