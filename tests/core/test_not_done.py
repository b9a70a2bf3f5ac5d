"""The one record of what was not done, and why."""

import pytest

import tellall as ta
from tellall.audits.plans.plan import NotChecked
from tellall.core.not_done import NotDone
from tellall.core.records import read


@pytest.mark.parametrize("key", ["name", "id", "protection"])
def test_older_documents_are_read(key):
    found = read(NotDone, {key: "Laplace(1)", "reason": "too wide"}, what="entry")
    assert found == NotDone("Laplace(1)", "too wide")
    assert str(found) == "Laplace(1): too wide"


def test_a_record_has_one_name_and_says_it_was_skipped():
    found = NotDone("m.csv", "no table", "read", "takes-no-part")
    assert read(NotDone, found.as_json(), what="entry") == found
    assert found.as_json()["outcome"] == "skipped"
    for wrong in ({"name": "a", "id": "b"}, {"reason": "c"}):
        with pytest.raises(ta.InvalidInput):
            read(NotDone, {"reason": "c", **wrong}, what="entry")
    with pytest.raises(ta.InvalidInput):
        read(NotDone, {**found.as_json(), "outcome": "found"}, what="entry")


def test_what_a_plan_cannot_check_is_such_a_record_with_its_entry():
    mapping = {"releases": [{"name": "pivot", "statistic": {"kind": "PivotTable"}}]}
    (left,) = ta.Plan.from_mapping(mapping).not_checked
    assert isinstance(left, NotDone)
    assert left.entry()["statistic"] == {"kind": "PivotTable"}
    again = read(NotChecked, left.as_json(), what="entry")
    assert (again.name, again.reason, again.nearest) == (left.name, left.reason, "Marginals")
    assert "statistic" not in left.as_json()
