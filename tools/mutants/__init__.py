"""Mutation testing: change the source in one place, run the tests that reach it, list what they do not notice."""
