"""The rows of a run that was played by a model, column by column, and the numbers that it shows meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.engine.entries import UnitRecord
from ostrom.engine.folder import _is_alive, check_name, differences
from ostrom.engine.match import ReplayDiffers, compare_count, compare_end
from ostrom.engine.plan import Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import _alike, _merged
from ostrom.engine.unit_rows import (
    FEW_ROWS,
    LONGEST_FACT,
    MOST_FACTS,
    _action_outcome,
    _expected,
    _last_moves,
    _round_facts,
    keeps_rows,
    said_of,
)
from ostrom.games import build_game
from ostrom.ground.errors import UsageError
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import Round
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA
from ostrom.testing.server import LoopbackServer

Small = Callable[..., StudyFile]


def test_a_tally_begins_at_nothing() -> None:
    tally = Tally()
    assert all(not getattr(tally, field.name) for field in fields(tally))


def test_rows_say_who_decided_and_how(small: Small, runs: Path) -> None:
    with LoopbackServer(lambda body: "so A0, the first") as server:
        study = small(
            agent={"style": "direct", "memory": "window:2", "framing": {"labels": ["A0", "A1"]}},
            types={"model": {"model": server.model}, "tft": "tit_for_tat"},
            mechanism={"name": "repetition", "rounds": 2},
            vary={}, seeds=1,
        )  # fmt: skip
        result = play(study, runs=runs)
        calls = server.count
    assert result.complete and result.tally.calls == calls == result.tally.decisions // 2
    with open_run(runs / "small") as run:
        matches, decisions = list(run.rows.matches()), list(run.rows.decisions())
    mixed = [row for row in matches if {row["agent"], row["opponents"]} == {"model", "tft"}]
    by_agent = {row["agent"]: row for row in mixed}
    model, script = by_agent["model"], by_agent["tft"]
    assert (model["model"], model["strategy"], model["agent_memory"], model["agent_style"]) == (
        server.model, None, "window:2", "direct",
    )  # fmt: skip
    assert (script["model"], script["strategy"], script["agent_style"]) == (None, "tit_for_tat", None)
    assert (model["state"], model["reason"], model["unit"], model["rounds_played"]) == ("done", None, "match", 2)
    assert model["cooperation"] == script["cooperation"] == 1.0 and model["complaints"] == model["policies"] == 0
    mine = [row for row in decisions if row["agent"] == "model" and row["match"] == model["match"]]
    assert [(r["step"], r["round"], r["kind"], r["action"], r["label"], r["reading"]) for r in mine] == [
        (0, 1, "act", "cooperate", "A0", "loose"), (1, 2, "act", "cooperate", "A0", "loose"),
    ]  # fmt: skip
    assert all(r["cooperative"] is True and r["invalid"] is False and r["seat"] == r["player"] for r in mine)
    assert [r["payoff"] for r in mine] == [3.0, 3.0] and model["score"] == 3.0  # a mean over rounds


@pytest.mark.parametrize("arrays", [True, False])
def test_decisions_are_counted_alike_however_scripts_are_played(small: Small, runs: Path, arrays: bool) -> None:
    tally = play(small(vary={}), runs=runs, options=PlayOptions(arrays=arrays)).tally
    assert (tally.matches, tally.done, tally.decisions) == (8, 8, 8 * 6 * 2)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ('{"a":0.3}', '{"a":0.30000000000000004}', True), ('{"a":0.3}', '{"a":0.4}', False),
        ("0.3", "0.30000000000000004", False), ('{"a":1}', '{"a":1', False), ("{", "{", True),
    ],
)  # fmt: skip
def test_objects_in_columns_are_compared_by_what_they_hold(one: str, other: str, alike: bool) -> None:
    assert _alike(one, other) == alike


def test_a_replay_that_differs_says_where() -> None:
    compare_end(3, "scores", [1.0, 2.0], [1, 2.0])
    compare_count(3, 4, 5, 5)
    for what, old, new, said in (
        ("scores", [1.0, 2.0], [1.0, 2.5], "match 3, player 2: the scores differ: journaled"),
        ("scores", [1.0], [1.0, 2.5], "match 3: the scores differ"),
        ("facts", {"a": 1}, {"a": 2}, 'match 3: the facts differ: journaled {"a":1}, rebuilt {"a":2}'),
    ):
        with pytest.raises(ReplayDiffers) as caught:
            compare_end(3, what, old, new)
        assert str(caught.value).startswith(said)
    for used in (4, 6):
        with pytest.raises(ReplayDiffers, match=f"match 3, step 4: .*journaled 5 answers, rebuilt up to here {used}"):
            compare_count(3, 4, used, 5)


@pytest.mark.parametrize(
    ("ended", "begun", "order"),
    [
        ([], [1, 2], "1o 2o"), ([2], [2], "2d"), ([2, 5], [1, 2, 3, 7], "1o 2d 3o 5d 7o"), ([1], [], "1d"),
        ([0, 1], [0, 1, 2], "0d 1d 2o"),
    ],
)  # fmt: skip
def test_units_that_ended_and_began_stand_in_one_order(ended: list[int], begun: list[int], order: str) -> None:
    found = _merged((UnitRecord(unit, "done") for unit in ended), begun)
    assert " ".join(f"{one.unit}{one.state[0]}" for one in found) == order


@pytest.mark.parametrize(
    ("answer", "act", "columns"),
    [
        (Answer("defect", "exact", {"cooperate": 0.2, "defect": 0.8}), True, {0: "defect", 4: 0.2}),
        (Answer("defect", "exact", {"cooperate": 0.2, "defect": 0.8}), False, {4: None}),
        (Answer("defect", "exact", {"cooperate": 0.2, "defect": 0.7, "delegate": 0.1}), True, {4: None}),
        (Answer("defect", "exact", None, None, {"labels": {"defect": "B"}}), True, {1: "B", 3: None}),
        (Answer("defect", "exact", None, None, {"labels": {"defect": "B"}}), False, {1: None}),
        (Answer({"a": 1}, "policy", None, "n"), True, {0: '{"a":1}', 1: None, 5: "policy", 6: 7, 7: "n"}),
        (Answer("x", "exact", None, None, {"order": ["b", "a"], "rationale": "r", "copied": True}), False,
         {2: '["b","a"]', 8: "r", 9: True, 10: None}),
        (Answer("x", "exact", None, None, {"order": [], "columns": {"k": 1}}), False,
         {2: None, 9: False, 10: '{"k":1}'}),
    ],
)  # fmt: skip
def test_an_answer_is_told_in_columns(answer: Answer, act: bool, columns: dict[int, Any]) -> None:
    said = said_of(PRISONERS_DILEMMA, 0, answer, 7, act=act)
    assert {place: said[place] for place in columns} == columns
    assert said_of(NO_COOPERATION, 0, Answer("J", "exact", {"J": 1.0, "F": 0.0}), 0, act=True)[4] is None


@pytest.mark.parametrize(
    ("seat", "player", "round_", "came"),
    [
        (1, 1, Round(1, (0, 1), (0.0, 5.0)), ("defect", False, 5.0, None)),
        (0, 4, Round(1, (0, 1), (0.0, 5.0), players=(4, 2), expected=(1.5, 2.5)), ("cooperate", True, 0.0, 1.5)),
        (1, 2, Round(1, (0, 1), (0.0, 5.0), players=(4, 2), expected=(1.5, 2.5)), ("defect", False, 5.0, 2.5)),
        (0, 0, Round(1, (), (0.0, 0.0)), (None, None, 0.0, None)),
    ],
)  # fmt: skip
def test_what_came_of_an_action_is_that_of_the_own_seat(
    seat: int, player: int, round_: Round, came: tuple[Any, ...]
) -> None:
    assert _action_outcome(PRISONERS_DILEMMA, seat, player, round_)[:4] == came


def test_a_score_is_expected_of_one_round_with_known_odds() -> None:
    known = Round(1, (0, 1), (0.0, 5.0), expected=(1.5, 2.5))
    assert _expected([known]) == {0: 1.5, 1: 2.5}
    assert _expected([known, known]) == _expected([]) == _expected([Round(1, (0, 1), (0.0, 5.0))]) == {}
    seated = Round(1, (0, 1), (0.0, 5.0), players=(4, 2), expected=(1.5, 2.5))
    assert _expected([seated]) == {4: 1.5, 2: 2.5}


@pytest.mark.parametrize(
    ("facts", "kept"),
    [
        ({"a": 1, "b": "t", "c": [1]}, '{"a":1,"b":"t"}'),
        ({"a": "t" * LONGEST_FACT, "b": "t" * (LONGEST_FACT + 1)}, '{"a":"' + "t" * LONGEST_FACT + '"}'),
        ({"n" * (LONGEST_FACT + 1): 1}, None),
        ({"a": 2**53, "b": 1 - 2**53}, '{"b":-9007199254740991}'),
        ({f"{n:02}": n for n in range(MOST_FACTS + 1)},
         "{" + ",".join(f'"{n:02}":{n}' for n in range(MOST_FACTS)) + "}"),
        ({}, None),
    ],
)  # fmt: skip
def test_facts_of_a_round_are_few_and_short(facts: dict[str, Any], kept: str | None) -> None:
    assert _round_facts(Round(1, (0, 1), (0.0, 5.0), facts=facts)) == kept
    assert _round_facts(Round(1, (), (0.0, 0.0), facts=facts)) is None
    assert _round_facts(None) is None


def test_the_last_move_of_a_round_is_that_of_the_last_player_in_the_last_step() -> None:
    asked = [(0,), (1,)]
    rows = [(1, 1, 0, 0, 0, 0), (1, 1, 1, 0, 0, 0), (2, 1, 0, 0, 0, 0), (3, 2, 1, 0, 0, 0), (3, 2, 0, 0, None, 0)]
    assert _last_moves(asked, rows) == ({(1, 0): 2, (1, 1): 1, (2, 1): 3}, {1: (2, 0), 2: (3, 1)})


@pytest.mark.parametrize(
    ("agents", "decisions", "kept"),
    [
        ([{"strategy": "grim"}], FEW_ROWS - 1, False), ([{"strategy": "grim"}], FEW_ROWS, True),
        ([{"strategy": "grim"}, {"model": "scripted/x"}], 1, True),
        ([{"model": "scripted/x"}, {"person": True}], FEW_ROWS, False),
    ],
)  # fmt: skip
def test_rows_are_kept_of_models_and_of_many_moves(agents: list[dict[str, Any]], decisions: int, kept: bool) -> None:
    players = [SimpleNamespace(config=AgentConfig(**each)) for each in agents]
    rules = mechanisms.build("repetition")
    unit: Any = SimpleNamespace(players=players, game=build_game("prisoners_dilemma"), mechanism=rules)
    assert keeps_rows(unit, decisions) == kept


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, ["study: the order b, a -> a, b"]),
        ({"a": {"c": 1}}, {"a": {"d": 2}}, ["a.c: 1 -> (absent)", "a.d: (absent) -> 2"]),
        ({"b": 1, "a": 1}, {"a": 2, "c": 3}, ["a: 1 -> 2", "b: 1 -> (absent)", "c: (absent) -> 3"]),
        ({"a": "x" * 58}, {"a": "x" * 59}, ["a: \"" + "x" * 58 + "\" -> \"" + "x" * 56 + "..."]),
    ],
)  # fmt: skip
def test_what_changed_in_a_study_is_a_line_each(old: dict[str, Any], new: dict[str, Any], lines: list[str]) -> None:
    assert differences(old, new) == lines


@pytest.mark.parametrize(
    ("name", "fits"),
    [("a", True), ("a" * 100, True), ("a" * 101, False), ("", False), (".a", False), ("a/b", False), ("A.b_c-1", True)],
)  # fmt: skip
def test_a_name_of_a_run_is_a_plain_folder_name(name: str, fits: bool) -> None:
    if fits:
        assert check_name(name) == name
    else:
        with pytest.raises(UsageError, match=r"^run name "):
            check_name(name)


def test_a_process_that_has_ended_holds_no_lock() -> None:
    """Where the system does not list locks, the number in the lock file tells who holds it."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert _is_alive(os.getpid()) and not _is_alive(ended.pid)
