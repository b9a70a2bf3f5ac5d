"""What words are explained, and that what is said of promises is so."""

import numpy as np
import pytest

import tellall as ta
from tellall import statistics
from tellall.release import catalogue
from tellall.report.glossary import explain, legend, topic_names, word_list

WHY = word_list()["why"]

PEOPLE = ta.Dataset.from_arrays(np.random.default_rng(0).integers(0, 2, (40, 4)), np.arange(40) % 2)
SAMPLES = {
    "CellKey": ta.CellKey({-1: 0.5, 1: 0.5}),
    "Rounding": ta.Rounding(5),
    "Subsample": ta.Subsample(0.5),
    "Suppression": ta.Suppression(5),
    "Swapping": ta.Swapping(0.5),
    "TruncatedNormal": ta.TruncatedNormal(1.0, 2.0),
    "DiscreteGaussian": ta.DiscreteGaussian(3.0),
    "Gaussian": ta.Gaussian(3.0),
    "Geometric": ta.Geometric(3.0),
    "Laplace": ta.Laplace(3.0),
    "SuLQ": ta.SuLQ(1.0, 1e-6),
    "WalshNoise": ta.WalshNoise(epsilon=1.0),
}


@pytest.mark.parametrize("name", [*word_list()["words"], *word_list()["see"]])
def test_every_word_is_explained_in_whole_sentences(name):
    found = explain(name)
    assert name in topic_names()
    assert all(len(text) > 20 for text in (found.what, found.why, found.fix, found.read))
    assert explain(f" {name.upper()} ") == found
    for text in (found.what, found.why, found.fix, found.read):
        assert text == " ".join(text.split())
        assert text.endswith(".")


def test_the_words_of_tables_and_studies_are_listed():
    tables = {"right", "advantage", "named", "proved", "exposed", "sensitive", "bought"}
    baselines = {"baseline", "majority", "median", "own group", "public", "population"}
    studies = {"sweep", "calibrate", "frontier", "guarantee", "utility", "foreseen", "promised"}
    assert tables | baselines | studies | {"verdict", "pass", "review", "fail"} <= set(topic_names())
    assert all(legend(*tables).values())


def test_a_kind_is_found_where_its_topic_says(monkeypatch):
    import pydoc

    class Newcomer(ta.Means):
        """A statistic that is listed and is not a public name."""

    monkeypatch.setattr("tellall.statistics.Newcomer", Newcomer, raising=False)
    listed = [*statistics.__all__, "Newcomer"]
    monkeypatch.setattr("tellall.statistics.__all__", listed)
    for name in [*catalogue.kinds("statistic"), *catalogue.kinds("protection")]:
        place = explain(name).read.removeprefix("help(").removesuffix(") in Python.")
        if name == "Newcomer":
            assert place == f"'{__name__}.Newcomer'"
        elif place.startswith("'"):
            assert pydoc.locate(place.strip("'")) is not None
        else:
            assert getattr(ta, place.removeprefix("tellall.")).__name__ == name


def test_every_protection_says_why_it_matters():
    assert set(WHY) == set(catalogue.kinds("protection"))
    assert all(explain(name).why == why for name, why in WHY.items())


@pytest.mark.parametrize("name", SAMPLES)
def test_no_promise_is_told_of_what_promises_nothing(name):
    promised = ta.guarantee_of(SAMPLES[name], ta.Marginals(3), PEOPLE.public)
    assert (promised is None) == ("No differential privacy is promised" in " ".join(WHY[name].split()))
