"""Inputs that sites have: folders of tables, ACRO's outputs, packed people, policies; sound, then bent."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tellall as ta
from tests.hostile.bending import HARSH, Command, Rng, bent, bent_bytes, toml

__all__ = ["FOLDER_KINDS"]

SECRETS = ("ill", "income", "died")


def crowd(rng: Rng) -> pd.DataFrame:
    """People with a bit, a number and an event to be learnt."""
    n = rng.randrange(20, 60)
    numbers = np.random.default_rng(rng.randrange(2**32))
    return pd.DataFrame(
        {
            "sex": numbers.choice(["f", "m"], n),
            "region": numbers.choice(["east", "north", "south, far"], n),
            "ward": numbers.integers(1, 4, n),
            "months": numbers.integers(1, 9, n) * 1.0,
            "ill": numbers.choice(["no", "yes"], n),
            "income": numbers.lognormal(7, 1, n).round(1),
            "died": numbers.integers(0, 2, n),
        }
    )


def _printed(rng: Rng, people: pd.DataFrame, secret: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A table about the secret, and what says what it is."""
    rows = rng.choice([["sex"], ["region"], ["region", "ward"], ["ward", "sex"]])
    if secret == "ill":
        shares = rng.choice(["", "", "index", "all"])
        made = pd.crosstab(
            [people[name] for name in rows],
            people.ill,
            margins=not shares and rng.random() < 0.2,
            normalize=shares or False,
        )
        said: dict[str, Any] = {"across": "ill", **({"normalize": shares} if shares else {})}
        if not shares and rng.random() < 0.4:
            made = made.where(made >= 3)
            said["protect"] = {"kind": "Suppression", "below": 3}
        return made, said
    if secret == "income":
        kind = rng.choice(["mean", "sum"])
        grouped = people.groupby(rows).income.agg([kind, "count"])
        if rng.random() < 0.5:
            return grouped, {"kind": f"{kind}s", "value": kind, "count": "count"}
        return grouped[[kind]].round(1), {"kind": f"{kind}s", "protect": {"kind": "Rounding", "base": 0.1}}
    seen = ta.Dataset.from_frame(people[["months", "died"]], secret="died")
    times = np.unique(people.months)
    curve = pd.DataFrame({"time": times, "survival": ta.publish(seen, ta.SurvivalCurve("months")).values})
    return curve.set_index("time"), {"kind": "survival", "time": "months"}


def _written(rng: Rng, made: pd.DataFrame, folder: Path, name: str) -> str:
    """Writes a table in some format, sometimes with lines moved or a cell changed; returns its name."""
    if rng.random() < 0.3:
        made = made.sample(frac=1, random_state=rng.randrange(1000))
    flat = made.reset_index()
    lines = [
        list(map(str, flat.columns)),
        *([str(value) for value in row] for row in flat.to_numpy().tolist()),
    ]
    lines = [["" if text == "nan" else text for text in line] for line in lines]
    if rng.random() < 0.2:
        line = rng.choice(lines)
        line[rng.randrange(len(line))] = rng.choice([*HARSH, "", "x", "-1", "1e308", "<10", "12,5", "n/a"])
    ending = rng.choice(["csv", "csv", "tsv", "csv.gz", "xlsx"])
    path = folder / f"{name}.{ending}"
    if ending == "xlsx":
        _book(path, lines)
    else:
        text = io.StringIO()
        csv.writer(text, delimiter="\t" if ending == "tsv" else ",").writerows(lines)
        data = text.getvalue().encode("utf-8", "surrogatepass")
        if rng.random() < 0.06:
            data = bent_bytes(rng, data)
        path.write_bytes(gzip.compress(data, mtime=0) if ending == "csv.gz" else data)
    if ending in ("xlsx", "csv.gz") and rng.random() < 0.06:
        data = path.read_bytes()
        at = rng.randrange(len(data))
        path.write_bytes(rng.choice([data[:at], data[:at] + b"\xff" + data[at + 1 :]]))
    return path.name


def _book(path: Path, lines: list[list[str]]) -> None:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("t")
    for line in lines:
        sheet.append([_plain(text) for text in line])
    book.save(path)


