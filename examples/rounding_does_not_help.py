"""Rounding every cell to a multiple of 5 hides nothing: how many people are proved with and without it?"""

import tellall as ta

people = ta.datasets.load("breast_cancer")
for protect in (None, ta.Rounding(5), ta.Rounding(10), [ta.Suppression(10), ta.Rounding(5)]):
    release = ta.publish(people, ta.Marginals(4), protect)
    attack = ta.reconstruct(release, people.public)
    proved = int((attack.identified == "proved").sum())
    right = float((attack.guess == people.secret).mean())
    print(f"{protect!s:55} {proved:4} of {people.n} people proved, {right:.1%} guessed right")
