"""Recorded matches of hand-coded strategies are replayed move for move.

The record is that of Akata et al. (2025): ten or twenty rounds of a Prisoner's Dilemma, J for cooperation.
Two of its strategies act on moves from before the match; these rounds are listed here one by one.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.agents.strategies.replay import Mismatch, replay

from ostrom.agents.strategies import strategies
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.testing.check_strategy import PRISONERS_DILEMMA, THREE_PLAYERS

PD = TensorGame(
    "prisoners_dilemma", (("J", "F"),) * 2, np.array([[[8, 8], [0, 10]], [[10, 0], [5, 5]]]), (0, 0)
)
BOS = TensorGame("battle_of_the_sexes", (("J", "F"),) * 2, np.array([[[10, 7], [0, 0]], [[0, 0], [7, 10]]]))
DATA = Path(os.environ.get("OSTROM_DATA", Path(__file__).parents[4] / "shared" / "data")) / "repeated-games"

SCRIPTED = {
    "act_j": "constant:J",
    "act_f": "constant:F",
    "act_defect_once": "defect_once",
    "act_jf": "alternator",
    "act_fj": "alternator",
    "act_tft": "tit_for_tat",
    "act_tftt": "tit_for_two_tats",
    "act_stft": "suspicious_tit_for_tat",
    "act_rtft": "reverse_tit_for_tat",
    "act_htft": "hard_tit_for_tat",
    "act_np10": "naive_prober:0.1",
    "act_np20": "naive_prober:0.2",
}

# Lines of pd_base_gpt4_tfts.csv (the header is line 1) where a strategy acts on state from before the match,
# by seat. Hard tit for tat opens every match as if the other had defected in the last round but one before
# it: it defects in round 1, and in round 2 even where the other has cooperated.
LEAKED_HARD = {
    2: [102, 103, 262, 263, 422, 423, 582, 742, 902, 1062, 1063, 1222, 1223],
    1: [802, 803, 822, 823, 842, 843, 862, 882, 902, 922, 923, 942, 943],
}
# Tit for two tats answers the first defection of one match as if the other had defected just before it.
LEAKED_TWO_TATS = {2: [843]}
PHANTOM = {"act_htft": [("J", "F"), ("J", "J")], "act_tftt": [("J", "F")]}


@dataclass
class Match:
    """One recorded match: who sat where, and the lines of its moves."""

    players: tuple[str, str]
    lines: list[int] = field(default_factory=list)
    moves: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def matches(name: str) -> Iterator[Match]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no recorded data at {path} (set OSTROM_DATA)")
    current: Match | None = None
    with path.open() as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            if row["round"] == "1":
                if current is not None:
                    yield current
                current = Match((row["player1"], row["player2"]))
            assert current is not None
            current.lines.append(line)
            current.moves[0].append(row["answer1"])
            current.moves[1].append(row["answer2"])
    if current is not None:
        yield current


def deviations(name: str, game: Game, leaky: bool = False) -> tuple[int, set[tuple[str, int, int]]]:
    """How many moves of scripted players were replayed, and (player, seat, line) of those that differ."""
    replayed, found = 0, set()
    for match in matches(name):
        for seat, player in enumerate(match.players):
            if player not in SCRIPTED:
                continue
            own, other = match.moves[seat], match.moves[1 - seat]
            before = PHANTOM.get(player, []) if leaky and leaks(player, seat, match) else []
            strategy = strategies.build(SCRIPTED[player])
            for mismatch in replay(strategy, game, own, other, seat=seat, before=before):
                found.add((player, seat + 1, match.lines[mismatch.round - 1]))
            replayed += len(own)
    return replayed, found


def leaks(player: str, seat: int, match: Match) -> bool:
    listed = {"act_htft": LEAKED_HARD, "act_tftt": LEAKED_TWO_TATS}.get(player, {})
    return not set(match.lines).isdisjoint(listed.get(seat + 1, []))


def listed() -> set[tuple[str, int, int]]:
    return {
        (player, seat, line)
        for player, rows in (("act_htft", LEAKED_HARD), ("act_tftt", LEAKED_TWO_TATS))
        for seat, lines in rows.items()
        for line in lines
    }


def test_the_prisoners_dilemma_is_replayed_without_a_deviation() -> None:
    assert deviations("experiment_pd.csv", PD) == (480, set())


def test_battle_of_the_sexes_is_replayed_without_a_deviation() -> None:
    assert deviations("experiment_bos.csv", BOS) == (540, set())


def test_the_tit_for_tats_deviate_exactly_where_state_leaked() -> None:
    replayed, found = deviations("pd_base_gpt4_tfts.csv", PD)
    assert replayed == 2240
    assert found == listed()


def test_every_deviation_is_state_from_before_the_match() -> None:
    assert deviations("pd_base_gpt4_tfts.csv", PD, leaky=True)[1] == set()


def test_a_wrong_rule_does_not_fit_the_record() -> None:
    match = next(m for m in matches("pd_base_gpt4_tfts.csv") if m.players == ("act_tftt", "act_rtft"))
    assert replay(strategies.build("tit_for_tat"), PD, *match.moves)


def test_a_mismatch_says_what_was_possible() -> None:
    assert replay(strategies.build("defector"), PRISONERS_DILEMMA, ["defect", "cooperate"], [0, 1]) == [
        Mismatch(2, "cooperate", {"cooperate": 0.0, "defect": 1.0})
    ]


@pytest.mark.parametrize(
    ("before", "rounds"), [([], []), ([(0, 1)], []), ([(0, 1), ("cooperate", "defect")], [1])]
)
def test_all_that_went_before_a_match_is_remembered(before: list[tuple[int, int]], rounds: list[int]) -> None:
    patient = strategies.build("tit_for_two_tats")
    found = replay(patient, PRISONERS_DILEMMA, [0, 0], [0, 0], before=before)
    assert [one.round for one in found] == rounds


def test_moves_of_chance_are_never_impossible() -> None:
    assert replay(strategies.build("random:0.5"), PRISONERS_DILEMMA, [0, 1, 1, 0], [0, 0, 1, 1]) == []


def test_records_of_several_players_are_replayed() -> None:
    own, others = [0, 1, 0], [(0, 1), (0, 0), (0, 0)]
    assert replay(strategies.build("tit_for_tat"), THREE_PLAYERS, own, others, seat=1) == []
