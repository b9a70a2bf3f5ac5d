"""The fixtures of the served page; where the extra web is not installed, there is nothing to test."""

from importlib.util import find_spec

collect_ignore_glob: list[str] = []
if find_spec("starlette") is None:
    collect_ignore_glob.append("test_*.py")
else:
    from tests.serve.doors import home, server
    from tests.serve.people import audited, client

    __all__ = ["audited", "client", "home", "server"]
