"""Counting: how many people are in each cell of each table, wherever the people are."""
