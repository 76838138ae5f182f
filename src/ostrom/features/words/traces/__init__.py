"""Word counts of reasoning: lexicons applied to every reply of a run, and sums over groups."""
