"""Ours and the Axelrod library's strategies make the same moves; its players can sit in our seats."""

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.agents.strategies.axelrod import AxelrodPlayer
from ostrom.answers import Choice
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.mechanisms.protocol import Decision
from ostrom.testing.check_strategy import (
    NO_COOPERATION,
    PRISONERS_DILEMMA,
    THREE_PLAYERS,
    check_incremental,
    check_pure,
    check_refusal,
    view_of,
)

INSTALLED = importlib.util.find_spec("axelrod") is not None
needs_axelrod = pytest.mark.skipif(not INSTALLED, reason="the Axelrod library is not installed (ostrom[axelrod])")

SAME = {
    "cooperator": "Cooperator",
    "defector": "Defector",
    "alternator": "Alternator",
    "tit_for_tat": "TitForTat",
    "suspicious_tit_for_tat": "SuspiciousTitForTat",
    "tit_for_two_tats": "TitFor2Tats",
    "two_tits_for_tat": "TwoTitsForTat",
    "hard_tit_for_tat": "HardTitForTat",
    "reverse_tit_for_tat": "Bully",
    "grim": "Grudger",
    "win_stay_lose_shift": "WinStayLoseShift",
}
MEMORY_ONE = {
    "random:0.5": ("Random", {}),
    "generous_tit_for_tat": ("GTFT", {}),
    "naive_prober:0.1": ("NaiveProber", {"p": 0.1}),
    "joss": ("FirstByJoss", {}),
    "firm_but_fair": ("FirmButFair", {}),
    "zd_extortion:10,0.02": ("ZDExtortion", {}),
    "zd_extortion:3": ("ZDExtort3", {}),
    "zd_extortion:2": ("ZDExtort2", {"phi": 1 / 9}),
}


def random_match(rng: np.random.Generator, length: int = 30) -> list[tuple[int, int]]:
    own, other = (rng.random(length) < rng.random() for _ in range(2))
    return [(int(a), int(b)) for a, b in zip(own, other, strict=True)]


def against(ours: Any, theirs: Any, noise: float, rng: np.random.Generator) -> None:
    """Play both in the same seat of the same match, where the other player moves at random."""
    profiles: list[tuple[int, ...]] = []
    lean = rng.random()
    for _ in range(40):
        view = view_of(PRISONERS_DILEMMA, profiles)
        move = list(ours.odds(view))
        assert move == list(theirs.odds(view)), profiles
        slip = rng.random() < noise
        profiles.append((int(move[1] == 1.0) ^ slip, int(rng.random() < lean)))


