"""Files: written whole or not at all, read with a limit, numbers in Parquet next to their document."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellall.core import duck
from tellall.core.errors import InvalidInput, invalid
from tellall.core.locks import PARTIAL, held_open
from tellall.core.memory import check_columns_fit, free_on_host
from tellall.core.records import Record
from tellall.core.text import escape_marks, plain_text, said

__all__ = [
    "LARGEST_JSON",
    "Together",
    "dump",
    "fits_inside",
    "read_json",
    "read_text",
    "read_values",
    "together",
    "write_json",
    "write_table",
    "write_text",
]

LARGEST_JSON = 64 * 2**20
_AS_PARQUET = "(FORMAT parquet, USE_TMP_FILE false)"  # writes into the file that is held


def dump(document: object) -> str:
    """The document as JSON text, the same text for the same document."""
    plain = document.as_json() if isinstance(document, Record) else document
    return escape_marks(json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


class Together:
    """Files that are written under other names first and take their places at once; see `together`."""

    def __init__(self, stack: ExitStack, *, public: bool, new: bool, lasting: bool) -> None:
        self._stack = stack
        self._public = public
        self._new = new
        self._lasting = lasting
        self._written: list[tuple[Path, Path]] = []
        self._removed: list[Path] = []

    def text(self, path: Path, text: str) -> Path:
        """Writes a text and returns the path that it will have; a pipe or device is written to at once.

        Marks that act on a terminal or turn the direction of text are written as �.
        """
        whole = plain_text(text).encode("utf-8", errors="backslashreplace")
        if path.exists() and not path.is_file() and not path.is_dir():
            with _naming(path):
                path.write_bytes(whole)
            return path
        with self._unfinished(path) as (partial, _):
            partial.write_bytes(whole)
        return path

    def values(self, path: Path, values: npt.NDArray[np.float64]) -> dict[str, Any]:
        """Writes values as Parquet and returns what a document says about them: file, count, SHA-256."""
        with self._parquet(path) as (connection, partial):
            connection.register("published", {"value": values})
            target = duck.literal(str(partial))
            connection.execute(f"COPY (SELECT value FROM published) TO {target} {_AS_PARQUET}")
            digest = _sha256(partial)
        return {"parquet": path.name, "count": int(values.size), "sha256": digest}

    def table(self, path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
        """Writes a table as Parquet and returns the path that it will have; None is missing."""
        declared = ", ".join(f"{duck.quoted(name)} {_sql_type(values)}" for name, values in columns.items())
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        with self._parquet(path) as (connection, partial):
            connection.execute(f"CREATE TEMP TABLE rows ({declared})")
            if rows:
                connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)
            connection.execute(f"COPY rows TO {duck.literal(str(partial))} {_AS_PARQUET}")
        return path

    def remove(self, path: Path) -> None:
        """Removes a file of an earlier run, if there is one, that this run does not replace."""
        self._removed.append(path)

    @contextmanager
    def _unfinished(self, path: Path) -> Iterator[tuple[Path, int]]:
        with _naming(path):
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            partial, handle = self._stack.enter_context(_partial_beside(path, public=self._public))
            yield partial, handle
            if self._lasting:
                os.fsync(handle)
        self._written.append((partial, path))

    @contextmanager
    def _parquet(self, path: Path) -> Iterator[tuple[Any, Path]]:
        import duckdb

        try:
            with self._unfinished(path) as (partial, _), duck.connect() as connection:
                yield connection, partial
        except duckdb.Error as error:
            with _naming(path):
                duck.refuse_lack_of_room(error)
            raise invalid("path", "a file that can be written", path, f"DuckDB said: {said(error)}") from None

    def take_their_places(self) -> None:
        """Gives every file its name; if there are several, the last is missing meanwhile."""
        with _undisturbed():
            if self._new:
                _place_new(self._written)
            else:
                _replace(self._written, self._removed)
            if self._lasting and self._written:
                _flush_folder(self._written[-1][1].parent)


@contextmanager
def together(*, public: bool = False, new: bool = False, lasting: bool = True) -> Iterator[Together]:
    """Files of one folder that belong together: all of them appear, or none.

    Parameters
    ----------
    public
        Whether anybody may read them, as far as the umask allows. Only a release is public, since it is
        made to be published. Everything else holds exact counts of people, or was chosen by looking at
        them, and only its owner can read it (mode 0600), whatever the umask. The owner may open it to others.
    new
        Whether existing files are left alone: the first such file is an error, and none appears.
    lasting
        Whether they are on the disk, not only in the system's memory, before they take their places.

    Notes
    -----
    A full disk or any other error leaves what was there before. If the process is killed while the files take
    their places (a few calls of the system), the last file, which should be the one that people open, is
    missing: it never lies next to files of another run. Unfinished files of a process that was killed are
    removed when the folder is next written to by a command.
    """
    with ExitStack() as stack:
        batch = Together(stack, public=public, new=new, lasting=lasting)
        yield batch
        batch.take_their_places()


def write_text(path: Path, text: str, *, public: bool = False, lasting: bool = True) -> Path:
    """Writes a text and returns the path; a reader sees the old file or the new one, never a part.

    Writes to a pipe or /dev/stdout directly; only regular files are replaced. For ``public`` and ``lasting``
    see `together`.
    """
    with together(public=public, lasting=lasting) as batch:
        return batch.text(path, text)


def write_json(path: Path, document: object, *, lasting: bool = True) -> Path:
    """Writes a document as JSON and returns the path."""
    return write_text(path, dump(document), lasting=lasting)


def _replace(written: Sequence[tuple[Path, Path]], removed: Sequence[Path]) -> None:
    """Gives files their names; if there are several, the last is missing while the others change."""
    if written and len(written) + len(removed) > 1:
        written[-1][1].unlink(missing_ok=True)
    for path in removed:
        path.unlink(missing_ok=True)
    for partial, path in written:
        with _naming(path):
            partial.replace(path)


def _place_new(written: Sequence[tuple[Path, Path]]) -> None:
    """Gives files their names, all of them or, if one exists already, none."""
    placed: list[Path] = []
    try:
        for partial, path in written:
            with _naming(path):
                os.link(partial, path)
            placed.append(path)
    except OSError:
        for path in placed:
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _partial_beside(path: Path, *, public: bool) -> Iterator[tuple[Path, int]]:
    """A new file next to this path, held while it is unfinished; removed unless it was renamed."""
    mode = 0o666 if public else 0o600
    handle = None
    while handle is None:  # another process may take it for a leftover before it is held
        partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
        handle = held_open(partial, os.O_CREAT | os.O_EXCL, mode)
    try:
        yield partial, handle
    finally:
        partial.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Holds back signals that would end the process until this is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    ours = [kind for kind in kinds if signal.getsignal(kind) is not None]  # None: not set by Python
    before = {kind: signal.signal(kind, lambda number, _: waiting.append(number)) for kind in ours}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
    for number in waiting:
        signal.raise_signal(number)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some file systems cannot, and the files are in their places
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Makes errors of the system name this file; otherwise they may name none, or a temporary one."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def read_text(path: Path, *, what: str, largest: int) -> str:
    """The text of a file in UTF-8 of at most `largest` bytes; errors call it `what`."""
    if not path.is_file():
        raise invalid(what, "a file that exists", path)
    size = path.stat().st_size
    if size > largest:
        raise invalid(what, f"a file of at most {largest // 2**20} MB", f"{size / 2**20:.1f} MB in {path}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(what, "text in UTF-8", path, f"Byte {error.start} is not.") from None


def read_json(path: Path, *, what: str) -> dict[str, Any]:
    """The object in a JSON file."""
    text = read_text(path, what=what, largest=LARGEST_JSON)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(what, "whole JSON", path, f"The reader said: {said(error, 120)}.") from None
    if not isinstance(document, dict):
        raise invalid(what, "a JSON object", f"{type(document).__name__} in {path}")
    return document


def write_table(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """Writes a table as Parquet and returns the path; None is missing."""
    with together() as batch:
        return batch.table(path, columns)


def _sql_type(values: Sequence[object]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "VARCHAR" if str in kinds else "DOUBLE"


def read_values(path: Path, *, count: int, sha256: str) -> npt.NDArray[np.float64]:
    """The values in a Parquet file; refused unless their number and SHA-256 match the document."""
    import duckdb

    if path.is_symlink() or not path.is_file():
        raise invalid("values", "in a plain file next to the release", path)
    if _sha256(path) != sha256:
        raise invalid("values", "the file that was saved with the release", f"another {path.name}")
    check_columns_fit(path, rows=count, columns=1, needed=8 * count, free=free_on_host(), what="values")
    file = [duck.pattern_of(path)]
    try:
        with duck.connect() as connection:
            asked = "SELECT count(*), any_value(typeof(value)) FROM read_parquet(?)"
            rows, kind = connection.execute(asked, file).fetchall()[0]
            if rows != count:
                raise invalid("values", f"{count} numbers", f"{rows} in {path.name}")
            if kind is not None and not duck.is_number(kind):
                raise invalid("values", "numbers", f"other things in {path.name}")
            query = "SELECT value::DOUBLE AS value FROM read_parquet(?)"
            read = connection.execute(query, file).fetchnumpy()["value"]
    except duckdb.Error as error:
        raise invalid("values", "readable Parquet", path, f"DuckDB said: {said(error)}") from None
    values: npt.NDArray[np.float64] = np.ma.filled(np.ma.asarray(read, dtype=np.float64), np.nan)
    return values


def fits_inside(folder: Path, name: str, *, what: str, advice: str = "") -> Path:
    """The path of a relative name inside a folder; a name that leads elsewhere is refused."""
    given = Path(name)
    if given.is_absolute() or given.drive or "\0" in name:
        raise invalid(what, "a path relative to the file that names it", name, advice)
    path = folder / given
    if not path.resolve().is_relative_to(folder.resolve()):
        raise invalid(what, "a file in the folder of the file that names it, or below", name, advice)
    return path


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
