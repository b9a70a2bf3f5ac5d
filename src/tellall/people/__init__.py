"""People: their columns, areas and counts, and every reader of files about them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["datasets", "genomics"])
