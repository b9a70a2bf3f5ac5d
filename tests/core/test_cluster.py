"""The Dask executor on a cluster of two processes of this machine."""

import os
import signal
from functools import partial

import numpy as np
import pytest

import tellall as ta
from tellall.core.checkpoint import Checkpoint
from tellall.core.errors import WorkLost
from tellall.core.jobs import Workers, run
from tellall.core.tasks import Done, Failed, Task

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask says of its own workers' end is not ours
SECRET = b"s" * 32


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as made:
        yield made


@pytest.fixture(scope="module")
def people() -> ta.Dataset:
    rng = np.random.default_rng(5)
    town = np.repeat(np.array(list("abcdef"), dtype=object), 8)
    frame = {f"x{j}": rng.integers(0, 2, town.size) for j in range(5)}
    frame |= {"town": town, "ill": rng.permutation(np.arange(town.size) % 2)}
    return ta.Dataset.from_frame(frame, secret="ill")


def sweep_of(people, **more):
    return ta.sweep_areas(
        people,
        ta.Marginals(2),
        [ta.Gaussian(1.0)],
        by="town",
        repeats=2,
        decoders=["least-squares"],
        **more,
    )


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, people):
    wanted = sweep_of(people).as_json()
    seen, killed = [], []

    def kill_one(done, total):
        seen.append((done, total))
        if done == 1 and not killed:
            victim = next(iter(cluster.workers.values()))
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    found = sweep_of(people, cluster=cluster.scheduler_address, progress=kill_one)
    assert killed
    assert found.as_json() == wanted
    assert seen == [(done, 6) for done in range(7)]


def test_audits_and_single_sweeps_run_there_too(cluster, people):
    plan = {"steps": False, "by": "town", "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}
    few = people.take(np.arange(16))
    address = cluster.scheduler_address
    assert ta.audit(few, plan, cluster=address).document == ta.audit(few, plan).document
    plan.pop("by")
    assert ta.audit(few, plan, cluster=address).document == ta.audit(few, plan).document
    options = {"repeats": 2, "decoders": ["least-squares"]}
    tried = [None, ta.Gaussian(1.0)]
    there = ta.sweep(few, ta.Marginals(2), tried, cluster=address, **options)
    assert there.rows == ta.sweep(few, ta.Marginals(2), tried, **options).rows


def test_errors_come_back_as_sentences_and_pieces_are_kept_here(cluster, tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    bad = "(_ for _ in ()).throw(__import__('tellall').InvalidInput('x must be y'))"
    texts = ["{'x': 1}", bad, "{'x': 3}"]
    tasks = [Task(text, partial(str, text), f"{place:032x}") for place, text in enumerate(texts)]
    workers = Workers(cluster=cluster.scheduler_address)
    found = sorted(run(eval, tasks, workers=workers, checkpoint=kept), key=lambda one: one.index)
    assert [type(one) for one in found] == [Done, Failed, Done]
    assert found[1].reason == "x must be y"
    assert len(list(tmp_path.rglob("*.json"))) == 2


def test_a_piece_that_kills_its_workers_ends_the_work_when_the_rest_is_kept(tmp_path):
    import dask

    kept = Checkpoint(tmp_path, SECRET)
    texts = ["__import__('os')._exit(9)", *(f"{{'x': {place}}}" for place in range(6))]
    tasks = [Task(text, partial(str, text), f"{place:032x}") for place, text in enumerate(texts)]
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with once, distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as fragile:
        work = run(eval, tasks, workers=Workers(cluster=fragile.scheduler_address), checkpoint=kept)
        found = []
        with pytest.raises(WorkLost, match=r"was killed.*continues from what was kept"):
            found.extend(work)
    assert all(isinstance(one, Done) for one in found)
    again = list(run(eval, tasks[1:], checkpoint=kept))
    assert sum(one.before for one in again) >= 4  # those sent together with it are blamed with it


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr("tellall.core.cluster._PATIENCE", 0.2)
    with pytest.raises(ta.InvalidInput, match="a running Dask scheduler") as error:
        list(run(len, [Task("a", str)], workers=Workers(cluster="tcp://127.0.0.1:9")))
    assert "\n" not in str(error.value)


def test_other_versions_are_refused(cluster, monkeypatch):
    monkeypatch.setattr("tellall.core.cluster.__version__", "0.0.other")
    with pytest.raises(ta.InvalidInput, match=r"tellall 0\.0\.other installed"):
        list(run(len, [Task("a", str)], workers=Workers(cluster=cluster.scheduler_address)))
