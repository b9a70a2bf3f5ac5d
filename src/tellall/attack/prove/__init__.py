"""Proofs: what is the same in every secret that fits what was published."""
