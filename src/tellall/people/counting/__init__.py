"""Counting: how many people are in each cell of each table, in memory, in files or in a database."""
