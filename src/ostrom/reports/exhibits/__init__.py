"""The tables and figures of a paper, declared by its replication, with those of a run."""
