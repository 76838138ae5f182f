"""Words in reasoning: lexicons, counted traces, and what reports show of them."""
