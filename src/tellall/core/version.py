"""The version of this package, and which versions made a document."""

__all__ = ["versions"]

__version__ = "0.1.0"

_NAMED = ("numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that computed the numbers."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in _NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
