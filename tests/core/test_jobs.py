import math
from functools import partial

import pytest

from tellall import InvalidInput, WorkLost
from tellall.core.checkpoint import Checkpoint
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Done, Failed, Task
from tellall.core.work import sharing

SECRET = b"s" * 32


def tasks_of(*texts: str, keys: bool = False) -> list[Task]:
    return [
        Task(text, partial(str, text), f"{place:032x}" if keys else None) for place, text in enumerate(texts)
    ]


@pytest.mark.parametrize("processes", [1, 2])
def test_every_task_has_its_answer_whoever_computed_it(processes):
    found = list(run(eval, tasks_of("1 + 1", "2 * 3", "7"), workers=Workers(processes)))
    assert sorted((one.index, one.piece) for one in found) == [(0, 2), (1, 6), (2, 7)]


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_of_ours_is_a_sentence_and_the_rest_goes_on(processes):
    bad = "(_ for _ in ()).throw(__import__('tellall').InvalidInput('x must be y'))"
    heavy = "(_ for _ in ()).throw(MemoryError())"
    found = sorted(
        run(eval, tasks_of(bad, "3", heavy), workers=Workers(processes)), key=lambda one: one.index
    )
    assert found[0] == Failed(0, "x must be y")
    assert isinstance(found[1], Done)
    assert "memory" in found[2].reason


def test_the_largest_pieces_start_first():
    order = []
    tasks = [Task(str(size), partial(int, size), size=size) for size in (3, 9, 5)]
    list(run(order.append, tasks))
    assert order == [9, 5, 3]


def test_pieces_that_were_kept_are_not_computed_again(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    tasks = tasks_of("{'x': 1}", "{'x': 2}", "{'x': 3}", keys=True)
    seen = []
    work = run(eval, tasks, checkpoint=kept)
    assert next(work).piece == {"x": 1}
    work.close()  # stopped after the first
    again = list(run(eval, tasks, checkpoint=kept, progress=lambda *done: seen.append(done)))
    assert [one.before for one in sorted(again, key=lambda one: one.index)] == [True, False, False]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_kept_piece_that_cannot_be_read_is_computed_again(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    kept.keep(f"{0:032x}", {"y": 1})
    (found,) = run(eval, tasks_of("{'x': 1}", keys=True), checkpoint=kept, parse=lambda piece: piece["x"])
    assert (found.piece, found.before) == (1, False)


def test_failures_are_not_kept(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    bad = "(_ for _ in ()).throw(MemoryError())"
    assert isinstance(next(run(eval, tasks_of(bad, keys=True), checkpoint=kept)), Failed)
    assert not list(tmp_path.rglob("*.json"))


def test_a_killed_process_is_a_sentence_and_what_was_finished_is_kept(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    killer = "__import__('time').sleep(1.5) or __import__('os')._exit(9)"
    tasks = tasks_of("{'x': 1}", "{'x': 2}", killer, keys=True)
    with pytest.raises(WorkLost, match=r"killed.*continues from what was kept"):
        list(run(eval, tasks, workers=Workers(2), checkpoint=kept))
    assert kept.load(tasks[0].key) == {"x": 1}
    assert kept.load(tasks[1].key) == {"x": 2}


def test_a_mistake_of_ours_is_not_hidden():
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        list(run(math.sqrt, [Task("a", partial(float, -1))]))


@pytest.mark.parametrize("processes", [0, True, 1.5, "2"])
def test_processes_are_counted(processes):
    with pytest.raises(InvalidInput, match="processes"):
        Workers(processes)


@pytest.mark.parametrize("address", ["", "localhost:8786", "http://x", 8786, "inproc://1"])
def test_a_cluster_is_an_address(address):
    with pytest.raises(InvalidInput, match="tcp://"):
        Workers(cluster=address)


def test_without_dask_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("tellall.core.jobs.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"pip install 'tellall\[cluster\]'") as error:
        Workers(cluster="tcp://127.0.0.1:1")
    assert "\n" not in str(error.value)


def test_whoever_listens_hears_the_share_of_the_work_without_what_was_kept(tmp_path):
    sizes, said = (4, 1, 3, 2), []
    tasks = [Task(str(size), partial(str, size), f"{size:032x}", size) for size in sizes]
    with Checkpoint.in_folder(tmp_path / "work") as kept, sharing(said.append):
        list(run(eval, tasks[1:2], checkpoint=kept))
        assert said == []  # nobody asked for progress
        list(run(eval, tasks, checkpoint=kept, progress=lambda done, total: None))
        assert said == pytest.approx([0, 4 / 9, 7 / 9, 1])
        said.clear()
        list(run(eval, tasks, checkpoint=kept, progress=lambda done, total: None))
    assert said == []
