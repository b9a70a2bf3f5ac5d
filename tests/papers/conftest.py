"""Whole reruns take long: every test that asks for one is a slow one; their parts have short tests."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "papers" in item.path.parts and "found" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
