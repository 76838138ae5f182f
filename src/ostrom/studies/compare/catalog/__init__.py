"""Papers whose figures a run can be compared with: one file per paper."""
