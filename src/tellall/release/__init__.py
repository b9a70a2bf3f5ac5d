"""Releases: statistics, protections, what was published, and the equations it gives about people."""
