import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tellall.experiment.summary import Foreseen, Promised, ReleaseSummary, average

import tellall as ta
from tellall.experiment.verdict import judge
from tellall.report.audit_page import render
from tellall.report.drawing import SLIM, WIDTH, bars, ticks
from tests.report.pages import NASTY, Tags, browser_page, charts, fits_a_telephone


@pytest.fixture(scope="module")
def audit() -> ta.Audit:
    rng = np.random.default_rng(0)
    frame = {f"{NASTY}{j}": rng.integers(0, 2, 60) for j in range(4)}
    frame["=HYPERLINK('x')"] = rng.choice([NASTY, "</style>", "{{ 7 * 7 }}"], 60)
    frame[f"secret {NASTY}"] = rng.permutation(np.where(np.arange(60) % 2, NASTY, "</title>"))
    people = ta.Dataset.from_frame(frame, secret=f"secret {NASTY}")
    plan = {
        "releases": [
            {
                "name": f"first {NASTY}",
                "statistic": {"kind": "Marginals", "ways": 3},
                "protect": [{"kind": "Suppression", "below": 2}, {"kind": "Rounding", "base": 3}],
            },
            {"name": "{% raw %}{{ plan }}", "statistic": {"kind": "Marginals", "ways": 2}},
        ]
    }
    return ta.audit(people, plan, name=NASTY, command=f"tellall audit '{NASTY}'")


@pytest.fixture(scope="module")
def tags(audit) -> Tags:
    return Tags.of(render(audit.document))


def test_names_and_values_come_out_as_text(tags):
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "img", "iframe", "object", "link", "a", "form"}
    assert "alert('x')" in tags.text
    assert "{{ plan }}" in tags.text
    assert not any(name.startswith("on") or name == "style" for _, attrs in tags.seen for name in attrs)


