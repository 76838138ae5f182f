"""The report of a run: one page, or the paper's tables and figures with the run's beside them."""
