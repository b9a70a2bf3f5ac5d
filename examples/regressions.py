"""Twenty-four harmless regression tables, four decimals each, give away everybody's answer.

An output checker counts degrees of freedom: 200 people minus 9 coefficients leave 191 in every model, far
above any threshold. What counts is how many equations about the same people are published altogether.
"""

import numpy as np

import tellall as ta

PEOPLE, MODELS, COVARIATES = 200, 24, 8

rng = np.random.default_rng(2024)
columns = [f"x{j + 1}" for j in range(MODELS * COVARIATES)]
public = rng.normal(size=(PEOPLE, len(columns)))
people = ta.Dataset.from_arrays(public, secret=rng.integers(0, 2, PEOPLE), names=columns)

blocks = [columns[start : start + COVARIATES] for start in range(0, len(columns), COVARIATES)]
tables = ta.Estimator("linear", blocks=blocks, intercept=True)
release = ta.publish(people, tables, ta.Rounding(1e-4))
attack = ta.reconstruct(release, people.public)

free = PEOPLE - (COVARIATES + 1)
right = int((attack.guess == people.secret).sum())
print(f"{MODELS} linear models of {COVARIATES} covariates and an intercept, {PEOPLE} people, 4 decimals")
print(f"  the checker: every model has {free} residual degrees of freedom (10 are asked): all {MODELS} pass")
print(
    f"  the equations: {release.values.size} numbers, rank {attack.evidence.rank} for {PEOPLE} unknown bits"
)
print(f"  the attack ({attack.decoder}): {right} of {PEOPLE} bits right; {attack.status}")
print(f"  {release.statistic.conditions(people.public, release.values)}")

print("with fewer of the tables published:")
for count in (6, 12, 18, 21, 24):
    some = ta.Estimator("linear", blocks=blocks[:count], intercept=True)
    attack = ta.reconstruct(ta.publish(people, some, ta.Rounding(1e-4)), people.public)
    right, sure = attack.guess == people.secret, attack.confidence >= 0.95
    said = f"{int(sure.sum()):3} said to be 95 % sure, {int((sure & right).sum()):3} of these right"
    print(f"  {count:2} models, rank {attack.evidence.rank:3}: {int(right.sum()):3} bits right; {said}")
