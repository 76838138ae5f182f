"""How OpenAI-compatible servers differ: the words each one has for what a plain chat call cannot say.

A form that is None cannot be asked for at all. ``claims`` are the abilities a server of this kind has
without being told; the others work on some models or versions only, so a study switches them on by name
(``abilities: [schema]``) and `ostrom models check` tells whether they are true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ostrom.ground.errors import StudyError
from ostrom.models.base import Abilities

ChoiceForm = Literal["structured_outputs", "guided_choice", "grammar"]
PrefillForm = Literal["continue", "trailing", "prefix"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one kind of server."""

    choices: ChoiceForm | None = None
    schema: bool = True
    """Knows ``response_format`` of type ``json_schema``."""
    logprobs: bool = True
    """Knows ``logprobs`` and ``top_logprobs``."""
    prefill: PrefillForm | None = None
    seed: str = "seed"
    endpoint: Literal["chat", "completions"] = "chat"
    """``completions`` sends one text that the model goes on from: the way to ask a base model, which knows no chat."""
    most_logprobs: int = 20
    """How many alternatives of a token the server tells at most."""
    claims: frozenset[str] = frozenset()

    def forms(self) -> dict[str, bool]:
        """Which abilities can be asked for in this dialect."""
        return {
            "choices": self.choices is not None,
            "schema": self.schema,
            "logprobs": self.logprobs,
            "prefill": self.prefill is not None,
        }


_ALL = frozenset({"choices", "schema", "logprobs", "prefill"})

DIALECTS: dict[str, Dialect] = {
    "plain": Dialect(),
    "openai": Dialect(claims=frozenset({"schema", "logprobs"})),
    "vllm": Dialect(choices="structured_outputs", prefill="continue", claims=_ALL),
    # vLLM before 0.12 knew the same constraint under another name.
    "vllm_guided": Dialect(choices="guided_choice", prefill="continue", claims=_ALL),
    "llamacpp": Dialect(choices="grammar", prefill="trailing", claims=_ALL),
    "ollama": Dialect(claims=frozenset({"schema", "logprobs"})),
    "deepseek": Dialect(schema=False, claims=frozenset({"logprobs"})),
    "mistral": Dialect(
        logprobs=False, prefill="prefix", seed="random_seed", claims=frozenset({"schema", "prefill"})
    ),
    "no_logprobs": Dialect(logprobs=False),
    "completions": Dialect(
        schema=False,
        prefill="trailing",
        endpoint="completions",
        most_logprobs=5,
        claims=frozenset({"logprobs", "prefill"}),
    ),
    "vllm_completions": Dialect(
        choices="structured_outputs",
        schema=False,
        prefill="trailing",
        endpoint="completions",
        claims=frozenset({"choices", "logprobs", "prefill"}),
    ),
}


def abilities_of(dialect: Dialect, wanted: Iterable[str] | None, *, who: str) -> Abilities:
    """What a client of this dialect claims: its usual abilities, or exactly those that are ``wanted``."""
    if wanted is None:
        names = dialect.claims
    else:
        names = frozenset([wanted] if isinstance(wanted, str) else wanted)
        forms = dialect.forms()
        for name in sorted(names):
            if not forms.get(name):
                raise StudyError(
                    f"{who} has no words for this",
                    key="abilities",
                    found=name,
                    allowed=[n for n in forms if forms[n]],
                )
    return Abilities(**dict.fromkeys(names, True))
