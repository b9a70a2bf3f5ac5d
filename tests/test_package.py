import re
import subprocess
import sys
from pathlib import Path

import tellall as ta

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_importing_loads_nothing_heavy():
    heavy = (
        "sklearn",
        "pandas",
        "duckdb",
        "scipy.stats",
        "scipy.optimize",
        "typer",
        "rich",
        "joblib",
        "pydantic",
        "jinja2",
    )
    loaded = python("import sys, tellall; print('\\n'.join(sys.modules))").split()
    assert not set(heavy) & set(loaded)


def test_no_socket_is_opened(tmp_path):
    (tmp_path / "people.csv").write_text(
        "x,y,ill\n" + "".join(f"{i % 3},{i % 4},{i % 2}\n" for i in range(60))
    )
    code = f"""
import sys
def refuse(event, args):
    assert not event.startswith("socket."), "a socket was opened"
sys.addaudithook(refuse)
import tellall as ta
people = ta.read({str(tmp_path / "people.csv")!r}, secret="ill")
release = ta.publish(people, ta.Marginals(3), ta.Rounding(5))
print(ta.score(ta.reconstruct(release, people.public), people.secret))
"""
    assert python(code).startswith("Risk:")


def test_everything_public_is_there_and_documented():
    for name in ta.__all__:
        assert (getattr(ta, name).__doc__ or "").strip(), name


def test_the_version_is_the_packages():
    assert f'version = "{ta.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert ta.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_no_forbidden_shortcuts_in_the_source():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"\b(pickle|eval|exec)\b\s*[.(]", text), path
        assert "import scipy.stats" not in text, path
        assert "from scipy.stats" not in text, path


def test_every_statistic_and_operator_is_in_its_own_room():
    names = {path.stem for path in (ROOT / "src").rglob("*.py")}
    assert not names & {"utils", "helpers", "common", "misc"}