def test_the_page_allows_itself_only_its_own_style(tags):
    policy = next(a["content"] for t, a in tags.seen if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not any(a.get("src") or a.get("href") for _, a in tags.seen)


def test_every_chart_has_a_table_and_words_for_those_who_cannot_see_it(audit):
    page = render(audit.document)
    assert charts(page) == page.count("<table>") == 3
    for figure in re.findall(r"<figure>.*?</figure>.*?</div>", page, re.DOTALL):
        assert "<table>" in figure
        assert "<title" in figure
        assert "<desc" in figure


def test_the_page_says_what_must_be_said(audit, tags):
    for words in (
        "What each release gives away",
        "People exposed, by confidence",
        "What each protection bought",
        "What was assumed about the attacker",
        "What was not tested",
        "majority",
        "population",
        "seed",
        ta.__version__,
        audit.verdict.sentence,
        '"kind": "Marginals"',
    ):
        assert words in tags.text, words


def test_saving_writes_the_two_files_and_the_page_can_be_made_from_the_document(audit, tmp_path):
    page = audit.save(tmp_path / "out")
    assert sorted(path.name for path in page.parent.iterdir()) == ["audit.json", "report.html"]
    document = json.loads((page.parent / "audit.json").read_text(encoding="utf-8"))
    assert render(document) == page.read_text(encoding="utf-8")
    (tmp_path / "file").write_text("")
    with pytest.raises(ta.InvalidInput, match="folder must be a folder"):
        audit.save(tmp_path / "file")


def summary(advantage=0.0, low=0.0, high=0.0, **changes) -> ReleaseSummary:
    base = {"majority": 0.5}
    fields = {
        "statistic": "s",
        "protection": "exact",
        "accuracy": 0.5 + advantage,
        "baselines": base,
        "baseline": "majority",
        "advantage": advantage,
        "interval": (low, high),
        "found": 0.5,
        "named": 0,
        "named_right": 0,
        "proved": 0,
        "exposed": {"0.95": {"0": 0, "1": 0}, "0.99": {"0": 0, "1": 0}},
        "status": "solved",
        "people": 1000,
        "curve": ((0.5, 3), (0.9, 1)),
    }
    return ReleaseSummary(**{**fields, **changes})


@pytest.mark.parametrize(
    ("row", "options", "word", "says"),
    [
        (summary(0.2, 0.1, 0.3), {}, "fail", "700 of 1,000 people right; without it, of 500"),
        (summary(0.04, 0.01, 0.09), {}, "review", "as well be 1.0 in 100 more as 9.0 in 100 more"),
        (summary(0.0, -0.07, 0.07), {}, "review", "as well be 7.0 in 100 fewer as 7.0 in 100 more"),
        (summary(-0.01, -0.07, 0.07), {}, "review", "at best: 1.0 in 100 fewer."),
        (summary(0.01, -0.01, 0.02), {}, "pass", "does not prove"),
        (summary(-0.1, -0.2, 0.0), {}, "pass", "no more secrets"),
        (summary(0.01, 0.0, 0.02, status="not converged: try"), {}, "review", "was attacked, but"),
        (
            summary(0.01, 0.0, 0.02, status="uncalibrated: much is hidden"),
            {},
            "review",
            "limit of 5.0 in 100. “release” was attacked, but how sure the attack is cannot be trusted: mu",
        ),
        (
            summary(0.01, 0.0, 0.02, status="not attacked in 1 of 2 areas"),
            {},
            "review",
            "not everything could be: release (not attacked in 1 of 2 areas).",
        ),
        (summary(0.01, 0.0, 0.02), {"skipped": ["other"]}, "review", "other"),
        (
            summary(0.01, 0.0, 0.02, exposed={"0.95": {"0": 2, "1": 3}}),
            {"exposed_limit": 4},
            "fail",
            "exposes 5 of 1,000",
        ),
        (
            summary(0.01, 0.0, 0.02, exposed={"0.95": {"0": 0, "1": 1}}),
            {},
            "pass",
            "Even so, 1 person is exposed",
        ),
    ],
)
def test_the_verdict(row, options, word, says):
    verdict = judge([("release", row)], limit=0.05, **options)
    assert verdict.word == word
    assert says in verdict.sentence


def test_the_verdict_on_nothing_is_no_pass():
    assert judge([], limit=0.05).word == "review"


@given(st.floats(-0.5, 0.5), st.floats(0, 0.2), st.floats(0, 1))
def test_a_verdict_never_calls_safe_what_may_be_above_the_limit(advantage, width, limit):
    row = summary(advantage, advantage - width, advantage + width, accuracy=0.5)
    verdict = judge([("release", row)], limit=limit)
    assert (verdict.word == "pass") == (advantage + width <= limit)
    assert (verdict.word == "fail") == (advantage - width > limit)


def test_the_mean_of_equal_draws_is_the_draw():
    row = summary(0.2, 0.1, 0.3)
    mean = average([row, row, row], row.interval)
    assert mean.accuracy == pytest.approx(row.accuracy)
    assert (mean.curve, mean.draws) == (row.curve, 3)
    assert ReleaseSummary.from_json(json.loads(json.dumps(mean.as_json()))) == mean


FORESEEN = Foreseen(1200, 1000, 900, 800, None, 0.75, 0.875, 0.5, (f"Odd({NASTY})",))


def test_what_was_known_before_survives_the_file_and_older_files_do_without():
    row = summary(
        foreseen=FORESEEN, promised=Promised(1.5, 1e-6, "one row replaced", "noise"), skipped=("a",)
    )
    plain = json.loads(json.dumps(row.as_json()))
    assert ReleaseSummary.from_json(plain) == row
    for name in ("decoder", "skipped", "foreseen", "promised", "wrong", "recovery"):
        del plain[name]
    assert ReleaseSummary.from_json(plain) == summary()


def test_the_mean_of_draws_keeps_what_was_known_and_names_every_decoder():
    first = summary(foreseen=FORESEEN, promised=Promised(), decoder="lp", skipped=("a",))
    other = summary(foreseen=FORESEEN, promised=Promised(), decoder="posterior", skipped=("a", "b"))
    mean = average([first, other, first], (0.0, 0.0))
    assert (mean.foreseen, mean.promised) == (FORESEEN, Promised())
    assert (mean.decoder, mean.skipped) == ("lp, posterior", ("a", "b"))


def page_with(audit, **changes) -> tuple[str, Tags]:
    """The page of the audit with the first summary changed and alone."""
    document = json.loads(json.dumps(audit.document))
    document["findings"] = document["findings"][:1]
    document["findings"][0]["summary"].update(changes)
    page = render(document)
    return page, Tags.of(page)


def test_the_page_shows_what_was_known_beside_what_was_found(audit):
    plain = json.loads(json.dumps(summary(foreseen=FORESEEN).as_json()))["foreseen"]
    promise = {"epsilon": 1.5, "delta": 1e-6, "relation": "one row replaced", "text": NASTY}
    skipped = [f"2 of 3 models ({NASTY}): dependent"]
    page, tags = page_with(audit, foreseen=plain, promised=promise, skipped=skipped, accuracy=0.625)
    text = tags.text.replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "foreseen before any attack: 1,200 equations about 1,000 people, at most 800 unknowns solvable, "
        "predicted 75.0 %, at most 87.5 % for any attack on secrets drawn at random "
        f"(leaving out Odd({NASTY})); found 62.5 %"
    ) in text
    assert f"promised: ε = 1.5, δ = 1e-06 for one row replaced ({NASTY})" in tags.text
    assert f"no equation from {skipped[0]}" in tags.text
    assert "decoded by " in tags.text
    assert "<img" not in page
    assert "<script" not in page
    assert "for any attack" not in page_with(audit, foreseen={**plain, "limit": None})[1].text
    assert "for any attack" not in page_with(audit, foreseen={**plain, "limit": 1.0})[1].text


