"""Power and gates computed a second time, with NumPy and SciPy alone."""
