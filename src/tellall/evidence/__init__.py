"""Equations about people: what releases say, what is known besides, and what an attacker sees of it."""
