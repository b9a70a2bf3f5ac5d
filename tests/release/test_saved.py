import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import random_people

import tellall as ta
from tellall.core import files
from tellall.core.records import meanings, read
from tellall.protections.protection import Sum
from tellall.release.saved import SavedRelease

PROTECTIONS = [
    [],
    [ta.Gaussian(2.5)],
    [ta.Suppression(3), ta.Rounding(5)],
    [ta.Laplace(0.5), ta.Suppression(1)],
]


@pytest.fixture
def people():
    return random_people(40, 4, seed=3)


@pytest.mark.parametrize("protect", PROTECTIONS, ids=str)
@pytest.mark.parametrize("many", [False, True])
def test_a_release_comes_back_as_it_was(people, tmp_path, protect, many, monkeypatch):
    if many:
        monkeypatch.setattr("tellall.release.release.MANY_VALUES", 10)
    release = ta.publish(people, ta.Marginals(3, scale="fractions"), protect, rng=1)
    path = release.save(tmp_path / "release.json")
    again = ta.Release.load(path)
    assert np.array_equal(again.values, release.values, equal_nan=True)
    assert again.values.dtype == np.float64
    assert (again.statistic, again.protections) == (release.statistic, release.protections)
    assert (again.columns, again.shape) == (release.columns, release.shape)
    one, other = (ta.reconstruct(r, people.public, rng=0) for r in (release, again))
    assert np.array_equal(one.guess, other.guess)
    assert len(list(tmp_path.iterdir())) == (2 if many else 1)
    assert read(SavedRelease, path.read_text(), what="release")


def test_nested_laws_are_kept(people, tmp_path):
    statistic = ta.Marginals(2)
    law = Sum((ta.Gaussian(1.0), ta.Rounding(2)))
    release = ta.Release.from_values(
        statistic, ta.publish(people, statistic).values, public=people, noise=law
    )
    assert ta.Release.load(release.save(tmp_path / "r.json")).noise == law


def test_the_file_holds_no_person_and_no_seed(people, tmp_path):
    text = (
        ta.publish(people, ta.Marginals(2), ta.Gaussian(1.0), rng=12345).save(tmp_path / "r.json").read_text()
    )
    assert "12345" not in text
    assert "secret" not in text.lower()
    assert set(json.loads(text)) == set(meanings(SavedRelease))


def test_a_release_meets_only_the_people_it_was_made_for(people, tmp_path):
    release = ta.Release.load(ta.publish(people, ta.Marginals(2)).save(tmp_path / "r.json"))
    order = np.random.default_rng(0).permutation(people.n)
    assert ta.linearise(release, people.public.take(order)).n == people.n
    fewer, more = (people.public.take(np.arange(n) % 40) for n in (39, 41))
    with pytest.raises(ta.InvalidInput, match="the people the release was made for; got 41 people, not 40"):
        ta.linearise(release, more)
    noisy = ta.publish(people, ta.Marginals(2), ta.Gaussian(1.0))
    with pytest.raises(ta.InvalidInput, match="the people the release was made for; got 39 people, not 40"):
        ta.linearise(noisy, fewer)
    other = random_people(40, 4, seed=4)
    found = ta.reconstruct(release, other.public, rng=0)
    assert found.status.word == "contradictory"
    assert "supply the people they are about" in str(found.status)
    renamed = ta.Dataset.from_arrays(people.public.codes.T, names=["p", "q", "r", "s"])
    with pytest.raises(ta.InvalidInput, match="the columns of the release"):
        ta.linearise(release, renamed)


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.integers(0, 39), st.integers(0, 3))
def test_one_changed_cell_contradicts_an_exact_release(seed, person, column):
    people = random_people(40, 4, seed=seed)
    codes = people.public.codes.T.copy()
    codes[person, column] ^= 1
    if (codes.min(0) != codes.max(0)).all():
        found = ta.reconstruct(ta.publish(people, ta.Marginals(2)), ta.Dataset.from_arrays(codes), rng=0)
        assert found.status.word == "contradictory"


