"""Figures of tiny runs, recomputed from a replay of their rules alone: no table, no row of the engine."""

from collections import defaultdict
from collections.abc import Iterator
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData, run_data
from ostrom.ground.errors import UsageError
from ostrom.mechanisms.protocol import Round
from ostrom.studies.load import load_study
from ostrom.studies.run import Run, open_run, play
from ostrom.studies.verify import check_run

TWO = {"kind": "cooperator", "odd": "random"}
AMOUNTS = {"one": "random", "two": "random"}
GENOMES = ["Be kind.", "Win."]
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {"game": "prisoners_dilemma", "types": TWO, "mechanism": {"name": "repetition", "rounds": 4}},
    "noise": {"game": "stag_hunt", "types": TWO, "mechanism": {"name": "repetition", "rounds": 5, "noise": 0.3}},
    "chance": {"game": "chicken", "types": TWO,
               "mechanism": {"name": "repetition", "rounds": 8, "stopping": "geometric", "continuation": 0.6}},
    "discount": {"game": "prisoners_dilemma", "types": TWO,
                 "mechanism": {"name": "repetition", "rounds": 4, "discount": 0.7}},
    "negotiated": {"game": "prisoners_dilemma", "types": {"kind": "tit_for_tat", "odd": "random"},
                   "mechanism": {"name": "negotiation", "rounds": 3, "turns": 4}},
    "before": {"game": "prisoners_dilemma", "types": {"kind": "tit_for_tat", "odd": "random"},
               "mechanism": {"name": "negotiation", "rounds": 3, "turns": 2, "when": "before", "endowment": 3}},
    "mediated": {"game": "prisoners_dilemma", "types": AMOUNTS,
                 "mechanism": {"name": "mediation", "designs": [[1, 0], [0, 0]]}},
    "fined": {"game": "public_goods", "types": AMOUNTS, "mechanism": {"name": "punishment", "rounds": 3}},
    "centipede": {"game": "centipede", "types": AMOUNTS, "mechanism": {"name": "repetition", "rounds": 3}},
    "trust": {"game": "trust_amounts", "types": AMOUNTS, "mechanism": {"name": "repetition", "rounds": 4}},
    "dictator": {"game": "dictator", "types": AMOUNTS, "mechanism": {"name": "repetition", "rounds": 2}},
    "ultimatum": {"game": "ultimatum", "types": AMOUNTS, "mechanism": {"name": "repetition", "rounds": 3}},
    "commons": {"game": {"name": "common_pool", "n": 2, "capacity": 20}, "types": AMOUNTS,
                "mechanism": {"name": "repetition", "rounds": 5}},
    "commons_by_chance": {"game": {"name": "common_pool", "n": 2, "capacity": 20}, "types": AMOUNTS,
                          "mechanism": {"name": "repetition", "rounds": 9, "stopping": "geometric",
                                        "continuation": 0.8}},
    "reputation": {"game": "prisoners_dilemma", "types": TWO, "mechanism": {"name": "reputation", "rounds": 3}},
    "pairs": {"game": "prisoners_dilemma", "types": {**TWO, "bad": "defector"},
              "mechanism": {"name": "society", "meeting": "pair", "members": 5, "rounds": 4, "links": {"share": 1.0}}},
    "neighbours": {"game": "prisoners_dilemma", "types": TWO,
                   "mechanism": {"name": "society", "network": "ring:2", "members": 6, "rounds": 3}},
}  # fmt: skip
NAMES = ("payoff", "payoff_by_round", "cooperation", "cooperation_by_round", "first_defection", "coordination",
         "joint_cooperation", "efficiency", "equality", "total_gain")  # fmt: skip


def acts(run: Run, match: int) -> Iterator[tuple[int, int, int, Any, bool | None, float, tuple[int, ...]]]:
    """Number, player, seat, action, whether it cooperates, payoff and company of every place of every round."""
    unit = run.plan.unit(match)
    _, outcome, _ = run.rows.replayed(unit)
    assert outcome is not None
    game = unit.game

    def done(played: Round, seat: int) -> int | None:
        moved = {move["seat"] for move in played.facts.get("moves", ())}
        if not played.actions or not (game.has_table or seat in moved):
            return None
        return played.actions[seat]

    for played in outcome.rounds:
        company = played.players or tuple(range(len(played.payoffs)))
        for seat, player in enumerate(company):
            action = done(played, seat)
            name = None if action is None else game.actions[seat][action]
            kind = None if action is None else game.cooperates(seat, action)
            yield played.number, player, seat, name, kind, played.payoffs[seat], company


