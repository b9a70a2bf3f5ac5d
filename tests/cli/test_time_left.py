"""How long a search may take is measured on the attacks of this run, not on those kept from an earlier."""

import numpy as np
import pytest

import tellall as ta
from tellall.audits.attacks import _attack
from tellall.audits.findings import Skipped, to_plain
from tellall.cli.audited import AuditShown
from tellall.core.work import Pace, sharing
from tellall.report.terminal import talk_console


def test_attacks_that_were_kept_measure_nothing(tmp_path):
    shown = AuditShown(tmp_path, talk_console(quiet=True), 100, by_area=False, quiet=True)
    with shown.stage("attacks") as progress:
        progress(5, 9)  # five of nine were kept
        assert shown.made is None
        progress(7, 9)
        assert shown.made is not None
        assert shown.made[0] == 2


@pytest.mark.parametrize("refused", [None, 0])
def test_a_table_of_many_cells_is_not_taken_to_last_longer_in_proportion(monkeypatch, refused):
    """Attacks that all take ten seconds: the time left is right within a factor of two from the first on."""
    seconds, pace, said = [0.0], Pace(), []

    def attacked(work):
        job = work[2]
        if [index for index, _ in job.members] == [refused]:
            return to_plain(Skipped(job, "it cannot be attacked"))
        seconds[0] += 10.0
        return _attack(work)

    def progress(done, total):
        said.append((seconds[0], pace.left(seconds[0])))

    monkeypatch.setattr("tellall.audits.attacks._attack", attacked)
    rng = np.random.default_rng(3)
    people = ta.Dataset.from_frame(
        {"few": rng.integers(0, 2, 60), "many": rng.integers(0, 30, 60), "ill": rng.integers(0, 2, 60)}, "ill"
    )
    tables = [["few"], ["many"], ["few", "many"]]
    releases = [
        {
            "statistic": {"kind": "Marginals", "ways": len(table) + 1, "attributes": [table]},
            "name": str(table),
        }
        for table in tables
    ]
    with sharing(lambda share: pace.note(share, seconds[0])):
        ta.audit(people, {"releases": releases, "steps": False}, progress)
    end = said[-1][0]
    assert end == 10.0 * (3 + 4 if refused is None else 2 + 1)  # each table, and every set of them
    told = [(now, left) for now, left in said if 0 < now < end]
    assert len(told) >= end / 10.0 - 1
    for now, left in told:
        assert left is not None
        assert (end - now) / 2 <= left <= 2 * (end - now)
