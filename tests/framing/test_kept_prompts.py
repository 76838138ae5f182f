"""What is kept between prompts never shows: each reads as if it were the first of its library."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostrom.answers import Choice
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.framing.library import only_writes_down
from ostrom.framing.sandbox import Template
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.memory import MemoryView

GAME = build_game("prisoners_dilemma")
OWN = Path("src/ostrom/framing/prompts")


def asked(facts: Mapping[str, Any], rounds: int = 3, seat: int = 0, kind: str = "act") -> Decision:
    """The question of a round after some that were played."""
    played = [Round(n, (n % 2, 0), GAME.payoff((n % 2, 0))) for n in range(1, rounds + 1)]
    view = View(GAME, seat, "repetition", rounds + 1, History(played), facts)
    return Decision(seat, kind, view, act(view).form)


def text(library: Library, decision: Decision, extra: Mapping[str, Any] | None = None, **shown: Any) -> tuple[str, str]:
    """The prompt of a new renderer, and of one that was used before."""
    renderer = PromptRenderer(Framing(), library, "direct")
    what = MemoryView(shown.pop("rounds", decision.view.history), **shown)
    first = renderer.prompt(decision, what, None, extra or {})
    renderer.prompt(asked(decision.view.facts, 1), MemoryView(asked({}, 1).view.history), None, extra or {})
    renderer.prompt(decision, what, None, extra or {})
    return first.text, renderer.prompt(decision, what, None, extra or {}).text


def library(folder: Path, **files: str) -> Library:
    """The package's prompts with some files replaced."""
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return Library(folder)


@pytest.mark.parametrize("rounds", [0, 1, 2, 7])
@pytest.mark.parametrize("seat", [0, 1])
def test_every_prompt_reads_as_if_it_were_the_first(rounds: int, seat: int) -> None:
    shared = Library()
    for _ in range(3):
        for facts in ({"repeated": True}, {"repeated": True, "rounds": 9}, {"repeated": True, "rounds": 8}):
            decision = asked(facts, rounds, seat)
            alone = text(Library(), decision)[0]
            assert text(shared, decision) == (alone, alone)


def test_a_prompt_is_the_same_whatever_was_asked_before() -> None:
    library, extra, decision = Library(), {"mood": "rain"}, asked({"repeated": True})
    view, shown = decision.view, MemoryView(decision.view.history)
    situations: list[tuple[Decision, MemoryView, Mapping[str, Any]]] = [
        (decision, shown, extra),
        (replace(decision, view=replace(view, round=9)), shown, extra),
        (replace(decision, view=replace(view, facts={"repeated": True, "rounds": 9})), shown, extra),
        (replace(decision, view=replace(view, game=build_game("stag_hunt"))), shown, extra),
        (replace(decision, view=replace(view, seat=1)), shown, extra),
        (replace(decision, view=replace(view, names=("Ann", "Bob"))), shown, extra),
        (replace(decision, form=Choice(("cooperate",))), shown, extra),
        (decision, replace(shown, note="They cheat."), extra),
        (decision, replace(shown, before=2), extra),
        (decision, shown, {"kind_of_day": "sun"}),
    ]
    alone = [PromptRenderer(Framing(), library, "direct").prompt(d, s, None, e) for d, s, e in situations]
    assert len({prompt.text for prompt in alone}) >= len(situations) - 1  # what is added is not told
    for before, (nth, after) in product(situations, enumerate(situations)):
        used = PromptRenderer(Framing(), library, "direct")
        for question, past, more in (before, before, after):
            prompt = used.prompt(question, past, None, more)
        assert prompt == alone[nth]


def test_labels_that_were_drawn_for_a_match_stay_in_it() -> None:
    shared, framing = Library(), Framing(counterbalance=True)
    said = set()
    for seed in range(8):
        alone, again = (
            PromptRenderer(framing, of, "direct", draw_labels=np.random.default_rng(seed))
            .prompt(asked({"repeated": True}), MemoryView(()), None, {})
            .labels
            for of in (Library(), shared)
        )
        assert alone == again
        said.add(tuple(alone.items()))
    assert len(said) == 2


