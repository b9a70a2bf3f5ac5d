"""Sentences are for people: what tellall decides hangs on codes and types, never on the words of a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import tellall as ta

SOURCE = Path(ta.__file__).parent
SENTENCES = ("reason", "sentence", "message", "advice", "remark", "warning")
LOOKS = ("startswith", "endswith", "find", "index", "partition", "rpartition", "split")

# each with why nothing better is there
KNOWN = {
    "audits/study_areas.py": "the sentence that stands on every page is shown once",
    "cli/__init__.py": "how one line to the terminal begins",
    "core/duck.py": "DuckDB has no code for a full disk",
    "core/exits.py": "libraries have no code for too little memory",
    "people/readers.py": "Python's CSV has no code for a long value; a copy's name is replaced",
    "statistics/estimators.py": "equal reasons are counted together",
}


def is_sentence(node: ast.expr) -> bool:
    """Whether an expression is called a sentence, or is the text of an error."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("lower", "strip") and is_sentence(node.func.value)
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1
        return named and isinstance(node.args[0], ast.Name) and node.args[0].id in ("error", "caught")
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in SENTENCES


def decides(node: ast.AST) -> bool:
    """Whether an expression looks into a sentence, or compares one with anything but nothing."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in LOOKS and is_sentence(node.func.value)
    if not isinstance(node, ast.Compare):
        return False
    for sign, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
        if isinstance(sign, ast.In | ast.NotIn) and is_sentence(right):
            return True
        nothing = any(isinstance(one, ast.Constant) and one.value in ("", None) for one in (left, right))
        if isinstance(sign, ast.Eq | ast.NotEq) and not nothing and (is_sentence(left) or is_sentence(right)):
            return True
    return False


def looked_into(text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.walk(ast.parse(text)) if decides(node)]


def test_no_decision_hangs_on_the_words_of_a_sentence():
    found = {
        str(path.relative_to(SOURCE).as_posix()): looked_into(path.read_text(encoding="utf-8"))
        for path in SOURCE.rglob("*.py")
    }
    assert {name: places for name, places in found.items() if places and name not in KNOWN} == {}
    assert [name for name in KNOWN if not found[name]] == []  # what is mended leaves the list


def test_what_the_rule_finds():
    assert looked_into("if one.reason.startswith('age: '): pass")
    assert looked_into("left = [one for one in many if 'memory' in str(error)]")
    assert looked_into("if found.sentence == 'nothing helped': pass")
    assert not looked_into("if reason == '' or one.code == 'forbidden' or one.name.startswith('x'): pass")