@needs_axelrod
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(("spec", "player"), SAME.items())
def test_ours_move_like_theirs(spec: str, player: str, noise: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        against(strategies.build(spec), AxelrodPlayer(player), noise, rng)


@needs_axelrod
def test_contrite_tit_for_tat_moves_like_theirs_without_slips() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        against(strategies.build("contrite_tit_for_tat"), AxelrodPlayer("ContriteTitForTat"), 0.0, rng)


@needs_axelrod
def test_contrite_tit_for_tat_makes_up_for_its_slips_like_theirs() -> None:
    """Both agree on single failures to cooperate with a tit for tat.

    They part after two slips in a row, and after a slip in the round of an unprovoked defection: the
    library's player then falls back on tit for tat, while by the definition of standing it
    still has to make up for it.
    """
    rng = np.random.default_rng(5)
    for _ in range(20):
        ours, theirs = strategies.build("contrite_tit_for_tat"), AxelrodPlayer("ContriteTitForTat")
        tit_for_tat, profiles = strategies.build("tit_for_tat"), list[tuple[int, int]]()
        for _ in range(40):
            view, its = view_of(PRISONERS_DILEMMA, profiles), view_of(PRISONERS_DILEMMA, profiles, 1)
            move = list(ours.odds(view))
            assert move == list(theirs.odds(view)), profiles
            slipped_before = bool(profiles) and profiles[-1][0] == 1
            slips = not slipped_before and rng.random() < 0.3
            profiles.append((int(slips or move[1] == 1.0), int(tit_for_tat.odds(its)[1] == 1.0)))


@needs_axelrod
@pytest.mark.parametrize(("spec", "theirs"), MEMORY_ONE.items())
def test_our_odds_are_theirs(spec: str, theirs: tuple[str, dict[str, float]]) -> None:
    import axelrod

    name, parameters = theirs
    ours, player = strategies.build(spec), getattr(axelrod, name)(**parameters)
    player.set_match_attributes(length=-1, game=axelrod.Game(), noise=0)
    if name == "Random":
        vector = (player.p,) * 4
    elif name == "NaiveProber":
        vector = (1 - player.p, 0.0, 1 - player.p, 0.0)
    else:
        chances = player._four_vector
        pairs = [(axelrod.Action.C, axelrod.Action.C), (axelrod.Action.C, axelrod.Action.D)]
        pairs += [(axelrod.Action.D, axelrod.Action.C), (axelrod.Action.D, axelrod.Action.D)]
        vector = tuple(chances[pair] for pair in pairs)
        assert ours.odds(view_of(PRISONERS_DILEMMA, []))[0] == (player._initial == axelrod.Action.C)
    found = [ours.odds(view_of(PRISONERS_DILEMMA, [p]))[0] for p in PRISONERS_DILEMMA.profiles()]
    assert found == pytest.approx(vector)


@needs_axelrod
@pytest.mark.parametrize("player", ["TitForTat", "ContriteTitForTat", "Random", "EvolvedFSM16", "FirstByGraaskamp"])
def test_a_seated_player_answers_by_the_past_alone(player: str) -> None:
    def make() -> AxelrodPlayer:
        return AxelrodPlayer(player, seed=11)

    rng = np.random.default_rng(6)
    samples = [random_match(rng, n) for n in range(0, 16, 3)]
    for seat in (0, 1):
        check_pure(make, PRISONERS_DILEMMA, seat, samples)
        check_incremental(make, PRISONERS_DILEMMA, seat, samples)
    check_refusal(make(), THREE_PLAYERS)
    check_refusal(make(), NO_COOPERATION)


@needs_axelrod
def test_a_match_of_the_library_is_played_the_same_here() -> None:
    import axelrod

    pair = [axelrod.FirstByTidemanAndChieruzzi(), axelrod.Random(0.7)]
    recorded = axelrod.Match(pair, turns=60, seed=2).play()
    profiles = [tuple(int(a == axelrod.Action.D) for a in row) for row in recorded]
    ours = AxelrodPlayer("FirstByTidemanAndChieruzzi")
    for t, profile in enumerate(profiles):
        # This player uses the length of the match, which the library told it.
        view = replace(view_of(PRISONERS_DILEMMA, profiles[:t]), facts={"rounds": 60})
        assert ours.odds(view)[profile[0]] == 1.0


@needs_axelrod
def test_a_random_player_needs_the_seed_of_its_match() -> None:
    with pytest.raises(StudyError, match="is random: it needs a seed"):
        strategies.build("axelrod:Random").odds(view_of(PRISONERS_DILEMMA, []))
    moves = {
        seed: [AxelrodPlayer("Random", seed).odds(view_of(PRISONERS_DILEMMA, [(0, 0)] * n))[0] for n in range(20)]
        for seed in (1, 2)
    }
    assert moves[1] != moves[2]


@needs_axelrod
def test_the_agent_takes_the_seed_from_the_match() -> None:
    class DecisionContext:
        def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
            return np.random.default_rng([len(purpose), 7 if step is None else step])

        def chance(self, purpose: str = "") -> float:
            return 0.5

    decision = Decision(0, "act", view_of(PRISONERS_DILEMMA, [(0, 0)]), Choice(("cooperate", "defect")))
    agents = [ScriptedAgent(strategies.build("axelrod:Random")) for _ in range(2)]
    context: Any = DecisionContext()
    assert agents[0].reply(decision, context) == agents[1].reply(decision, context)


@needs_axelrod
def test_unknown_and_cheating_players_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean TitForTat"):
        strategies.build("axelrod:TitForTatt")
    with pytest.raises(StudyError, match="reads or changes its opponent's code"):
        strategies.build("axelrod:Darwin")


@pytest.mark.skipif(INSTALLED, reason="the Axelrod library is installed")
def test_without_the_library_the_way_to_get_it_is_told() -> None:
    with pytest.raises(StudyError, match=r"pip install 'ostrom\[axelrod\]'"):
        strategies.build("axelrod:TitForTat")
