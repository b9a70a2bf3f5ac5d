"""tellall as typed: in this process, in a folder of its own."""

import sys

import pytest

from tellall import cli


@pytest.fixture
def tellall(capsys, monkeypatch, tmp_path):
    """A command's exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tellall", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return call
