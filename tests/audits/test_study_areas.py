import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tellall as ta
from tellall.attack.reconstruct import decoders
from tellall.audits import study_areas as room
from tellall.audits.answers import least_enough, worst_row
from tellall.audits.by_area import _study_key
from tellall.audits.studies import CalibrationFound, SweepFound
from tellall.core.records import read
from tellall.people.areas import split
from tellall.report.studied_areas import swept_lines
from tellall.report.study_page import render_calibration, render_sweep

QUICK = {"decoders": ["least-squares"], "repeats": 3}
TRIED = [None, ta.Gaussian]
SCALES = [1.0, 20.0]


@pytest.fixture(scope="module")
def people() -> ta.Dataset:
    return people_in({"<b>a": 10, "../b": 12, "c": 8, "one": 1})


def people_in(sizes: dict[str, int]) -> ta.Dataset:
    rng = np.random.default_rng(5)
    town = np.array([name for name, size in sizes.items() for _ in range(size)], dtype=object)
    frame = {f"x{j}": rng.integers(0, 2, town.size) for j in range(5)}
    frame |= {"town": town, "ill": rng.permutation(np.arange(town.size) % 2)}
    return ta.Dataset.from_frame(frame, secret="ill")


@pytest.fixture(scope="module")
def done(people) -> ta.AreaSweep:
    return ta.sweep_areas(people, ta.Marginals(3), TRIED, by="town", scales=SCALES, **QUICK)


def test_an_area_is_what_sweeping_it_alone_finds(people, done):
    mine = {area.name: area for area in done.areas}
    for area in split(people, "town"):
        if area.n < 4:
            assert "1 person" in mine[area.name].reason
            continue
        alone = ta.sweep(
            area.dataset,
            ta.Marginals(3),
            TRIED,
            scales=SCALES,
            sensitive=["1"],
            rng=mine[area.name].seed,
            **QUICK,
        )
        assert mine[area.name].sweep.rows == alone.rows
        assert mine[area.name].sweep.outcomes == alone.outcomes


def test_numbers_do_not_depend_on_the_number_of_processes(people, done):
    again = ta.sweep_areas(people, ta.Marginals(3), TRIED, by="town", scales=SCALES, processes=2, **QUICK)
    assert again.as_json() == done.as_json()


def test_totals_count_every_person_once(done):
    measured = [area for area in done.areas if area.sweep is not None]
    assert done.people == sum(area.people for area in measured) == 30
    for row in done.rows:
        parts = []
        for area in measured:
            own = [one for one in area.sweep.rows if one.protection == row.protection]
            asked = [one for one in own if one.decoder == row.decoder]
            # an area in which no public column tells people apart has no informed attack
            parts.append((area.people, asked[0] if asked else max(own, key=lambda one: one.advantage)))
        assert row.accuracy == pytest.approx(sum(n * part.accuracy for n, part in parts) / 30)
        assert row.exposed == pytest.approx(sum(part.exposed for _, part in parts))
        assert row.loss == pytest.approx(np.mean([part.loss for _, part in parts]))
        assert row.low <= row.advantage <= row.high
        assert row.accuracy_low <= row.accuracy <= row.accuracy_high
        # in each area the luckiest baseline counts, over all people one
        assert row.advantage >= sum(n * part.advantage for n, part in parts) / 30 - 1e-9
    assert sum(row.frontier for row in done.rows) >= 1


def test_a_decoder_too_slow_for_an_area_is_replaced(monkeypatch):
    """LP decoding up to 12 people only: the row of all people still counts everybody."""
    monkeypatch.setitem(decoders.TRIED, "lp", 12)
    few = people_in({"<b>a": 18, "c": 12})
    found = ta.sweep_areas(few, ta.Marginals(2), [None], by="town")
    tried = {area.name: {row.decoder for row in area.sweep.rows} for area in found.areas}
    assert tried["c"] - tried["<b>a"] == {"lp"}
    areas = {area.name: area.sweep.rows for area in found.areas}
    whole = next(row for row in found.rows if row.decoder == "lp")
    listed = next(row for row in areas["c"] if row.decoder == "lp")
    best = max(areas["<b>a"], key=lambda row: row.advantage).accuracy
    assert whole.accuracy == pytest.approx((12 * listed.accuracy + 18 * best) / 30)


