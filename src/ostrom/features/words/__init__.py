"""Words in reasoning: lexicons, counts per reply, and panels of the report."""
