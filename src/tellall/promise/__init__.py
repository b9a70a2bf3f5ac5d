"""What can be promised: privacy profiles, private least squares, bounds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["bounds", "privacy"])
