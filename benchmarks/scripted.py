"""Scripted play: whole tournaments as arrays, one by one, and by the Axelrod library."""

from __future__ import annotations

import time
from itertools import product
from statistics import median

import numpy as np

from benchmarks.result import Result
from ostrom.agents.arrays import machines, play_arrays
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.games import build_game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import ArrayRules
from ostrom.mechanisms.catalog.repetition import Repetition

TURNS, REPETITIONS = 200, 100
CLASSIC = {
    "cooperator": "Cooperator", "defector": "Defector", "tit_for_tat": "TitForTat", "grim": "Grudger",
    "alternator": "Alternator", "win_stay_lose_shift": "WinStayLoseShift", "tit_for_two_tats": "TitFor2Tats",
    "suspicious_tit_for_tat": "SuspiciousTitForTat", "hard_tit_for_tat": "HardTitForTat",
    "two_tits_for_tat": "TwoTitsForTat",
}  # fmt: skip


def arrays(noise: float) -> float:
    """Turns per second with all matches at once."""
    game = build_game("prisoners_dilemma")
    automata = [strategies.build(name).automaton(game, 0) for name in CLASSIC]
    pairs = np.array(list(product(range(len(CLASSIC)), repeat=2))).T
    seats = np.tile(pairs, REPETITIONS)
    streams = [Streams(0, m) for m in range(seats.shape[1])] if noise else []
    begun = time.perf_counter()
    table = machines([a for a in automata if a is not None])
    moves = play_arrays(table, seats, ArrayRules(TURNS, noise), streams)
    return float(moves.played.shape[0] * moves.played.shape[2] / (time.perf_counter() - begun))


class _DecisionContext:
    """A decision context for scripts alone."""

    def __init__(self, streams: Streams) -> None:
        self.streams, self.step, self.player = streams, 0, 0

    def chance(self, purpose: str = "") -> float:
        return self.streams.chance(self.step, self.player, purpose)


def generators(turns: int = TURNS) -> float:
    """Turns per second of CPU, one match at a time, through the rules and the agents, without a journal."""
    game, rules = build_game("prisoners_dilemma"), Repetition(turns)
    played = 0
    begun = time.process_time()
    for number, names in enumerate(product(CLASSIC, repeat=2)):
        streams = Streams(0, number)
        agents = [ScriptedAgent(strategies.build(name)) for name in names]
        context = _DecisionContext(streams)
        play = rules.play(game, streams)
        due = next(play)
        try:
            while True:
                due = play.send([agents[d.player].reply(d, context) for d in due])  # type: ignore[arg-type]
                context.step += 1
        except StopIteration:
            played += turns
    return played / (time.process_time() - begun)


def axelrod_library() -> float | None:
    """Turns per second of CPU of the Axelrod library on its own versions of the same ten."""
    try:
        import axelrod
    except ImportError:
        return None
    players = [getattr(axelrod, name) for name in CLASSIC.values()]
    begun = time.process_time()
    played = 0
    for one, two in product(players, repeat=2):
        axelrod.Match((one(), two()), turns=TURNS).play()
        played += TURNS
    return played / (time.process_time() - begun)


def measure() -> list[Result]:
    """The same ten strategies, all ordered pairs."""
    group = f"scripted play, ten classic strategies, {TURNS} turns"
    plain, noisy = max(arrays(0.0) for _ in range(3)), arrays(0.05)
    turns = [(generators(), axelrod_library()) for _ in range(5)]
    single = median(own for own, _ in turns)
    theirs = None if turns[0][1] is None else median(other for _, other in turns if other is not None)

    def against(speed: float, aim: float | None) -> tuple[str, float | None, str, bool | None]:
        if theirs is None:
            return "Axelrod (not installed)", None, "" if aim is None else f">= {aim:g}", None
        ratio = speed / theirs
        return "Axelrod", ratio, "" if aim is None else f">= {aim:g}", None if aim is None else ratio >= aim

    return [
        Result(group, "Axelrod library", theirs, "turns/s", note="" if theirs else "not installed"),
        Result(group, "arrays", plain, "turns/s", *against(plain, 100)),
        Result(group, "arrays, 5 % noise", noisy, "turns/s", *against(noisy, None)),
        Result(group, "generators, one match at a time", single, "turns/s", *against(single, 1.4)),
    ]
