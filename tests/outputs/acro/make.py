"""Makes the folder beside this file with the real ACRO: python make.py FOLDER. It needs tellall[acro]."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

N = 160


def people() -> pd.DataFrame:
    """The people whom the outputs are about."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], N),
            "region": rng.choice(["east", "north", "south"], N),
            "job": rng.choice(["none", "part", "full"], N),
            "age": rng.integers(20, 70, N),
            "bmi": rng.normal(26, 4, N).round(1),
            "ill": np.where(rng.permutation(N) % 3 == 0, "yes", "no"),
        }
    ).assign(sick=lambda df: (df.ill == "yes").astype(int))


def outputs(acro, df: pd.DataFrame) -> None:
    """What an analyst would send to the output checker."""
    acro.crosstab(df.region, df.ill)
    acro.crosstab([df.region, df.job], df.ill, margins=True)
    acro.crosstab(df.sex, [df.job, df.ill])
    acro.pivot_table(df, index=["region"], columns=["ill"], values=["bmi"], aggfunc=["mean", "count"])
    acro.suppress = False
    acro.crosstab(df.job, df.ill, normalize="index")
    acro.crosstab(df[df.age < 40].sex, df[df.age < 40].ill)
    acro.crosstab(df.region, df.sex, values=df.bmi, aggfunc="mean")
    acro.logit(df.sick, df[["age", "bmi"]].assign(const=1.0))
    acro.logitr("sick ~ age + C(sex)", data=df)
    acro.olsr("bmi ~ age", data=df)
    acro.probitr("sick ~ age", data=df)
    acro.enable_rounding()
    acro.crosstab([df.sex, df.region], df.ill, margins=True)


def make(folder: Path) -> None:
    """The outputs in a folder, with the people beside it."""
    from acro import ACRO

    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    df = people()
    acro = ACRO(suppress=True)
    outputs(acro, df)
    acro.finalise(str(folder), "json")
    df.to_csv(folder.parent / "people.csv", index=False)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
