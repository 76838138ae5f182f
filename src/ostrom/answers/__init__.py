"""Answer forms: what counts as an answer, how it is asked for, how a reply is read. Pure."""

from ostrom.answers.forms import Choice, Form, Mixture, Record, Text
from ostrom.answers.reading import Answer, Invalid

__all__ = ["Answer", "Choice", "Form", "Invalid", "Mixture", "Record", "Text"]
