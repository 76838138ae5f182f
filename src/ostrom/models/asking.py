"""The checks every client makes: a request may use only what the model can do, numbers are of a certain kind."""

from ostrom.ground.errors import RequestRefused, StudyError
from ostrom.models.base import Abilities, Request


def at_least_one(value: object, key: str) -> int:
    """Check that a setting is a whole number of at least 1, and return it.

    >>> at_least_one(16, "connections")
    16
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise StudyError("must be a whole number of at least 1", key=key, found=value)
    return value


MOST_TOKENS = 20_000_000
"""No call takes more: the largest models read half as many. More is a wrong report."""


def token_count(value: object) -> int | None:
    """A number of tokens as a server reports it; None where what it says cannot be one.

    >>> [token_count(v) for v in (12, 0, -1, 2**62, 3.0, True, "7", None)]
    [12, 0, None, None, None, None, None, None]
    """
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def positive(value: object, key: str) -> float:
    """A number above 0.

    >>> positive(30, "timeout")
    30.0
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise StudyError("must be a number above 0", key=key, found=value)
    return float(value)


def refuse_beyond(abilities: Abilities, request: Request, who: str) -> None:
    """Raise RequestRefused if the request needs an ability that the model does not have.

    >>> from ostrom.models.base import Message
    >>> refuse_beyond(Abilities(), Request((Message("user", "hi"),), top_logprobs=2), "m")
    Traceback (most recent call last):
    ...
    ostrom.ground.errors.RequestRefused: m is not known to give log-probabilities (ability 'logprobs')
    """
    constraint = request.constraint
    if constraint is not None:
        if constraint.choices is not None:
            if not abilities.choices:
                raise RequestRefused(f"{who} is not known to keep to given choices (ability 'choices')")
            if not constraint.choices:
                raise RequestRefused(f"{who}: an empty list of choices has no answer")
        if constraint.schema is not None and not abilities.schema:
            raise RequestRefused(f"{who} is not known to keep to a JSON schema (ability 'schema')")
    if request.top_logprobs and not abilities.logprobs:
        raise RequestRefused(f"{who} is not known to give log-probabilities (ability 'logprobs')")
    if not request.messages:
        raise RequestRefused(f"{who}: the request has no messages")
    if request.messages[-1].role == "assistant" and not abilities.prefill:
        raise RequestRefused(f"{who} is not known to go on from a given beginning (ability 'prefill')")
