"""``ostrom check`` refuses runs whose rounds do not come to their scores."""

from pathlib import Path

import pytest

from ostrom.games.game import Game
from ostrom.ground.errors import RunError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import drive
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.protocol import Outcome, Play, Round
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.studies.verify import check_run

STUDY = {
    "name": "planted", "game": "prisoners_dilemma", "types": {"a": "tit_for_tat", "b": "suspicious_tit_for_tat"},
    "mechanism": {"name": "repetition", "rounds": 3, "state": "before", "state_as": "words"},
}  # fmt: skip


def forgets(outcome: Outcome) -> Outcome:
    last = outcome.rounds[-1]
    alone = Round(last.number, last.actions[:1], last.payoffs[:1], (0,))
    return Outcome([*outcome.rounds[:-1], alone], outcome.scores)


def pays(outcome: Outcome) -> Outcome:
    return Outcome(outcome.rounds, (outcome.scores[0] + 1.0, *outcome.scores[1:]))


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (forgets, "match 0: mechanism repetition breaks the law of settlement: player 2: has no row in round 3"),
        (pays, "player 1: its payoffs, weighted by round, sum to .*, and its score is"),
    ],
)
def test_a_planted_mechanism_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: object, words: str
) -> None:
    honest = Repetition.play

    def broken(rules: Repetition, game: Game, streams: Streams) -> Play:
        def ask(due):  # type: ignore[no-untyped-def]
            return (yield due)

        outcome = yield from drive(honest(rules, game, streams), ask)
        return planted(outcome)  # type: ignore[operator,no-any-return]

    monkeypatch.setattr(Repetition, "play", broken)
    monkeypatch.setattr(Repetition, "array_rules", lambda *_: None)
    play(load_study(STUDY), runs=tmp_path)
    with pytest.raises(RunError, match=words):
        check_run(tmp_path / "planted", processes=1)


def test_an_honest_run_is_intact(tmp_path: Path) -> None:
    play(load_study(STUDY), runs=tmp_path)
    assert check_run(tmp_path / "planted", processes=1).entries
