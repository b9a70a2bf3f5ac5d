import numpy as np
import pytest

import tellall as ta

POOL = {"attack": "pool", "threshold": "empirical", "coding": "bits"}
NAMES = [f"c{j}" for j in range(1500)]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.4, 0.6, len(NAMES))
    rows = (rng.random((80, p.size)) < p).astype(np.int8)
    return rows[:20], rows[20:]


@pytest.fixture(scope="module")
def release(people):
    return ta.publish(ta.Dataset.from_arrays(people[0], names=NAMES), ta.Means())


def frame(library, rows, names):
    return pytest.importorskip(library).DataFrame(dict(zip(names, rows.T, strict=True)))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_named_frames_are_matched_by_name(people, release, library, order):
    targets, reference = people
    turned = frame(library, targets, NAMES)[NAMES[order]]
    found = ta.trace(release, turned, frame(library, reference, NAMES), **POOL)
    assert found.traced == 20
    plain = ta.trace(release.values, targets, reference, **POOL)
    np.testing.assert_allclose(found.scores, plain.scores)
    assert found.notes == plain.notes
    swapped = ta.trace(release, turned, frame(library, reference, NAMES)[NAMES[::-1]], **POOL)
    np.testing.assert_allclose(swapped.scores, plain.scores)


def test_series_and_mappings_of_means_have_names(people):
    pandas = pytest.importorskip("pandas")
    targets, reference = people
    means = pandas.Series(targets.mean(axis=0), index=NAMES)
    others = frame("pandas", reference, NAMES)
    turned = frame("pandas", targets, NAMES)[NAMES[::-1]]
    for given in (means, dict(means), means[NAMES[::3] + NAMES[1::3] + NAMES[2::3]]):
        assert ta.trace(given, turned, others, **POOL).traced == 20
    assert ta.trace(means, targets, reference, **POOL).traced == 20
    unnamed = pandas.Series(targets.mean(axis=0))
    assert ta.trace(unnamed, pandas.DataFrame(targets), reference, **POOL).traced == 20
    with pytest.raises(ta.InvalidInput, match="means must be with each name once; got 'c0' twice"):
        ta.trace(pandas.Series([0.5, 0.5], index=["c0", "c0"]), targets, reference, **POOL)


def test_means_without_names_want_one_order(people):
    targets, reference = (frame("pandas", rows, NAMES) for rows in people)
    means = people[0].mean(axis=0)
    assert ta.trace(means, targets, reference, **POOL).traced == 20
    with pytest.raises(ta.InvalidInput, match="reference must be in the targets' order of columns"):
        ta.trace(means, targets, reference[NAMES[::-1]], **POOL)


@pytest.mark.parametrize("kind", ["frame", "dataset"])
def test_columns_that_all_have_are_used_and_the_loss_is_told(people, release, kind):
    def some(rows, first, last):
        part, names = rows[:, first:last], NAMES[first:last]
        return frame("pandas", part, names) if kind == "frame" else ta.Dataset.from_arrays(part, names=names)

    targets, reference = some(people[0], 0, 1400), some(people[1], 100, 1500)
    found = ta.trace(release, targets, reference, **POOL)
    assert found.attributes == 1300
    assert found.traced >= 19
    assert "1,300 of 1,500 published means" in found.notes[0]
    assert "100 of the targets, 100 of the reference" in found.notes[0]
    whole = ta.trace(release, targets, people[1], **POOL)  # an array of the release's width goes by place
    assert whole.attributes == 1400
    with pytest.raises(ta.InvalidInput, match="reference must be people with columns that the release and"):
        ta.trace(release, some(people[0], 0, 700), some(people[1], 700, 1500), **POOL)
    others = ta.publish(ta.Dataset.from_arrays(people[0], names=[f"z{j}" for j in range(1500)]), ta.Means())
    with pytest.raises(ta.InvalidInput, match=r"targets must be people with columns of the release \(z0, z1"):
        ta.trace(others, targets, reference, **POOL)


def test_one_person_may_be_a_series(people, release):
    whole = frame("pandas", people[0], NAMES)
    reference = frame("pandas", people[1], NAMES)
    turned = whole.iloc[0][NAMES[::-1]]
    every = ta.trace(release, whole, reference, **POOL)
    assert ta.trace(release, turned, reference, **POOL).scores == pytest.approx(every.scores[:1])
    lazy = frame("polars", people[0], NAMES).lazy()
    assert ta.trace(release, lazy, reference, **POOL).scores == pytest.approx(every.scores)


def test_constant_columns_that_the_release_left_out(people):
    targets, reference = (rows.copy() for rows in people)
    targets[:, 3] = 0
    release = ta.publish(ta.Dataset.from_arrays(targets, names=NAMES), ta.Means())
    assert "c3" not in release.columns
    named = ta.trace(release, frame("pandas", targets, NAMES), frame("pandas", reference, NAMES), **POOL)
    assert named.traced == 20
    assert named.attributes == 1499
    with pytest.raises(ta.InvalidInput, match=r"1500 attributes\. Pass people with names") as said:
        ta.trace(release, targets, reference, **POOL)
    assert len(str(said.value).splitlines()) == 1
    by_place = ta.publish(ta.Dataset.from_arrays(targets), ta.Means())
    assert ta.trace(by_place, targets, reference, **POOL).traced == 20
    assert ta.trace(by_place, frame("pandas", targets, NAMES), reference, **POOL).traced == 20


def test_missing_values_and_other_columns_of_frames(people, release):
    pandas = pytest.importorskip("pandas")
    targets = frame("pandas", people[0], NAMES).astype("Int8")
    targets.loc[0, "c0"] = pandas.NA
    targets.insert(0, "id", [f"p{i}" for i in range(20)])
    found = ta.trace(release, targets, frame("pandas", people[1], NAMES), **POOL)
    assert found.traced == 20
    assert "1 of the targets" in found.notes[0]
    targets["c0"] = "text"
    with pytest.raises(ta.InvalidInput, match="targets must be columns of numbers"):
        ta.trace(release, targets, people[1], **POOL)
