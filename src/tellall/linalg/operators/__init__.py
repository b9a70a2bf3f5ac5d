"""Operators: matrices known by their products."""
