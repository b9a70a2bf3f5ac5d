"""Private least squares: three ways to release coefficients, each with its privacy profile."""
