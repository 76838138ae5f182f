"""What a seat is shown is exactly what the memory's definition says."""

import inspect
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.answers import Answer
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Round
from ostrom.memory import Note, function, memories
from ostrom.memory.base import Draw, Memory, MemoryView
from ostrom.memory.catalog.edited import Edited, flipped
from ostrom.memory.recent import Forgetting, bm25
from ostrom.testing.check_memory import check_memory, check_view, draws, play_rounds, view_after

GAMES = [
    build_game({"name": "prisoners_dilemma", "preset": "memory_curse"}),
    build_game("travelers_dilemma"),
    build_game("public_goods"),
    build_game("trust_symmetric"),
]
SPECS = [
    "full",
    "window:0",
    "window:3",
    "sanitized:ideal,real=2,window=6",
    "sanitized:polar,real=3,window=8",
    "sanitized:polar,real=0,window=5",
    "forgetting:0.3,mode=drop",
    "forgetting:0.2,mode=decay",
    "forgetting:0.2,most=3",
    "forgiving:4",
    "forgiving:4,most=3",
    "forgiving:2,whose=anyone",
    "tally",
    "tally:players",
    "summary:keep=2,every=3,words=20",
    "retrieval:4",
    "retrieval:3,by=action",
    "retrieval:2,by=notes",
    "asked:3",
    "curated:2",
]


@st.composite
def pasts(draw: st.DrawFn, most: int = 30) -> tuple[Game, list[Round], int]:
    """A game, some rounds of it and a seat."""
    game = draw(st.sampled_from(GAMES))
    profile = st.tuples(*(st.integers(0, len(names) - 1) for names in game.actions))
    rounds = play_rounds(game, draw(st.lists(profile, max_size=most)))
    return game, rounds, draw(st.integers(0, game.seats - 1))


def show(spec: str, game: Game, rounds: list[Round], seat: int = 0, seed: int = 0) -> MemoryView:
    return memories.build(spec).show(view_after(game, rounds, seat), draws(seed, seat))


@settings(max_examples=40, deadline=None)
@given(pasts(), st.integers(0, 3), st.sampled_from(SPECS))
def test_every_memory_passes_the_battery(past: tuple[Game, list[Round], int], seed: int, spec: str) -> None:
    game, rounds, seat = past
    check_view(memories.build(spec), game, rounds, seat, seed)


def test_the_battery_catches_a_memory_that_looks_ahead() -> None:
    class Ahead(Memory):
        name = "ahead"

        def show(self, view, draw: Draw, notes=()) -> MemoryView:  # type: ignore[no-untyped-def]
            return MemoryView(view.history._rounds)

    game = GAMES[0]
    with pytest.raises(AssertionError, match="rounds to come"):
        check_view(Ahead(), game, play_rounds(game, [(0, 0), (0, 1)]))


def test_the_battery_catches_a_memory_that_draws_without_a_key() -> None:
    class Moody(Memory):
        name = "moody"
        calls = 0

        def show(self, view, draw: Draw, notes=()) -> MemoryView:  # type: ignore[no-untyped-def]
            Moody.calls += 1
            return MemoryView(view.history[: Moody.calls])

    game = GAMES[0]
    with pytest.raises(AssertionError, match="another past each time"):
        check_view(Moody(), game, play_rounds(game, [(0, 0), (0, 1), (1, 1)]))


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (lambda past: MemoryView([past[0], past[0]]), "out of order or twice"),
        (lambda past: MemoryView([past[1], past[0]]), "out of order or twice"),
        (lambda past: MemoryView([replace(past[0], number=0)]), "cannot be past"),
        (lambda past: MemoryView([replace(past[0], number=3)]), "cannot be past"),
        (lambda past: MemoryView([replace(past[0], payoffs=(9.0, 9.0))]), "does not pay"),
        (lambda past: MemoryView(note=str(past[0].facts)), "depends on private facts"),
        (lambda past: MemoryView([*past, replace(past[0], number=3)], before=1), "more than it forecasts"),
    ],
)
def test_the_battery_names_what_is_wrong_with_what_is_shown(
    shown: Callable[[Sequence[Round]], MemoryView], says: str
) -> None:
    class Own(Memory):
        name = "own"

        def show(self, view, draw: Draw, notes=()) -> MemoryView:  # type: ignore[no-untyped-def]
            return shown(view.history)

    game = GAMES[0]
    with pytest.raises(AssertionError, match=says):
        check_view(Own(), game, play_rounds(game, [(0, 0), (0, 1)]))


