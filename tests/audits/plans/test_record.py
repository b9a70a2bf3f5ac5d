"""The record of an audit: the plan as it was written, hashes of what may be hashed."""

import hashlib
import tomllib
from dataclasses import replace

from tellall.audits.plans.record import Origin, plan_as_shown, record_of

PLAN = b"""# mine
secret = "ill"
[[releases]]
statistic = { kind = "Marginals", ways = 2 }
protect = [{ kind = "CellKey", table = [[-1, 0.5], [1, 0.5]], key = 12345 }]
[[releases]]
statistic = { kind = "Marginals", ways = 3 }
"""


def test_a_plan_is_shown_and_hashed_as_it_was_written(tmp_path):
    plain = PLAN.replace(b", key = 12345", b"")
    rules = tmp_path / "policy.toml"
    rules.write_text("limit = 0.1")
    made = record_of(plain, name="mine.toml", hashes={"policy.toml": "0"}, published=[rules])
    assert made.plan == plain.decode()
    assert made.sha256 == {
        "mine.toml": hashlib.sha256(plain).hexdigest(),
        "policy.toml": "0",
        f"{tmp_path.name}/policy.toml": hashlib.sha256(b"limit = 0.1").hexdigest(),
    }


def test_a_curators_key_is_neither_shown_nor_hashed():
    """Whoever has the rest of the plan could find the key by trying numbers against the hash."""
    made = record_of(PLAN)
    assert "12345" not in str(made)
    assert made.sha256 == {}
    kept = tomllib.loads(PLAN.decode())
    del kept["releases"][0]["protect"][0]["key"]
    assert tomllib.loads(made.plan) == kept


def test_a_plan_with_other_line_ends_keeps_its_hash():
    given = b"\xef\xbb\xbf" + b'secret = "ill"\r\n'
    made = record_of(given)
    assert made.plan == 'secret = "ill"\n'
    assert made.sha256 == {"plan.toml": hashlib.sha256(given).hexdigest()}
    assert plan_as_shown(made.plan) == made.plan


def test_without_a_plan_there_is_a_date_alone():
    assert replace(record_of(None), date="") == Origin(date="", plan=None, sha256={})
