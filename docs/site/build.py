"""The site: documents, reference and gallery put together, built with warnings as errors, checked.

``python docs/site/build.py [--no-gallery]`` writes ``build/site``; it needs the extra ``docs``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from formulas import mathml
from gallery import gallery_pages
from reference import reference_pages
from tellall.report.first_screen import answer_blocks, release_blocks
from tellall.report.notebook import framed, without_links

ROOT = Path(__file__).resolve().parents[2]
PAGES, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "VISION.md")  # in the repository's first folder
_SHIM = re.compile(r'<script src="?https?:[^"\s>]*/iframe-worker/shim"?[^>]*></script>')


def main() -> None:
    """Builds the site; a warning, a broken link or a page that asks for the network ends it."""
    assemble(gallery="--no-gallery" not in sys.argv)
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run([_zensical(), "build", "--strict"], cwd=ROOT, check=True)
    offline(SITE)
    print(f"The site is {SITE.relative_to(ROOT) / 'index.html'}")


def _zensical() -> str:
    """The builder beside this Python, or the one on the path."""
    beside = Path(sys.executable).with_name("zensical")
    found = str(beside) if beside.exists() else shutil.which("zensical")
    if found is None:
        raise SystemExit("zensical must be installed; got none. Try: pip install '.[docs]'")
    return found


def assemble(*, gallery: bool = True) -> None:
    """Every page of the site as Markdown in one folder, as ``mkdocs.yml`` lists them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    (PAGES / "reference").mkdir(parents=True)
    for source in [*ROOT.glob("docs/*.md"), *(ROOT / name for name in BESIDE)]:
        (PAGES / source.name).write_text(site_markdown(source.read_text("utf-8")), "utf-8")
    (PAGES / "results.md").write_text(
        site_markdown((ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")), "utf-8"
    )
    gallery_pages(PAGES / "gallery", run=gallery)
    (PAGES / "reading.md").write_text(annotated((PAGES / "reading.md").read_text("utf-8")), "utf-8")
    for name, text in reference_pages().items():
        (PAGES / "reference" / name).write_text(text, "utf-8")
    for extra in ROOT.glob("docs/*.svg"):
        shutil.copy(extra, PAGES)
    for folder in ("examples", "assets"):
        shutil.copytree(ROOT / "docs" / folder, PAGES / folder)


def annotated(text: str) -> str:
    """The page about reading a report, with the parts of the gallery's report where it speaks of them."""
    report = ROOT / "build" / "gallery" / "report" / "patients-audit" / "audit.json"
    if not report.exists():
        return text
    document = json.loads(report.read_text("utf-8"))
    verdict, tiles = map(without_links, answer_blocks(document))
    parts = {"verdict": [verdict], "tiles": [tiles], "table": release_blocks(document)}
    for name, blocks in parts.items():
        text = text.replace(f"<!-- report: {name} -->", re.sub(r"\n\s*\n", "\n", framed(blocks)))
    return text


def site_markdown(text: str) -> str:
    """A document as a page of the site: formulas drawn, links to the first folder's files turned round."""
    text = re.sub(r"\]\((?:\.\./)?benchmarks/RESULTS\.md", "](results.md", text)
    text = re.sub(r"\]\(\.\./(\w+\.md)", r"](\1", text)
    text = re.sub(r"\]\(docs/", "](", text)
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else _with_formulas(part) for index, part in enumerate(parts))


def _with_formulas(text: str) -> str:
    """Indented paragraphs with a relation sign are formulas: documents have code in fences alone."""

    def drawn(found: re.Match[str]) -> str:
        return f"{mathml(found[0])}\n" if re.search("[=≥≤∝]", found[0]) else found[0]

    return re.sub(r"(?<=\n\n)(?: {4}\S.*\n)+(?=\n)", drawn, text)


def offline(site: Path) -> None:
    """Makes search work from a folder of files, and refuses a page that would ask for the network."""
    shim = (ROOT / "docs" / "assets" / "iframe-worker.js").read_text("utf-8")
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        text = _SHIM.sub(lambda _: f"<script>{shim}</script>", text)
        page.write_text(text, "utf-8")
        asked = re.findall(r'<(?:script|link|img|iframe)\b[^>]*\s(?:src|href)="?(https?:[^"\s>]*)', text)
        if asked:
            raise SystemExit(f"{page.relative_to(site)} asks for {asked[0]}")


if __name__ == "__main__":
    main()
