"""What words are explained, and that what is said of promises is so."""

import numpy as np
import pytest

import tellall as ta
from tellall.release import catalogue
from tellall.report.protection_topics import WHY
from tellall.report.topics import explain, topic_names
from tellall.report.word_topics import SEE, WORDS

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


@pytest.mark.parametrize("name", ["sweep", "calibrate", "frontier", "guarantee", "utility"])
def test_the_words_of_studies_are_explained(name):
    found = explain(name)
    assert name in topic_names()
    assert all(len(text) > 20 for text in (found.what, found.why, found.fix, found.read))


@pytest.mark.parametrize(
    "name",
    [*WORDS, *SEE, "advantage", "exposed", "baseline"],
)
def test_the_words_of_an_audits_tables_are_explained(name):
    found = explain(name)
    assert name in topic_names()
    assert all(len(text) > 20 for text in (found.what, found.why, found.fix, found.read))
    assert explain(name.upper()) == found


def test_every_protection_says_why_it_matters():
    assert set(WHY) == set(catalogue.kinds("protection"))
    assert all(explain(name).why == why for name, why in WHY.items())


@pytest.mark.parametrize("name", SAMPLES)
def test_no_promise_is_told_of_what_promises_nothing(name):
    promised = ta.guarantee_of(SAMPLES[name], ta.Marginals(3), PEOPLE.public)
    assert (promised is None) == ("No differential privacy is promised" in " ".join(WHY[name].split()))