def test_the_page_says_how_often_how_many_were_wrong(audit):
    """Definition 1: (α, β) over draws of the noise; of one draw only what it was."""
    often = summary(wrong=(10, 60, 70, 300), people=1000, draws=4).as_json()["recovery"]
    text = page_with(audit, recovery=often)[1].text
    assert "wrong about more than a share α of the people in a share β of 4 draws: α = 0.01: β = 0.75" in text
    assert "α = 0.25: β = 0.25 [0.01, 0.81]" in text
    once = summary(wrong=(60,), people=1000).as_json()["recovery"]
    assert "wrong about at most 10 % of the people" in page_with(audit, recovery=once)[1].text
    bad = summary(wrong=(600,), people=1000).as_json()["recovery"]
    assert "wrong about more than 25 % of the people" in page_with(audit, recovery=bad)[1].text


def test_a_page_is_made_of_an_older_document_too(audit):
    document = json.loads(json.dumps(audit.document))
    for row in document["findings"]:
        for name in ("decoder", "skipped", "foreseen", "promised", "wrong", "recovery"):
            del row["summary"][name]
    text = Tags.of(render(document)).text
    assert "promised:" not in text
    assert "foreseen before" not in text
    assert "rowspan" not in render(document)


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3))
def test_ticks_are_few_and_span_the_interval(low, width):
    marks = ticks(low, low + width)
    slack = 1e-6 * (abs(low) + width)
    assert marks[0] <= low + slack
    assert marks[-1] >= low + width - slack
    assert 2 <= len(marks) <= 9


@given(st.lists(st.tuples(st.text(max_size=80), st.floats(-1, 1), st.floats(0, 0.3)), min_size=1, max_size=9))
def test_bars_stay_on_the_chart(rows):
    for width in (WIDTH, SLIM):
        chart = bars([(label, v, (v - w, v + w)) for label, v, w in rows], limit=0.05, width=width)
        drawn = [mark.at for mark in chart.under if mark.tag == "rect"]
        whiskers = [mark.at["d"] for mark in chart.under if mark.at["class"] == "whisker"]
        labels = [mark.at["y"] for mark in chart.under if mark.at["class"] == "over-word"]
        assert len(drawn) == len(whiskers) == len(rows)
        down = 0.0
        for bar, whisker in zip(drawn, whiskers, strict=True):
            low, high = (float(part.split()[0]) for part in whisker.split("M")[2:])
            assert 15 <= low <= high <= width - 55
            assert bar["width"] >= 0
            assert any(down < y < bar["y"] for y in labels)
            assert not any(bar["y"] <= y <= bar["y"] + bar["height"] for y in labels)
            down = bar["y"] + bar["height"]
        assert down < max(mark.at["y2"] for mark in chart.under if mark.at["class"] == "grid") < chart.height


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_has_nothing_to_say_and_nothing_to_ask(audit, tmp_path, scheme):
    path = audit.save(tmp_path)
    shown, messages = browser_page(path, scheme, lambda page: page.inner_text("body"))
    assert messages == [path.as_uri()]
    assert "alert('x')" in shown
    assert "What each protection bought" in shown
    fits_a_telephone(path)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(audit, tmp_path, scheme):
    if shutil.which("npm") is None:
        pytest.skip("there is no npm to fetch axe-core with")
    fetched = subprocess.run(
        ["npm", "install", "--silent", "--no-save", "--prefix", str(tmp_path), "axe-core"],
        capture_output=True,
        check=False,
    )
    script = tmp_path / "node_modules" / "axe-core" / "axe.min.js"
    if fetched.returncode or not script.is_file():
        pytest.skip("axe-core cannot be fetched here")
    path = audit.save(tmp_path / "page")
    # the page forbids every script, so the checker looks at it without the policy and nothing else changed
    bare = tmp_path / "bare.html"
    bare.write_text(re.sub(r"<meta http-equiv[^>]*>", "", path.read_text(encoding="utf-8")), encoding="utf-8")

    def check(page):
        page.add_script_tag(path=str(script))
        return page.evaluate("axe.run().then(r => r.violations.map(v => [v.impact, v.id, v.nodes.length]))")

    violations, _ = browser_page(bare, scheme, check)
    assert [found for found in violations if found[0] in ("serious", "critical")] == []
    assert violations == []
