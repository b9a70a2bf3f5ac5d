"""Linear algebra that knows nothing of people: operators and solvers."""
