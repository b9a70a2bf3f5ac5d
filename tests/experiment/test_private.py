"""What an audit says of people: counts that the threat-model page lists, and nothing that travels."""

import json

import numpy as np
import pytest

import tellall as ta
from tellall.core.schemas.documents import DataDocument

PLAN = {"steps": False, "releases": [{"statistic": {"kind": "Marginals", "ways": 2}}]}


def crowd(changed: float | None = None) -> ta.Dataset:
    """Incomes to the cent; the last person's can be changed within its bin."""
    income = np.round(np.linspace(10_000.11, 90_000.77, 40), 2)
    income[-1] = income[-1] if changed is None else changed
    table = {"income": income, "car": np.arange(40) % 2, "ill": np.arange(40) // 3 % 2}
    return ta.Dataset.from_frame(table, secret="ill", bins={"income": [30_000.0, 60_000.0]})


@pytest.fixture(scope="module")
def documents() -> list[dict]:
    return [ta.audit(people, PLAN).document for people in (crowd(), crowd(88_888.88))]


def test_the_people_are_counted_and_no_more():
    """Whoever adds a field says on the threat-model page what it tells."""
    listed = "name people distinct_public_rows secret meaning holders counts columns left_out"
    assert set(DataDocument.model_fields) == set(listed.split())


def test_a_number_that_no_table_shows_is_in_no_document(documents):
    one, other = documents
    assert one == other
    assert "88888" not in json.dumps(other)


def test_the_page_lists_what_is_published_beside_the_values(documents):
    told = " ".join(documents[0]["published_too"])
    assert "How many people there are: 40." in told
    assert "income (3), car (2)" in told
    assert "Where income is cut: 30000, 60000" in told
    assert "A stated ε is about the published values." in told
