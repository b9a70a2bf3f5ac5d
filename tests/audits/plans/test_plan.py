from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall import protections as noise
from tellall import statistics
from tellall.audits.plans.plan import Plan
from tellall.protections.protection import Protection, Unknown
from tellall.release import catalogue

GOOD = """
data = "people.csv"
secret = "ill"
public = ["x", "y"]
limit = 0.1
[bins]
x = [1, 2.5]
[[releases]]
statistic = { kind = "Marginals", ways = 2, attributes = [["x"], ["y"]] }
protect = [{ kind = "Suppression", below = 3 }, { kind = "Rounding", base = 5 }]
[[releases]]
statistic = { kind = "Marginals", ways = 2, attributes = [["x"], ["y"]] }
protect = { kind = "Gaussian", std = 1 }
"""


def refused(tmp_path, text: str | bytes) -> str:
    path = tmp_path / "plan.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ta.InvalidInput) as caught:
        ta.read_plan(path)
    return str(caught.value)


def test_a_plan_reads_and_writes_itself_back(tmp_path):
    (tmp_path / "plan.toml").write_text(GOOD)
    plan = ta.read_plan(tmp_path / "plan.toml")
    assert [entry.protections for entry in plan.releases] == [
        (ta.Suppression(3), ta.Rounding(5)),
        (ta.Gaussian(1.0),),
    ]
    assert plan.releases[0].statistic == ta.Marginals(2, [["x"], ["y"]])
    assert plan.bins == {"x": [1, 2.5]}
    again = Plan.from_mapping(plan.as_json())
    assert again.as_json() == plan.as_json()


def test_equal_names_are_told_apart():
    entry = {"name": "t", "statistic": {"kind": "Marginals", "ways": 2}}
    assert [e.name for e in Plan.from_mapping({"releases": [entry, entry]}).releases] == ["t", "t (2)"]


@pytest.mark.parametrize(
    ("given", "told_apart"),
    [
        (["a", "a", "a (2)"], ["a", "a (3)", "a (2)"]),
        (["a (2)", "a", "a"], ["a (2)", "a", "a (3)"]),
        (["a", "a (2)", "a", "a (2)"], ["a", "a (2)", "a (3)", "a (2) (2)"]),
        (["all releases together", "a"], ["all releases together (2)", "a"]),
    ],
)
def test_a_number_makes_no_name_that_another_release_has(given, told_apart):
    statistic = {"kind": "Marginals", "ways": 2}
    plan = Plan.from_mapping({"releases": [{"name": name, "statistic": statistic} for name in given]})
    assert [entry.name for entry in plan.releases] == told_apart


def test_all_errors_come_at_once_with_paths_and_the_nearest_key(tmp_path):
    text = refused(
        tmp_path,
        """
        secrt = "ill"
        limit = "much"
        repeats = 0
        bins = "many"
        data = "/etc/passwd"
        [[releases]]
        name = "counts"
        statistic = { kind = "Marginals", ways = 3, way = 3 }
        protect = [{ kind = "Rounding", bass = 5 }]
        [[releases]]
        statistik = 1
        statistic = { kind = "Marginals", ways = 0 }
        protect = { kind = "Gaussian", std = -1 }
        """,
    )
    for line in (
        "secret is needed",
        "secrt is not a key of a plan. Did you mean 'secret'?",
        "limit should be a valid number; got much.",
        "repeats should be greater than or equal to 1; got 0.",
        "bins must be a count",
        "data must be a path relative to the file that names it; got /etc/passwd.",
        "release “counts”: statistic.way is not a parameter of Marginals",
        "release “counts”: protect.bass is not a parameter of Rounding (base, mode, ties). "
        "Did you mean 'base'?",
        "release “counts”: protect.base is needed by Rounding",
        "release 2: statistik is not a key of a plan. Did you mean 'statistic'?",
        "release 2: statistic ways must be a whole number of 1 or more",
        "release 2: protect std must be a finite number, zero or more; got -1.",
    ):
        assert line in text, line
    assert "releases.0" not in text


def test_a_kind_that_tellall_does_not_have_is_recorded_and_stops_nothing():
    table = {"kind": "Marginals", "ways": 2}
    mapping = {
        "releases": [
            {"name": "medians", "statistic": {"kind": "Quantiles", "of": "income"}},
            {"name": "counts", "statistic": table},
            {"statistic": {"kind": "PivotTable"}, "protect": {"kind": "Rounding", "base": 5}},
            {"name": "typed wrongly", "statistic": table, "protect": [{"kind": "Gausian", "std": 1}]},
        ]
    }
    plan = Plan.from_mapping(mapping)
    assert [entry.name for entry in plan.releases] == ["counts"]
    assert [(one.name, one.nearest) for one in plan.not_checked] == [
        ("medians", None),
        ("PivotTable", "Marginals"),
        ("typed wrongly", "Gaussian"),
    ]
    assert str(plan.not_checked[0]) == (
        "“medians” is not checked: tellall has no statistic of kind 'Quantiles', nor anything like it."
    )
    assert Plan.from_mapping(plan.as_json()).as_json() == plan.as_json()


