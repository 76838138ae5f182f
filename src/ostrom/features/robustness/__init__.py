"""Robustness: how much an outcome depends on the wording of prompts."""