def expected(run: Run, match: int) -> dict[str, dict[Any, float]]:
    """By measure and place (player, round or nothing) the value, by hand."""
    unit = run.plan.unit(match)
    rows = sorted(acts(run, match), key=lambda row: row[:2])
    players = sorted({row[1] for row in rows})
    numbers = sorted({row[0] for row in rows})
    values: dict[str, dict[Any, float]] = defaultdict(dict)
    for player in players:
        own = [row for row in rows if row[1] == player]
        assert [row[0] for row in own] == numbers
        values["payoff"][player] = fsum(row[5] for row in own) / len(own)
        values["total_gain"][player] = fsum(row[5] for row in own)
        values["payoff_by_round"].update({(player, row[0]): row[5] for row in own})
        chosen = [row[4] for row in own if row[4] is not None]
        if chosen:
            values["cooperation"][player] = sum(chosen) / len(chosen)
            first = chosen.index(False) if False in chosen else len(chosen)
            values["first_defection"][player] = first / len(chosen)
        same = []
        for row in own:
            others = [r[3] for r in rows if r[0] == row[0] and r[1] in row[6] and r[3] is not None]
            if row[3] is not None and len(row[6]) > 1 and len(others) > 1:
                same.append(len(set(others)) == 1)
        if same:
            values["coordination"][player] = sum(same) / len(same)
    joint = []
    for number in numbers:
        for company in {row[6] for row in rows if row[0] == number and len(row[6]) > 1}:
            kinds = [r[4] for r in rows if r[0] == number and r[1] in company and r[4] is not None]
            if kinds:
                joint.append(all(kinds))
    if joint:
        values["joint_cooperation"][None] = sum(joint) / len(joint)
    paid = list(values["total_gain"].values())
    best = None if unit.mechanism.society else unit.game.best_total
    if best:
        values["efficiency"][None] = min(1.0, max(0.0, fsum(paid) / (best * len(numbers))))
    if min(paid) >= 0 and sum(paid) > 0:
        count = len(paid)
        apart = sum(abs(a - b) for a in paid for b in paid)
        values["equality"][None] = 1 - apart / (2 * count * sum(paid))
    return values


def measured(data: RunData, name: str) -> dict[tuple[int, Any], float]:
    """The values of a measure by match and place."""
    found = {}
    for row in measures.named(name).rows(data):
        place: Any = row["player"] - 1 if "player" in row else None
        if "round" in row:
            place = (place, row["round"])
        if row["value"] is not None:
            found[row["match"], place] = float(row["value"])
    return found


@pytest.mark.parametrize("name", list(STUDIES))
def test_figures_are_those_of_a_replay(tmp_path: Path, name: str) -> None:
    play(load_study({"name": name, "seeds": 2, **STUDIES[name]}), runs=tmp_path)
    check_run(tmp_path / name, processes=1)
    with open_run(tmp_path / name) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        matches = [unit.index for unit, state, _ in run.rows.played() if state == "done" and unit.kind == "match"]
        assert matches
        scores = {(row["match"], row["player"]): row["score"] for row in run.rows.matches()}
        weighted: dict[tuple[int, int], list[float]] = defaultdict(list)
        for row in run.rows.rounds():
            weighted[row["match"], row["player"]].append(row["weight"] * row["payoff"])
        for place, parts in weighted.items():
            assert fsum(parts) == pytest.approx(scores[place])
        for measure in NAMES:
            if measure == "cooperation_by_round":
                continue
            hand = {(m, place): value for m in matches for place, value in expected(run, m)[measure].items()}
            found = measured(data, measure)
            assert found.keys() == hand.keys(), measure
            for place, value in hand.items():
                assert found[place] == pytest.approx(value), (measure, place)
            if not hand:
                with pytest.raises(UsageError, match=f"{measure}: no finished match .* has a value of it: "):
                    from ostrom.analysis.estimate import require_any

                    require_any(estimate(data, measure), measures.named(measure), [data])


def test_rounds_of_several_meetings_are_not_mixed(tmp_path: Path) -> None:
    rules = {"name": "evolution", "genomes": GENOMES, "population": 4, "meetings": 3, "generations": 1,
             "under": {"name": "repetition", "rounds": 2}}  # fmt: skip
    study = {"name": "bred", "game": "prisoners_dilemma", "types": {"odd": "random"}, "mechanism": rules}
    play(load_study(study), runs=tmp_path)
    check_run(tmp_path / "bred", processes=1)
    with open_run(tmp_path / "bred") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        _, outcome, _ = run.rows.replayed(run.plan.unit(0))
        assert outcome is not None
        same = [float(len(set(played.actions)) == 1) for played in outcome.rounds]
        both = [float(played.actions == (0, 0)) for played in outcome.rounds]
        (joint,) = estimate(data, "joint_cooperation")
        rows = observations(data, measures.named("coordination")).rows
        assert joint.value == pytest.approx(sum(both) / len(both))
        assert fsum(row.value for row in rows) / len(rows) == pytest.approx(sum(same) / len(same))
        assert len(list(run.rows.rounds())) == 4 * 3 * 2
