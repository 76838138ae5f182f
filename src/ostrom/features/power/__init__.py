"""Power analysis: the number of seeds that a study needs."""
