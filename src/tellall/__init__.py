"""tellall tells people who publish statistics what those statistics give away about the people in them.

>>> import tellall as ta
>>> people = ta.datasets.load("breast_cancer")
>>> release = ta.publish(people, ta.Marginals(4), protect=ta.Rounding(5))
>>> attack = ta.reconstruct(release, people.public)
>>> bool((attack.guess == people.secret).mean() > 0.9)
True
"""

import os
import sys

import lazy_loader

from tellall.core.version import __version__ as __version__

if os.name == "nt":  # locks on folders, and files that appear together, are those of POSIX systems
    raise ImportError("tellall runs on Linux and macOS; on Windows install it in WSL.")

# The public names are listed once, in __init__.pyi, and imported when they are first used.
_load, _, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        return _load(name)
    raise AttributeError(f"module 'tellall' has no attribute '{name}'", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
