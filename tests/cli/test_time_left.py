"""How long a search may take is measured on the attacks of this run, not on those kept from an earlier."""

from tellall.cli.audited import AuditShown
from tellall.report.terminal import talk_console


def test_attacks_that_were_kept_measure_nothing(tmp_path):
    shown = AuditShown(tmp_path, talk_console(quiet=True), 100, by_area=False, quiet=True)
    with shown.stage("attacks") as progress:
        progress(5, 9)  # five of nine were kept
        assert shown.made is None
        progress(7, 9)
        assert shown.made is not None
        assert shown.made[0] == 2
