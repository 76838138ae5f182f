"""How long an answer usually is, for forecasts."""

from __future__ import annotations

from ostrom.answers.forms import Choice, Form, Mixture, Number, Record, Text

TOKENS_PER_WORD = 1.4
"""Of English prose, with the tokenisers in use."""


def answer_tokens(form: Form) -> int:
    """Tokens of a usual answer of this form, without reasons; rather many.

    >>> answer_tokens(Choice(("a", "b"))), answer_tokens(Mixture(("a", "b")))
    (8, 28)
    """
    if isinstance(form, Choice | Number):
        return 8
    if isinstance(form, Mixture):
        return 8 + 10 * len(form.options)
    if isinstance(form, Record):
        return 12 + 25 * len(form.schema.get("properties", {}))
    assert isinstance(form, Text)
    return round(TOKENS_PER_WORD * form.words)
