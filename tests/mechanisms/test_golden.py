"""Exact transcripts of every mechanism: every prompt, every answer, the payoffs, compared word for word.

Write them anew with ``OSTROM_GOLDEN=write pytest tests/mechanisms/test_golden.py``, then read what changed.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.memory import memories
from ostrom.testing.check_mechanism import drive

FOLDER = Path(__file__).parent.parent / "golden" / "mechanisms"
LIBRARY = Library()


class Scribe:
    """Lets strategies answer and writes down what a model in their place would have been told."""

    def __init__(self, types: Sequence[str], streams: Streams, framing: Framing, said: Mapping[str, Any]) -> None:
        self.agents = [ScriptedAgent(strategies.build(spec)) for spec in types]
        self.types, self.streams, self.said = types, streams, said
        self.renderer = [PromptRenderer(framing, LIBRARY, "direct") for _ in types]
        self.lines: list[str] = []

    def __call__(self, decision: Decision, step: int) -> Answer:
        player = decision.player
        shown = memories.build("window:3").show(decision.view, lambda n, _: np.random.default_rng(n))
        prompt = self.renderer[player].prompt(decision, shown, None, {})
        answer = self.agents[player].decide(decision, lambda: self.streams.chance(step, player))
        if decision.kind in self.said:
            answer = Answer(self.said[decision.kind], "scripted")
        value = answer.value if isinstance(answer.value, str) else json.dumps(answer.value)
        who = f"step {step}, {decision.kind}, player {player + 1} ({self.types[player]})"
        self.lines += [f"==== {who}", prompt.text, f"---- answer: {value}", ""]
        return answer


def transcript(
    mechanism: str | Mapping[str, Any],
    game_spec: str,
    types: Sequence[str],
    framing: Framing | None = None,
    said: Mapping[str, Any] | None = None,
) -> str:
    """One match with seed 0, its preparations first."""
    game, rules = build_game(game_spec), mechanisms.build(mechanism)
    framing, said = framing or Framing(), said or {}
    lines: list[str] = [f"{json.dumps(mechanism)} in {game_spec}, seed 0", ""]
    facts = []
    for seat, spec in enumerate(types[: game.seats]):
        preparation = rules.preparation(game, seat)
        if preparation is not None:
            scribe = Scribe([spec], Streams(0, 100 + seat), framing, said)
            outcome = drive(preparation, game, Streams(0, 100 + seat), scribe).outcome
            facts.append(dict(outcome.facts))
            lines += [*scribe.lines, f"outcome: {json.dumps(dict(outcome.facts))}", ""]
    ready: Mechanism = rules.with_preparations(facts) if facts else rules.for_players(len(types))
    scribe = Scribe(types, Streams(0, 1), framing, said)
    outcome = drive(ready, game, Streams(0, 1), scribe).outcome
    return "\n".join([*lines, *scribe.lines, *_ending(outcome)]) + "\n"


def _ending(outcome: Outcome) -> list[str]:
    rounds = [
        f"round {r.number}: actions {list(r.actions)}, payoffs {list(r.payoffs)}"
        + (f", players {[p + 1 for p in r.players]}" if r.players else "")
        + (f", expected {list(r.expected)}" if r.expected is not None else "")
        for r in outcome.rounds
    ]
    return [*rounds, f"scores: {list(outcome.scores)}", f"facts: {json.dumps(dict(outcome.facts))}"]


def compare(name: str, text: str) -> None:
    """Hold a transcript against the one on file, or write it where that is asked for."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("OSTROM_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: write it with OSTROM_GOLDEN=write"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs: see OSTROM_GOLDEN above"


INPUTS = Path(__file__).with_name("golden_cases.yaml")
CASES: dict[str, dict[str, Any]] = yaml.safe_load(INPUTS.read_text(encoding="utf-8"))
for _case in CASES.values():
    if "framing" in _case:
        _case["framing"] = Framing(**_case["framing"])


@pytest.mark.parametrize("name", CASES)
def test_a_match_reads_word_for_word_as_before(name: str) -> None:
    compare(name, transcript(**CASES[name]))


def test_every_mechanism_has_a_transcript() -> None:
    assert {m for m in mechanisms if not any(name.startswith(m) for name in CASES)} == set()
