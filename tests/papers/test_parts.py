"""The parts of a rerun: their own streams, all of their work told of."""

import numpy as np

from tellall.papers.parts import Part, run_parts
from tellall.report.paper import Statement


def part(name, told, work):
    def run(rng, tell):
        for step in told:
            tell(step)
        return (), [Statement.shown(name, "", float(rng.random()))]

    return Part(run, work)


def test_every_part_has_its_own_stream_and_all_work_is_told_of():
    seen = []
    parts = [part("some", [1, 1], 5), part("too much", [9], 2), part("silent", [], 1)]
    _, said = run_parts(parts, 3, lambda done, total: seen.append((done, total)))
    assert seen == [(1, 8), (2, 8), (5, 8), (7, 8), (8, 8)]
    drawn = [float(stream.random()) for stream in np.random.default_rng(3).spawn(3)]
    assert [one.value for one in said] == drawn


def test_nobody_need_be_told():
    assert run_parts([part("alone", [1], 1)], 0, None)[1][0].what == "alone"
