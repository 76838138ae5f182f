"""The report of a run: a page, or the tables and figures of its paper with ours beside them."""
