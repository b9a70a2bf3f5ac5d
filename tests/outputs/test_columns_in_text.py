"""Tables printed in texts and logs, whose columns stand below each other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.outputs.read import read_outputs


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(12)
    n = 700
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "health": rng.choice(["very bad", "bad", "good"], n),
            "job": rng.choice([0, 1, 2], n),
            "pay": rng.gamma(4, 800, n).round(),
            "ill": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
        }
    )


@pytest.fixture(scope="module")
def people(frame):
    return ta.Dataset.from_frame(frame, secret="ill")


def _stata(table, row, column):
    """What ``tabulate`` prints."""
    width = max(11, *(len(str(label)) + 1 for label in table.index))
    heads = [*table.columns, "Total"]
    lines = [f"{'':>{width}}|{column:^{11 * len(table.columns)}}|", f"{row:>{width - 1}} |"]
    lines[1] += "".join(f"{label:>10} " for label in heads[:-1]) + f"|{heads[-1]:>10}"
    rule = f"{'-' * width}+{'-' * 11 * len(table.columns)}+{'-' * 10}"
    whole = pd.concat([table, table.sum().to_frame("Total").T])
    lines.append(rule)
    for label, numbers in whole.iterrows():
        cells = "".join(f"{number:>10,} " for number in numbers)
        lines.append(f"{label:>{width - 1}} |{cells}|{numbers.sum():>10,} ")
    lines.insert(-1, rule)
    return "\n".join(["", f". tab {row} {column}", "", *lines, ""])


def _r_tables(frame):
    """What R prints of ``xtabs(~ sex + ill + job)``: a part for every job."""
    parts = []
    for job, own in frame.groupby("job"):
        table = pd.crosstab(own.sex, own.ill)
        lines = [f", , job = {job}", "", "     ill", f"sex {table.columns[0]:>5} {table.columns[1]:>5}"]
        lines += [f"  {label} {row.iloc[0]:>5} {row.iloc[1]:>5}" for label, row in table.iterrows()]
        parts += [*lines, ""]
    return "\n".join(parts)


PRINTED = {
    "crosstab": (lambda d: str(pd.crosstab(d.job, d.ill)), ["counts of ill by job"]),
    "two keys": (lambda d: str(pd.crosstab([d.sex, d.health], d.ill)), ["counts of ill by sex and health"]),
    "two levels": (lambda d: str(pd.crosstab(d.health, [d.sex, d.ill])), ["counts of ill by health and sex"]),
    "margins": (lambda d: str(pd.crosstab(d.health, d.ill, margins=True)), ["counts of ill by health"]),
    "counts": (lambda d: str(d.groupby(["sex", "job"]).ill.value_counts()), ["counts of ill by sex and job"]),
    "stata": (lambda d: _stata(pd.crosstab(d.health, d.ill), "health", "ill"), ["counts of ill by health"]),
    "R": (_r_tables, [f"counts of ill by sex, for people with job = {job}" for job in (0, 1, 2)]),
    "two below each other": (
        lambda d: f"{pd.crosstab(d.job, d.ill)}\n\nAnd by sex:\n\n{pd.crosstab(d.sex, d.ill)}\n",
        ["counts of ill by job", "counts of ill by sex"],
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_tables_in_texts_are_read(name, frame, people, tmp_path):
    show, sentences = PRINTED[name]
    (tmp_path / "log.txt").write_text(show(frame))
    found = ta.recognise(tmp_path, people).outputs
    assert [one.sentence for one in found] == sentences
    assert all(one.read for one in found), [one.reason for one in found]


def test_describe_is_recognised_and_said_not_to_be_attacked(frame, people, tmp_path):
    (tmp_path / "pay.txt").write_text(str(frame.groupby("ill").pay.describe().round(2)))
    folder = ta.recognise(tmp_path, people)
    (found,) = folder.outputs
    assert found.sentence.startswith("counts and means, standard deviations, minima, lower quartiles")
    assert found.agrees == (16, 16)
    assert found.beside.startswith("means, standard deviations, minima")
    assert found.beside.endswith("of another column by the secret are recognised, and not attacked")
    assert [one.name for one in folder.unread] == ["pay.txt, lines 1 to 4, its other numbers"]
    (tmp_path / "pay.txt").write_text(str(frame[["pay"]].describe()))
    (apart,) = ta.recognise(tmp_path, people).outputs
    assert apart.about_secret is False


def test_the_place_of_a_table_is_that_of_its_lines(frame, tmp_path):
    (tmp_path / "log.txt").write_text(f"Made today.\n\nBy job:\n\n{pd.crosstab(frame.job, frame.ill)}\n")
    (table,) = read_outputs(tmp_path).tables
    assert str(table.source) == "log.txt, lines 5 to 9"
    assert table.title == ("By job:",)


@pytest.mark.parametrize(
    "text",
    [
        "We looked at 12 people.\nOf these 7 were ill.\nNothing else was found in 2020.",
        "Step 1 of 3\nStep 2 of 3\nStep 3 of 3, done",
        "2024-01-02 12:00 started\n2024-01-02 12:01 done",
    ],
)
def test_sentences_with_numbers_are_no_tables(text, tmp_path):
    (tmp_path / "log.txt").write_text(text)
    assert read_outputs(tmp_path).tables == ()
