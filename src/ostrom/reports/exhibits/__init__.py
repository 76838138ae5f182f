"""The tables and figures of a paper as its replication declares them, with those of a run beside them."""
