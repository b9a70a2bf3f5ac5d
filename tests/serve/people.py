"""People as a file, a served folder, and one finished audit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np
import pytest

from tellall.serve import edits, points, worker
from tellall.serve.cases import Home
from tests.serve.client import Client


def people_csv(n: int = 20, seed: int = 0) -> bytes:
    """A file of people: a key, an age, two columns of a few values, a secret."""
    rng = np.random.default_rng(seed)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["id", "age", "sex", "region", "ill"])
    for person in range(n):
        ill = "yes" if rng.random() < 0.4 else "no"
        writer.writerow([1000 + person, rng.integers(20, 60), "fm"[person % 2], "NESW"[person % 4], ill])
    return text.getvalue().encode()


@pytest.fixture
def client(tmp_path) -> Iterator[Client]:
    made = Client(Home.at(tmp_path / "home"))
    yield made
    made.runs.end()


def planned(client: Client) -> None:
    """Opens the file and makes a plan of small rounded tables."""
    client.open("clinic.csv", people_csv())
    client.post(f"{client.here}/columns", {"secret": 4, "public": [1, 2, 3]})
    text = client.case().plan_text.replace("steps = true ", "steps = false ")
    tables = {"kind": "Marginals", "ways": 2}
    entry = {"name": "tables", "statistic": tables, "protect": [{"kind": "Rounding", "base": 3}]}
    client.case().write_plan(edits.with_entries(text, [entry]))


@pytest.fixture(scope="package")
def audited(tmp_path_factory) -> Client:
    """A client whose case was audited, remedy and slider included; tests leave it as it is."""
    client = Client(Home.at(tmp_path_factory.mktemp("served") / "home"))
    planned(client)
    with pytest.MonkeyPatch.context() as fewer:  # places of the slider, to be quick
        fewer.setattr(points, "_HIDE_AND_ROUND", ((5, 0),))
        fewer.setattr(points, "suggest_scales", lambda *_: [0.0, 0.0, 2.0])
        worker.run(client.case())
    return client
