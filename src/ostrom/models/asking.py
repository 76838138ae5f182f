"""The one check every client makes before it sends: a request may use only what the model can do."""

from __future__ import annotations

from ostrom.ground.errors import RequestRefused
from ostrom.models.base import Abilities, Request


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