def _plain(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return "".join(mark for mark in text if ord(mark) >= 32)


def _people_and_tables(rng: Rng, folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """Writes public.csv and a folder of tables; returns the secret and what the tables are."""
    people, secret = crowd(rng), rng.choice(SECRETS)
    people.drop(columns=list(SECRETS)).to_csv(folder / "public.csv", index=False)
    (folder / "tables").mkdir()
    entries = []
    for number in range(rng.randrange(1, 4)):
        part = people if rng.random() < 0.8 else people[people.sex == "f"]
        made, said = _printed(rng, part, secret)
        file = _written(rng, made, folder / "tables", f"t{number}")
        entries.append({"file": file, **said, **({} if part is people else {"where": "sex = 'f'"})})
    return secret, entries


def _described(rng: Rng, folder: Path) -> Command:
    secret, entries = _people_and_tables(rng, folder)
    document: Any = {"secret": secret, "tables": entries}
    if rng.random() < 0.25:
        document = bent(rng, document)
    text = toml(document if isinstance(document, dict) else {}).encode("utf-8", "surrogatepass")
    (folder / "tables" / "tables.toml").write_bytes(bent_bytes(rng, text) if rng.random() < 0.03 else text)
    return ["attack", "tables", "--public", "public.csv", "-o", "attack.json", "-q"]


def _drafted(rng: Rng, folder: Path) -> Command:
    secret, _ = _people_and_tables(rng, folder)
    return ["init", "tables", "--secret", secret, "-q"]


def _acro(rng: Rng, folder: Path) -> Command:
    people, secret = crowd(rng), rng.choice(SECRETS)
    people.drop(columns=list(SECRETS)).to_csv(folder / "public.csv", index=False)
    (folder / "outs").mkdir()
    results = {}
    for number in range(rng.randrange(1, 4)):
        made, _ = _printed(rng, people, secret)
        if secret == "income":
            made = made.iloc[:, :1]
        text = made.to_csv()
        if rng.random() < 0.06:
            text = bent_bytes(rng, text.encode()).decode("utf-8", "replace")
        (folder / "outs" / f"output_{number}_0.csv").write_text(text)
        rows = [name for name in made.index.names if name]
        word = {"ill": "FrequencyTable", "income": made.columns[0], "died": "KaplanMeier"}[secret]
        results[f"output_{number}"] = {
            "uid": f"output_{number}",
            "status": rng.choice(["pass", "fail", "review"]),
            "type": "table",
            "properties": {"method": "surv func" if secret == "died" else "crosstab", "mitigation": "none"},
            "files": [{"name": f"output_{number}_0.csv", "sdc": {}}],
            "outcome": {},
            "command": "acro.surv_func(df.months, df.died)"
            if secret == "died"
            else "acro.crosstab(df.a, df.b)",
            "summary": f"{word} : \n",
            "fair": {"independent": [*rows, *(["ill"] if secret == "ill" else [])], "dependent": secret},
        }
    document: Any = {"version": "1.0.2", "results": results}
    if rng.random() < 0.35:
        document = bent(rng, document)
    (folder / "outs" / "results.json").write_text(json.dumps(document))
    (folder / "outs" / "config.json").write_text(json.dumps({"safe_threshold": rng.choice([10, 3, "x", -1])}))
    return ["attack", "outs", "--public", "public.csv", "-o", "attack.json", "-q"]


def _packed(rng: Rng, folder: Path) -> Command:
    people = crowd(rng).drop(columns=["income", "died"])
    if rng.random() < 0.5:
        data = gzip.compress(
            people.to_csv(index=False, sep=rng.choice(",;\t")).encode(rng.choice(["utf-8", "utf-16"]))
        )
        path = folder / "people.csv.gz"
    else:
        _book(folder / "people.xlsx", [list(people.columns), *people.astype(str).to_numpy().tolist()])
        path = folder / "people.xlsx"
        data = path.read_bytes()
    if rng.random() < 0.3:
        at = rng.randrange(len(data))
        data = rng.choice(
            [data[:at], data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :], data + b"more"]
        )
    path.write_bytes(data)
    return ["init", path.name, "--secret", "ill", "-q"]


def _site(rng: Rng, folder: Path) -> Command:
    """A plan with attackers, conditions and a release from before, under a policy."""
    people = crowd(rng).drop(columns=["income", "died"])
    people.to_csv(folder / "people.csv", index=False)
    dataset = ta.Dataset.from_frame(people, secret="ill", bins=3)
    ta.publish(dataset, ta.Marginals(2), ta.Rounding(3), rng=0).save(folder / "before.json")
    plan: Any = {
        "data": "people.csv",
        "secret": "ill",
        "bins": 3,
        "steps": False,
        "attackers": [{"name": "neighbour", "known": ["sex", "ward"]}, {"known_people": 0.8}][
            : rng.randrange(3)
        ],
        "releases": [
            {
                "statistic": {"kind": "Marginals", "ways": 2},
                "where": rng.choice(
                    ["sex = 'f'", "ward < 3", "not (ward = 2)", "region in ['east', 'north']"]
                ),
                "protect": {"kind": "Gaussian", "std": rng.choice([1.0, 50.0])},
            }
        ],
    }
    if rng.random() < 0.3:
        plan["published"] = [{"file": "before.json"}]
    policy: Any = {
        "name": "Site",
        "limit": 0.03,
        "repeats": 1,
        "attackers": [{"name": "insider", "known_secrets": 0.1}],
    }
    policy["not_published"] = rng.choice([[], ["SubsetCounts"], ["Marginals"]])
    if rng.random() < 0.4:
        plan, policy = (bent(rng, plan), policy) if rng.random() < 0.5 else (plan, bent(rng, policy))
    (folder / "plan.toml").write_bytes(toml(plan).encode("utf-8", "surrogatepass"))
    (folder / "policy.toml").write_bytes(toml(policy).encode("utf-8", "surrogatepass"))
    options = [
        "--jobs",
        "1",
        "--no-remedy",
        "--decision",
        "--markdown",
        "s.md",
        "--junit",
        "j.xml",
        "-o",
        "out",
        "-q",
    ]
    return ["audit", "plan.toml", "--policy", "policy.toml", *options]


FOLDER_KINDS: dict[str, Callable[[Rng, Path], Command]] = {
    "described": _described,
    "draft": _drafted,
    "acro": _acro,
    "packed": _packed,
    "site": _site,
}
