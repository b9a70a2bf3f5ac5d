"""Attacks: what an outsider can conclude, and what they would have guessed anyway."""
