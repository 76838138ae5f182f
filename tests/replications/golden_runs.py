"""Small runs of every built-in study with scripted players, whose tables are kept as golden files."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.agents.config import AgentConfig
from ostrom.models.base import Request
from ostrom.models.providers.scripted import ScriptedModel, register, unregister
from ostrom.people.pilot import Crowd, pilot
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import play

REASONED = (
    "They betrayed me and the risk is real; last round was bad.",
    "The future matters: trust, a long-term gain, mutual cooperation.",
    "I look at past rounds and at what we may gain together in the future.",
)


def _digest(request: Request) -> int:
    return hashlib.sha256(request.messages[-1].content.encode()).digest()[0]


def teller(request: Request) -> str:
    """Reasons where it is asked to, and defects after long or unlucky pasts."""
    text, chance = request.messages[-1].content, _digest(request)
    options = ("[J]", "[F]") if "[J]" in text else ("[A0]", "[A1]")
    action = options[(text.count("R") > 60 and chance % 4 > 0) or chance % 7 == 0]
    return f"{REASONED[chance % 3]}\n{action}" if "reasons" in text else action


def planner(request: Request) -> str:
    """An action of a scenario with its rationale, as the bound form wants it."""
    schema: Mapping[str, Any] = request.constraint.schema or {} if request.constraint else {}
    chance = _digest(request)
    options = next(p["enum"] for p in schema["properties"].values() if "enum" in p)
    said = {
        key: (options[chance % len(options)] if "enum" in of else "A strategic choice: payoffs, people, planet.")
        for key, of in schema["properties"].items()
    }
    return orjson.dumps(said).decode()


SCRIPTS: Mapping[str, Callable[[Request], str]] = {"teller": teller, "planner": planner}
TELLER = ("types={m: {model: scripted/teller}, r: 'random:0.6'}", "agent.constrain=never")
CAST = "types={tft: tit_for_tat, all_d: defector, half: 'random:0.5'}"
RUNS: Mapping[str, tuple[str, tuple[str, ...], int]] = {
    "advised": ("smoke", ("types={m: {model: scripted/teller}, follower: advised, half: 'random:0.5'}",), 2),
    "memory": ("smoke", (*TELLER, "vary.history_length.to=[0, 2, 10, 80]", "mechanism.rounds=8"), 3),
    "memory-asymmetric": ("smoke", (*TELLER, "mechanism.rounds=8"), 3),
    "memory-sanitized": ("smoke", (*TELLER, "mechanism.rounds=8"), 3),
    "mechanisms": ("small", (CAST,), 1),
    "phrasing": ("small", (), 1),
    "personas": ("small", ("types={p: {model: scripted/planner}, c: cooperator}",), 2),
    "games-2x2": ("smoke", ("types={one: constant:0, two: constant:1, alternate: alternator}",), 1),
    "pd-tournament": (
        "wide",
        (
            "types={always_j: cooperator, always_f: defector, defect_once: defect_once, alternate: alternator, "
            "grim: grim, tit_for_tat: tit_for_tat, tit_for_two_tats: tit_for_two_tats, suspicious_tit_for_tat: "
            "suspicious_tit_for_tat, naive_prober_10: 'naive_prober:0.1'}",
        ),
        1,
    ),
    "bos-tournament": (
        "wide",
        (
            "types={always_j: constant:0, always_f: constant:1, favourite: favourite, alternate: alternator, "
            "random: random}",
            "vary.prompting={set: agent.style, to: [direct, social]}",
        ),
        1,
    ),
    "prediction": (
        "wide",
        (
            "types={alternate: alternator, m: {model: scripted/teller}}",
            "vary={game: [battle_of_the_sexes, {name: prisoners_dilemma, preset: repeated_games}], "
            "predictor: {set: mechanism.predict, to: [players, observer]}}",
            "agent.constrain=never",
        ),
        1,
    ),
    "horizon": ("small", (), 3),
    "hints": ("smoke", ("types={defect_once: defect_once, m: {model: scripted/teller}}", "agent.constrain=never"), 1),
    "framing-robustness": ("small", ("types={alternate: alternator, one: constant:0}",), 2),
}


PLAYED_ELSEWHERE: Mapping[str, str] = {
    "beyond-2x2": "repeated_games/test_beyond.py",
    "commons": "commons/test_commons.py",
    "mechanisms-controls": "coopeval/test_controls.py",
    "memory-curation": "memory_curse/test_curation.py",
    "personas-mitigation": "personas/test_mitigation.py",
    "prompt-evolution": "coopeval/test_prompt_evolution.py",
    "society": "memory_curse/test_society.py",
    "pricing": "pricing/test_market.py",
    "probe": "../probe/test_adapted_play.py",
    "probe-exploited": "../probe/test_adapted_play.py",
    "probe-source": "../probe/test_adapted_play.py",
    "recognised": "recognised/test_recognised.py",
    "said-and-done": "repeated_games/test_said.py",
    "repeated-games-people": "repeated_games/test_people.py",
    "sharing": "sharing/test_sharing.py",
    "tools": "tools/test_study.py",
}
"""Studies whose players ask for rounds, name amounts, carry adapters or are people: the tests that play them."""


def play_golden(name: str, runs: Path) -> Path:
    """Play one of the runs and give its folder."""
    preset, changes, seeds = RUNS[name]
    for script, source in SCRIPTS.items():
        register(script, source)
    try:
        play(load_study(name, preset=preset, changes=changes, seeds=seeds), runs=runs)
    finally:
        for script in SCRIPTS:
            unregister(script)
    return runs / name


def keeper(request: Request) -> str:
    """Answers whatever a study asks: keeps and asks for the oldest rounds, writes short notes, else plays."""
    text = request.messages[-1].content
    if "Which ones do you want to see?" in text or "Which ones do you keep?" in text:
        return orjson.dumps({"rounds": [1, 2]}).decode()
    return "calm" if "write a note" in text else f"{REASONED[_digest(request) % 3]}\n[A{_digest(request) % 2}]"


AMOUNTS: Mapping[str, tuple[str, ...]] = {
    "commons": ("types={sparing: 'proportional:0.1', greedy: 'proportional:0.3', coin: random}", "seeds=5"),
    "pricing": ("types={low: 'proportional:0.3', high: 'proportional:0.4'}", "agent.memory=full"),
    "sharing": ("types={coin: random, best: best_response}", "seeds=5"),
}
"""Studies of amounts, which no word of ``keeper`` answers: who plays them."""


def play_any(name: str, runs: Path) -> Path:
    """Play any built-in study, as small as it can be, and give its folder."""
    if name in RUNS:
        return play_golden(name, runs)
    study = load_study(name, preset="smoke", changes=AMOUNTS.get(name, ()))
    if not study.types or study.seating == "versus":
        study = load_study(name, preset="smoke", models=["scripted/keeper"])
    if study.people is not None:
        pilot(plan_of(study), Crowd(4, AgentConfig(strategy="random")), name=name, runs=runs)
    else:
        play(study, runs=runs, open_models=lambda model, _: ScriptedModel(model, keeper))
    return runs / name
