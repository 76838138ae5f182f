"""Thirty typical typos and wrong guesses, each answered in one line with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.in_process import Call

from ostrom.cli.commands.catalog import first_of

STUDY = (
    "{name: s, game: chicken, types: {a: random, b: grim}, seating: ordered, seeds: 2, "
    "vary: {game: [chicken, stag_hunt]}}"
)
GUESSES = [
    ("init", "ostrom new study NAME"),
    ("create study", "ostrom new study NAME"),
    ("start", "ostrom new study NAME"),
    ("play-study s.yaml", "ostrom run STUDY"),
    ("results s", "ostrom estimate RUN MEASURE"),
    ("stats", "ostrom estimate RUN MEASURE"),
    ("plot s", "ostrom report RUN"),
    ("ls", "ostrom list studies"),
    ("LS", "ostrom list studies"),
    ("status", "ostrom list runs"),
    ("s.yaml", "ostrom run s.yaml"),
    ("estimat s cooperation", "did you mean `ostrom estimate`?"),
    ("juge s", "did you mean `ostrom more judge`?"),
    ("run", "ostrom list studies"),
    ("run s.yaml --models a/b", "--model MODEL"),
    ("run s.yaml --seed 3", "--seeds NUMBER"),
    ("run s.yaml -n 3", "--seeds NUMBER"),
    ("run s.yaml --temperature 0", "--set agent.params.temperature=0"),
    ("run s.yaml --dryrun", "--dry-run"),
    ("run s.yaml --api-key x", "OPENAI_API_KEY"),
    (
        "estimate s cooperation --temperature 0",
        "no option --temperature (`ostrom estimate --help` lists them)",
    ),
    ("run memry", "did you mean memory"),
    ("run s.yml", "s.yml: there is no such file"),
    ("play chiken", "did you mean chicken"),
    ("run s.yaml --set types.a=tit_for_tatt", "did you mean tit_for_tat"),
    ("run s.yaml --set mechansim=none", "did you mean 'mechanism'?"),
    ("run s.yaml --model gpt-4o", "did you mean 'openai/gpt-4o'?"),
    ("estimate s cooperatoin", "did you mean cooperation"),
    ("estimate s cooperation --by agnt", "agent"),
    ("estimate s cooperation --contrast gme=chicken-stag_hunt", "game"),
    ("estimate t cooperation", "known runs: s"),
    ("test s cooperation", "--factor"),
    ("list game_s", "did you mean 'games'?"),
    ("report", "ostrom list runs"),
]


@pytest.mark.parametrize(("words", "said"), GUESSES)
def test_a_guess_is_answered_with_what_to_do(call: Call, words: str, said: str) -> None:
    done = call(*words.split())
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1, done.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["studies", "measures"])
def test_the_ten_that_matter_come_first(call: Call, kind: str) -> None:
    done = call("list", kind)
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == first_of(kind) and len(lines) == 10
    assert max(map(len, lines)) <= 100 and f"more: ostrom list {kind} --all" in done.err
    everything = json.loads(call("list", kind, "--json").out)
    assert len(everything) > 20 and set(first_of(kind)) < {row["name"] for row in everything}
    assert all(row["name"] in call("list", kind, "--all").out for row in everything[:3])


def test_nothing_was_played(call: Call) -> None:
    assert [path.name for path in Path("runs").iterdir()] == ["s"]
