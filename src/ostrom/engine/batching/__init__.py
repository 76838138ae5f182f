"""Playing in batches: waves of calls that wait for each other, sent as files and answered within a day."""