def test_a_stopped_sweep_goes_on_and_only_what_is_missing_is_computed(people, done, tmp_path, monkeypatch):
    computed = []
    measure = room._sweep_area

    def counted(payload):
        computed.append(payload[0].n)
        return measure(payload)

    def stop(finished, of):
        if finished == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(room, "_sweep_area", counted)
    again = {"by": "town", "scales": SCALES, "work": tmp_path, **QUICK}
    with pytest.raises(KeyboardInterrupt):
        ta.sweep_areas(people, ta.Marginals(3), TRIED, progress=stop, **again)
    assert computed == [12]
    assert ta.sweep_areas(people, ta.Marginals(3), TRIED, **again).as_json() == done.as_json()
    assert computed == [12, 10, 8]
    for path in tmp_path.rglob("*.json"):
        path.write_text(json.dumps({"key": path.parent.name + path.stem, "piece": {"rows": 3}}))
    assert ta.sweep_areas(people, ta.Marginals(3), TRIED, **again).as_json() == done.as_json()
    assert len(computed) == 6


def test_what_is_kept_depends_on_everything_that_decides_the_numbers(people):
    area, other = split(people, "town")[:2]
    options = {"protections": [None, ta.Gaussian, [ta.Rounding(5)]], "repeats": 3, "decoders": None}
    key = _study_key("sweep", area, ta.Marginals(3), 1, options)
    assert key == _study_key("sweep", area, ta.Marginals(3), 1, dict(options))
    others = [
        _study_key("calibrate", area, ta.Marginals(3), 1, options),
        _study_key("sweep", other, ta.Marginals(3), 1, options),
        _study_key("sweep", area, ta.Marginals(2), 1, options),
        _study_key("sweep", area, ta.Marginals(3), 2, options),
        _study_key("sweep", area, ta.Marginals(3), 1, {**options, "repeats": 4}),
        _study_key("sweep", area, ta.Marginals(3), 1, {**options, "protections": [ta.Rounding(4)]}),
    ]
    assert len({key, *others}) == 7
    listed = _study_key("sweep", area, ta.Marginals(3), 1, {**options, "scales": [1.0, 4.0]})
    for scales in (np.array([1.0, 4.0]), np.geomspace(1, 4, 2), [np.float64(1), np.float32(4)], (1.0, 4.0)):
        assert _study_key("sweep", area, ta.Marginals(3), 1, {**options, "scales": scales}) == listed
    few = {**options, "repeats": np.int64(3)}
    assert _study_key("sweep", area, ta.Marginals(3), 1, few) == key
    own = {"protections": [lambda scale: ta.Gaussian(scale)]}
    assert _study_key("sweep", area, ta.Marginals(3), 1, own) is None


def test_calibrations_of_areas_are_those_of_each_alone(people, tmp_path):
    options = {"draws": 3, "evaluations": 8, "decoders": ["least-squares"]}
    found = ta.calibrate_areas(
        people, ta.Marginals(2), ta.Gaussian, 0.45, by="town", work=tmp_path, **options
    )
    mine = {area.name: area for area in found.areas}
    assert [area.name for area in found.areas if area.reason] == ["one"]
    area = next(area for area in split(people, "town") if area.name == "c")
    alone = ta.calibrate(area.dataset, ta.Marginals(2), ta.Gaussian, 0.45, rng=mine["c"].seed, **options)
    assert mine["c"].calibration.as_json() == json.loads(json.dumps(alone.as_json()))
    scales = [area.answer.scale for area in found.areas if area.answer]
    assert scales == sorted(scales, reverse=True)
    assert found.scale == scales[0]
    assert found.people == 30
    assert found.together.protection == found.protection
    assert str(found).startswith("One noise for")
    again = ta.calibrate_areas(
        people, ta.Marginals(2), ta.Gaussian, 0.45, by="town", work=tmp_path, **options
    )
    assert again.as_json() == found.as_json()
    document = CalibrationFound(
        data="people.csv",
        seed=0,
        by="town",
        secret="ill",
        real=False,
        family="Gaussian",
        max_advantage=0.45,
        releases=(replace(found, name="tables"),),
        skipped=(),
    )
    page = render_calibration(read(CalibrationFound, json.dumps(document.as_json()), what="calibration"))
    assert "&lt;b&gt;a" in page
    assert "<b>a" not in page


def test_the_page_and_the_terminal_show_the_worst_areas(done):
    release = replace(done, name="tables")
    lines = swept_lines(release)
    assert lines[0] == "30 people in 4 areas by town, 1 of them not measured"
    assert lines[1].startswith("town")
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("town") for line in lines) == 2  # the table takes two parts
    document = SweepFound(data="people.csv", seed=0, repeats=3, limit=0.05, warning="w", releases=(release,))
    page = render_sweep(read(SweepFound, json.dumps(document.as_json()), what="sweep"))
    assert "Area by area: town" in page
    assert "for one row replaced within its area" in page
    assert "&lt;b&gt;a" in page
    assert "<b>a" not in page


