"""Measures of repeated 2x2 games: the published figures from imported files, and cases worked out by hand."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import Estimate, contrast, estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.features.importing import import_rounds
from ostrom.games import build_game
from ostrom.games.ordinal import ordinal_games
from ostrom.ground.errors import UnknownName
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.repeated_games.figures import first_right_rounds, match_test, published_test
from ostrom.replications.repeated_games.moves import BOS, PD, Match, Side, always, facing, favourite_of, together
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


@pytest.fixture
def imported(tmp_path: Path, data_folder: Path) -> Any:
    @contextmanager
    def of(game: str) -> Iterator[RunData]:
        file = data_folder / "repeated-games" / f"experiment_{game}.csv"
        done = import_rounds([file], f"repeated-games-{game}", name=game, runs=tmp_path)
        assert done.disagreements == ()
        with open_run(game, tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            yield data

    return of


@pytest.fixture
def released(imported: Any) -> Any:
    def of(game: str) -> Any:
        with imported(game) as data:
            return data.query("SELECT * FROM decisions")

    return of


class TestPublished:
    @pytest.mark.parametrize(
        ("game", "theirs", "ours"),
        [("pd", (153.44, 3.916, 0.326), (33.0, 2.01, 0.053)), ("bos", (128.28, 2.83, 0.284), (20.9, 0.53, 0.6))],
    )
    def test_games_by_the_published_recipe_and_per_match(
        self, game: str, theirs: tuple[float, ...], ours: tuple[float, ...], released: Any
    ) -> None:
        decisions = released(game)
        rounds, matches = published_test(decisions, "act_gpt4"), match_test(decisions, "act_gpt4")
        assert (round(rounds.t.df, 2), round(rounds.t.statistic, 3), round(rounds.d.value, 3)) == theirs
        assert rounds.t.unit == "round" and matches.t.unit == "match"
        assert (round(matches.t.df, 1), round(matches.t.statistic, 2), round(matches.t.p, 3)) == ours
        if game == "bos":
            assert round(rounds.bayes.bf10, 3) == 3.562 and matches.bayes.bf10 < 1

    def test_coordination_and_favourites_of_the_battle(self, imported: Any) -> None:
        with imported("bos") as data:
            always = {"agent": "act_j", "opponents": "act_j"}
            assert [one.value for one in estimate(data, "coordination", where=always)] == [1.0]
            own = [one.value for one in estimate(data, "favourite", ["seat"], where=always)]
            assert own == [1.0, 0.0] and estimate(data, "defection") == []

    def test_an_agent_that_is_not_there_is_named(self, released: Any) -> None:
        with pytest.raises(UnknownName, match="did you mean act_gpt35 or act_gpt4"):
            published_test(released("pd"), "act_gpt5")


@contextmanager
def played(tmp_path: Path, **study: Any) -> Iterator[RunData]:
    play(load_study({"name": "r", "mechanism": {"name": "repetition", "rounds": 4}, **study}), runs=tmp_path)
    with open_run("r", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def values(found: list[Estimate]) -> dict[Any, float]:
    return {key[0] if len(key := tuple(one.key.values())) == 1 else key: one.value for one in found}


class TestFamilies:
    @pytest.mark.slow
    def test_ratios_are_points_over_the_best_rank_by_family(self, tmp_path: Path) -> None:
        every = {"game": {"from": "ordinal_2x2"}}
        with played(tmp_path, game="ordinal_2x2", types={"a": "constant:0"}, vary=every) as data:
            ratios = estimate(data, "score_ratio", ["family"], balance=["number"])
            (whole,) = estimate(data, "score_ratio", balance=["number"])
        games = ordinal_games()
        assert {one.key["family"] for one in ratios} == {g.family for g in games}
        for one in ratios:
            expected = [(g.seat1[0] + g.seat2[0]) / 8 for g in games if g.family == one.key["family"]]
            assert (one.n, one.unit) == (len(expected), "scenario")
            assert one.value == pytest.approx(sum(expected) / len(expected))
        assert whole.n == 144
        assert whole.value == pytest.approx(sum((g.seat1[0] + g.seat2[0]) / 8 for g in games) / 144)

    def test_self_play_counts_with_both_seats_and_games_weigh_the_same(self, tmp_path: Path) -> None:
        types = {"a": "constant:0", "b": "constant:1"}
        games = {"game": ["ordinal_2x2:67", "ordinal_2x2:12"]}
        with played(tmp_path, game="ordinal_2x2", types=types, vary=games, seating="ordered") as data:
            found = values(estimate(data, "score_ratio", ["agent"], balance=["number"]))
            both = [build_game(name) for name in games["game"]]
        # Against itself in both seats, and against b in either.
        paid = [
            (g.payoff((0, 0))[0] + g.payoff((0, 0))[1] + g.payoff((0, 1))[0] + g.payoff((1, 0))[1]) / 16 for g in both
        ]
        assert found["a"] == pytest.approx(sum(paid) / 2)

    def test_other_games_have_no_ratio(self, tmp_path: Path) -> None:
        with played(tmp_path, game="prisoners_dilemma", types={"a": "grim"}) as data:
            assert estimate(data, "score_ratio", ["family"]) == []


class TestPredictions:
    def test_the_first_round_from_which_all_is_right(self, tmp_path: Path) -> None:
        # A script expects the last action again: right about a constant player from round 2 at the latest.
        with played(
            tmp_path, game="battle_of_the_sexes", types={"a": "alternator", "c": "constant:1"},
            seating="ordered", mechanism={"name": "repetition", "rounds": 4, "predict": "players"},
        ) as data:  # fmt: skip
            rows = first_right_rounds(data)
            first = {(r["agent"], r["target_agent"], r["seat"]): r["from_round"] for r in rows}
            by = ["agent", "target_agent", "seat"]
            accuracy = values(estimate(data, "prediction_accuracy", by))
            settled = values(estimate(data, "prediction_settled", [*by, "round"]))
        # Seat 1 expects seat 2 to begin with its favourite, the match, which it then plays for ever.
        assert first["a", "c", 1] == 1 and first["a", "c", 2] == 2
        assert accuracy["a", "c", 1] == 1 and accuracy["a", "c", 2] == 0.75
        assert [settled["a", "c", 2, n] for n in (1, 2, 3, 4)] == [0, 1, 1, 1]
        # Whoever is wrong in the last round, too, gets there after the end.
        assert first["c", "a", 1] == first["a", "a", 1] == 5 and accuracy["a", "a", 1] == 0
        assert {r["ever"] for r in rows if r["from_round"] == 5} == {False}
        assert {r["ever"] for r in rows if r["from_round"] < 5} == {True}
        assert settled["a", "a", 1, 4] == 0

    def test_a_run_without_predictions_has_none(self, tmp_path: Path) -> None:
        with played(tmp_path, game="prisoners_dilemma", types={"a": "grim"}) as data:
            assert not first_right_rounds(data) and not estimate(data, "prediction_accuracy", ["round"])


class TestEndings:
    def test_the_last_round_is_compared_with_those_before(self, tmp_path: Path) -> None:
        types = {"a": "alternator", "d": "defector"}
        with played(tmp_path, game="prisoners_dilemma", types=types, seating="seats") as data:
            found = values(estimate(data, "cooperation_at_end", ["agent", "phase"]))
            drop = contrast(data, "cooperation_at_end", "phase", "before - last", ["agent"])
            way = values(estimate(data, "cooperation_to_go", ["rounds_to_go"], where={"agent": "a"}))
        # C D C | D: two of three before, none in the last.
        assert found["a", "before"] == pytest.approx(2 / 3) and found["a", "last"] == 0
        assert [one.value for one in drop] == [pytest.approx(2 / 3), 0]
        assert list(way.items()) == [(3, 1), (2, 0), (1, 1), (0, 0)]

    @pytest.mark.parametrize(
        "study",
        [
            {"game": "prisoners_dilemma", "types": {"a": "grim"}, "mechanism": "none"},
            {"game": "battle_of_the_sexes", "types": {"a": "favourite"}},
        ],
    )
    def test_one_round_or_no_cooperative_action_has_no_end(self, study: Any, tmp_path: Path) -> None:
        with played(tmp_path, **study) as data:
            assert contrast(data, "cooperation_at_end", "phase", "before - last") == []
            assert estimate(data, "cooperation_to_go", ["rounds_to_go"]) == []


def test_forgiveness_and_coordination_are_measured_against_the_right_script(tmp_path: Path) -> None:
    """A reader cooperates always: it forgives in all rounds but the first, and meets an alternating player half
    of the time; against other scripts it has no value."""
    register("kind", lambda request: re.findall(r"\[\w+\]", request.messages[-1].content.split("Valid")[-1])[0])
    kind = {"m": {"model": "scripted/kind"}}
    try:
        pd = {"game": "prisoners_dilemma:repeated_games", "types": {**kind, "o": "defect_once", "d": "defector"}}
        with played(tmp_path, **pd, seating="ordered") as data:
            (one,) = estimate(data, "forgiveness", ["agent"])
            assert (one.key["agent"], one.value, one.n) == ("m", 3.0, 2)
            assert (one.low, one.high, one.note) == (None, None, "all 2 alike")
            assert one.bound_low is not None and one.bound_low < 3 and one.bound_high == 3
        bos = {"game": "battle_of_the_sexes", "types": {**kind, "t": "alternator"}, "seating": "ordered", "name": "b"}
        play(load_study({"mechanism": {"name": "repetition", "rounds": 4}, **bos}), runs=tmp_path)
        with open_run("b", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            (one,) = estimate(data, "coordination_with_alternation", ["agent"])
            assert (one.key["agent"], one.value) == ("m", 0.5)
    finally:
        unregister("kind")


def test_a_seat_with_two_best_actions_has_no_favourite() -> None:
    assert favourite_of(build_game("battle_of_the_sexes:8,8"), 1) is None
    assert favourite_of(build_game("battle_of_the_sexes"), 1) == "opera"


def side(agent: str, *actions: str, model: str | None = None, strategy: str | None = None) -> Side:
    cooperative = tuple(action == "cooperate" for action in actions)
    return Side(agent, 1, None, strategy, model, actions, cooperative)


@pytest.mark.parametrize(
    ("actions", "alternates", "defects_once"),
    [
        ("cd", False, False), ("cdc", True, False), ("dcd", True, False), ("cdd", False, False), ("dcc", False, True),
        ("dc", False, True), ("d", False, False), ("ddc", False, False), ("ccc", False, False),
    ],
)  # fmt: skip
def test_a_script_is_known_by_its_conduct(actions: str, alternates: bool, defects_once: bool) -> None:
    played = [{"c": "cooperate", "d": "defect"}[action] for action in actions]
    script, model = side("s", *played), side("m", *played, model="some/model")
    assert (script.alternates(), script.defects_once()) == (alternates, defects_once)
    assert not model.alternates() and not model.defects_once()


def test_a_script_must_do_it_in_every_match_of_the_game() -> None:
    once, never = side("s", "defect", "cooperate"), side("s", "cooperate", "cooperate")
    sure = side("t", "defect", "cooperate", strategy="t")
    me, scripted = (
        side("m", "cooperate", "defect", model="some/model"),
        side("u", "cooperate", "cooperate", strategy="u"),
    )
    found = [
        Match(1, PD, (once, me)), Match(2, PD, (me, never)), Match(3, PD, (me, sure)), Match(4, PD, (sure, scripted)),
        Match(5, BOS, (me, sure)), Match(6, BOS, (me, once)),
    ]  # fmt: skip
    assert always(found, PD, Side.defects_once) == {"t"}
    assert [(match.number, one, other) for match, one, other in facing(found, PD, Side.defects_once)] == [(3, me, sure)]
    assert always(found, BOS, Side.defects_once) == {"t", "s"}
    assert together(me, never) == [True, False] == together(never, me)
