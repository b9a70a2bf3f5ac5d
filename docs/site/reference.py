"""The reference from docstrings: every public name on one page of its room, with its formulas."""

from __future__ import annotations

import inspect
import re
from html import escape
from types import ModuleType

import tellall as ta
from formulas import mathml

__all__ = ["PAGES", "reference_pages"]

# page: its title, and where its names are defined; the first that fits
PAGES = {
    "genomes": ("Genomes", ("tellall.people.genomics",)),
    "people": ("People", ("tellall.people",)),
    "promises": (
        "Privacy profiles and private regression",
        ("tellall.privacy", "tellall.protections.profile"),
    ),
    "statistics": ("Statistics", ("tellall.statistics", "tellall.evidence.count_tables")),
    "protections": ("Protections", ("tellall.protections",)),
    "bounds": ("Bounds", ("tellall.privacy.bounds",)),
    "tracing": ("Tracing", ("tellall.tracing",)),
    "releases": ("Releases", ("tellall.release", "tellall.evidence", "tellall.outputs")),
    "attacks": ("Attacks", ("tellall.attack",)),
    "audits": ("Scores, audits, sweeps", ("tellall.audits",)),
    "errors": ("Errors", ("tellall.core",)),
    "testing": ("Checks for your own classes", ("tellall.testing",)),
}
# public names that are modules, and the page of what is in them
_MODULES = {
    "bounds": "bounds",
    "privacy": "promises",
    "genomics": "genomes",
    "datasets": "people",
    "testing": "testing",
}
_WIDEST = 78  # letters of a signature on one line
_UNDERLINED = re.compile(r"^([A-Z][A-Za-z ]+)\n-+\n", re.MULTILINE)
Names = dict[str, object]


def reference_pages() -> dict[str, str]:
    """The Markdown of each page, by the name of its file."""
    public = _public()
    placed = {name: _page_of(name, thing) for name, thing in public.items()}
    links = {name: f"{page}.md#{_anchor(name)}" for name, page in placed.items()}
    pages = {}
    for page, (title, _) in PAGES.items():
        names = sorted((name for name in placed if placed[name] == page), key=str.lower)
        entries = "\n".join(_entry(name, public[name], links) for name in names)
        pages[f"{page}.md"] = f"# {title}\n\n{entries}"
    return pages


def _public() -> Names:
    """Every public name as it is written after ``ta.``, and what it names."""
    top = {name: getattr(ta, name) for name in ta.__all__}
    plain = {name: thing for name, thing in top.items() if not isinstance(thing, ModuleType)}
    inner = {
        f"{name}.{one}": getattr(top[name], one)
        for name in ta.__all__
        if name not in plain
        for one in top[name].__all__
    }
    known = {id(thing) for thing in plain.values()}
    return plain | {name: thing for name, thing in inner.items() if id(thing) not in known}


def _page_of(name: str, thing: object) -> str:
    if "." in name:
        return _MODULES[name.partition(".")[0]]
    module = getattr(thing, "__module__", "")
    for page, (_, rooms) in PAGES.items():
        if any(module == room or module.startswith(f"{room}.") for room in rooms):
            return page
    raise LookupError(f"{thing!r} of {module} has no page in the reference")


def _anchor(name: str) -> str:
    """The place of a name on its page; classes and functions may be spelt alike but for a capital."""
    return f"ta.{name}"


def _entry(name: str, thing: object, links: dict[str, str]) -> str:
    shown = f"class ta.{name}" if inspect.isclass(thing) else f"ta.{name}"
    call = _folded(f"{shown}{_signature(thing)}")
    lines = [f"## {name} {{ #{_anchor(name)} }}", "", f"```python\n{call}\n```", ""]
    lines += [_docstring(inspect.getdoc(thing) or "", links), ""]
    if inspect.isclass(thing):
        lines += _members(thing, links)
    return "\n".join(lines)