@given(pasts(), st.integers(0, 12))
def test_a_window_is_the_end_of_the_history(past: tuple[Game, list[Round], int], k: int) -> None:
    game, rounds, seat = past
    assert list(show(f"window:{k}", game, rounds, seat).rounds) == rounds[max(0, len(rounds) - k) :]


class TestForgetting:
    @settings(max_examples=30, deadline=None)
    @given(pasts(), st.sampled_from(["drop", "decay"]), st.integers(0, 5))
    def test_nothing_forgotten_comes_back(self, past: tuple[Game, list[Round], int], mode: str, seed: int) -> None:
        game, rounds, seat = past
        gone: set[int] = set()
        for length in range(len(rounds) + 1):
            shown = show(f"forgetting:0.25,mode={mode}", game, rounds[:length], seat, seed)
            there = {r.number for r in shown.rounds}
            assert not there & gone
            gone |= {r.number for r in rounds[:length]} - there

    @pytest.mark.slow
    @pytest.mark.parametrize(("mode", "age", "chance"), [("drop", 30, 0.2), ("decay", 3, 1 - 0.8**3)])
    def test_a_round_goes_with_the_stated_chance(self, mode: Literal["drop", "decay"], age: int, chance: float) -> None:
        game = GAMES[0]
        rounds = play_rounds(game, [(0, 0)] * age)
        memory = Forgetting(0.2, mode)
        trials = 2000
        gone = sum(
            all(r.number != 1 for r in memory.show(view_after(game, rounds), draws(seed)).rounds)
            for seed in range(trials)
        )
        assert abs(gone / trials - chance) < 4 * (chance * (1 - chance) / trials) ** 0.5

    def test_players_forget_each_for_themselves(self) -> None:
        game = GAMES[0]
        rounds = play_rounds(game, [(0, 0)] * 40)
        memory = memories.build("forgetting:0.5,mode=drop")
        first, second = (memory.show(view_after(game, rounds, s), draws(0, s)).rounds for s in (0, 1))
        assert list(first) != list(second)

    def test_the_ends_of_the_scale(self) -> None:
        game = GAMES[0]
        rounds = play_rounds(game, [(0, 1)] * 5)
        assert list(show("forgetting:0", game, rounds).rounds) == rounds
        assert list(show("forgetting:1", game, rounds).rounds) == []


class TestForgiving:
    @given(pasts(), st.integers(0, 12), st.sampled_from(["others", "anyone"]))
    def test_old_defections_and_nothing_else_are_let_go(
        self, past: tuple[Game, list[Round], int], m: int, whose: str
    ) -> None:
        game, rounds, seat = past
        shown = {r.number for r in show(f"forgiving:{m},whose={whose}", game, rounds, seat).rounds}
        for r in rounds:
            bad = [s for s in range(game.seats) if r.actions[s] != game.cooperative[s]]
            counts = bool(bad) if whose == "anyone" else any(s != seat for s in bad)
            old = len(rounds) + 1 - r.number > m
            assert (r.number in shown) == (not (counts and old))


class TestTally:
    @given(pasts())
    def test_combinations_add_up(self, past: tuple[Game, list[Round], int]) -> None:
        game, rounds, seat = past
        counts = show("tally", game, rounds, seat).counts
        assert counts is not None
        assert {c.actions: c.times for c in counts} == dict(Counter(r.actions for r in rounds))

    @given(pasts())
    def test_every_players_actions_add_up_to_the_rounds(self, past: tuple[Game, list[Round], int]) -> None:
        game, rounds, seat = past
        shown = show("tally:players", game, rounds, seat)
        assert shown.counts is not None and not shown.rounds
        for s in range(game.seats):
            taken = {c.actions[s]: c.times for c in shown.counts if c.actions[s] is not None}
            assert taken == dict(Counter(r.actions[s] for r in rounds))

    def test_one_own_actions_come_first_and_what_never_happened_is_not_listed(self) -> None:
        rounds = play_rounds(GAMES[0], [(0, 1), (1, 1), (0, 1)])
        for seat, told in (
            (0, [((0, None), 2), ((1, None), 1), ((None, 1), 3)]),
            (1, [((None, 1), 3), ((0, None), 2), ((1, None), 1)]),
        ):
            counts = show("tally:players", GAMES[0], rounds, seat).counts or []
            assert [(count.actions, count.times) for count in counts] == told

    def test_the_order_of_the_rounds_leaves_no_trace(self) -> None:
        game = GAMES[0]
        profiles = [(0, 1), (1, 1), (0, 0), (0, 1)]
        one, two = (show("tally", game, play_rounds(game, p)) for p in (profiles, profiles[::-1]))
        assert one == two


