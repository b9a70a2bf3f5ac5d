"""Results in a notebook: parts of the pages, escaped, in a frame of their own, nobody's secret."""

import re
from xml.dom.minidom import parseString

import numpy as np
import pytest

import tellall as ta
from tellall.report.notebook import Plot, notebook_html, notebook_style, plot_of

NASTY = "<script>alert(1)</script>\u202e"


def people(seed: int = 0) -> ta.Dataset:
    rng = np.random.default_rng(seed)
    frame = {
        f"age{NASTY}": rng.integers(20, 80, 60),
        "sex": rng.choice(["f", "m"], 60),
        "ill": rng.choice(["no", f"yes{NASTY}"], 60),
    }
    return ta.Dataset.from_frame(frame, secret="ill", bins={f"age{NASTY}": [40, 60]})


@pytest.fixture(scope="module")
def results() -> dict[str, object]:
    known = people()
    release = ta.publish(known, ta.Marginals(3), ta.Suppression(5))
    attack = ta.reconstruct(release, known.public)
    plan = {"steps": False, "releases": [{"name": NASTY, "statistic": {"kind": "Marginals", "ways": 2}}]}
    rng = np.random.default_rng(1)
    frequency = rng.uniform(0.1, 0.9, 300)
    bits = (rng.random((80, 300)) < frequency).astype(int)
    real = ta.Dataset.from_arrays(rng.normal(size=(30, 4)), rng.normal(size=30))
    fitted = ta.reconstruct(ta.publish(real, ta.Estimator("linear", 4)), real.public)
    return {
        "Dataset": known,
        "Release": release,
        "Reconstruction": attack,
        "Risk": ta.score(attack, known.secret),
        "Audit": ta.audit(known, plan),
        "Sweep": ta.sweep(known, ta.Marginals(2), [None, ta.Gaussian(4.0)], decoders=["least-squares"]),
        "PrivacyProfile": ta.PrivacyProfile(
            curve=lambda e: ta.privacy.gaussian_delta(e, 1.0, 2.0), mechanism=NASTY
        ),
        "Tracing": ta.trace(
            bits[:20].mean(0), bits[:40], bits[40:], attack="pool", threshold="empirical", coding="bits"
        ),
        "real Dataset": real,
        "real Reconstruction": fitted,
        "real Risk": ta.score(fitted, real.secret),
    }


KINDS = ["Dataset", "Release", "Reconstruction", "Risk", "Audit", "Sweep", "PrivacyProfile", "Tracing"]
DRAWN = ["Audit", "Sweep", "PrivacyProfile", "Tracing"]


@pytest.mark.parametrize("kind", [*KINDS, "real Dataset", "real Reconstruction", "real Risk"])
def test_every_result_shows_itself(results, kind):
    shown = results[kind]._repr_html_()
    assert shown.startswith('<div class="tellall-output">')
    parseString(re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL).replace("<br>", "<br/>"))
    assert "<script" not in shown
    assert "\u202e" not in shown
    assert not re.search(r"https?://(?!www\.w3\.org)", shown)
    assert 'href="#' not in shown


@pytest.mark.parametrize("kind", DRAWN)
def test_figures_are_shown_and_saved(results, kind, tmp_path):
    drawn = results[kind].plot()
    assert isinstance(drawn, Plot)
    assert "<svg" in drawn._repr_html_()
    page = drawn.save(tmp_path / "figures.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 2 * len(drawn.figures)
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert f"{len(drawn.figures)} figures" in repr(drawn)


def test_numbers_are_those_of_the_result(results):
    risk, attack = results["Risk"], results["Reconstruction"]
    assert f"{100 * risk.accuracy:.1f}" in risk._repr_html_()
    assert f"<dd>{int(attack.proved.sum())}</dd>" in attack._repr_html_()
    audit = results["Audit"]
    assert audit.verdict.sentence.split("“")[0].strip() in audit._repr_html_()
    assert f"{results['Tracing'].traced} of 40 targets" in results["Tracing"]._repr_html_()


def test_who_has_the_secret_is_not_shown():
    known = people()
    order = np.random.default_rng(3).permutation(known.n)
    assert notebook_html(known) == notebook_html(known.take(order))


def test_two_outputs_share_no_id(results):
    one, other = (
        set(re.findall(r'\bid="([^"]+)"', results[kind].plot()._repr_html_())) for kind in ("Sweep", "Audit")
    )
    assert one
    assert other
    assert not one & other


def test_the_style_sheet_reaches_nothing_outside_its_frame():
    style = notebook_style()
    assert style.startswith(".tellall-output {")
    assert style.count("{") == style.count("}")
    depth = 0
    for number, line in enumerate(style.splitlines()):
        assert depth > 0 or number == 0, line
        depth += line.count("{") - line.count("}")
    assert not re.search(r"(?m)(^|[\s}])(:root|body)\s*\{", style)


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError, match="int"):
        notebook_html(3)
    with pytest.raises(TypeError, match="int"):
        plot_of(3)
