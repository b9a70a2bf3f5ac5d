import numpy as np
import pytest

import tellall as ta


def test_means_are_in_the_datas_own_coding():
    people = np.array([[0, 2, 0.5], [1, 1, 1.5], [1, 0, 4.0]])
    release = ta.publish(ta.Dataset.from_arrays(people), ta.Means())
    np.testing.assert_allclose(release.values, people.mean(axis=0))
    sums = ta.publish(ta.Dataset.from_arrays(people), ta.Means(scale="counts"))
    np.testing.assert_allclose(sums.values, people.sum(axis=0))


def test_missing_values_are_left_out_of_the_mean():
    frame = {"x": np.array([1.0, np.nan, 3.0]), "y": np.array([1, 0, 0])}
    np.testing.assert_allclose(ta.Means().values(ta.Dataset.from_frame(frame)), [2.0, 1 / 3])


def test_means_say_nothing_about_the_secret(fair):
    release = ta.publish(fair, ta.Means())
    with pytest.raises(ta.CannotLinearise, match="use trace"):
        ta.linearise(release, fair.public)


def test_text_has_no_mean():
    people = ta.Dataset.from_frame({"town": ["a", "b", "a"]})
    with pytest.raises(ta.InvalidInput, match="column 'town' must be a column of numbers"):
        ta.Means().values(people)
    with pytest.raises(ta.InvalidInput, match="scale"):
        ta.Means(scale="percent")
