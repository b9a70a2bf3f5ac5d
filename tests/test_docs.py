"""Every code block in the documents runs: Python in order, one namespace a file; commands in a shell."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from html import unescape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from xml.dom.minidom import parseString

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tellall as ta
from tellall.cli import UsageError, parse_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def site(name: str) -> ModuleType:
    """A module of the scripts that build the site."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        return import_module(name)
    finally:
        sys.path.pop(0)


def reference() -> ModuleType:
    return site("reference")


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


NOTEBOOKS = sorted(ROOT.glob("examples/*.ipynb"))


def cells(notebook: Path) -> list[str]:
    """The code of a notebook, cell by cell."""
    known = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in known), "strip the outputs"
    return ["".join(cell["source"]) for cell in known if cell["cell_type"] == "code"]


def test_there_are_two_notebooks():
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_notebooks_run_cell_by_cell_and_their_results_show_themselves(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "notebook"}
    shown = 0
    for number, code in enumerate(cells(notebook), 1):
        exec(compile(code, f"{notebook.name} cell {number}", "exec"), namespace)  # noqa: S102  our own
        last = ast.parse(code).body[-1]
        if isinstance(last, ast.Expr):
            value = eval(ast.unparse(last), namespace)  # noqa: S307  our own
            shown += hasattr(value, "_repr_html_") and "tellall-output" in value._repr_html_()
    assert shown >= 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_notebooks_run_in_a_kernel(notebook, tmp_path):
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    known = nbformat.read(notebook, as_version=4)
    client.NotebookClient(known, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [one for cell in known.cells if cell.cell_type == "code" for one in cell.outputs]
    assert sum("text/html" in one.get("data", {}) for one in outputs) >= 3


def commands(page: Path) -> list[list[str]]:
    """The command lines of tellall in a document's shell blocks."""
    lines = [line for code in blocks(page, "sh") + blocks(page, "console") for line in code.splitlines()]
    split = [shlex.split(line.replace("$ ", "", 1), comments=True) for line in lines]
    return [words[1:] for words in split if words[:1] == ["tellall"]]


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.name)
def test_commands_can_be_parsed(page):
    for words in commands(page):
        parse_command(words)


def test_a_command_that_cannot_be_parsed_is_noticed():
    with pytest.raises(UsageError, match=r"(?i)no such option"):
        parse_command(["audit", "people.toml", "--policie", "x"])


def follow(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python, plans and commands in their order, in an empty folder; what the page shows was said.

    Blocks of ``console`` show forms of a command and are not run. A plan begins with the name of its file.
    """
    namespace: dict[str, object] = {"__name__": "docs"}
    said = ""
    for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(code, page.name, "exec"), namespace)  # noqa: S102  our own documents
            said += capsys.readouterr().out
        elif kind == "toml" and code.startswith("# "):
            Path(code.splitlines()[0].removeprefix("# ")).write_text(code, encoding="utf-8")
        elif kind == "sh" and code.startswith("tellall"):
            for line in code.splitlines():
                run = [sys.executable, "-m", *shlex.split(line)]
                done = subprocess.run(run, capture_output=True, text=True, check=False)
                assert done.returncode in (0, 1, 3), done.stderr
                said += done.stdout + done.stderr
        elif kind == "text":
            shown = [line for line in code.splitlines() if line]
            told = [line.rstrip() for line in said.splitlines()]
            assert [line for line in shown if line not in told] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tutorial", "outputs", "statistician", "geneticist", "acro"])
def test_a_page_can_be_followed_to_its_end(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if name == "geneticist":
        pytest.importorskip("cyvcf2", reason="VCF files are not read")
    follow(ROOT / "docs" / f"{name}.md", capsys)


def test_what_a_page_does_not_say_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('1 person')\n```\n\n```text\n1 person\n```\n", encoding="utf-8")
    follow(page, capsys)
    page.write_text(page.read_text(encoding="utf-8").replace("('1", "('2"), encoding="utf-8")
    with pytest.raises(AssertionError):
        follow(page, capsys)


def test_the_site_lists_every_document_once():
    listed = re.findall(
        r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]
    )
    beside = {"CONTRIBUTING.md", "CHANGELOG.md", "VISION.md", "results.md", "gallery/index.md"}
    made = {f"reference/{name}" for name in reference().reference_pages()}
    assert len(listed) == len(set(listed))
    assert set(listed) == {page.name for page in ROOT.glob("docs/*.md")} | beside | made


def test_anchors_between_documents_lead_somewhere():
    for page in ROOT.glob("docs/*.md"):
        for target, anchor in re.findall(r"\]\(([\w-]+\.md)#([^)]*)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / target).read_text(encoding="utf-8")
            heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            slugs = [re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads]
            assert anchor in slugs, f"{page.name} links to {target}#{anchor}"


def test_every_public_name_is_in_the_reference_with_what_it_says():
    pages = "\n".join(reference().reference_pages().values())
    for name in ta.__all__:
        thing = getattr(ta, name)
        if not isinstance(thing, ModuleType):
            assert f"{{ #ta.{name} }}" in pages
    assert pages.count("<math") >= 6
    assert "privacy.sketch_delta" in pages


@pytest.mark.parametrize("picture", sorted(ROOT.glob("docs/*.svg")), ids=lambda p: p.name)
def test_pictures_ask_for_nothing(picture):
    text = picture.read_text(encoding="utf-8")
    parseString(text)
    assert not re.search(r"url\(.?https?:|href=|<script|<image", text)


def test_the_first_picture_is_what_the_code_draws():
    drawn = site("pictures").how_it_works()
    assert drawn == (ROOT / "docs" / "how-it-works.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("a/b", "<mfrac><mi>a</mi><mi>b</mi></mfrac>"),
        (
            "(a + 1)/(2b)",
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mrow><mn>2</mn><mi>b</mi></mrow></mfrac>",
        ),
        ("√(2t)", "<msqrt><mn>2</mn><mi>t</mi></msqrt>"),
        ("σ²", "<msup><mi>σ</mi><mn>2</mn></msup>"),
        ("x_iJ", "<msub><mi>x</mi><mrow><mi>i</mi><mi>J</mi></mrow></msub>"),
        ("e^(−x)", "<msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup>"),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
    ],
)
def test_formulas_are_drawn(text, drawn):
    assert drawn in site("formulas").mathml(text)


@pytest.mark.parametrize(
    "text", ["", "(", ")", "^", "_", "√", "a/", "/", "x_", "((a]", "½½", "<b>&", "Σ_{", "a^", "²"]
)
def test_a_formula_that_is_none_still_gives_a_page(text):
    parseString(site("formulas").mathml(f"{text}\n{text}"))


@given(st.text("abnσΣ√()[]{}/^_²½ −+=|‖′12~<&\u0303", max_size=30))
def test_no_letter_of_a_formula_is_lost(text):
    written = parseString(site("formulas").mathml(text)).documentElement
    inside = unescape(re.sub(r"<[^<>]*>", "", written.toxml()))
    assert [one for one in inside if one in "abnσ"] == [one for one in text if one in "abnσ"]


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