def test_a_file_cut_like_the_release_meets_it(tmp_path):
    rng = np.random.default_rng(2)
    rows = [f"{rng.normal():.6f},{rng.integers(0, 25)},{'abc'[rng.integers(3)]},{i % 2}" for i in range(200)]
    (tmp_path / "p.csv").write_text("x,k,t,ill\n" + "\n".join(rows) + "\n")
    for bins in (None, {"x": 4, "k": 30}, {"x": [-1.0, 0.5], "k": 3}):
        people = ta.read(tmp_path / "p.csv", secret="ill", bins=bins)
        release = ta.publish(people, ta.Marginals(2))
        again = ta.read(tmp_path / "p.csv", public=release.columns, bins=release.shape.bins)
        assert ta.linearise(release, again).n == 200


def with_(document: str, **changes) -> str:
    return json.dumps({**json.loads(document), **changes})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d[: len(d) // 2], "release must be whole JSON"),
        (lambda d: "[1, 2]", "release must be a JSON object"),
        (lambda d: "[" * 100_000, "release must be whole JSON"),
        (lambda d: "", "release must be whole JSON"),
        (lambda d: with_(d, schema_version=3), "schema_version must be 2; got 3. Update tellall"),
        (lambda d: with_(d, schema_version=1), "got 1. It was written for an earlier tellall: make it again"),
        (lambda d: with_(d, extra=1), "is not a release saved by tellall: extra"),
        (
            lambda d: with_(d, values="x"),
            "is not a release saved by tellall: values",
        ),
        (lambda d: with_(d, values=[1e999]), "tellall: values.0: Input should be a finite number"),
        (lambda d: with_(d, tellall="x" * 10_000_000), "at most 100 characters"),
        (
            lambda d: with_(d, statistic={"kind": "os.system"}),
            "statistic.kind must be",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "Rounding"}]),
            "protection.base is needed",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "SuLQ", "epsilon": 1.0, "delta": 1e-6}]),
            "protect must be as publishing leaves it, with noise filled in",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "Subsample", "fraction": 0.5}]),
            "with people filled in",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "Swapping", "fraction": 0.5}]),
            "with people filled in",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "WalshNoise", "std": 1.0, "ways": 2}]),
            "with products and noise filled in",
        ),
        (
            lambda d: with_(d, protect=[{"kind": "Combined"}]),
            "one of the two mechanisms that it becomes when published",
        ),
        (
            lambda d: with_(d, values={"parquet": "../x", "count": 1, "sha256": "0" * 64}),
            "values must be in a file next to the release",
        ),
        (
            lambda d: with_(d, values={"parquet": "none.parquet", "count": 1, "sha256": "0" * 64}),
            "values must be in a plain file next to the release",
        ),
    ],
)
def test_hostile_releases_get_one_clear_line(people, tmp_path, change, says):
    path = ta.publish(people, ta.Marginals(2)).save(tmp_path / "r.json")
    path.write_text(change(path.read_text()))
    with pytest.raises(ta.InvalidInput) as caught:
        ta.Release.load(path)
    assert says in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 500


def test_values_that_were_exchanged_are_noticed(people, tmp_path, monkeypatch):
    monkeypatch.setattr("tellall.release.release.MANY_VALUES", 10)
    path = ta.publish(people, ta.Marginals(2)).save(tmp_path / "r.json")
    beside = tmp_path / "r.json.values.parquet"
    real = beside.read_bytes()
    beside.write_bytes(real[:-10])
    with pytest.raises(ta.InvalidInput, match="values must be the file that was saved with the release"):
        ta.Release.load(path)
    beside.rename(tmp_path / "elsewhere")
    beside.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ta.InvalidInput, match="a plain file next to"):
        ta.Release.load(path)


def test_nothing_is_left_half_written(tmp_path, monkeypatch):
    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    target = tmp_path / "x.json"
    target.write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space"):
        files.write_json(target, {"a": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert target.read_text() == "old"
    with pytest.raises(ta.InvalidInput, match="a file in a folder that exists"):
        ta.publish(random_people(10, 2, seed=0), ta.Marginals(2)).save(tmp_path / "no" / "r.json")


def test_a_folder_inside_is_a_folder_inside(tmp_path):
    (tmp_path / "sub").mkdir()
    assert files.fits_inside(tmp_path, "sub/p.csv", what="data") == tmp_path / "sub" / "p.csv"
    for name in ("/etc/passwd", "../p.csv", "sub/../../p.csv"):
        with pytest.raises(ta.InvalidInput, match="data must be"):
            files.fits_inside(tmp_path, name, what="data")
