"""Every document has a JSON schema that is plain JSON, closed, and says its version."""

import json

import pytest

import tellall as ta
from tellall.core.records import VERSION
from tellall.schemas import NAMES, load


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_plain_json_and_closed(name):
    schema = load(name)
    assert json.loads(json.dumps(schema)) == schema
    assert schema["title"] == f"tellall {name}"
    assert schema["$id"].endswith(f"/{name}-v{VERSION}.json")
    assert schema["properties"]["schema_version"]["const"] == VERSION
    for record in [schema, *schema["$defs"].values()]:
        assert record["additionalProperties"] is False
        assert record["description"]


@pytest.mark.parametrize("name", ["", "Plan", "../plan", None])
def test_another_name_is_refused(name):
    with pytest.raises(ta.InvalidInput, match="name must be one of plan, release"):
        load(name)
