"""A release file attacked as an outsider would: beside its values it may tell only what it declares."""

import json

import numpy as np
import pytest
from tests.protections.test_everywhere import ANYWHERE, TABLES_ONLY
from tests.release.examples import BINS, EXAMPLES, crowd

import tellall as ta
from tellall.core.records import meanings
from tellall.release import catalogue
from tellall.release.saved import SavedRelease

MASKS = (np.arange(4 * 61).reshape(4, 61) % 3 == 0).astype(int)


class Stump:
    """Predicts from one column; its text holds what it was fitted to."""

    def predict(self, rows):
        return (rows[:, 0] > 30_000).astype(int)

    def __str__(self):
        return "fitted to 31415.92"


STATISTICS = {
    **EXAMPLES,
    "Marginals in fractions": ta.Marginals(2, scale="fractions"),
    "SubsetCounts of masks": ta.SubsetCounts(MASKS),
    "ErrorRates of a model": ta.ErrorRates([Stump()]),
}
TABULATED = ("Marginals", "Marginals in fractions", "Tables")


def file_of(people, statistic, protect, folder, bins=BINS):
    """The file of the release, the noise drawn with one seed."""
    dataset = ta.Dataset.from_frame(people, secret="ill", bins=bins)
    path = ta.publish(dataset, statistic, protect, rng=1).save(folder / "release.json")
    return json.loads(path.read_text())


PAIRS = [
    pytest.param(name, protect, id=f"{name}, {protect!r}")
    for name in STATISTICS
    for protect in [*ANYWHERE, *(TABLES_ONLY if name in TABULATED else [])]
]


def test_no_statistic_is_left_out():
    assert {type(each).__name__ for each in EXAMPLES.values()} == set(catalogue.kinds("statistic"))


@pytest.mark.parametrize(("name", "protect"), PAIRS)
def test_one_person_changes_the_values_and_what_is_declared(name, protect, tmp_path):
    people = crowd(0)
    files = {}
    neighbours = {
        "as they are": people,
        "one replaced": {c: np.r_[v[:-1], crowd(1)[c][-1]] for c, v in people.items()},
        "one added": {c: np.r_[v, crowd(1)[c][-1]] for c, v in people.items()},
        "one removed": {c: v[:-1] for c, v in people.items()},
        "all others replaced": crowd(2),
    }
    for change, those in neighbours.items():
        statistic = STATISTICS[name]
        if name == "SubsetCounts of masks":
            statistic = ta.SubsetCounts(np.resize(MASKS, (4, len(those["ill"]))))
        try:
            files[change] = file_of(those, statistic, protect, tmp_path)
        except ta.InvalidInput:  # a protection of counts, say, and no counts
            assert not files, change
            return
    real = files["as they are"]
    for change, other in files.items():
        assert set(other) == set(real)
        assert other["published_too"] == real["published_too"]
        different = {key for key in real if other[key] != real[key]} - {"values"}
        assert different <= set(real["published_too"]), change
        if "replaced" in change:  # with cut points and categories fixed, the values are all that differs
            assert different <= {"statistic"} & set(real["published_too"]), change


def test_everything_in_the_file_is_accounted_for(tmp_path):
    real = file_of(crowd(0), ta.Marginals(2), ta.Gaussian(50.0), tmp_path)
    assert set(real) == set(meanings(SavedRelease))
    assert set(real) == {
        *("schema_version", "document", "tellall", "description", "statistic", "where", "protect"),
        *("columns", "people", "levels", "published_too", "values"),
    }


def test_subtracting_two_releases_leaves_nothing_of_the_newcomer(tmp_path):
    """With a fingerprint, the difference of two files was the newcomer's row."""
    people = crowd(0)
    newcomers = [
        {"income": 31_415.92, "north": 1, "home": 0, "ill": 1},
        {"income": 31_000.5, "north": 1, "home": 0, "ill": 1},
    ]
    files = [
        file_of(
            {c: np.r_[v, new[c]] for c, v in people.items()}, ta.Marginals(2), ta.Gaussian(50.0), tmp_path
        )
        for new in newcomers
    ]
    assert files[0] == files[1]  # the same cells, so the same values: nothing else tells them apart


def test_what_a_model_was_fitted_to_is_not_saved(tmp_path):
    assert "31415" not in json.dumps(file_of(crowd(0), STATISTICS["ErrorRates of a model"], None, tmp_path))


def pay_file(people, statistic, protect, folder, where=None):
    """The file of a release about a real secret, of the people whom a condition chooses."""
    dataset = ta.Dataset.from_frame(people, secret="pay", bins=BINS)
    path = ta.publish(dataset, statistic, protect, rng=1, where=where).save(folder / "release.json")
    return json.loads(path.read_text())


def earners(seed: int) -> dict[str, np.ndarray]:
    """The same people with pay to the cent instead of an illness."""
    people = crowd(seed)
    pay = np.random.default_rng(seed).lognormal(7, 1, people.pop("ill").size).round(2)
    return {**people, "pay": pay}


REALS = {
    "Sums": ta.Sums(2),
    "Sums with counts": ta.Sums([1, 2], counts=True),
    "CellMeans": ta.CellMeans(2, counts=True),
    "Correlations": ta.Correlations(mean=True),
    "Estimator": ta.Estimator("linear"),
}


@pytest.mark.parametrize("where", [None, "north = 1"])
@pytest.mark.parametrize("protect", [None, ta.Rounding(10), ta.Gaussian(50.0)], ids=repr)
@pytest.mark.parametrize("name", REALS)
def test_one_person_changes_the_values_of_a_real_secret_and_no_more(name, protect, where, tmp_path):
    people = earners(0)
    replaced = {c: np.r_[v[:-1], earners(1)[c][-1]] for c, v in people.items()}
    richer = {**people, "pay": np.r_[people["pay"][:-1], 31_415.92]}
    real, *others = (
        pay_file(each, REALS[name], protect, tmp_path, where) for each in (people, replaced, richer)
    )
    for other in others:
        different = {key for key in real if other[key] != real[key]}
        assert different <= {"values", *({"people"} if where else ())}
        assert "31415" not in json.dumps({**other, "values": []})


@pytest.mark.parametrize(
    "statistic", [ta.Marginals(2), ta.SurvivalCurve("income", grid=(20_000.0, 40_000.0))]
)
def test_a_release_about_some_people_says_nothing_of_the_others(statistic, tmp_path):
    """Somebody whom the condition leaves out is changed or added: the file stays as it is."""
    files = []
    people = crowd(0)
    out = {"income": 31_415.92, "north": 0, "home": 1, "ill": 1}
    assert people["north"][2] == 0
    for change in ("none", "changed", "added"):
        some = {c: v.copy() for c, v in people.items()}
        if change == "changed":
            for c, value in out.items():
                some[c][2] = value
        elif change == "added":
            some = {c: np.r_[v, out[c]] for c, v in some.items()}
        dataset = ta.Dataset.from_frame(some, secret="ill", bins=BINS)
        path = ta.publish(dataset, statistic, where="north = 1", rng=1).save(tmp_path / "release.json")
        files.append(json.loads(path.read_text()))
    assert files[0] == files[1] == files[2]
