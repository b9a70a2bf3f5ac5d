"""Private least squares: five ways to release coefficients, each with its privacy profile."""
