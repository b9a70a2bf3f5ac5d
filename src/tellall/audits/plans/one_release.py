"""One more release, described by a few choices: a table, means or a regression on some columns."""

from __future__ import annotations

from collections.abc import Sequence

from tellall.core.amounts import some_of
from tellall.core.errors import invalid
from tellall.people.dataset import Dataset, Public

__all__ = ["KINDS", "one_release"]

KINDS = {"table": "a table", "mean": "a mean or rate", "regression": "a regression"}
_MOST_COLUMNS = {"table": 4, "mean": 4, "regression": 20}


def one_release(kind: str, columns: Sequence[str], people: Dataset) -> dict[str, object]:
    """A release of the secret as a plan writes it: by public columns, or on them in a regression.

    The mean of a secret with values is the rate of each of them. A column of text is in a regression as an
    indicator of each of its values but the first.

    Examples
    --------
    >>> people = Dataset.from_frame({"sex": ["f", "m", "f"], "ill": [0, 1, 1]}, secret="ill")
    >>> one_release("table", ["sex"], people)["statistic"]
    {'kind': 'Marginals', 'ways': 2, 'attributes': [['sex']]}
    >>> one_release("regression", ["sex"], people)["statistic"]["blocks"]
    [['C(sex)[T.m]']]
    """
    if kind not in KINDS:
        raise invalid("kind", f"one of {', '.join(KINDS)}", kind)
    if not columns:
        raise invalid("columns", "one or more", "none")
    if len(columns) > _MOST_COLUMNS[kind]:
        raise invalid("columns", f"at most {_MOST_COLUMNS[kind]} for {KINDS[kind]}", len(columns))
    table = {"ways": len(columns) + 1, "attributes": [list(columns)]}
    if kind == "regression":
        return {"name": f"regression on {some_of(columns, 4)}", **_regression(columns, people)}
    if people.levels:
        words = "rates" if kind == "mean" else "counts"
        statistic = {"kind": "Marginals", **table, **({"scale": "rates"} if kind == "mean" else {})}
    else:
        words = "means" if kind == "mean" else "sums"
        statistic = {"kind": "CellMeans" if kind == "mean" else "Sums", **table, "counts": True}
    return {
        "name": f"{words} of {people.secret_name} by {', '.join(columns)}",
        "statistic": statistic,
        "protect": [],
    }


def _regression(columns: Sequence[str], people: Dataset) -> dict[str, object]:
    if people.levels > 2:
        raise invalid("secret", "of two values or a number, for a regression", f"{people.levels} values")
    terms = [term for name in columns for term in _terms(people.public, name)]
    loss = "logistic" if people.levels else "linear"
    statistic = {"kind": "Estimator", "loss": loss, "blocks": [terms], "intercept": True}
    return {"statistic": statistic, "protect": []}


def _terms(public: Public, name: str) -> list[str]:
    """A column of numbers as it is; of another, an indicator for each value but the first."""
    place = public.position(name)
    if public.numbers[place] is not None:
        return [name]
    labels = public.columns[place].labels
    return [f"C({name})[T.{label}]" for label in labels[1:]]
