"""Runs: one process for each audit; started, cancelled, found dead, and started again where it was."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

from tellall.core.locks import is_claimed
from tellall.serve.cases import Case, Home

__all__ = ["AuditRuns"]

_LOST = (
    "The process of the audit was stopped from outside, perhaps for memory. Finished work is kept: run "
    "it again, and it goes on from there."
)


class AuditRuns:
    """The processes of this server. Each listens to a pipe, and ends when the server does."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def start(self, case: Case, task: str = "audit") -> None:
        """Starts the audit of a case, or another task, unless it runs already; any other is ended."""
        with self._lock:
            known = case.read("run.json") or {}
            same = (known.get("version"), known.get("task", "audit")) == (case.version, task)
            if self._alive(case) and not same:
                self._end(case.id)
            if self._alive(case) or is_claimed(case.folder / "audit"):
                return
            case.write("run.json", {**_WAITING, "version": case.version, "task": task})
            start = f"import sys; sys.path[:] = {sys.path!r}; from tellall.serve.worker import main; main()"
            self._processes[case.id] = subprocess.Popen(
                [sys.executable, "-c", start, str(case.folder), task],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def cancel(self, case: Case) -> None:
        """Stops the audit of a case; findings that are there stay."""
        with self._lock:
            self._end(case.id)
            known = case.read("run.json")
            if known is not None and known["state"] == "running":
                case.write("run.json", {**known, "state": "stopped"})

    def state(self, case: Case) -> dict[str, Any] | None:
        """How far the audit of a case is; None if none was ever started.

        A run that another server began, and that nobody works on now, is started again.
        """
        with self._lock:
            alive = self._alive(case)
            known = case.read("run.json")
            ours = case.id in self._processes
            if known is None or known["state"] != "running" or alive or is_claimed(case.folder / "audit"):
                return known
            if ours:
                known = {**known, "state": "failed", "error": _LOST}
                case.write("run.json", known)
                return known
        self.start(case, known.get("task", "audit"))
        return case.read("run.json")

    def resume(self, home: Home) -> None:
        """Starts again whatever was running when the last server ended."""
        for case in home.cases:
            self.state(case)

    def end(self) -> None:
        """Ends every process; what was running goes on with the next server."""
        with self._lock:
            for name in list(self._processes):
                self._end(name)

    def _alive(self, case: Case) -> bool:
        process = self._processes.get(case.id)
        return process is not None and process.poll() is None

    def _end(self, name: str) -> None:
        process = self._processes.pop(name, None)
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


_WAITING: dict[str, Any] = {
    "state": "running",
    "stage": "starting",
    "began": "",
    "done": 0,
    "total": 0,
    "attacks": [],
    "error": "",
}