class TestSummary:
    @given(pasts(most=40), st.integers(0, 6), st.integers(1, 6))
    def test_notes_and_rounds_shown_cover_everything_once(
        self, past: tuple[Game, list[Round], int], keep: int, every: int
    ) -> None:
        game, rounds, seat = past
        memory = memories.build({"name": "summary", "keep": keep, "every": every})
        notes: list[Note] = []
        for length in range(len(rounds) + 1):
            view = view_after(game, rounds[:length], seat)
            due = memory.due(view, notes)
            if due is not None:
                covered = notes[-1].covers if notes else 0
                assert list(due.rounds) == rounds[covered : due.covers]
                assert due.old == (notes[-1].text if notes else None)
                notes.append(Note(f"note {due.covers}", due.covers))
            shown = memory.show(view, draws(), notes)
            assert list(shown.rounds) == rounds[notes[-1].covers if notes else 0 : length]
            assert len(shown.rounds) < keep + every
            assert len(shown.rounds) >= min(keep, length)
            assert memory.due(view, notes) is None
        assert len(notes) == memory.most_notes(len(rounds))


class TestEdited:
    @given(pasts(), st.integers(1, 5), st.data())
    def test_one_round_is_changed_and_no_other(
        self, past: tuple[Game, list[Round], int], back: int, data: st.DataObject
    ) -> None:
        game, rounds, seat = past
        plain = list(show("window:4", game, rounds, seat).rounds)
        out = list(show_edited(game, rounds, seat, {"back": back, "edit": "drop"}).rounds)
        assert out == (plain if back > len(plain) else plain[: len(plain) - back] + plain[len(plain) - back + 1 :])
        who = data.draw(st.integers(1, game.seats))
        turned = list(show_edited(game, rounds, seat, {"back": back, "edit": "flip", "seat": who}).rounds)
        expected = list(plain)
        if back <= len(plain):
            expected[-back] = flipped(game, plain[-back], who - 1)
        assert turned == expected

    def test_a_round_that_paid_by_other_rules_is_not_flipped(self) -> None:
        with pytest.raises(StudyError, match="round 1 did not pay what"):
            flipped(GAMES[0], Round(1, (0, 0), (7.0, 7.0)), 0)

    @pytest.mark.parametrize(("seat", "lacks"), [(1, None), (2, None), (3, "has seats 1 to 2")])
    def test_a_flip_is_of_a_seat_that_the_game_has(self, seat: int, lacks: str | None) -> None:
        found = memories.build({"name": "edited", "of": "full", "back": 1, "edit": "flip", "seat": seat})
        said = found.unsupported(build_game("prisoners_dilemma"))
        assert said is None if lacks is None else lacks in str(said)

    def test_a_flipped_round_has_no_expectation_and_its_memory_asks_as_the_other_does(self) -> None:
        game = GAMES[0]
        played = Round(1, (0, 0), game.payoff((0, 0)), expected=(1.0, 1.0))
        assert flipped(game, played, 0).expected is None
        inner = memories.build("asked:3")
        edited = memories.build({"name": "edited", "of": "asked:3", "back": 1})
        assert (edited.asks, edited.note_form) == (inner.asks, inner.note_form) != (Memory.asks, Memory.note_form)


def test_a_note_of_rounds_lists_them_in_their_order() -> None:
    said = Answer({"rounds": [5, 2]}, facts={"covers": 6})
    assert Note.from_answer(said) == Note("", 6, (2, 5))
    assert Note.from_answer(Answer("All well.", facts={"covers": 3})) == Note("All well.", 3)


def show_edited(game: Game, rounds: list[Round], seat: int, edit: dict[str, object]) -> MemoryView:
    memory = memories.build({"name": "edited", "of": "window:4", **edit})
    return memory.show(view_after(game, rounds, seat), draws())


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("window:-1", "k must be a whole number of at least 0"),
        ("sanitized:nice", "mode must be ideal or polar"),
        ("sanitized:ideal,real=81", "real must be at most 80"),
        ("forgetting:1.5", "rate must be a number from 0 to 1"),
        ("forgetting:0.1,mode=sometimes", "mode must be drop or decay"),
        ("forgiving:m=x", "m must be a whole number"),
        ("tally:rounds", "of must be combinations or players"),
        ("summary:every=0", "every must be a whole number of at least 1"),
        ("edited:window,back=1", "k"),
        ("edited:full,back=1,edit=flip", "seat belongs to edit=flip"),
    ],
)
def test_wrong_parameters_are_named(spec: str, text: str) -> None:
    with pytest.raises(StudyError, match=text):
        memories.build(spec)