def test_the_worst_row_of_an_area_is_that_of_the_largest_advantage(done):
    """A narrow row of a well protected release has the higher lower end; it is not the worst."""
    area = next(one for one in done.areas if len(one.rows) > 1)
    narrow, wide = area.rows[:2]
    narrow = replace(narrow, advantage=0.0, low=0.0, high=0.0, verdict="pass")
    wide = replace(wide, advantage=0.3, low=-0.1, high=0.6, verdict="review")
    assert worst_row(replace(area, rows=(narrow, wide))).advantage == 0.3
    assert least_enough((narrow, wide)) == narrow
    assert least_enough((replace(narrow, verdict="fail"), wide)) is None  # more people than allowed

    def made(name, *rows):
        chosen = [SimpleNamespace(advantage=advantage, low=low) for advantage, low in rows]
        return room.SweptArea(name=name, people=30, seed=0, sweep=SimpleNamespace(rows=chosen))

    areas = [made("mixed", (0.0, 0.0), (0.3, -0.1)), made("surely", (0.1, 0.05)), made("none", (0.0, -0.05))]
    assert [area.name for area in room._worst_first(areas)] == ["surely", "none", "mixed"]


def test_what_is_wrong_is_said_once(people):
    with pytest.raises(ta.InvalidInput, match="repeats"):
        ta.sweep_areas(people, ta.Marginals(3), [None], by="town", repeats=0)
    with pytest.raises(ta.InvalidInput, match="Did you mean 'town'"):
        ta.sweep_areas(people, ta.Marginals(3), [None], by="twon")
    with pytest.raises(ta.InvalidInput, match="a Dataset"):
        ta.sweep_areas(3, ta.Marginals(3), [None], by="town")
    frame = {"town": ["a", "b"] * 9, "x": [0, 1] * 9, "s": np.arange(18) / 7}
    reals = ta.Dataset.from_frame(frame, "s", kind="reals")
    with pytest.raises(ta.InvalidInput, match="real numbers"):
        ta.sweep_areas(reals, ta.Estimator("linear"), [None], by="town")


def mixed_people(constant: int, small: int) -> ta.Dataset:
    """A town where nobody is ill, and small ones where every second is."""
    rng = np.random.default_rng(8)
    town = np.array(["well"] * constant + [f"t{j}" for j in range(small) for _ in range(8)], dtype=object)
    frame = {f"x{j}": rng.integers(0, 2, town.size) for j in range(6)}
    ill = np.r_[np.zeros(constant, dtype=int), np.arange(8 * small) % 2]
    return ta.Dataset.from_frame({**frame, "town": town, "ill": ill}, secret="ill")


def test_an_area_where_all_have_the_same_secret_sets_no_noise():
    """Towns of 8 cannot resolve 2 %, and the one that could has nothing to tell: no answer, not "none"."""
    options = {"by": "town", "draws": 2, "evaluations": 8, "decoders": ["least-squares"]}
    with pytest.raises(ta.TooLittlePower, match="same secret") as told:
        ta.calibrate_areas(mixed_people(40, 6), ta.Marginals(3), ta.Gaussian, 0.02, **options)
    assert "7 areas, 6 with too few people to tell, 1 where everybody has the same secret" in str(told.value)


def test_noise_that_is_not_enough_for_all_people_says_so(monkeypatch, tmp_path):
    """One town answers "none", the others have no answer, and all people together are far above the limit."""
    people = mixed_people(40, 6)
    ready = room._calibrate_area

    def one_answers(payload):
        dataset, statistic, seed, options = payload
        if dataset.n == 8 and seed != first:
            return ready(payload)
        answer = ready((dataset, statistic, seed, {**options, **loose}))
        return {**answer, "scale": 0.0, "protection": "exact"}

    loose = {"max_advantage": 0.95, "exposed_limit": None}
    first = next(area.seed(0) for area in split(people, "town") if area.name == "t0")
    monkeypatch.setattr(room, "_calibrate_area", one_answers)
    options = {"by": "town", "draws": 2, "evaluations": 8, "decoders": ["least-squares"], "work": tmp_path}
    found = ta.calibrate_areas(people, ta.Marginals(3), ta.Gaussian, 0.02, **options)
    assert found.scale == 0
    assert [area.name for area in found.areas if area.answer] == ["t0"]
    assert found.together.low > 0.02
    assert not found.enough
    assert found.warnings[1].startswith("This is not enough: over all 88 people")
    assert "none is needed" not in str(found)
    assert "One noise for 1 area by town" in str(found)
    assert "6 areas, 5 with too few people to tell, 1 where everybody has the same secret" in str(found)
    computed = []
    monkeypatch.setattr(room, "_calibrate_area", computed.append)
    again = ta.calibrate_areas(people, ta.Marginals(3), ta.Gaussian, 0.02, **options)
    assert (again.as_json(), computed) == (found.as_json(), [])  # those without an answer are kept too
