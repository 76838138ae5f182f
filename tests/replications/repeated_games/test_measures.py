"""Measures of repeated 2x2 games: the published figures from imported files, and cases worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ostrom.analysis.rundata import run_data
from ostrom.errors import UnknownName, UsageError
from ostrom.games import build_game
from ostrom.games.ordinal import ordinal_games
from ostrom.replications.repeated_games.endings import cooperation_to_the_end, last_round_effects
from ostrom.replications.repeated_games.families import score_ratios
from ostrom.replications.repeated_games.pairs import agent_rates, favourite_actions, pair_rates
from ostrom.replications.repeated_games.predictions import first_right_rounds
from ostrom.replications.repeated_games.published_tests import match_test, published_test
from ostrom.studies.importing import import_rounds
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

BOS = {"battle_of_the_sexes": build_game("battle_of_the_sexes")}


def table(name: str, runs: Path, which: str = "decisions") -> Any:
    with open_run(name, runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        return data.query(f"SELECT * FROM {which}")


@pytest.fixture
def released(tmp_path: Path, data_folder: Path) -> Any:
    def of(game: str) -> Any:
        file = data_folder / "repeated-games" / f"experiment_{game}.csv"
        done = import_rounds([file], f"repeated-games-{game}", name=game, runs=tmp_path)
        assert done.disagreements == ()
        return table(game, tmp_path)

    return of


class TestPublished:
    def test_the_prisoners_dilemma_by_the_published_recipe_and_per_match(self, released: Any) -> None:
        decisions = released("pd")
        theirs, ours = published_test(decisions, "act_gpt4"), match_test(decisions, "act_gpt4")
        assert (round(theirs.t.df, 2), round(theirs.t.statistic, 3), round(theirs.d.estimate, 3)) == (
            153.44, 3.916, 0.326,
        )  # fmt: skip
        assert theirs.t.unit == "round" and ours.t.unit == "match"
        assert (round(ours.t.df, 1), round(ours.t.statistic, 2), round(ours.t.p, 3)) == (33.0, 2.01, 0.053)

    def test_the_battle_of_the_sexes_by_the_published_recipe_and_per_match(self, released: Any) -> None:
        decisions = released("bos")
        theirs, ours = published_test(decisions, "act_gpt4"), match_test(decisions, "act_gpt4")
        assert (round(theirs.t.df, 2), round(theirs.t.statistic, 3), round(theirs.d.estimate, 3)) == (
            128.28, 2.83, 0.284,
        )  # fmt: skip
        assert round(theirs.bayes.bf10, 3) == 3.562
        assert (round(ours.t.df, 1), round(ours.t.statistic, 2), round(ours.t.p, 2)) == (20.9, 0.53, 0.6)
        assert ours.bayes.bf10 < 1

    def test_totals_are_those_of_the_release(self, released: Any) -> None:
        pairs = pair_rates(released("pd"))
        totals = {row["agent"]: round(row["total"], 1) for row in agent_rates(pairs).iter_rows(named=True)}
        assert (totals["act_f"], totals["act_claude"], totals["act_gpt4"]) == (80.0, 78.6, 72.3)

    def test_the_defection_heat_map_has_every_pair_and_equals_the_file(
        self, released: Any, data_folder: Path
    ) -> None:
        pairs = pair_rates(released("pd"))
        raw = pl.read_csv(data_folder / "repeated-games" / "experiment_pd.csv")
        expected = raw.group_by("player1", "player2").agg(
            (pl.col("answer1") == "F").mean().alias("defection1"), pl.col("points1").sum().alias("total1")
        )
        both = pairs.join(expected, on=["player1", "player2"], suffix="_file")
        assert both.height == 64
        assert both["defection1"].to_list() == both["defection1_file"].to_list()
        assert both["total1"].to_list() == both["total1_file"].to_list()
        grid = {(r["player1"], r["player2"]): r["defection1"] for r in pairs.iter_rows(named=True)}
        # GPT-4 never forgives the one who defects once: nine of ten rounds.
        assert grid["act_gpt4", "act_defect_once"] == 0.9 and grid["act_gpt4", "act_gpt4"] == 0.0

    def test_coordination_and_favourites_of_the_battle(self, released: Any) -> None:
        pairs = pair_rates(released("bos"), favourites=favourite_actions(BOS))
        totals = {row["agent"]: row for row in agent_rates(pairs).iter_rows(named=True)}
        assert round(totals["act_gpt4_predictfirst"]["total"], 1) == 73.2
        assert round(totals["act_gpt4"]["total"], 1) == 54.0
        assert totals["act_gpt4"]["defection"] is None
        always = pairs.filter((pl.col("player1") == "act_j") & (pl.col("player2") == "act_j"))
        assert always["coordination"].item() == 1.0
        assert (always["favourite1"].item(), always["favourite2"].item()) == (1.0, 0.0)

    def test_an_agent_that_is_not_there_is_named(self, released: Any) -> None:
        with pytest.raises(UnknownName, match="did you mean act_gpt35 or act_gpt4"):
            published_test(released("pd"), "act_gpt5")


def played(tmp_path: Path, **study: Any) -> tuple[Any, Any]:
    play(load_study({"name": "r", "mechanism": {"name": "repetition", "rounds": 4}, **study}), runs=tmp_path)
    return table("r", tmp_path), table("r", tmp_path, "matches")


class TestFamilies:
    def test_ratios_are_points_over_the_best_rank_by_family(self, tmp_path: Path) -> None:
        _, matches = played(
            tmp_path, game="ordinal_2x2", types={"a": "constant:0"}, vary={"game": {"from": "ordinal_2x2"}}
        )
        ratios = {row["family"]: row for row in score_ratios(matches).iter_rows(named=True)}
        games = ordinal_games()
        for family in {g.family for g in games}:
            expected = [(g.seat1[0] + g.seat2[0]) / 8 for g in games if g.family == family]
            assert ratios[family]["games"] == len(expected)
            assert ratios[family]["ratio"] == pytest.approx(sum(expected) / len(expected))
        assert (ratios["overall"]["games"], ratios["overall (published)"]["games"]) == (144, 136)
        assert ratios["tragic"]["games"] == 8
        whole = [(g.seat1[0] + g.seat2[0]) / 8 for g in games]
        assert ratios["overall"]["ratio"] == pytest.approx(sum(whole) / 144)

    def test_other_games_have_no_ratio(self, tmp_path: Path) -> None:
        _, matches = played(tmp_path, game="prisoners_dilemma", types={"a": "grim"})
        with pytest.raises(UsageError, match="ordinal_2x2"):
            score_ratios(matches)


class TestPredictions:
    def test_the_first_round_from_which_all_is_right(self, tmp_path: Path) -> None:
        # A script expects the last action again: right about a constant player from round 2 at the latest.
        decisions, _ = played(
            tmp_path, game="battle_of_the_sexes", types={"a": "alternator", "c": "constant:1"},
            seating="ordered", mechanism={"name": "repetition", "rounds": 4, "predict": "players"},
        )  # fmt: skip
        rows = first_right_rounds(decisions).iter_rows(named=True)
        found = {(r["agent"], r["target_agent"], r["seat"]): (r["from_round"], r["accuracy"]) for r in rows}
        # Seat 1 expects seat 2 to begin with its favourite, the match, which it then plays for ever.
        assert found["a", "c", 1] == (1, 1.0) and found["a", "c", 2] == (2, 0.75)
        assert found["c", "a", 1][0] is None and found["a", "a", 1] == (None, 0.0)

    def test_a_run_without_predictions_says_so(self, tmp_path: Path) -> None:
        decisions, _ = played(tmp_path, game="prisoners_dilemma", types={"a": "grim"})
        with pytest.raises(UsageError, match="no prediction"):
            first_right_rounds(decisions)


class TestEndings:
    def test_the_last_round_is_compared_with_those_before(self, tmp_path: Path) -> None:
        decisions, _ = played(
            tmp_path, game="prisoners_dilemma", types={"a": "alternator", "d": "defector"}, seating="seats"
        )
        effects = {row["agent"]: row for row in last_round_effects(decisions).iter_rows(named=True)}
        # C D C | D: two of three before, none in the last.
        assert effects["a"]["before"] == pytest.approx(2 / 3) and effects["a"]["last"] == 0
        assert effects["a"]["drop"] == pytest.approx(2 / 3) and effects["d"]["drop"] == 0
        curve = cooperation_to_the_end(decisions).filter(pl.col("agent") == "a")
        assert curve["to_come"].to_list() == [3, 2, 1, 0] and curve["cooperation"].to_list() == [1, 0, 1, 0]

    def test_matches_of_one_round_have_no_last_round_effect(self, tmp_path: Path) -> None:
        decisions, _ = played(tmp_path, game="prisoners_dilemma", types={"a": "grim"}, mechanism="none")
        with pytest.raises(UsageError, match="single round"):
            last_round_effects(decisions)

    def test_games_without_a_cooperative_action_have_none(self, tmp_path: Path) -> None:
        decisions, _ = played(tmp_path, game="battle_of_the_sexes", types={"a": "favourite"})
        with pytest.raises(UsageError, match="no cooperative action"):
            last_round_effects(decisions)


def test_three_players_make_no_heat_map_of_pairs(tmp_path: Path) -> None:
    decisions, _ = played(tmp_path, game="public_goods", types={"a": "cooperator"})
    with pytest.raises(UsageError, match="between two players"):
        pair_rates(decisions)


def test_a_seat_with_two_best_actions_has_no_favourite() -> None:
    assert favourite_actions({"c": build_game("battle_of_the_sexes:8,8")}) == {}
