"""Every kind of statistic and protection can be written with its parameters beside its kind."""

import pytest

import tellall as ta
from tellall.release import catalogue


@pytest.mark.parametrize("what", ["statistic", "protection"])
def test_no_parameter_is_called_as_the_kind_itself(what):
    named = {kind: set(catalogue.parameters(cls)) for kind, cls in catalogue.kinds(what).items()}
    assert named
    assert not [kind for kind, found in named.items() if catalogue.KIND in found]


@pytest.mark.parametrize("measure", ["rates", "percentages"])
def test_printed_cells_that_are_saved_are_the_same_again(tmp_path, measure):
    people = ta.Dataset.from_frame({"age": [23, 31, 38, 64], "ill": [0, 1, 1, 0]}, secret="ill")
    cells = [[0, 1], [1, 1], [-1, 1]]
    statistic = ta.statistics.PrintedCells(["age"], [["20-39", "40+"]], cells, measure)
    release = ta.publish(people, statistic, protect=ta.Rounding(0.01))
    release.save(tmp_path / "rates.json")
    again = ta.Release.load(tmp_path / "rates.json")
    assert again.statistic == statistic
    assert again.values.tolist() == release.values.tolist()


def test_covariances_that_are_saved_are_covariances_again(tmp_path):
    people = ta.Dataset.from_frame({"age": [23, 31, 38, 64], "ill": [0, 1, 1, 0]}, secret="ill")
    release = ta.publish(people, ta.Correlations("covariances", mean=True))
    release.save(tmp_path / "covariances.json")
    assert ta.Release.load(tmp_path / "covariances.json").statistic == release.statistic
