"""tellall bounds, as typed."""

import json

import pytest

from tellall.privacy import bounds

ASKED = (
    "bounds",
    "--people",
    "10000",
    "--attributes",
    "20",
    "--ways",
    "3",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
)


def test_the_table_on_standard_output(tellall):
    code, out, _ = tellall(*ASKED)
    assert code == 0
    assert out == f"{bounds.table(10_000, 20, 3, 1.0, 1e-6)}\n"


def test_one_json_document_and_the_same_in_a_file(tellall, tmp_path):
    code, out, err = tellall(*ASKED, "--json", "-o", "bounds.json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["command"] == "bounds"
    assert document["rows"][0]["label"] == "rate, constant unknown"
    assert (tmp_path / "bounds.json").read_text(encoding="utf-8") == out


def test_quiet_says_nothing(tellall):
    assert tellall(*ASKED, "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("--ways", "21"), "--ways must be"),
        (("--epsilon", "0"), "epsilon must be"),
        (("--delta", "2"), "delta must be"),
    ],
)
def test_bad_input_is_one_line(tellall, change, word):
    code, out, err = tellall(*ASKED, *change)
    assert (code, out) == (2, "")
    assert word in err
    assert "Traceback" not in err
