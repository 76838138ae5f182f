"""Play in batches: calls of all matches are collected in waves, sent as files and answered within a day."""