def test_a_page_that_is_kept_does_not_hold_the_rounds_of_its_match() -> None:
    shared = Library()
    text(shared, asked({"repeated": True}, 50))
    pages = [page for _, page in shared._memo.values() if hasattr(page, "decision")]
    assert pages and not any(len(page.decision.view.history) for page in pages)


def test_pages_with_long_facts_are_not_kept_and_the_others_not_without_bound() -> None:
    shared = Library()
    text(shared, asked({"repeated": True, "records": "x" * 5000}))
    assert not [page for _, page in shared._memo.values() if hasattr(page, "decision")]
    for number in range(3000):
        shared.memoize((number,), None, dict)
    assert len(shared._memo) <= 1024


def test_a_past_that_speaks_of_the_round_is_told_anew_in_each(tmp_path: Path) -> None:
    own = library(tmp_path, past="Now {{ round }}, {{ you }}: {{ rounds }}")
    renderer = PromptRenderer(Framing(), own, "direct")
    for rounds in (2, 3, 4):
        decision = asked({"repeated": True}, rounds)
        assert f"Now {rounds + 1}, " in renderer.prompt(decision, MemoryView(decision.view.history), None, {}).text


def test_a_name_that_a_file_sets_hides_a_value_of_the_study(tmp_path: Path) -> None:
    own = library(tmp_path, past="{% if gaps %}{% set mood = 'calm' %}{% endif %}{{ mood }}: {{ rounds }}")
    for mood in ("wild", "mild"):
        first, later = text(own, asked({"repeated": True}), {"mood": mood})
        assert first == later and f"{mood}: R1" in first
        assert "calm: R1" in text(own, asked({"repeated": True}), {"mood": mood}, gaps=True)[0]


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("{{ a }}", True),
        ("{% if a is none %}-{% else %}{{ a }}{% endif %}", True),
        ("{% if a %}{{ a }}{% endif %}", True),
        ("{{ b | upper }}", True),
        ("{{ a | upper }}", False),
        ("{% if a is string %}{{ a }}{% endif %}", False),
        ("{% if b %}{{ a ~ b }}{% endif %}", False),
        ("{% if a == b %}-{% endif %}", False),
    ],
)
def test_what_does_more_with_a_value_than_write_it_down(source: str, plain: bool) -> None:
    tree = Template(source, Library().template).tree
    assert only_writes_down(tree, frozenset({"a"})) is plain


@pytest.mark.parametrize("sign", ["\ue000rounds\ue001", "\ue000past\ue001", "\ue000nobody\ue001"])
def test_signs_that_stand_for_holes_are_plain_text_where_players_write_them(sign: str, tmp_path: Path) -> None:
    first, later = text(Library(), asked({"repeated": True}), note=f"Mind {sign}!")
    assert first == later and f"Mind {sign}!" in first
    own = library(tmp_path, turns__act="{{ facts.said }}", setup="He says {{ facts.said }}.")
    first, later = text(own, asked({"repeated": True, "said": sign}))
    assert first == later and f"He says {sign}." in first and f"\n{sign}\n" in first
    (tmp_path / "turns" / "act.txt").unlink()
    first, later = text(Library(tmp_path), asked({"repeated": True, "said": sign}))
    assert first == later and f"He says {sign}." in first


@pytest.mark.parametrize("file, hole", [("turn", "past"), ("prompt", "setup"), ("past", "rounds")])
def test_a_file_cannot_repeat_the_past_beyond_its_bound(file: str, hole: str, tmp_path: Path) -> None:
    whole = (OWN / f"{file}.txt").read_text(encoding="utf-8")
    own = library(tmp_path, **{file: f"{{% for i in range(9000) %}}{{{{ {hole} }}}}{{% endfor %}}{whole}"})
    with pytest.raises(StudyError, match="characters"):
        text(own, asked({"repeated": True}, 200))
