"""A scripted judge that counts words: for trying out the pipeline without a model, never for a result.

``scripted/lexicon`` reads the prompt that every judge reads and answers in the same form. forward: ten times the
share of forward among forward and reactive terms (0 without a forward one); quality: ten times the share of distinct
triples of words (a reply that goes in circles scores low); specificity: 6 and one more for each round, option or
player that it names, at most 10. Echoes of the prompt do not count as terms.
"""

from __future__ import annotations

import re

import orjson

from ostrom.ground.errors import ModelError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import Scores

NAME = "lexicon"
MODEL = f"scripted/{NAME}"
_NAMED = re.compile(r"\b(?:round\s+\d+|R\d+|A\d+|players?\s+\d+)\b", re.IGNORECASE)


def install() -> None:
    """Make ``scripted/lexicon`` a model of this process."""
    register(NAME, _answer)


def scored(reply: str, prompt: str) -> Scores:
    """The scores of a reply.

    >>> scored("In round 2 player 2 chose A0, and a good reputation pays in the future.", "Choose.")
    Scores(forward=10, quality=10, specificity=9)
    """
    found = terms_of(reply, prompt)
    forward = found.forward / (found.forward + found.reactive) if found.forward else 0.0
    words = [word.lower() for word in reply.split()]
    triples = list(zip(words, words[1:], words[2:], strict=False))
    quality = len(set(triples)) / len(triples) if triples else 0.0
    named = {match.group().lower() for match in _NAMED.finditer(reply)}
    return Scores(_tenths(forward), _tenths(quality), min(10, 6 + len(named)))


def _tenths(share: float) -> int:
    return int(10 * share + 0.5)


def _answer(request: Request) -> str:
    told = [line for line in request.messages[0].content.splitlines() if line.startswith('"')]
    try:
        situation, reply = (orjson.loads(line) for line in told[-2:])
    except ValueError:
        raise ModelError(f"{MODEL} reads the shipped prompt of judges only") from None
    scores = scored(reply, situation)
    return orjson.dumps(
        {"forward": scores.forward, "quality": scores.quality, "specificity": scores.specificity}
    ).decode()
