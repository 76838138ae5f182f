"""Answer forms: valid answers, constraints on models, and parsing of replies, as pure functions."""

from ostrom.answers.choice import check_labels, read_choice
from ostrom.answers.forms import Choice, Form, Mixture, Number, Record, Text, check_schema
from ostrom.answers.logprob import read_logprobs
from ostrom.answers.number import range_text, read_number
from ostrom.answers.read import constraint_of, read, read_mixture, read_record, read_text
from ostrom.answers.reading import Answer, Invalid, Reading, last_object

__all__ = [
    "Answer",
    "Choice",
    "Form",
    "Invalid",
    "Mixture",
    "Number",
    "Reading",
    "Record",
    "Text",
    "check_labels",
    "check_schema",
    "constraint_of",
    "last_object",
    "range_text",
    "read",
    "read_choice",
    "read_logprobs",
    "read_mixture",
    "read_number",
    "read_record",
    "read_text",
]
