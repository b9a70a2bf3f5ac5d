"""From a release to its tables, columns and cells: counts add up, and none says who is given away."""

import numpy as np
import pytest

import tellall as ta
from tellall.audits.measures.disclosure import UNDER, WITHHELD
from tellall.audits.plans.places import places_of
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Planned
from tellall.core.checkpoint import Checkpoint
from tellall.serve import cell_sizes as cells
from tellall.serve import points
from tests.report.pages import Tags


def test_cells_of_every_table_add_up_to_everybody(audited):
    case = audited.case()
    known = case.read("cells.json")["releases"]
    assert [one["name"] for one in known] == ["tables"]
    assert sorted(one["name"] for one in known[0]["tables"]) == ["age", "region", "sex"]
    for place in range(3):
        found = cells.looked_at(case, {"release": "0", "of": str(place), "sort": "alone"})["table"]
        assert sum(row["people"] for row in found["rows"]) == 20
        assert all(0 <= row["alone"] <= row["people"] for row in found["rows"])
        assert found["rows"] == sorted(found["rows"], key=lambda row: -row["alone"])


def test_no_table_of_cells_says_who_is_given_away(audited):
    """Counts of several tables could be subtracted from each other until they name people."""
    case = audited.case()
    assert not (case.folder / "learnt.json").exists()
    page = audited.get(f"{audited.here}/verdict").text
    shown = [page[page.index('id="closer"') : page.index("</details>", page.index('id="closer"'))]]
    shown += [audited.get(f"{audited.here}/cells?release=0&of={place}").text for place in range(3)]
    for panel in shown:
        text = " ".join(Tags.of(panel).text.split())
        assert "alone in public" in text
        assert "given away" not in text


def test_a_total_without_columns_is_no_table():
    people = people_by_area()
    releases = [Planned("totals", ta.Marginals([1, 2]))]
    assert cells._tables(releases, people.public) == [["a"], ["b"], ["town"]]


def test_the_page_goes_from_release_to_cell(audited):
    page = Tags.of(audited.get(f"{audited.here}/verdict").text).text
    assert "Tables and columns of “tables”" in page
    assert "Cells of" in page
    names = [one["name"] for one in audited.case().read("cells.json")["releases"][0]["tables"]]
    panel = audited.get(f"{audited.here}/cells?release=0&of={names.index('region')}")
    text = " ".join(Tags.of(panel.text).text.split())
    assert "Cells of region 4 cells with somebody in them; 4 with fewer than 10 people." in text
    assert "Tables and columns" not in text
    for query in ("", "release=7", "release=0&of=9", "release=0&of=x", "release=../x"):
        assert audited.get(f"{audited.here}/cells?{query}").status == 404


def people_by_area(n: int = 48) -> ta.Dataset:
    rng = np.random.default_rng(3)
    frame = {
        "a": rng.integers(0, 2, n),
        "b": rng.integers(0, 3, n),
        "town": np.array(list("xyz"))[np.arange(n) % 3],
    }
    return ta.Dataset.from_frame(frame | {"ill": (rng.random(n) < 0.4).astype(int)}, secret="ill")


@pytest.fixture(scope="module")
def by_area(tmp_path_factory) -> dict:
    """The slider of a plan by area, with two protections beside the planned one."""
    people = people_by_area()
    releases = [{"name": "tables", "statistic": {"kind": "Marginals", "ways": 2}}]
    plan = Plan.from_mapping({"by": "town", "releases": releases})
    with pytest.MonkeyPatch.context() as fewer:
        fewer.setattr(points, "_HIDE_AND_ROUND", ((5, 0), (0, 10)))
        fewer.setattr(points, "suggest_scales", lambda *_: [])
        with Checkpoint.in_folder(tmp_path_factory.mktemp("work")) as kept:
            return points.measure(places_of(people, plan), plan, plan.limits(people), kept)["releases"][0]


def test_the_slider_by_area_measures_every_area_and_everybody(by_area):
    assert len(by_area["points"]) == 3
    for point in by_area["points"]:
        assert sorted(one["name"] for one in point["areas"]) == ["x", "y", "z"]
        assert sum(one["people"] for one in point["areas"]) == 48
        assert all(one["learnt"] in (UNDER, WITHHELD) or one["learnt"] >= 5 for one in point["areas"])
        worst = max(("pass", "review", "fail").index(one["verdict"]) for one in point["areas"])
        assert ("pass", "review", "fail").index(point["verdict"]) >= worst


def test_the_slider_shows_everybody_or_one_area(by_area):
    whole = points.point_view(by_area, 0, 0.05)
    assert (whole["area"], whole["shown"]["advantage"]) == ("", by_area["points"][0]["advantage"])
    assert whole["names"] == ["x", "y", "z"]
    assert sum(count for _, count in whole["counted"]) == 3
    one = points.point_view(by_area, 0, 0.05, "y")
    assert one["area"] == "y"
    assert one["shown"] == next(area for area in by_area["points"][0]["areas"] if area["name"] == "y")
    assert points.point_view(by_area, 0, 0.05, "<no such area>")["area"] == ""
