"""Published studies, one folder each: study files, published figures, claims, and what only that paper needs."""
