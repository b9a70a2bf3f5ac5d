"""Every code block in the documents runs: Python in order, one namespace a file; commands in a shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    for number, code in enumerate(blocks(page, "python"), 1):
        if "from distributed" in code:
            pytest.importorskip("distributed", reason="Dask is not installed")
        exec(compile(code, f"{page.name} block {number}", "exec"), namespace)  # noqa: S102  our own documents


@pytest.mark.parametrize("script", sorted(ROOT.glob("examples/*.py")), ids=lambda p: p.name)
def test_examples_run(script, tmp_path):
    result = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_links_between_documents_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_make_targets_named_in_documents_exist():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in PAGES:
        for name in re.findall(r"`make ([a-z-]+)`", page.read_text(encoding="utf-8")):
            assert name in targets, f"{page.name} names make {name}"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
