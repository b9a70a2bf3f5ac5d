"""Reports: the same findings as text and as data."""
