"""The recipes of CONTRIBUTING: what a newcomer adds works everywhere with one file and one line."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tellall as ta
from tellall import protections, statistics
from tellall.attack.reconstruct.decoders import DECODERS
from tellall.release import catalogue

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
RNG = np.random.default_rng(0)
PUBLIC = RNG.integers(0, 2, (20, 30))
WAGES = ta.Dataset.from_arrays(PUBLIC, secret=RNG.gamma(2.0, size=20))


@pytest.fixture(scope="module")
def made():
    """What the recipes define; running them is a check of its own."""
    namespace = {"__name__": "recipes"}
    for number, code in enumerate(BLOCKS, 1):
        exec(compile(code, f"recipe {number}", "exec"), namespace)  # noqa: S102  our own document
    return namespace


@pytest.fixture
def listed(made, monkeypatch):
    """The one line elsewhere: the lists of kinds know the new classes."""
    for room, name in ((statistics, "Differences"), (protections, "BottomCoding")):
        monkeypatch.setattr(room, name, made[name], raising=False)
        monkeypatch.setattr(room, "__all__", [*room.__all__, name])
    return made


def test_differences_are_published_attacked_and_scored(made):
    release = ta.publish(WAGES, made["Differences"]())
    found = ta.reconstruct(release, WAGES.public)
    assert found.status.settled
    assert np.abs(found.estimate - WAGES.secret).max() < 0.01
    assert ta.score(found, WAGES.secret).advantage > 0


def test_noise_on_differences_is_weighed(made):
    release = ta.publish(WAGES, made["Differences"](), ta.Gaussian(0.5), rng=1)
    assert np.allclose(ta.linearise(release, WAGES.public).std, 0.5)
    found = ta.reconstruct(release, WAGES.public)
    assert np.abs(found.estimate - WAGES.secret).mean() < np.abs(WAGES.secret - WAGES.secret.mean()).mean()


def test_bottom_coded_differences_are_never_solved(made):
    release = ta.publish(WAGES, made["Differences"](), made["BottomCoding"](2.0))
    assert not np.allclose(release.values, ta.publish(WAGES, made["Differences"]()).values)
    found = ta.reconstruct(release, WAGES.public)
    assert not found.status.settled
    assert "unknown" in str(found.status)


def test_one_line_makes_them_known_to_plans_and_files(listed, tmp_path):
    assert "Differences" in catalogue.kinds("statistic")
    assert "BottomCoding" in catalogue.kinds("protection")
    plan = ta.Plan.from_mapping(
        {
            "releases": [
                {
                    "statistic": {"kind": "Differences"},
                    "protect": {"kind": "BottomCoding", "at": 2.0},
                }
            ]
        }
    )
    (planned,) = plan.releases
    release = ta.publish(WAGES, planned.statistic, planned.protections)
    loaded = ta.Release.load(release.save(tmp_path / "differences.json"))
    assert loaded.statistic == listed["Differences"]()
    assert loaded.protections == (listed["BottomCoding"](2.0),)


def test_recipes_leave_nothing_behind(made):
    assert "rounded" not in DECODERS


def test_contributing_names_the_layers_of_the_configuration():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    assert " > ".join(layers) in TEXT


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:src|tests)/[\w/.]+)`", TEXT))))
def test_the_paths_that_contributing_names_exist(path):
    assert (ROOT / path).exists()
