"""Outputs are recognised by computing them again from the people, and what does not agree is not accepted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tellall as ta
from tellall.outputs.found import FoundTable
from tests.outputs import generated, measured


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 600
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "region": rng.choice([1, 2, 3], n),
            "ill": rng.choice([0, 1], n, p=[0.7, 0.3]),
            "drug": rng.choice(["no", "yes"], n),
            "pay": rng.normal(30, 5, n).round(2),
        }
    )


@pytest.fixture(scope="module")
def people(frame):
    return ta.Dataset.from_frame(frame, secret="ill")


def _one(outputs, people, **given):
    (found,) = ta.recognise(outputs, people, **given).outputs
    return found


def test_counts_with_margins_are_the_release_that_a_reader_would_make(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill, margins=True)
    folder = ta.recognise(table, people)
    (found,) = folder.outputs
    assert found.read
    assert found.sentence == "counts of ill by region and sex"
    assert found.agrees == (21, 21)
    assert found.columns == ("region", "sex", "ill")
    assert set(folder.known) == {"sex", "region"}
    assert "pay" in folder.assumed_unknown
    (release,) = folder.releases
    view = folder.people(people)
    assert np.array_equal(release.exact(view), release.values)
    assert release.columns == view.public.names


def test_one_wrong_cell_is_said_and_not_accepted(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill)
    table.iloc[0, 0] += 1
    found = _one(table, people)
    assert not found.read
    assert not found.releases
    assert found.agrees == (11, 12)
    assert "1 of 12 cells differs by 1" in found.reason
    assert found.marks[2] == "..x="


def test_hidden_and_rounded_cells_are_inferred(frame, people):
    table = pd.crosstab([frame.region, frame.sex], frame.ill)
    least = int(np.sort(table.to_numpy().ravel())[2])
    hidden = _one(table.astype(str).where(table >= least, f"<{least}"), people)
    assert hidden.read
    assert hidden.protection == (f"cells under {least} hidden",)
    rounded = _one((table / 5).round().astype(int) * 5, people)
    assert rounded.read
    assert rounded.protection[0] == "rounded to 5"
    (release,) = ta.recognise((table / 5).round().astype(int) * 5, people).releases
    assert release.protections == (ta.Rounding(5),)


def test_bands_are_matched_to_numbers(frame, people):
    band = pd.cut(frame.age, [17, 30, 50, 70, 100], labels=["<31", "31-50", "51-70", "71+"])
    found = _one(pd.crosstab(band.rename("age"), frame.ill), people)
    assert found.read
    assert found.sentence == "counts of ill by age"


def test_tables_without_the_secret_take_no_part(frame, people):
    folder = ta.recognise(pd.crosstab(frame.region, frame.drug), people)
    (found,) = folder.outputs
    assert found.about_secret is False
    assert not found.read
    assert not folder.releases
    assert not folder.unread


def test_another_half_of_the_people_is_not_accepted(frame, people):
    half = frame.iloc[: len(frame) // 2]
    assert not _one(pd.crosstab([half.region, half.sex], half.ill), people).read


def test_an_audit_takes_what_was_recognised(frame, people):
    folder = ta.recognise({"first": pd.crosstab([frame.age, frame.sex], frame.ill)}, people)
    audit = ta.audit(folder.people(people), folder)
    assert audit.verdict.word != "pass"
    assert len(audit.findings) > 0


def test_rates_and_percentages_become_equations_with_their_digits(frame, people):
    rates = frame.groupby(["region", "sex"]).ill.mean()
    text = "region|sex|% ill\n" + "\n".join(f"{r}|{s}|{100 * rate:.1f}" for (r, s), rate in rates.items())
    table = FoundTable.of_texts([line.split("|") for line in text.splitlines()])
    folder = ta.recognise(table, people)
    (found,) = folder.outputs
    assert found.read, found.reason
    (release,) = folder.releases
    assert isinstance(release.statistic, ta.PrintedCells)
    assert release.protections == (ta.Rounding(0.1),)
    exact = release.exact(folder.people(people))
    assert np.abs(exact - release.values).max() <= 0.05 + 1e-9
    assert ta.audit(folder.people(people), folder).verdict.word in ("pass", "review", "fail")


def test_means_of_a_number_are_attacked_and_its_own_column_is_not_known(frame):
    people = ta.Dataset.from_frame(frame, secret="pay")
    table = frame.groupby(["region", "sex"]).pay.agg(["mean", "count"]).round(1)
    folder = ta.recognise(table, people)
    (found,) = folder.outputs
    assert found.read
    assert found.measured == ("pay",)
    assert set(folder.known) == {"region", "sex"}
    (release,) = folder.releases
    assert release.statistic.measure == "means"
    assert release.levels == 0


def test_a_filter_is_found_and_said(frame, people):
    some = frame[frame.age >= 40]
    found = _one(pd.crosstab([some.region, some.sex], some.ill), people)
    assert found.read, found.reason
    assert found.where == "age >= 40"
    assert "age" in found.columns_known


def test_one_person_left_out_is_not_explained_by_a_filter(frame, people):
    some = frame.drop(index=frame.index[frame.age == frame.age.max()][:1])
    found = _one(pd.crosstab([some.region, some.sex], some.ill), people)
    assert not found.read


def test_two_equal_meanings_are_asked_and_confirmed(frame):
    rng = np.random.default_rng(1)
    twin = frame.assign(twin=frame.region)
    rows = rng.choice(len(frame), 2, replace=False)
    while twin.region[rows[0]] == twin.region[rows[1]] or twin.ill[rows[0]] != twin.ill[rows[1]]:
        rows = rng.choice(len(frame), 2, replace=False)
    twin.loc[rows, "twin"] = twin.region[rows[::-1]].to_numpy()  # the same table, other people in it
    people = ta.Dataset.from_frame(twin, secret="ill")
    table = pd.crosstab(twin.region, twin.ill)
    table.index.name = None
    folder = ta.recognise({"t": table}, people)
    (found,) = folder.outputs
    assert not found.read
    assert len(found.meanings) == 2
    assert folder.unread
    (sure,) = ta.recognise({"t": table}, people, confirm={"t": 2}).outputs
    assert sure.read
    assert sure.columns == found.meanings[1].columns


def test_first_tables_of_papers_are_read_part_by_part(frame, people):
    lines = [["Characteristic", "ill = 0", "ill = 1"]]
    for name in ("sex", "region", "drug"):
        lines.append([name, "", ""])
        counts = pd.crosstab(frame[name], frame.ill)
        lines += [
            [f"  {label}", *(f"{n} ({100 * n / counts[v].sum():.1f})" for v, n in row.items())]
            for label, row in counts.iterrows()
        ]
    folder = ta.recognise(FoundTable.of_texts(lines), people)
    assert [one.read for one in folder.outputs] == [True, True, True]
    assert set(folder.known) == {"sex", "region", "drug"}


def test_records_are_plain_data(frame, people):
    found = _one(pd.crosstab(frame.sex, frame.ill), people)
    plain = found.as_json()
    assert {"source", "sentence", "columns", "where", "protection", "agrees", "read", "reason"} <= set(plain)
    assert "made" not in plain


def test_declared_noise_must_agree_within_its_bound(frame, people):
    rng = np.random.default_rng(3)
    table = pd.crosstab([frame.region, frame.sex], frame.ill)
    random = ta.Rounding(3, "random")
    noisy = table + rng.integers(-1, 2, table.shape)
    rounded = pd.DataFrame(random.perturb(table.to_numpy().astype(float), rng), table.index, table.columns)
    assert _one(rounded, people, protect=random).read
    assert not _one(noisy, people).read


@pytest.mark.parametrize("name", ["birthwt", "cps"])
def test_outputs_of_real_data_have_no_wrong_meaning(name):
    table, _ = measured.run([name], generated.QUICK)
    words = [word for row in table.values() for word, count in row.items() for _ in range(count)]
    assert "WRONG" not in words
    assert not [word for word in words if word.startswith("ERROR")]
    assert words.count("right") >= 0.8 * len(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*generated.TUNED, *generated.HELD])
def test_all_layouts_of_all_data_have_no_wrong_meaning(name):
    table, _ = measured.run([name])
    words = [word for row in table.values() for word, count in row.items() for _ in range(count)]
    assert "WRONG" not in words
    assert not [word for word in words if word.startswith("ERROR")]
    assert words.count("right") >= 0.7 * len(words)


def test_a_small_table_with_one_wrong_number_is_near_its_meaning_and_no_question(tmp_path):
    sex = np.repeat(["female", "male"], [4169, 4633])
    ill = np.concatenate([np.arange(4169) < 323, np.arange(4633) < 306])
    frame = pd.DataFrame({"sex": sex, "ill": np.where(ill, "yes", "no"), "age": np.arange(8802) % 60})
    people = ta.Dataset.from_frame(frame, secret="ill")
    table = pd.crosstab(frame.sex, frame.ill)
    table.iloc[1, 0] += 2
    table.to_csv(tmp_path / "small.csv")  # a file may have labels anywhere
    (found,) = ta.recognise(tmp_path, people).outputs
    assert not found.read
    assert not found.meanings
    assert found.reason.startswith("the nearest is counts of ill by sex: 1 of 4 cells differs by 2")


def test_a_table_of_the_people_with_the_secret_is_attacked_as_counts_of_them(frame, people):
    ill = frame[frame.ill == 1]
    folder = ta.recognise(pd.crosstab(ill.region, ill.sex), people)
    (found,) = folder.outputs
    assert found.sentence == "counts by region and sex, for people with ill = 1"
    assert found.read
    (release,) = folder.releases
    view = folder.people(people)
    assert np.array_equal(release.statistic.values(view), release.values)
    whole = ta.recognise(pd.crosstab([frame.region, frame.sex], frame.ill), people)
    solved = [ta.reconstruct(one.releases, one.people(people).public) for one in (folder, whole)]
    assert np.array_equal(solved[0].guess, solved[1].guess)  # the other counts follow from the public ones


def test_means_of_people_with_the_secret_are_recognised_and_not_attacked(frame, people):
    ill = frame[frame.ill == 1]
    found = _one(ill.groupby("region").pay.mean().round(3).to_frame("pay"), people)
    assert not found.read
    assert found.about_secret
    assert found.reason == "means of people chosen by the secret are recognised, and not attacked"


def test_whole_numbers_that_add_up_to_100_may_be_percentages(frame, people):
    table = (100 * pd.crosstab([frame.region, frame.sex], frame.drug, normalize="index")).round().astype(int)
    table.iloc[:, 1] = 100 - table.iloc[:, 0]
    found = _one(table, people)
    assert found.kind == "percentages"
    assert found.agrees == (12, 12)


def test_what_explains_few_of_the_numbers_is_no_question(frame, people):
    table = frame.groupby("sex").pay.agg(["mean", "count"]).round(2)
    table.loc["f", "mean"] += 1
    table["other"] = table["mean"] / 7
    found = _one(table.rename_axis("group"), people)
    assert not found.read
    assert not found.meanings


def test_lines_with_a_wrong_number_are_not_taken_for_headers():
    world = generated.world("ICU")
    people = ta.Dataset.from_frame(world.frame, secret="Survive")
    rate = 100 * world.frame.groupby(["AgeGroup", "Infection"]).Survive.mean()
    lines = [[str(age), str(infected), f"{value:.1f}%"] for (age, infected), value in rate.items()]
    table = [["AgeGroup", "Infection", "Survive"], *lines]
    assert _one(FoundTable.of_texts(table), people).read
    first = float(lines[0][2].rstrip("%"))
    table[1] = [*lines[0][:2], f"{first + 0.3:.1f}%"]
    found = _one(FoundTable.of_texts(table), people)
    assert not found.read
    assert found.agrees == (5, 6)
