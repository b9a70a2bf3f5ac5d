"""Solvers: minimise a norm of A x − z, or average over all x."""