def test_the_check_takes_a_name_or_an_object() -> None:
    check_memory("window:3")
    check_memory({"name": "window", "k": 2})
    check_memory(memories.build("full"))


def numbers(spec: str, profiles: list[tuple[int, int]], notes: list[Note] | None = None) -> list[int]:
    game = GAMES[0]
    view = view_after(game, play_rounds(game, profiles))
    return [r.number for r in memories.build(spec).show(view, draws(), notes or ()).rounds]


CC, CD, DC, DD = (0, 0), (0, 1), (1, 0), (1, 1)
PAST = [CD, DD, CC, CD, DC, CC, CC, CD]
"""Rounds 1 to 8; the last one, CD, also happened in rounds 1 and 4, which rounds 2 and 5 followed."""


def test_retrieval_by_situation_shows_what_followed_the_like_of_the_last_round() -> None:
    assert numbers("retrieval:3", PAST) == [2, 5, 8]
    assert numbers("retrieval:2", PAST) == [5, 8], "of equally relevant rounds the newer one"
    assert numbers("retrieval:4", PAST) == [2, 5, 7, 8], "the newest rounds fill the rest"
    assert numbers("retrieval:9", PAST) == list(range(1, 9))


def test_retrieval_by_action_shows_rounds_in_which_most_players_did_the_same() -> None:
    assert numbers("retrieval:3,by=action", PAST) == [1, 4, 8]
    assert numbers("retrieval:5,by=action", PAST) == [1, 4, 6, 7, 8], "half alike before not alike at all"


def test_retrieval_by_notes_shows_rounds_whose_notes_share_words_with_the_newest() -> None:
    said = ["betrayed by them", "calm", "calm", "sea", "sea", "calm", "sea", "betrayed again"]
    notes = [Note(text, covers) for covers, text in enumerate(said, 1)]
    assert numbers("retrieval:2,by=notes", PAST, notes) == [1, 8]
    several = [Note("betrayed", 2), Note("calm", 7), Note("betrayed", 8)]
    assert numbers("retrieval:3,by=notes", PAST, several) == [1, 2, 8], "a note may cover several rounds"


def test_bm25_by_hand() -> None:
    """Three texts of 3, 3 and 2 words, mean 8/3; both words of the last one are in two of three texts."""
    rarity, norm = math.log(1.6), 1.2 * (0.25 + 0.75 * 3 / (8 / 3))
    first = 2 * rarity * 2.2 / (1 + norm)
    assert bm25(["they defected again", "all is calm", "They defected!"])[:2] == [pytest.approx(first, abs=1e-9), 0]
    assert bm25([]) == [] and bm25(["", ""]) == [0, 0]


def test_asked_shows_the_rounds_that_were_named_and_no_others() -> None:
    memory, game = memories.build("asked:2"), GAMES[0]
    view = view_after(game, play_rounds(game, PAST))
    due = memory.due(view, [Note("", 7, (1, 2))])
    assert due is not None and due.covers == 8 and not due.rounds
    assert memory.due(view, [Note("", 8, (1, 2))]) is None, "once per round"
    assert memory.due(view_after(game, play_rounds(game, PAST[:2])), []) is None
    assert numbers("asked:2", PAST, [Note("", 7, (3,)), Note("", 8, (1, 6))]) == [1, 6]
    assert numbers("asked:2", PAST, [Note("", 8, ())]) == []


def test_curated_keeps_what_was_chosen_and_never_brings_back_the_rest() -> None:
    memory, game = memories.build("curated:2"), GAMES[0]
    three, notes = view_after(game, play_rounds(game, PAST[:3])), [Note("", 3, (1, 3))]
    due = memory.due(three, [])
    assert due is not None and [r.number for r in due.rounds] == [1, 2, 3]
    assert memory.due(three, notes) is None
    due = memory.due(view_after(game, play_rounds(game, PAST[:4])), notes)
    assert due is not None and [r.number for r in due.rounds] == [1, 3, 4]
    assert numbers("curated:2", PAST[:3], notes) == [1, 3]
    assert numbers("curated:2", PAST[:4], [*notes, Note("", 4, (4,))]) == [4]


