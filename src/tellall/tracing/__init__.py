"""Tracing: was this person in the data whose means were published? `ta.trace` is the function."""
