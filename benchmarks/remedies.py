"""Remedies of failing plans about real people: what they cost, and whether they hold.

``python -m benchmarks.remedies 40`` takes the dangerous cases of the street, one after the other, until so
many plans have failed. Of each it prints what is offered, its loss beside that of leaving them out, on how
many of 20 fresh draws the changed plan passes, and what an attack of this file's own makes of the last
draw: for bits, a logistic model of the public columns and then the Gaussian posterior, written out here.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import numpy.typing as npt
from tests.street.cases import CASES, Case

import tellall as ta
from tellall.audits.changes import without_release
from tellall.audits.plans.plan import Plan
from tellall.audits.trial import Setting, Trial, seed_of
from tellall.protections.protection import is_random

DRAWS, FIRST = 20, 31_000_007
SURE, ODDS = 0.95, 3.0
Array = npt.NDArray[np.float64]


def chances(people: ta.Dataset) -> Array:
    """Each person's chance by a logistic model of the public columns, fitted without people like them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.preprocessing import OneHotEncoder

    codes = np.asarray(people.public.codes).T
    features = OneHotEncoder(handle_unknown="ignore", min_frequency=3).fit_transform(codes)
    groups = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    truth, folds = np.asarray(people.secret), min(10, int(groups.max()) + 1)
    if folds < 2:
        return np.full(people.n, truth.mean())
    model = LogisticRegression(max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        split = {"groups": groups, "cv": GroupKFold(folds), "method": "predict_proba"}
        found = cross_val_predict(model, features, truth, **split)
    return found[:, 1].clip(0.001, 0.999)


def own_attack(people: ta.Dataset, releases: list[ta.Release]) -> tuple[int, int, float]:
    """People sure of a rare value, how many rightly, and how many a baseline would get right of them."""
    prior = chances(people)
    matrices, targets, weights = [], [], []
    for release in releases:
        equations = release.statistic.equations(people.public, release.values)
        target = np.asarray(equations.target, dtype=float)
        shown = np.isfinite(target)
        matrices.append(equations.operator.to_dense()[shown])
        targets.append(target[shown])
        law = release.noise
        gain = 1.0 if equations.gain is None else np.broadcast_to(equations.gain, shown.shape)[shown]
        weights.append(np.full(int(shown.sum()), 1.0) / np.maximum(0.3, law.std * gain) ** 2)
    matrix, target, weight = np.concatenate(matrices), np.concatenate(targets), np.concatenate(weights)
    variance = prior * (1 - prior)
    rows = matrix * variance
    gram = matrix @ rows.T + np.diag(1 / weight)
    solved = np.linalg.solve(gram, np.column_stack([target - matrix @ prior, rows]))
    mean = prior + rows.T @ solved[:, 0]
    left = np.maximum(variance - np.einsum("ri,ri->i", rows, solved[:, 1:]), 1e-9)
    precision = np.maximum(1 / left - 1 / variance, 1e-12)
    opinion = (mean / left - prior / variance) / precision
    odds = np.clip(np.log(prior / (1 - prior)) + (2 * opinion - 1) * precision / 2, -50, 50)
    chance, truth = 1 / (1 + np.exp(-odds)), np.asarray(people.secret)
    rare = int(truth.mean() < 0.5)
    sure, usual = (chance, prior) if rare else (1 - chance, 1 - prior)
    beyond = sure * (1 - usual) >= ODDS * usual * (1 - sure)
    chosen = (sure >= SURE) & beyond & (usual < SURE)
    return int(chosen.sum()), int((truth[chosen] == rare).sum()), float(usual[chosen].sum())


def beats(sure: int, right: int, expected: float) -> bool:
    """Whether more of the sure guesses are right than the model without a release would have had, at 1 %."""
    from scipy.stats import binom

    return bool(sure and binom.sf(right - 1, sure, min(expected / sure, 0.999)) < 0.01)


def study(case: Case) -> str | None:
    """A line about one case; None if its plan does not fail."""
    begun = time.process_time()
    people = case.dataset()
    plan = Plan.from_mapping({**case.plan})
    audit = ta.audit(people, plan, remedy=True)
    if audit.verdict.word != "fail":
        return None
    head = f"{case.kind}: {case.name} ({people.n} people)"
    remedy = audit.remedy
    if remedy is None or remedy.change is None:
        said = "" if remedy is None else remedy.sentence
        return f"{head} | nothing worth having | {said} | {time.process_time() - begun:.0f} s"
    setting, change = Setting(people, rules=plan.cells), remedy.change
    names = [one.name for one in plan.releases if one.name in change.releases]
    out = without_release(plan.releases, names).cost(setting, plan.seed).loss
    changed = Plan.from_mapping({**case.plan, "releases": list(remedy.entries)})
    chance = any(is_random(one.protections) for one in changed.releases)
    passed, draws = 0, DRAWS if chance else 1
    for draw in range(draws):
        fresh = Plan(**{**vars(changed), "seed": FIRST + draw})
        passed += ta.audit(people, fresh, remedy=False).verdict.word == "pass"
    own = "not tried"
    counts = all(one.statistic.counts_people for one in changed.releases) and people.levels == 2
    if counts and changed.releases and people.n <= 4000:
        drawn = Trial(setting, changed.releases, 1, seed_of(FIRST + draws)).published[0]
        found = own_attack(people, list(drawn))
        own = f"{found[0]} sure, {found[1]} right, {found[2]:.1f} expected{' BEATS' if beats(*found) else ''}"
    worse = " WORSE" if change.loss >= out and not change.words.startswith("leave out") else ""
    return (
        f"{head} | {change.words} | loss {change.loss:.4g}, leaving out {out:.4g}{worse} | "
        f"{passed} of {draws} fresh | own: {own} | {time.process_time() - begun:.0f} s"
    )


def main(most: int) -> None:
    """Prints a line for each failing plan."""
    failing = 0
    for case in sorted((one for one in CASES if one.label == "dangerous"), key=lambda one: one.slow):
        if failing == most:
            break
        try:
            said = study(case)
        except Exception as error:  # a study of many cases goes on
            said = f"{case.kind}: {case.name} | {type(error).__name__}: {error}"
        failing += said is not None
        if said is not None:
            print(said, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