@pytest.mark.parametrize(
    ("spec", "rounds", "lines", "notes"),
    [
        ("full", 9, 9, 0), ("window:3", 9, 3, 0), ("window:3", 2, 2, 0), ("window:0", 2, 0, 0),
        ("forgetting:0.2", 9, 9, 0), ("forgetting:0.2,most=3", 9, 3, 0), ("forgiving:2,most=3", 2, 2, 0),
        ("asked:3", 9, 3, 6), ("asked:3", 2, 2, 0), ("curated:3", 4, 3, 1), ("curated:3", 2, 2, 0),
        ("retrieval:3", 9, 3, 0), ("retrieval:3,by=notes", 9, 3, 9), ("retrieval:3", 2, 2, 0),
        ("summary:keep=2,every=3,words=20", 30, 9, 9), ("summary:keep=2,every=3,words=20", 5, 5, 1),
        ("summary:keep=2,every=3,words=20", 4, 4, 0), ("summary:keep=2,every=3,words=20", 1, 1, 0),
    ],
)  # fmt: skip
def test_how_much_a_memory_shows_and_asks_at_most(spec: str, rounds: int, lines: int, notes: int) -> None:
    memory = memories.build(spec)
    assert (memory.most_lines(rounds), memory.most_notes(rounds)) == (lines, notes)


@pytest.mark.parametrize(
    ("rounds", "notes", "covers", "shown"),
    [
        (4, [], None, []),
        (5, [], 3, [1, 2, 3]),
        (7, [Note("old", 3)], None, []),
        (8, [Note("older", 1), Note("old", 3)], 6, [4, 5, 6]),
    ],
)
def test_a_summary_is_due_when_enough_rounds_have_grown_old(
    rounds: int, notes: list[Note], covers: int | None, shown: list[int]
) -> None:
    game = GAMES[0]
    view = view_after(game, play_rounds(game, [(0, 0)] * rounds))
    memory = memories.build("summary:keep=2,every=3,words=20")
    due = memory.due(view, notes)
    assert (due.covers if due else None, [r.number for r in due.rounds] if due else []) == (covers, shown)
    assert due is None or due.old == (notes[-1].text if notes else None)
    kept = memory.show(view, draws(), notes)
    assert kept.note == (notes[-1].text if notes else None)
    assert [r.number for r in kept.rounds] == list(range(notes[-1].covers + 1 if notes else 1, rounds + 1))


@pytest.mark.parametrize(
    ("spec", "seat", "shown"),
    [
        ("forgiving:0", 0, [1, 4]),
        ("forgiving:1", 0, [1, 4, 5]),
        ("forgiving:3", 0, [1, 3, 4, 5]),
        ("forgiving:0", 1, [1, 2, 4]),
        ("forgiving:0,whose=anyone", 0, [1, 4]),
        ("forgiving:0,whose=anyone", 1, [1, 4]),
        ("forgiving:3,most=2", 0, [4, 5]),
    ],
)
def test_old_defections_are_forgiven(spec: str, seat: int, shown: list[int]) -> None:
    game = GAMES[0]
    past = play_rounds(game, [(0, 0), (0, 1), (1, 1), (0, 0), (1, 1)])
    assert [r.number for r in show(spec, game, past, seat).rounds] == shown


@pytest.mark.parametrize("part", [3, None, lambda: (), "text"])
def test_code_that_is_no_function_of_the_rounds_is_refused(part: Any) -> None:
    with pytest.raises(StudyError, match=r"^memory m: must be a function of the rounds, or a Memory$"):
        function.from_code("m", part)


def test_code_becomes_a_memory_with_parameters_of_its_own() -> None:
    def lately(rounds: Any, rng: Any, last: int = 1) -> Any:
        """The last rounds."""
        return rounds[-last:]

    made = function.from_code("m", lately)
    assert list(inspect.signature(made).parameters) == ["last"] and made.__doc__ == "The last rounds."
    full = memories.build("full")
    assert function.from_code("m", full)() is full and function.from_code("m", type(full)) is type(full)
    gone = function.absent("m")(any=1)
    assert isinstance(gone, function.AbsentMemory)
    with pytest.raises(StudyError, match=r"^memory m: its Python code is not here, which playing on needs$"):
        gone.show(view_after(GAMES[0], []), draws())


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True), ({"edit": "drop"}, True), ({"edit": "flip", "seat": 1}, True), ({"edit": "flip"}, False),
        ({"edit": "drop", "seat": 1}, False), ({"seat": 1}, False),
    ],
)  # fmt: skip
def test_only_a_flipped_round_has_a_seat(given: dict[str, Any], fits: bool) -> None:
    if fits:
        assert Edited(of="full", back=1, **given).seat == given.get("seat")
    else:
        with pytest.raises(ValueError, match=r"^seat belongs to edit=flip and to nothing else$"):
            Edited(of="full", back=1, **given)