@pytest.mark.parametrize("kind", [None, 3, ["Marginals"], {}])
def test_a_kind_that_is_no_word_is_an_error(kind):
    with pytest.raises(ta.InvalidInput, match=r"release 1: statistic\.kind must be one of"):
        Plan.from_mapping({"releases": [{"statistic": {"kind": kind}}]})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = [", "plan must be a TOML file"),
        ("x = " + "[" * 20_000, "plan must be a TOML file"),
        ("secret = '\xe9'".encode("latin-1"), "plan must be text in UTF-8"),
        (b"\xff\xfe" + "x = 1".encode("utf-16-le"), "plan must be text in UTF-8"),
        ('secret = "' + "x" * 10_000_000 + '"', "plan must be a file of at most 1 MB"),
        ("", "secret is needed"),
        ("data = '../people.csv'\nsecret='s'\nreleases=[]", "data must be a file in the folder"),
        ('data = "a\\u0000b"\nsecret="s"', "data must be a path relative"),
        ("secret = 's'\ndata = 'd.csv'\nreleases = [1, 'x']", "release 1 should be a valid"),
        ("secret = 's'\ndata = 'd.csv'\nreleases = 7", "releases should be a valid list"),
        ("schema_version = 9\nsecret='s'\ndata='d'", "schema_version must be 2; got 9. Update tellall"),
        ("schema_version = 1\nsecret='s'\ndata='d'", "got 1. It was written for an earlier tellall"),
    ],
)
def test_hostile_plans_get_clear_lines(tmp_path, text, says):
    said = refused(tmp_path, text)
    assert says in said
    assert len(said) < 2000


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "people.csv").write_text("x,ill\n1,0\n")
    (inside / "people.csv").symlink_to(tmp_path / "people.csv")
    (inside / "plan.toml").write_text(GOOD)
    with pytest.raises(ta.InvalidInput, match="data must be a file in the folder"):
        ta.read_plan(inside / "plan.toml")


def test_releases_that_do_not_fit_the_people_are_refused_together(people):
    entry = {"statistic": {"kind": "Marginals", "ways": 9}}
    with pytest.raises(
        ta.InvalidInput, match=r"2 errors\n  release “every 9-way .*”: statistic ways.*\n  release “every"
    ):
        ta.audit(people, {"releases": [entry, entry]})
    with pytest.raises(ta.InvalidInput, match="secret must be that of the dataset"):
        ta.audit(people, {"secret": "other", "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
        max_leaves=12,
    ),
    st.sampled_from(["secret", "public", "bins", "limit", "repeats", "seed", "releases", "steps", "data"]),
)
def test_no_value_of_a_key_breaks_the_reader(value, key):
    """Whatever stands in a plan, it is read or refused in words."""
    mapping = {"releases": [{"statistic": {"kind": "Marginals", "ways": 2}}], key: value}
    with suppress(ta.InvalidInput):
        Plan.from_mapping(mapping)


@given(
    st.sampled_from(["Marginals", "Rounding", "Gaussian", "Suppression", "Sum", "Exact", "Laplace"]),
    st.dictionaries(
        st.sampled_from(["ways", "attributes", "scale", "base", "std", "below", "parts"]),
        st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=3),
        max_size=3,
    ),
)
def test_descriptions_are_built_or_explained(kind, parameters):
    what = "statistic" if kind == "Marginals" else "protection"
    plain = {"kind": kind, **parameters}
    if not catalogue.problems(what, plain):
        built = catalogue.build(what, plain)
        assert catalogue.build(what, catalogue.to_plain(built)) == built


def test_a_new_class_needs_no_change_to_be_reached(monkeypatch):
    @dataclass(frozen=True)
    class Blur(Protection):
        by: float

        @property
        def law(self):
            return Unknown()

        def perturb(self, values, rng=None, context=None):
            return values + self.by

    monkeypatch.setattr(noise, "Blur", Blur, raising=False)
    monkeypatch.setattr(noise, "__all__", [*noise.__all__, "Blur"])
    plan = Plan.from_mapping(
        {
            "releases": [
                {"statistic": {"kind": "Marginals", "ways": 2}, "protect": {"kind": "Blur", "by": 2.0}}
            ]
        }
    )
    assert plan.releases[0].name == "every 2-way table, Blur(by=2)"


def test_a_class_with_objects_in_it_may_describe_itself(monkeypatch):
    class Chosen(statistics.Marginals):
        def __init__(self, width):
            super().__init__(width if isinstance(width, int) else len(width))

        def as_plain(self):
            return {"width": self.ways}

    monkeypatch.setattr(statistics, "Chosen", Chosen, raising=False)
    monkeypatch.setattr(statistics, "__all__", [*statistics.__all__, "Chosen"])
    assert catalogue.to_plain(Chosen([1, 2])) == {"kind": "Chosen", "width": 2}
    assert catalogue.build("statistic", {"kind": "Chosen", "width": 3}).ways == 3
    assert catalogue.problems("statistic", {"kind": "Chosen"})


def test_what_is_no_public_class_is_not_saved():
    class Private(ta.Suppression):
        pass

    with pytest.raises(ta.InvalidInput, match="must be public classes of tellall"):
        catalogue.to_plain(Private(3))


def test_correlations_that_say_no_sizes_are_not_checked_and_stop_nothing():
    alone, scaled = ({"kind": "Correlations", "variance": known} for known in (False, True))
    plan = Plan.from_mapping(
        {"releases": [{"name": "r", "statistic": alone}, {"name": "both", "statistic": scaled}]}
    )
    number = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0.5, 1.5, 2.0, 7.0])
    chosen = plan.attackable(number)
    assert [one.name for one in chosen.releases] == ["both"]
    (left,) = chosen.not_checked
    assert str(left) == (
        "“r” is not checked: alone they say nothing about the size of a number; with variance = true they "
        "are attacked."
    )
    bit = ta.Dataset.from_arrays([[0, 1], [1, 0], [1, 1], [0, 0]], [0, 1, 1, 0])
    assert plan.attackable(bit) is plan
