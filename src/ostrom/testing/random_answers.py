"""Random valid answers for conformance checks."""

from ostrom.answers.random_answers import WORDS, random_answer

__all__ = ["WORDS", "random_answer"]
