"""Releases: what was published, its file, and the catalogue of kinds that files and plans know."""
