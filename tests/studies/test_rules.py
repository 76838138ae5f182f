"""Studies with games by a rule, end to end: tables, models that must be asked again, memories, branches, kills."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.api import open_run as open_lab_run
from ostrom.games import build_game, games
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.validation import validate
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.fork import Walk
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.replies import answer

REPEATED = {"name": "repetition", "rounds": 3}


def study(game: Any, mechanism: Any = "none", **more: Any) -> StudyFile:
    return validate(StudyFile, {"name": "run", "game": game, "mechanism": mechanism, **more}, "test")


def decisions(folder: Path) -> Iterator[dict[str, Any]]:
    with open_run(folder) as run:
        yield from run.rows.decisions()


def test_a_study_of_ten_seats_with_101_amounts_has_its_columns(tmp_path: Path) -> None:
    game = {"name": "public_goods_amounts", "n": 10, "endowment": 100}
    types = {"conditional": {"strategy": "conditional_cooperator"}, "even": {"strategy": "random"}}
    assert play(study(game, REPEATED, types=types, seating="self"), runs=tmp_path).complete
    rows = list(decisions(tmp_path / "run"))
    assert len(rows) == 2 * 3 * 10
    row = rows[0]
    assert (row["stage"], row["amount"], row["action"], row["least"], row["most"]) == ("contribute", 50, "50", 0, 100)
    assert (row["theory"], row["as_theory"], row["cooperative"], row["payoff"]) == (0, False, False, 130)
    assert open_lab_run(tmp_path / "run").estimate("gini") is not None


def test_tables_hold_what_was_played_where_noise_changed_it(tmp_path: Path) -> None:
    agent = {"strategy": {"name": "constant", "action": 3}}
    rules = {"name": "repetition", "rounds": 20, "noise": 0.5, "predict": "players"}
    assert play(study({"name": "public_goods_amounts", "n": 2}, rules, agent=agent), runs=tmp_path).complete
    rows = list(decisions(tmp_path / "run"))
    acts = [row for row in rows if row["kind"] == "act"]
    slips = [row for row in acts if row["amount"] != 3]
    assert 8 < len(slips) < 32 and all(row["answer"] == "3" for row in acts)
    assert all(row["action"] == f"{row['amount']:g}" for row in acts)
    predicted = [row for row in rows if row["kind"] == "predict" and row["round"] > 1]
    last = {(row["round"], row["player"]): row["amount"] for row in acts}
    assert all(float(row["answer"]) == last[row["round"] - 1, row["target"]] for row in predicted)


def test_a_payoff_stands_at_the_last_move_of_a_player_in_a_round(tmp_path: Path) -> None:
    hard = {"strategy": {"name": "constant", "action": {"offer": 10, "reply": "reject"}}}
    fair = {"strategy": {"name": "threshold", "least": 50, "names": 40}}
    made = study({"name": "alternating_offers", "offers": 3}, REPEATED, agent=hard, seats={2: fair})
    assert play(made, runs=tmp_path).complete
    first = [r for r in decisions(tmp_path / "run") if r["round"] == 1]
    assert [(r["player"], r["stage"], r["payoff"]) for r in first] == [
        (1, "offer", None), (2, "reply", None), (2, "offer", None), (1, "reply", None),
        (1, "offer", 0), (2, "reply", 0),
    ]  # fmt: skip
    assert first[1]["as_theory"] is False  # theory accepts 10: waiting is worth 9


@pytest.mark.parametrize(
    ("answer", "reply", "amount"),
    [("explained", '{"action": 15, "rationale": "It is fair."}', 15), ("mixture", '{"0": 0, "10": 0, "20": 100}', 20)],
)
def test_amounts_with_reasons_and_by_chances(tmp_path: Path, answer: str, reply: str, amount: int) -> None:
    register("json", lambda request: reply)
    agent = {"model": "scripted/json", "style": "direct", "answer": answer}
    assert play(study("public_goods_amounts", agent=agent), runs=tmp_path).complete
    assert {r["amount"] for r in decisions(tmp_path / "run")} == {amount}


@pytest.mark.parametrize(
    ("game", "told"),
    [
        ("ultimatum", ['"action", a whole number from 0 to 100, and', '"action", one of "accept" or "reject", and']),
        ({"name": "dictator", "stake": 10, "step": 0.5}, ['"action", a number from 0 to 10 in steps of 0.5, and']),
    ],
)
def test_what_may_be_answered_with_reasons_is_told_and_the_test_server_answers_it(
    tmp_path: Path, game: Any, told: list[str]
) -> None:
    said: list[str] = []

    def reply(request: Request) -> str:
        said.append(request.messages[-1].content)
        return answer({"messages": [{"role": "user", "content": said[-1]}]})

    register("server", reply)
    agent = {"model": "scripted/server", "style": "direct", "answer": "explained"}
    assert play(study(game, agent=agent), runs=tmp_path).complete
    assert len(said) == len(told) and all(words in text for words, text in zip(told, said, strict=True))
    assert {row["rationale"] for row in decisions(tmp_path / "run")} == {"Noted."}


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ({"framing": {"labels": "JFQ"}}, "labels: 3 labels for 2 actions at the stage reply"),
        ({"framing": {"payoffs": "rows"}}, "payoffs has no meaning here"),
        ({"style": "social"}, "style social predicts who decides at the same time"),
        ({"memory": {"name": "sanitized", "mode": "ideal"}}, "cannot be made up"),
    ],
)
def test_a_framing_about_named_actions_is_refused(agent: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError, match=says):
        StudyPlan(study("ultimatum", agent={"model": "scripted/vague", **agent}))


def test_a_strategy_that_does_not_fit_a_later_stage_is_refused_before_play() -> None:
    def rule(now: Now) -> Stages:
        (gift,) = yield [Due(0, "give", Amounts(0, 9))]
        yield [Due(0, "stay", ("in", "out"))]
        return End((float(gift),))

    def build() -> FunctionGame:
        return FunctionGame("club", (Amounts(0, 9, also=("in", "out")),), rule, stages=("give", "stay"), turns=2)

    games.add("club", build)
    try:
        with pytest.raises(StudyError, match=r"options at the stage stay .* take an answer for each stage"):
            StudyPlan(study("club", types={"one": "proportional"}))
    finally:
        games.remove("club")


def test_mechanisms_and_strategies_that_do_not_fit_are_refused_before_play() -> None:
    with pytest.raises(StudyError, match="mechanism mediation: needs a table of payoffs"):
        StudyPlan(study("ultimatum", "mediation", agent={"strategy": "random"}))
    others = set(mechanisms.names()) - {
        "none",
        "repetition",
        "mediation",
        "reputation",
        "evolution",
        "negotiation",
    }  # it is under other rules
    for name in sorted(others):
        with pytest.raises(GameError, match=f"mechanism {name}: needs a table of payoffs"):
            mechanisms.build(name).fit(build_game("ultimatum"))
    with pytest.raises(GameError, match="lists every course of play"):
        Walk(mechanisms.build("repetition"), build_game("ultimatum"), 0)
    with pytest.raises(StudyError, match="not an option here"):
        StudyPlan(study("dictator", agent={"strategy": "constant:200"}))


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ([40, "in"], r"types\.one\.strategy: strategy script wants to play 'in' in game alternating_offers, "
         r"which is not an option here: at the stage offer of round 2 seat 1 names a number from 0 to 100 in steps"),
        ({"ofer": [40], "reply": ["accept"]}, "has no action for the stage 'offer'"),
        ({"reply": ["accept"]}, "has no action for the stage 'offer'"),
    ],
)  # fmt: skip
def test_a_script_that_does_not_fit_is_refused_before_play(moves: Any, says: str) -> None:
    script = {"strategy": {"name": "script", "moves": moves}}
    with pytest.raises(StudyError, match=says):
        StudyPlan(study("alternating_offers", REPEATED, types={"one": script, "two": "random"}, seating="seats"))


def test_a_script_has_moves_by_stage_that_count_rounds(tmp_path: Path) -> None:
    types = {
        "one": {"strategy": {"name": "script", "moves": {"offer": [40, 50], "reply": ["accept"]}}},
        "two": {"strategy": {"name": "script", "moves": {"reply": ["reject", "accept"], "offer": [30, 20]}}},
    }
    made = study("alternating_offers", REPEATED, types=types, seating="seats")
    assert play(made, name="staged", runs=tmp_path).complete
    with open_run("staged", tmp_path) as run:
        rows = [(r["round"], r["stage"], r["action"]) for r in run.rows.decisions()]
    assert rows == [
        (1, "offer", "40"), (1, "reply", "reject"), (1, "offer", "30"), (1, "reply", "accept"),
        (2, "offer", "50"), (2, "reply", "accept"), (3, "offer", "50"), (3, "reply", "accept"),
    ]  # fmt: skip


def test_a_branch_plays_on_from_the_stock_that_was_left(tmp_path: Path) -> None:
    types = {"tenth": {"strategy": {"name": "proportional", "share": 0.15}}}
    assert play(study("common_pool", {"name": "repetition", "rounds": 5}, types=types), runs=tmp_path).complete
    branch = open_lab_run(tmp_path / "run").branch(match=0, at=3, strategy="constant:1")
    rows = list(decisions(branch.path))
    assert [r["amount"] for r in rows if r["player"] == 1] == [15, 7, 1, 1, 1]
    assert {r["most"] for r in rows if r["round"] == 3} == {30}