def _folded(call: str) -> str:
    """A long signature with a line for each parameter."""
    if len(call) <= _WIDEST:
        return call
    name, _, inside = call.removesuffix(")").partition("(")
    parameters = re.split(r", (?=[\w*/]+(?:=|,|$))", inside)
    return "\n".join([f"{name}(", *(f"    {one}," for one in parameters), ")"])


def _signature(thing: object) -> str:
    """The parameters with their defaults, without types: the text below says what they are."""
    try:
        known = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    if inspect.isclass(thing) and (issubclass(thing, BaseException) or inspect.isabstract(thing)):
        return ""
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in known.parameters.values()]
    return re.sub(r"<[^<>]*>", "...", str(known.replace(parameters=bare, return_annotation=known.empty)))


def _members(kind: type, links: dict[str, str]) -> list[str]:
    """A table of methods and properties, by the first lines of their docstrings, without a public base's."""
    rows = []
    told = {one for base in kind.__mro__[1:] if base.__name__ in links for one in dir(base)}
    for name in sorted(set(dir(kind)) - told):
        thing = inspect.getattr_static(kind, name)
        base = next((one for one in kind.__mro__ if name in vars(one)), object)
        if name.startswith("_") or not base.__module__.startswith("tellall"):
            continue
        plain = getattr(thing, "__func__", thing)
        said = (inspect.getdoc(plain) or "").partition("\n\n")[0]
        if callable(plain) or isinstance(plain, property) or hasattr(plain, "func"):
            call = re.sub(r"^\((?:self|cls)(?:, )?", "(", _signature(plain)) if callable(plain) else ""
            shown = f"`.{name}{call}`".replace("|", "\\|")
            if said:
                rows.append(f"| {shown} | {_prose(' '.join(said.split()), links)} |")
    return ["| | |", "| --- | --- |", *rows, ""] if rows else []


def _docstring(text: str, links: dict[str, str]) -> str:
    """A docstring in NumPy's style as Markdown."""
    parts = _UNDERLINED.split(text)
    written = [_body(parts[0], links)]
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        made = _terms(body, links) if heading in _LISTS else _body(body, links)
        written.append(f"**{heading}**\n\n{made}" if heading != "Notes" else made)
    return "\n\n".join(part for part in written if part)


_LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Yields")


def _terms(body: str, links: dict[str, str]) -> str:
    """Names with an indented text each, as a list."""
    items: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            items.append((line, []))
        elif items:
            items[-1][1].append(line.strip())
    return "\n".join(
        f"- {_named(head)}: {_prose(' '.join(' '.join(text).split()), links)}" for head, text in items
    )


def _named(head: str) -> str:
    names, _, kind = head.partition(" : ")
    shown = ", ".join(f"`{one.strip()}`" for one in names.split(","))
    return f"{shown} ({_escaped(kind)})" if kind else shown


def _body(body: str, links: dict[str, str]) -> str:
    """Paragraphs; indented ones are formulas, and those that begin with >>> are examples."""
    written = []
    for block in re.split(r"\n{2,}", body.strip("\n")):
        if block.lstrip().startswith(">>>"):
            written.append(f"```pycon\n{block}\n```")
        elif block.startswith("    "):
            written.append(mathml(block))
        elif block.strip():
            written.append(_prose(block, links))
    return "\n\n".join(written)


def _prose(text: str, links: dict[str, str]) -> str:
    """Text in which names become links and nothing else is markup."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    pieces = re.split(r"(``.+?``|`[^`\n]+`)", text, flags=re.DOTALL)
    return "".join(_code(one, links) if index % 2 else _escaped(one) for index, one in enumerate(pieces))


def _code(span: str, links: dict[str, str]) -> str:
    inside = " ".join(span.strip("`").split()).replace("|", "\\|")
    name = inside.removeprefix("ta.")
    return f"[`{inside}`]({links[name]})" if name in links else f"`{inside}`"


def _escaped(text: str) -> str:
    kept = re.sub(r"\*\*(.+?)\*\*", r"\1", text)
    return re.sub(r"([\\*_\[\]|])", r"\\\1", escape(kept, quote=False))
