"""Golden transcripts: the exact words sent to a model, its replies and the payoffs, for seed 0.

One file per game and mechanism, and one per way of asking and framing. When one changes, read the difference
(``make golden`` writes them anew).
"""

import os
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.games import games
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.server import LoopbackServer

FOLDER = Path(__file__).parents[1] / "golden" / "prompts"
MECHANISMS: dict[str, dict[str, Any]] = {
    "none": {"name": "none"},
    "repetition": {"name": "repetition", "rounds": 3, "told_continuation": 0.9},
}
GAMES = [name for name in games if name not in ("ordinal_2x2", "scenario")]
CASES: dict[str, dict[str, Any]] = {
    f"{game}-{rules}": {"game": game, "mechanism": MECHANISMS[rules]} for game in GAMES for rules in MECHANISMS
}
CASES |= {
    "ordinal_2x2-repetition": {"game": "ordinal_2x2:17", "mechanism": MECHANISMS["repetition"]},
    "style-reasoned": {"agent": {"style": "reasoned"}},
    "style-social": {"agent": {"style": "social"}},
    "answer-mixture": {"agent": {"answer": "mixture"}},
    "answer-mixture-reasoned": {"agent": {"answer": "mixture", "style": "reasoned"}},
    "framing-letters-shuffled": {"agent": {"framing": {"labels": "QX", "order": "shuffled", "units": "coins"}}},
    "framing-own-names-counterbalanced": {"agent": {"framing": {"labels": "actions", "counterbalance": True}}},
    "recognise-textbook": {
        "mechanism": {"name": "repetition", "rounds": 2, "recognise": True},
        "agent": {"framing": {"story": "textbook", "labels": "actions"}},
    },
    "persona": {"agent": {"persona": "You run a small shop and hate to be cheated."}},
    "horizon-known": {"mechanism": {"name": "repetition", "rounds": 2, "told_rounds": True}},
    "horizon-unknown": {"mechanism": {"name": "repetition", "rounds": 2}},
    "memory-none": {"agent": {"memory": "window:0"}},
    "story-dictator-bonus": {"game": "dictator", "agent": {"framing": {"story": "bonus", "units": "coins"}}},
    "story-ultimatum-bonus": {
        "game": "ultimatum",
        "agent": {"framing": {"story": "bonus", "labels": ["yes", "no"], "wording": "plain"}},
    },
    "story-common_pool-lake": {
        "game": {"name": "common_pool", "n": 2, "capacity": 20},
        "agent": {"framing": {"story": "lake", "units": "dollars"}},
    },
    "style-social-amounts": {
        "game": {"name": "ultimatum", "strategy_method": True},
        "mechanism": {"name": "repetition", "rounds": 2},
        "agent": {"style": "social"},
    },
    "style-best_response-options": {"game": "centipede", "mechanism": "none", "agent": {"style": "best_response"}},
}


def transcript(case: dict[str, Any], folder: Path) -> str:
    """Play one match against the loopback server and write down all that was said."""
    agent = {"style": "direct", "memory": "window:2", **case.get("agent", {})}
    with LoopbackServer() as server:
        study = {
            "name": "golden",
            "game": case.get("game", "prisoners_dilemma"),
            "mechanism": case.get("mechanism", MECHANISMS["repetition"]),
            "agent": {**agent, "params": {"temperature": 0.0, "max_tokens": 100}},
            "types": {"model": {"model": server.model, "settings": {"abilities": []}}},
        }
        result = play(validate(StudyFile, study, "golden"), runs=folder, options=PlayOptions(max_connections=1))
        assert result.complete
    lines = []
    with open_run(folder / "golden") as run:
        for call in run.rows.calls():
            messages = run.journal.prompt(call["id"]) or []
            lines.append(f"==== step {call['step']}, player {call['player']}, {call['part']}")
            lines += [f"<{role}>\n{text}" for role, text in messages]
            lines.append(f"<reply>\n{call['reply']}\n")
        for row in run.rows.matches():
            lines.append(f"seat {row['seat']}: score {row['score']}, cooperation {row['cooperation']}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_golden_prompts(name: str, tmp_path: Path) -> None:
    found = transcript(CASES[name], tmp_path)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("OSTROM_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert path.exists(), f"no golden transcript {path.name}: make golden, then read it"
    assert found == path.read_text(encoding="utf-8"), f"{path.name} changed: read it, then make golden"


def test_every_golden_file_has_its_case() -> None:
    assert {p.stem for p in FOLDER.glob("*.txt")} == set(CASES)
