"""Strategy inference on runs: what scripts followed is found again, and what cannot be inferred is refused."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Machine
from ostrom.data.rundata import RunData, run_data
from ostrom.features.importing import import_rounds
from ostrom.features.inference.repeated_play import (
    DEFAULT_CANDIDATES,
    build_candidates,
    named_candidates,
    prescribed_moves,
)
from ostrom.features.inference.runs import infer_strategies
from ostrom.games import build_game
from ostrom.ground.errors import OstromError, UnknownName, UsageError
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

PD = build_game("prisoners_dilemma")


@contextmanager
def played(folder: Path, **study: Any) -> Iterator[RunData]:
    """A run of scripts on disk, opened for analysis."""
    base = {"name": "r", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 10}}
    play(StudyFile.model_validate({**base, "seating": "ordered", **study}), runs=folder)
    with open_run("r", folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def test_the_default_candidates_are_the_certain_rules_of_the_catalog_once_each() -> None:
    rule = set()
    for name in strategies.names():
        try:
            strategy = strategies.build(name)
        except OstromError:
            continue  # needs a parameter
        if name == "advised":
            continue  # answers a recommendation, not moves
        bounded = strategy.memory_depth < 100 or isinstance(strategy, Machine)
        if bounded and strategy.needs_cooperation and not strategy.stochastic and strategy.name == name:
            rule.add(name)
    assert set(DEFAULT_CANDIDATES) == rule | {"alternator"}


def test_the_page_lists_the_default_candidates_in_order() -> None:
    page = (Path(__file__).parents[3] / "docs" / "probe.md").read_text(encoding="utf-8")
    listed = page.split("Without `--strategies`:")[1].split(". These")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == DEFAULT_CANDIDATES


def test_prescriptions_are_the_odds_after_every_prefix_from_either_seat() -> None:
    rng = np.random.default_rng(4)
    for seat in (0, 1):
        moves = [(int(a), int(b)) for a, b in rng.integers(2, size=(12, 2))]
        rounds = [Round(n, m, PD.payoff(m)) for n, m in enumerate(moves, 1)]
        found = prescribed_moves(build_candidates(DEFAULT_CANDIDATES), PD, seat, rounds)
        for name in DEFAULT_CANDIDATES:
            fresh = [
                strategies.build(name).odds(View(PD, seat, "repetition", n + 1, History(rounds[:n])))[0]
                for n in range(12)
            ]
            assert found[name] == tuple(fresh), name


def test_a_run_of_tit_for_tat_has_all_weight_on_it_and_its_response_table(tmp_path: Path) -> None:
    types = {"echo": "tit_for_tat", "coin": "random:0.5", "kind": "cooperator"}
    with played(tmp_path, types=types, seeds=3) as data:
        found = infer_strategies(data, agents=["echo"], resamples=100)
    (estimate,), (table,) = found.estimates, found.responses
    assert estimate.frequencies is not None and estimate.matches == 15
    weight = estimate.frequencies["tit_for_tat"]
    assert weight.share.value == pytest.approx(1, abs=1e-6) and estimate.frequencies.error.value < 1e-9
    assert "tit_for_two_tats" not in weight.strategies
    assert max(line.bic_loss for line in estimate.left_out) > 10
    assert [row["estimate"] for row in table.table.rows()] == [1, 1, 0, 1, 0]
    assert table.table["CD"].over_rounds is not None and table.table["CD"].n_matches <= 15


def test_agents_who_keep_one_strategy_are_counted_within_the_intervals(tmp_path: Path) -> None:
    mixture = {"tit_for_tat": 6, "defector": 4, "cooperator": 2}
    types = {f"{name}_{i}": name for name, count in mixture.items() for i in range(count)}
    noisy = {"name": "repetition", "rounds": 12, "noise": 0.05}
    candidates = [*mixture, "grim", "win_stay_lose_shift"]
    with played(tmp_path, types=types, mechanism=noisy, seating="unordered") as data:
        found = infer_strategies(data, unit="player", candidates=candidates, resamples=200)
        slips = data.records("SELECT avg((answer <> action)::INTEGER) AS share FROM decisions")[0]["share"]
    (estimate,) = found.estimates
    result = estimate.frequencies
    assert result is not None and result.n_units == 12 and estimate.agent is None
    for name, count in mixture.items():
        assert result[name].share.value == pytest.approx(count / 12, abs=0.02)
        assert count / 12 in result[name].share
    # Scripts never err by themselves: the error rate is the share of moves that the mechanism changed.
    assert result.error.value == pytest.approx(slips, abs=1e-6) and slips == pytest.approx(0.05, abs=0.02)
    assert any("noise 0.05" in note for note in found.notes)
    assert len(found.responses) == 12


def mixed_rounds(shares: dict[str, float], matches: int, error: float) -> list[str]:
    """Rounds in long form: an agent "model" draws a strategy for every match against a coin."""
    rng = np.random.default_rng(7)
    drawn = rng.choice(list(shares), p=list(shares.values()), size=matches)
    lines = ["session,period,subject,seat,choice,profit"]
    game = build_game({"name": "prisoners_dilemma", "preset": "axelrod"})
    for match, name in enumerate(drawn):
        strategy, rounds = strategies.build(str(name)), list[Round]()
        for n in range(10):
            odds = strategy.odds(View(game, 0, "repetition", n + 1, History(rounds, n)))
            own = int((rng.random() >= odds[0]) != (rng.random() < error))
            moves = (own, int(rng.random() < 0.4))
            paid = game.payoff(moves)
            rounds.append(Round(n + 1, moves, paid))
            for seat, who in ((1, "model"), (2, "coin")):
                lines.append(f"s{match},{n + 1},{who},{seat},{1 - moves[seat - 1]},{paid[seat - 1]:g}")
    return lines


@pytest.mark.slow
def test_a_known_mixture_in_foreign_rounds_is_recovered_within_its_intervals(tmp_path: Path) -> None:
    shares = {"tit_for_tat": 0.5, "defector": 0.3, "grim": 0.2}
    (tmp_path / "map.yaml").write_text(
        "game: {name: prisoners_dilemma, preset: axelrod}\nmatch: {by: [session]}\nround: period\n"
        "actions: {0: defect, 1: cooperate}\n"
        "players: {player: subject, seat: seat, action: choice, payoff: profit}\n"
    )
    (tmp_path / "long.csv").write_text("\n".join(mixed_rounds(shares, 120, 0.05)))
    import_rounds([tmp_path / "long.csv"], tmp_path / "map.yaml", name="long", runs=tmp_path)
    candidates = [*shares, "cooperator", "tit_for_two_tats"]
    with open_run("long", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = infer_strategies(data, agents=["model"], candidates=candidates, resamples=200)
    result = found.estimates[0].frequencies
    assert result is not None and result.n_units == 120
    assert all(share in result[name].share for name, share in shares.items())
    assert (result["cooperator"].share.low or 0.0) < 0.02 and 0.05 in result.error
    assert sum(line.share.value for line in result.weights) == pytest.approx(1)


def test_levels_can_be_estimated_apart(tmp_path: Path) -> None:
    vary = {"length": {"set": "mechanism.rounds", "to": [4, 6]}}
    with played(tmp_path, types={"a": "grim", "b": "random:0.5"}, vary=vary, seeds=2) as data:
        found = infer_strategies(data, agents=["a"], by=["length"], resamples=100, compare=False)
    assert [dict(e.within) for e in found.estimates] == [{"length": 4}, {"length": 6}]
    # Two seeds: two matches in each seat against b, and both seats of two matches with itself.
    assert [e.frequencies.n_choices for e in found.estimates if e.frequencies] == [4 * 8, 6 * 8]


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ({"game": "public_goods", "types": {"a": "cooperator"}}, "players, not by two"),
        (
            {
                "game": {"actions": ["a", "b", "c"], "payoffs": [[[1, 0]] * 3, [[0, 1]] * 3, [[1, 1]] * 3]},
                "types": {"a": "random"},
            },
            "defines no cooperative action and has more than two actions",
        ),
        ({"mechanism": "none", "types": {"a": "cooperator"}}, "a single round was played"),
    ],
)
def test_runs_without_such_matches_are_refused_with_the_reason(
    tmp_path: Path, study: dict[str, Any], words: str
) -> None:
    with played(tmp_path, **study) as data, pytest.raises(UsageError, match=words):
        infer_strategies(data, resamples=100)


def test_games_without_a_cooperative_action_are_inferred_over_their_actions(tmp_path: Path) -> None:
    """In the Battle of the Sexes the alternator and who always plays the first action are found again."""
    study = {"game": "battle_of_the_sexes", "types": {"a": "alternator", "b": "favourite"}, "seeds": 3}
    with played(tmp_path, **study) as data:
        found = infer_strategies(data, agents=["a"], resamples=100, compare=False)
    (estimate,) = found.estimates
    assert estimate.frequencies is not None
    assert estimate.frequencies["alternator"].share.value == pytest.approx(1, abs=1e-6)
    assert any(
        "battle_of_the_sexes defines no cooperative action" in note and "C is opera, D is football" in note
        for note in found.notes
    )


def test_what_is_about_actions_is_never_pooled_over_games(tmp_path: Path) -> None:
    vary = {"game": ["prisoners_dilemma", "battle_of_the_sexes"]}
    with played(tmp_path, types={"a": "alternator"}, vary=vary, seeds=2) as data:
        found = infer_strategies(data, resamples=100, compare=False)
    assert [dict(e.within) for e in found.estimates] == [
        {"game": "prisoners_dilemma"}, {"game": "battle_of_the_sexes"},
    ]  # fmt: skip


def test_a_single_match_gives_responses_but_no_shares(tmp_path: Path) -> None:
    with played(tmp_path, types={"a": "tit_for_tat"}, seating="self") as data:
        found = infer_strategies(data, resamples=100)
        with pytest.raises(UnknownName, match="agent"):
            infer_strategies(data, agents=["b"])
    assert found.estimates[0].frequencies is None and "only 1 match" in found.estimates[0].notes[0]
    assert found.responses[0].table.rows()[1]["estimate"] == 1


def test_candidates_are_checked() -> None:
    assert named_candidates(["random:0.5,grim"]) == ("random:0.5", "grim")
    for bad, words in (("grim,grim", "twice"), ("grimm", "did you mean grim"), ("", "must be a name")):
        with pytest.raises(OstromError, match=words):
            build_candidates(named_candidates([bad]))
