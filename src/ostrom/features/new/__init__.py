"""Files to begin with, in the current folder."""
