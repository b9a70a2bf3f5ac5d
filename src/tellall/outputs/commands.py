"""Reads which people and columns an analyst's commands name, as text. Nothing in them is run."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tellall.core.errors import TellallError
from tellall.statistics.conditions import parse_condition

__all__ = ["Command", "NotUnderstood", "columns_of", "condition_of", "parse_command", "words_of"]

_LONGEST = 10_000
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class NotUnderstood(TellallError):
    """A command that selects some people in a way that cannot be read from its text."""


@dataclass(frozen=True)
class Command:
    """A call in a command: its name and its arguments, not evaluated."""

    name: str
    arguments: tuple[ast.expr, ...]
    keywords: dict[str, ast.expr]


def parse_command(text: str) -> Command | None:
    """The outermost method call in a command, such as ``acro.crosstab(df.sex, df.ill)``; None without one."""
    if len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(text.strip(), mode="exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            keywords = {each.arg: each.value for each in node.keywords if each.arg is not None}
            return Command(node.func.attr, tuple(node.args), keywords)
    return None


def words_of(command: Command, name: str) -> tuple[str, ...]:
    """The text or texts given for a keyword of the command.

    Examples
    --------
    >>> words_of(parse_command("a.pivot_table(df, aggfunc=['mean', 'count'])"), "aggfunc")
    ('mean', 'count')
    """
    node = command.keywords.get(name)
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return tuple(
        each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def columns_of(command: Command) -> tuple[str | None, ...]:
    """The column that each argument names, whatever people it selects; None for any other argument.

    Examples
    --------
    >>> columns_of(parse_command("acro.surv_func(df.months, df[df.age < 40]['died'], 'table')"))
    ('months', 'died', None)
    """
    return tuple(map(_name, command.arguments))


def condition_of(command: Command) -> str | None:
    """The condition by which a command selects its people, or None.

    Examples
    --------
    >>> condition_of(parse_command("acro.crosstab(df[df.age < 40].sex, df[df.age < 40].ill)"))
    'age < 40'
    >>> condition_of(parse_command("acro.olsr('y ~ x', data=df[(df.sex == 'f') & (df['age'] >= 18)])"))
    "(sex == 'f') and (age >= 18)"
    """
    found: set[str] = set()
    for argument in (*command.arguments, *command.keywords.values()):
        for node in ast.walk(argument):
            if isinstance(node, ast.Subscript) and _is_filter(node.slice):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                found.add(_written(parts[0]))
            elif isinstance(node, ast.Call) and (text := _of_call(node)) is not None:
                found.add(text)
    if len(found) > 1:
        raise NotUnderstood("it is about some people only, chosen in several ways")
    return found.pop() if found else None


def _is_filter(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert | ast.Not)
    if isinstance(node, ast.Tuple):  # df.loc[people, "column"]
        return bool(node.elts) and _is_filter(node.elts[0])
    return isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp | ast.Call | ast.Slice)


def _of_call(node: ast.Call) -> str | None:
    """The condition in a call of ``query``; an error for methods such as head and sample, else None."""
    if not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr == "query" and node.args and isinstance(node.args[0], ast.Constant):
        text = str(node.args[0].value)
        try:
            parse_condition(text)
        except TellallError:
            raise NotUnderstood("it is about some people only, by a query that is not understood") from None
        return text
    if node.func.attr in ("head", "tail", "sample", "dropna", "drop", "drop_duplicates"):
        raise NotUnderstood(f"it may be about some people only ({node.func.attr})")
    return None


def _written(node: ast.expr) -> str:
    """A pandas filter as a condition."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign, left, right = _SIGNS.get(type(node.ops[0])), _name(node.left), node.comparators[0]
        if sign is not None and left is not None and (value := _literal(right)) is not None:
            return f"{left} {sign} {value}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        word = "and" if isinstance(node.op, ast.BitAnd) else "or"
        return f"({_written(node.left)}) {word} ({_written(node.right)})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return f"not ({_written(node.operand)})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isin":
        name, listed = _name(node.func.value), node.args[0] if node.args else None
        if name is not None and isinstance(listed, ast.List | ast.Tuple):
            values = [_literal(each) for each in listed.elts]
            if values and all(value is not None for value in values):
                return f"{name} in [{', '.join(map(str, values))}]"
    raise NotUnderstood("it is about some people only, by a condition that is not understood")


def _name(node: ast.expr) -> str | None:
    """The column that ``df.age`` or ``df["age"]`` names; None for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = node.slice.value
        return name if isinstance(name, str) and name.isidentifier() else None
    return None


def _literal(node: ast.expr) -> str | None:
    sign = ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = "-", node.operand
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return None
    if isinstance(node.value, int | float):
        return f"{sign}{node.value!r}"
    return repr(node.value) if isinstance(node.value, str) and not sign else None
