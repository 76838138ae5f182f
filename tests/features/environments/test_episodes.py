"""Episodes: the questions, the reading and the tables of `ostrom run`, with answers from outside."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import caller

import ostrom
from ostrom.agents.policy import SkipMatch
from ostrom.features.environments import Environment, Episode, EpisodeClosed, OutsideQuestion, environment
from ostrom.features.environments.environment import _state
from ostrom.ground.errors import InvalidAnswers, ModelError, ModelGivenUp, OstromError, RunError, UsageError
from ostrom.models.base import Reply
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.run import open_run
from ostrom.testing.replies import answer

DUEL: dict[str, Any] = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 2},
    "types": {"llm": {"model": "outside/llm"}, "tft": "tit_for_tat"},
    "seating": "versus",
    "seeds": 2,
}
WHOSE = {"agent_id", "model", "run"}
"""Columns that say who answered; the others are the same whoever does."""
WHEN = {"at", "latency", "id", "call", "key", "version"}
REFUSED = {"tools": "is not known to call tools", "repeated-games-people": "people"}
"""Built-in studies that ask for more than texts from models."""
Answered = Callable[[list[dict[str, str]]], str]


def written(messages: list[dict[str, str]]) -> str:
    return answer({"messages": messages})


def played(episode: Episode, how: Answered = written) -> Episode:
    for question in episode:
        question.answer(how(question.messages))
    return episode


def with_model(study: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """The study with another model in place of the one outside."""
    types = {
        name: {**spec, "model": model} if isinstance(spec, dict) and spec.get("model") == "outside/llm" else spec
        for name, spec in study["types"].items()
    }
    return {**study, "types": types}


def rows(run: ostrom.Run, table: str, apart: set[str] = WHOSE) -> list[dict[str, Any]]:
    frame = getattr(run, table)
    return [{key: value for key, value in row.items() if key not in apart} for row in frame.to_dicts()]


def assert_same_tables(study: Mapping[str, Any], runs: Path, how: Answered = written) -> None:
    with environment(study, name="outside", runs=runs) as env:
        for episode in env.episodes():
            played(episode, how)
    usual = ostrom.play(with_model(study, how), name="usual", runs=runs, progress=False)
    own = ostrom.open_run("outside", runs)
    assert rows(own, "matches") == rows(usual, "matches") != []
    assert rows(own, "decisions") == rows(usual, "decisions") != []
    places = ["match", "step", "player", "part"]
    calls = [
        sorted(rows(run, "calls", WHOSE | WHEN), key=lambda row: [row[place] for place in places])
        for run in (own, usual)
    ]
    assert calls[0] == calls[1] != []
    assert prompts(own) == prompts(usual)


def prompts(run: ostrom.Run) -> list[Any]:
    """What was asked in each call, as it is kept."""
    with open_run(run.path) as opened:
        calls = opened.journal.call_rows("")
        return [
            [[call[place] for place in ("match", "step", "player", "part")], opened.journal.prompt(call["id"])]
            for call in sorted(calls, key=lambda call: (call["match"], call["step"], call["player"], call["part"]))
        ]


def test_tables_are_those_of_a_run_with_the_same_answers(tmp_path: Path) -> None:
    assert_same_tables({**DUEL, "seating": "ordered", "seeds": 3}, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"agent": {"conversation": "dialogue"}},
        {"types": {"llm": {"model": "outside/llm", "memory": "asked:1"}, "tft": "tit_for_tat"}},
        {"agent": {"answer": "mixture", "style": "direct"}},
        {"agent": {"framing": {"labels": "draw", "order": "shuffled"}}},
        {"mechanism": {"name": "repetition", "rounds": 2, "talk": {"turns": 1}}},
        {"mechanism": "contracting"},
        {"mechanism": "mediation"},
        {"game": {"name": "public_goods", "n": 3}},
    ],
    ids=["dialogue", "notes", "mixture", "labels", "talk", "contracting", "mediation", "three"],
)
def test_every_kind_of_question_gives_the_tables_of_a_run(more: dict[str, Any], tmp_path: Path) -> None:
    assert_same_tables({**DUEL, "seeds": 1, **more}, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_study_is_an_environment(name: str) -> None:
    preset = "smoke" if "smoke" in presets_of(name) else None
    if name in REFUSED:
        with pytest.raises(UsageError, match=REFUSED[name]):
            environment(name, preset=preset, models=["outside/policy"])
        return
    with environment(name, preset=preset, models=["outside/policy"]) as env:
        episode = played(env.episode(env.matches[0]))
    assert episode.state == "done" and episode.scores, episode.reason
    assert set(episode.rewards) == set(episode.players) & set(episode.scores)


def test_a_question_says_who_is_asked_what(tmp_path: Path) -> None:
    with environment(DUEL) as env:
        episode = env.episode(1)
        question = next(episode)
        assert (question.match, question.player, question.agent, question.policy) == (1, 1, "llm", "llm")
        assert question.form == {"choices": ("[A0]", "[A1]")} and question.part == "try0"
        assert [message["role"] for message in question.messages] == ["user"]
        assert "A0" in question.messages[-1]["content"]
        assert (episode.players, episode.seed, episode.state) == ({1: "llm"}, 1, None)


def test_an_answer_that_cannot_be_read_is_asked_for_again() -> None:
    texts = iter(["Perhaps.", "[A0]", "[A1]"])
    parts: list[str] = []
    with environment(DUEL) as env:
        episode = env.episode(0)
        for question in episode:
            parts.append(question.part)
            if question.part == "try1":
                assert [message["role"] for message in question.messages] == ["user", "assistant", "user"]
                assert question.messages[1]["content"] == "Perhaps."
            question.answer(next(texts))
    assert parts == ["try0", "try1", "try0"] and episode.rewards == {1: 4.0}


@pytest.mark.parametrize(
    ("policy", "state", "rewards"),
    [("fail", "failed", {}), ("skip-match", "skipped", {}), ("default:cooperate", "done", {1: 3.0})],
)
def test_the_policy_of_the_study_decides_in_the_end(policy: str, state: str, rewards: dict[int, float]) -> None:
    study = {**DUEL, "invalid": {"retries": 1, "policy": policy}}
    with environment(study) as env:
        episode = played(env.episode(0), lambda _: "No idea.")
    assert (episode.state, episode.rewards) == (state, rewards)
    assert (episode.reason is None) == (state == "done")


def test_a_text_that_was_cut_and_a_refusal_are_said_in_the_reply() -> None:
    with environment({**DUEL, "invalid": {"retries": 0}}) as env:
        for finish in ("length", "filter"):
            episode = env.episode(0)
            for question in episode:
                question.answer(Reply("I choose\n[A0]", finish=finish))
            assert episode.state == "failed"
            assert str(episode.reason).startswith("refused" if finish == "filter" else "no valid answer")


def test_a_kept_run_goes_on_where_it_was_left(tmp_path: Path) -> None:
    with environment(DUEL, name="kept", runs=tmp_path) as env:
        played(env.episode(1))
        half = env.episode(0)
        next(half).answer("[A1]")
        second = next(half)
        with pytest.raises(UsageError, match="match 1 was played"):
            env.episode(1)
    with pytest.raises(UsageError, match="episode was closed"):
        second.answer("[A0]")
    with environment(DUEL, name="kept", runs=tmp_path) as env:
        (episode,) = env.episodes()
        (question,) = _answered(episode, "[A1]")
        assert question.messages == second.messages and question.step == 1
        assert episode.scores == {1: 3.0, 2: 0.5}
    run = ostrom.open_run("kept", tmp_path)
    assert run.matches["match"].to_list() == [0, 0, 1, 1] and len(run.calls) == 4


def _answered(episode: Episode, text: str) -> list[OutsideQuestion]:
    questions = []
    for question in episode:
        question.answer(text)
        questions.append(question)
    return questions


def test_a_kept_match_is_played_by_one_episode(tmp_path: Path) -> None:
    with environment(DUEL, name="kept", runs=tmp_path) as env:
        first = env.episode(0)
        with pytest.raises(UsageError, match="match 0 is being played"):
            env.episode(0)
        question = next(first)
        with pytest.raises(UsageError, match="an answer is Unicode text"):
            question.answer("\ud800")
        first.close()
        assert played(env.episode(0)).state == "done"


def test_a_failed_match_of_a_kept_run_is_asked_anew(tmp_path: Path) -> None:
    with environment({**DUEL, "invalid": {"retries": 0}}, name="kept", runs=tmp_path) as env:
        assert played(env.episode(0), lambda _: "No.").state == "failed"
        assert played(env.episode(0)).state == "done"


def test_a_design_is_asked_for_before_its_match() -> None:
    with environment(
        {**DUEL, "mechanism": "contracting", "seating": "self", "types": {"llm": {"model": "outside/llm"}}}
    ) as env:
        kinds: list[str] = []
        episode = env.episode(env.matches[0])
        for question in episode:
            kinds.append("contract" if "schema" in question.form else "choice")
            question.answer(written(question.messages))
        assert episode.state == "done" and kinds[0] == "contract" and kinds[-1] == "choice"


def test_players_who_move_together_are_asked_together() -> None:
    study = {**DUEL, "types": {"llm": {"model": "outside/llm"}}, "seating": "self"}

    async def play(env: Environment) -> tuple[Episode, list[int]]:
        episode = env.episode(0)
        order: list[int] = []
        held: list[OutsideQuestion] = []
        async for question in episode:
            held.append(question)
            if len(held) == 2:
                for one in reversed(held):
                    order.append(one.player)
                    one.answer(f"[A{one.player - 1}]")
                held = []
        return episode, order

    with environment(study) as env:
        episode, order = asyncio.run(play(env))
    assert order == [2, 1, 2, 1] and episode.rewards == {1: 0.0, 2: 5.0}


def test_other_models_of_the_study_play_along() -> None:
    asked: list[str] = []

    async def partner(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return "[A0]"

    types = {"llm": {"model": "outside/llm"}, "partner": {"model": partner}}
    with environment({**DUEL, "types": types, "seating": "seats"}) as env:
        episode = played(env.episode(0), lambda _: "[A1]")
    assert episode.players == {1: "llm"} and episode.rewards == {1: 5.0} and len(asked) == 2


def test_questions_are_answered_once_and_one_by_one() -> None:
    with environment(DUEL) as env:
        episode = env.episode(0)
        question = next(episode)
        with pytest.raises(UsageError, match="answer the question before the next"):
            next(episode)
        with pytest.raises(UsageError, match="a text or a Reply, not int"):
            question.answer(0)  # type: ignore[arg-type]
        question.answer("[A0]")
        with pytest.raises(UsageError, match="match 0, player 1: this question: was answered"):
            question.answer("[A1]")


def test_whoever_waits_hears_that_the_environment_is_closed() -> None:
    async def play() -> None:
        env = environment(DUEL)
        episode = env.episode(0)
        await anext(episode)
        waiting = asyncio.ensure_future(anext(episode))
        await asyncio.sleep(0)
        await asyncio.to_thread(env.close)
        with pytest.raises(EpisodeClosed, match="match 0"):
            await waiting
        with pytest.raises(EpisodeClosed, match="the environment is closed"):
            env.episode(0)
        episode.close()
        env.close()

    asyncio.run(play())


def test_an_episode_can_be_left() -> None:
    with environment(DUEL) as env:
        episode = env.episode(0)
        next(episode).answer("[A0]")
        episode.close()
        with pytest.raises((EpisodeClosed, UsageError)):
            for _ in range(3):
                next(episode)
        assert played(env.episode(0)).state == "done"


def test_studies_that_nobody_answers_from_outside_are_refused(tmp_path: Path) -> None:
    scripts = {**DUEL, "types": {"a": "grim", "b": "tit_for_tat"}, "seating": "ordered"}
    with pytest.raises(UsageError, match="nobody answers from outside: give models="):
        environment(scripts)
    with pytest.raises(UsageError, match="abilities"):
        environment({**DUEL, "types": {"llm": {"model": "outside/llm", "tools": ["calculator"]}, "tft": "grim"}})
    with pytest.raises(UsageError, match=r"seeds: give this to ostrom\.study"):
        environment(ostrom.study(DUEL), seeds=3)
    with environment(DUEL, name="held", runs=tmp_path), pytest.raises(RunError, match="is playing this run"):
        environment(DUEL, name="held", runs=tmp_path)


def test_run_refuses_a_policy_outside_and_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    ended = call("run", "pd-tournament", "--preset", "smoke", "--model", "outside/policy")
    assert ended.code == 2 and "answers from outside" in ended.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--host", "0.0.0.0", "--sessions", "2"), "--host 0.0.0.0: other machines can reach this address"),
        (("--set", "types=1"), "types"),
    ],
)
def test_the_server_is_for_this_machine_unless_there_is_a_password(
    options: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = caller(monkeypatch, tmp_path)
    study = ("pd-tournament", "--preset", "smoke", "--model", "outside/policy")
    ended = call("more", "openenv", *study, *options)
    assert ended.code == 2 and complaint in ended.err


def test_options_belong_to_the_study_that_is_made_of_them() -> None:
    study = ostrom.study({"name": "s", "game": "chicken", "types": {"a": "outside/policy"}})
    with pytest.raises(UsageError, match=r"seeds: give this to ostrom\.study\(\), which made the study"):
        environment(study, seeds=3)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, "done"), (SkipMatch("x"), "skipped"), (InvalidAnswers("x"), "failed"), (ModelError("x"), "failed"),
        (ModelGivenUp("x"), "failed"), (RunError("x"), None),
    ],
)  # fmt: skip
def test_an_error_that_concerns_more_than_a_match_ends_none(error: OstromError | None, state: str | None) -> None:
    assert _state(error) == state
