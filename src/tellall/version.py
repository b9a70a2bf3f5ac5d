"""The version of this package, at the bottom of the house so that every document can carry it."""

__version__ = "0.1.0"
