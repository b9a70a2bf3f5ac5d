"""Recognises labelled outputs: how many are right, asked, not found, or accepted with a wrong meaning."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

import tellall as ta
from tellall.outputs.found import FoundOutputs
from tellall.outputs.read import read_outputs
from tellall.statistics.conditions import parse_condition
from tests.outputs import generated


def same_column(frame, a, b):
    """Whether two columns part the people alike."""
    if a == b:
        return True
    if a not in frame or b not in frame:
        return False
    both = pd.crosstab(frame[a].fillna("?").astype(str), frame[b].fillna("?").astype(str)).to_numpy() > 0
    return bool((both.sum(axis=0) <= 1).all() and (both.sum(axis=1) <= 1).all())


def right(found, truth, world, people):
    """Whether a meaning is the true one: the same columns, people and numbers."""
    frame = world.frame
    names, others = list(truth.columns), list(found.columns)
    measured = list(found.measured)
    for name in list(others):
        match = next((one for one in names if same_column(frame, one, name)), None)
        if match is None:
            return False
        names.remove(match)
    # a share of the secret's value is a table by it
    left = set(names) - set(measured)
    if truth.layout not in ("stacked", "two_on_a_sheet") and left:
        return False
    if any(
        m not in {*truth.measured, *truth.columns}
        and not any(same_column(frame, m, t) for t in truth.measured)
        for m in measured
    ):
        return False
    mask = np.ones(len(frame), bool) if truth.mask is None else truth.mask
    used = frame[list(truth.columns)].notna().all(axis=1).to_numpy()
    said = parse_condition(found.where).mask(people.public) if found.where else np.ones(len(frame), bool)
    return bool((said[used] == mask[used]).all())


def outcome(folder, truth, world, people, confirmable=True):
    """What became of the outputs of one file."""
    words = []
    for found in folder.outputs:
        if (
            found.read
            or found.about_secret is False
            or ("recognised" in found.reason and found.agrees[0] == found.agrees[1])
        ):
            words.append("right" if right(found, truth, world, people) else "WRONG")
        elif found.meanings:
            words.append("asked")
        else:
            words.append("not found")
    if not words:
        return "not read"
    if "WRONG" in words:
        return "WRONG"
    for word in ("right", "asked", "not found"):
        if word in words:
            return word
    return "not read"


def run(names, layouts=None, show=(), seconds=20.0):
    """Layouts × outcomes, and times."""
    table = defaultdict(lambda: defaultdict(int))
    details = []
    for name in names:
        world = generated.world(name)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            people = {}
            for truth in generated.outputs_of(world, folder, layouts):
                if truth.secret not in people:
                    people[truth.secret] = ta.Dataset.from_frame(
                        world.frame,
                        secret=truth.secret,
                        kind="reals" if truth.secret == world.amount else None,
                    )
                start = time.process_time()
                try:
                    found = ta.recognise(folder / truth.file, people[truth.secret], seconds=seconds)
                    word = outcome(found, truth, world, people[truth.secret])
                except Exception as error:
                    word, found = f"ERROR {type(error).__name__} {error}"[:150], None
                took = time.process_time() - start
                table[truth.layout][word.split()[0] if word.startswith("ERROR") else word] += 1
                details.append((name, truth, word, took, found))
                if word in show or (word.startswith("ERROR") and "ERROR" in show):
                    said = (
                        []
                        if found is None
                        else [
                            (o.sentence, o.agrees, o.bits, o.reason[:150], [m.sentence for m in o.meanings])
                            for o in found.outputs
                        ]
                    )
                    print(name, truth.layout, truth.columns, word, f"{took:.1f}s", said)
    return table, details


def near_misses(names, layouts, rng=None, show=False):
    """Outputs that are nearly of these people: none may be accepted unless it prints like the true one."""
    rng = rng or np.random.default_rng(0)
    found = defaultdict(lambda: defaultdict(int))
    for name in names:
        world = generated.world(name)
        frame = world.frame
        for kind in ("half", "recoded", "swapped", "one cell"):
            d = frame.copy()
            if kind == "half":
                d = d.sample(frac=0.5, random_state=1).reset_index(drop=True)
            elif kind == "recoded":
                values = d[world.secret].unique()
                rows = d.index[d[world.secret] == values[0]][:5]
                d.loc[rows, world.secret] = values[1]
            changed = generated.World(world.name, d, world.secret, world.groups, world.numbers, world.amount)
            people = {}
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
                true = {t.layout: t for t in generated.outputs_of(world, Path(one), layouts)}
                for truth in generated.outputs_of(changed, Path(two), layouts):
                    if truth.layout not in true:
                        continue
                    if truth.secret not in people:
                        people[truth.secret] = ta.Dataset.from_frame(
                            frame, secret=truth.secret, kind="reals" if truth.secret == world.amount else None
                        )
                    read, exact = (
                        read_outputs(Path(two) / truth.file),
                        read_outputs(Path(one) / true[truth.layout].file),
                    )
                    if not read.tables or not exact.tables:
                        continue
                    table = read.tables[0]
                    if kind in ("swapped", "one cell"):
                        table = altered(read.tables[0], kind, rng)
                    if table is None or table.texts == exact.tables[0].texts:
                        continue
                    result = ta.recognise(FoundOutputs((table,)), people[truth.secret], seconds=10)
                    word = "accepted" if any(o.read for o in result.outputs) else "refused"
                    found[kind][word] += 1
                    if word == "accepted" and show:
                        print(
                            name,
                            truth.layout,
                            kind,
                            [(o.sentence, o.agrees, o.bits) for o in result.outputs],
                            "\n",
                            table,
                        )
    return found


def altered(table, kind, rng):
    """The table with one number changed by one in its last digit but one, or two labels exchanged."""
    from dataclasses import replace

    from tellall.people.printed_numbers import shown_of

    lines = [list(line) for line in table.cells]
    first = next(
        (
            i
            for i, line in enumerate(lines)
            if sum(c.number is not None for c in line[1:]) >= max(1, len(line) // 2)
        ),
        1,
    )
    if kind == "swapped":
        rows = [i for i in range(first, len(lines)) if not lines[i][0].continued]
        if len(rows) < 2 or [c.text for c in lines[rows[-2]][1:]] == [c.text for c in lines[rows[-1]][1:]]:
            return None
        a, b = rows[-2], rows[-1]
        if lines[a][0].text == lines[b][0].text:
            return None
        lines[a][0], lines[b][0] = lines[b][0], lines[a][0]
        return replace(table, cells=tuple(map(tuple, lines)))
    places = [
        (i, j)
        for i in range(first, len(lines))
        for j in range(1, len(lines[0]))
        if lines[i][j].number is not None and not lines[i][j].parts and lines[i][j].step
    ]
    if not places:
        return None
    i, j = places[rng.integers(len(places))]
    cell = lines[i][j]
    digits = max(0, -int(np.floor(np.log10(cell.step) + 1e-9)))
    text = f"{cell.number + 3 * cell.step:.{digits}f}" + ("%" if cell.percent else "")
    lines[i][j] = shown_of(text)
    return replace(table, cells=tuple(map(tuple, lines)))


def printed(table):
    """The table of layouts as text."""
    words = ("right", "asked", "not found", "not read", "WRONG", "ERROR")
    lines = [f"{'layout':28}" + "".join(f"{w:>10}" for w in words)]
    total = defaultdict(int)
    for name, row in table.items():
        for word in words:
            total[word] += row.get(word, 0)
        lines.append(f"{name:28}" + "".join(f"{row.get(w, 0):>10}" for w in words))
    lines.append(f"{'all':28}" + "".join(f"{total[w]:>10}" for w in words))
    return "\n".join(lines)


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "tuned"
    names = {"tuned": generated.TUNED, "held": generated.HELD}.get(which) or which.split(",")
    layouts = sys.argv[2].split(",") if len(sys.argv) > 2 and sys.argv[2] != "-" else None
    show = sys.argv[3].split(",") if len(sys.argv) > 3 else ()
    if which == "near":
        print({k: dict(v) for k, v in near_misses(sys.argv[2].split(","), None, show=True).items()})
        sys.exit()
    table, details = run(names, layouts, [s.replace("_", " ") for s in show])
    print(printed(table))
    took = [each[3] for each in details]
    print(f"{len(took)} outputs, {sum(took):.0f} s of processor time, most {max(took):.1f}")
