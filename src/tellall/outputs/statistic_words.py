"""What labels of tables say is printed: counts, percentages, means, with a column's name beside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tellall.outputs.variables import TableVariable, plain_text

__all__ = ["NOT_RECOMPUTED", "Printed", "printed_of"]

# kinds: what is recomputed, and "other" for what is not
_WORDS = {
    "count": "n|number|count|counts|freq|frequency|frequencies|obs|observations|size|len|"
    "cases|people|persons|number of people|number of persons|number of cases|anzahl|"
    "effectif|unweighted n|sample size|participants|patients|individuals|headcount|"
    "nobs|num",
    "share": "%|percent|percentage|percentages|pct|share|shares|proportion|proportions|prop|"
    "rate|rates|prevalence|prozent|anteil|perc|per cent|fraction|probability|risk",
    "row share": "row %|row percent|row percentage|row pct|% of row|% row|row percentages|"
    "% within row|row shares|row proportions|percent of row|share of row",
    "column share": "column %|col %|column percent|column percentage|col pct|% of column|% column|"
    "% col|column pct|column percentages|% within column|col percent|column shares|"
    "column proportions|percent of column",
    "all share": "total %|% of total|percent of total|% of all|% total|cell %|overall %|"
    "% of everybody|percent of all|share of total|share of all|total percent",
    "mean": "mean|average|avg|mittelwert|moyenne|media|means|arithmetic mean|mean value|averages",
    "std": "sd|std|st dev|standard deviation|std dev|stdev|stddev|s d|standard deviations|std deviation",
    "var": "var|variance",
    "sum": "sum|total|sums|totals|total amount|summe|aggregate",
    "median": "median|50%|p50|med|medians|median value|q2",
    "min": "min|minimum|lowest|least|minima|smallest",
    "max": "max|maximum|highest|largest|maxima",
    "q1": "25%|q1|p25|lower quartile|1st quartile|first quartile|1st qu",
    "q3": "75%|q3|p75|upper quartile|3rd quartile|third quartile|3rd qu",
    "other": "p|p value|pvalue|p values|se|sem|std err|standard error|std error|s e|ci|"
    "95% ci|95 ci|iqr|range|chi2|t|z|test|sig|smd|min max|cv|skew|kurtosis|"
    "nmiss|missing n|or|odds ratio",
}
_KIND = {word: kind for kind, words in _WORDS.items() for word in words.split("|")}
NOT_RECOMPUTED = "other"
_PARTS = re.compile(r"\s*(?:[(\[{]|[)\]}]|±|\+/-|;|/|\||(?<=\w),(?=\s)|\s[–—-]\s)\s*")
_FILL = {"of", "the", "in", "by", "for", "value", "values", "std.", "with"}


@dataclass(frozen=True)
class Printed:
    """What cells show: the kind of each number in a cell, and the column that is averaged or added up.

    ``value`` is the value of that column whose share is printed, where it is named.
    """

    kinds: tuple[str, ...] = ()
    target: TableVariable | None = None
    value: str = ""

    def joined(self, other: Printed | None) -> Printed | None:
        """What a line and a column say together; None if they contradict each other."""
        if other is None:
            return self
        both_kinds = self.kinds and other.kinds and self.kinds != other.kinds
        if both_kinds or (self.target is not None and other.target is not None):
            return None
        return Printed(self.kinds or other.kinds, self.target or other.target, self.value or other.value)


def printed_of(label: str, variables: Sequence[TableVariable] = ()) -> Printed | None:
    """What a label says is printed; None if it says nothing of the kind.

    Examples
    --------
    >>> printed_of("Mean (SD)").kinds, printed_of("n (%)").kinds, printed_of("women") is None
    (('mean', 'std'), ('count', 'share'), True)
    """
    kinds = _kinds(label)
    if kinds:
        return Printed(kinds)
    word = plain_text(label)
    for variable in variables:
        if word == variable.plain:
            return Printed((), variable)
        if variable.plain and variable.plain in word:
            rest = re.sub(rf"(?<!\w){re.escape(variable.plain)}(?!\w)", " ", _spaced(label), count=1)
            if rest == _spaced(label):
                continue
            kinds = _kinds(" ".join(each for each in rest.split() if each not in _FILL).strip(" ,:"))
            if kinds:
                return Printed(kinds, variable)
    found = re.fullmatch(
        r"(?:%|percent|pct|share|rate|proportion)\s+(?:of\s+)?(.+)|(.+?)\s*(?:\(%\)|%|rate)", word
    )
    if found is not None:
        value = (found[1] or found[2]).strip()
        if any(variable.size <= 20 and variable.holds(value) is not None for variable in variables):
            return Printed(("share",), None, value)
    return None


def _spaced(label: str) -> str:
    return " ".join(re.sub(r"_", " ", label.casefold()).split())


def _kinds(label: str) -> tuple[str, ...]:
    """The kinds that the parts of a label name, all of them or none."""
    whole = plain_text(label).strip("() ")
    if whole in _KIND:
        return (_KIND[whole],)
    parts = [plain_text(part).strip("() ,") for part in _PARTS.split(label.casefold())]
    parts = [part for part in parts if part]
    if not parts:
        return ()
    if parts[-1] in ("iqr", "q1 q3", "range", "min max") and len(parts) == 2:
        ends = ("q1", "q3") if parts[-1] in ("iqr", "q1 q3") else ("min", "max")
        parts = [parts[0], *ends]
    if len(parts) == 2 and parts[1].replace(" ", "") in ("q1,q3", "q1q3", "25%75%"):
        parts = [parts[0], "q1", "q3"]
    return tuple(_KIND[part] for part in parts) if all(part in _KIND for part in parts) else ()
