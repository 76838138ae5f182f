"""Replications of published studies, one folder each: study files, published figures, claims and own code."""
