"""Sanitization: a window of constant length whose older part is made up and does not give itself away."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import History, Round
from ostrom.memory import MemoryView, memories
from ostrom.memory.catalog.sanitized import Sanitized
from ostrom.testing.check_memory import draws, play_rounds, view_after

PD = build_game({"name": "prisoners_dilemma", "preset": "memory_curse"})
TD = build_game("travelers_dilemma")
PG = build_game("public_goods")
LIBRARY = Library()


def show(memory: Sanitized, game: Game, rounds: list[Round], seat: int = 0, seed: int = 0) -> MemoryView:
    return memory.show(view_after(game, rounds, seat), draws(seed, seat))


@st.composite
def situations(draw: st.DrawFn) -> tuple[Sanitized, Game, list[Round], int]:
    game = draw(st.sampled_from([PD, TD, PG]))
    profile = st.tuples(*(st.integers(0, len(names) - 1) for names in game.actions))
    rounds = play_rounds(game, draw(st.lists(profile, max_size=25)))
    window = draw(st.integers(1, 12))
    memory = Sanitized(draw(st.sampled_from(["ideal", "polar"])), draw(st.integers(0, window - 1)), window)
    return memory, game, rounds, draw(st.integers(0, game.seats - 1))


@settings(max_examples=150, deadline=None)
@given(situations())
def test_made_up_rounds_come_first_and_real_ones_last(situation: tuple[Sanitized, Game, list[Round], int]) -> None:
    memory, game, rounds, seat = situation
    shown = show(memory, game, rounds, seat)
    real = rounds[max(0, len(rounds) - memory.real) :]
    assert len(shown.rounds) == memory.window
    tail = list(shown.rounds)[memory.window - len(real) :]
    assert tail == [replace(r, number=r.number + shown.before) for r in real]
    for r in list(shown.rounds)[: memory.window - len(real)]:
        assert r.payoffs == game.payoff(r.actions)
        for action, c, names in zip(r.actions, game.cooperative, game.actions, strict=True):
            assert action in ((c,) if memory.mode == "ideal" else (0, len(names) - 1))


@given(situations())
def test_numbers_run_without_a_seam_up_to_the_round_to_come(
    situation: tuple[Sanitized, Game, list[Round], int],
) -> None:
    memory, game, rounds, seat = situation
    shown = show(memory, game, rounds, seat)
    now = len(rounds) + 1 + shown.before
    assert [r.number for r in shown.rounds] == list(range(now - memory.window, now))
    assert shown.rounds[0].number >= 1
    assert shown.before == max(0, memory.window - len(rounds))


@pytest.mark.parametrize("done", [0, 1, 7, 8, 20])
def test_a_wholly_real_window_is_the_plain_window_from_the_first_round_on(done: int) -> None:
    view = view_after(TD, play_rounds(TD, [(n % 4, (n * 3) % 4) for n in range(done)]))
    plain, renderer = memories.build("window:8"), PromptRenderer(Framing(), LIBRARY, "reasoned")
    prompts = set()
    for mode in ("ideal", "polar"):
        memory = Sanitized(mode, 8, 8)
        assert memory.show(view, draws()) == plain.show(view, draws())
        assert memory.most_lines(done) == plain.most_lines(done)
        prompts.add(renderer.prompt(act(view), memory.show(view, draws()), None, {}).text)
    assert prompts == {renderer.prompt(act(view), plain.show(view, draws()), None, {}).text}
    assert f"This is round {done + 1}." in prompts.pop()


def test_polar_rounds_mirror_the_shares_of_a_baseline_and_never_change() -> None:
    memory = Sanitized("polar", 0, 400, shares={"claim_2, claim_3": 3, "claim_5,claim_4": 1.0, "claim_4, claim_2": 0})
    assert memory.unsupported(TD) is None
    early, late = (show(memory, TD, play_rounds(TD, [(3, 3)] * n)).rounds for n in (0, 400))
    assert {r.actions for r in early} == {(0, 0), (3, 3)}
    assert 0.68 < sum(r.actions == (0, 0) for r in early) / 400 < 0.82
    again = show(memory, TD, play_rounds(TD, [(0, 0)] * 400)).rounds
    assert [r.actions for r in late] == [r.actions for r in again]
    by_game = Sanitized("polar", 2, 8, shares={"travelers_dilemma": {"claim_2, claim_2": 1}})
    assert by_game.unsupported(TD) is None and "not prisoners_dilemma" in str(by_game.unsupported(PD))
    assert "does not have" in str(Sanitized("polar", 2, 8, shares={"7, 7": 1}).unsupported(TD))


@pytest.mark.parametrize("shares", [{}, {"2, 2": -1}, {"2, 2": 0}, {"2, 2": True}, "2, 2"])
def test_shares_that_make_no_sense_are_refused(shares: object) -> None:
    with pytest.raises(ValueError, match="shares"):
        Sanitized("polar", 2, 8, shares=shares)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mode: polar"):
        Sanitized("ideal", 2, 8, shares={"2, 2": 1})


@pytest.mark.slow
@pytest.mark.parametrize("game", [PD, TD, PG], ids=lambda g: g.name)
def test_prompts_have_the_same_lines_for_every_real_part_and_every_round(game: Game) -> None:
    profiles = [[(n * (s + 2)) % len(names) for s, names in enumerate(game.actions)] for n in range(110)]
    rounds = play_rounds(game, profiles)
    renderer = PromptRenderer(Framing(), LIBRARY, "reasoned")
    lines, lengths = set(), set()
    for mode in ("ideal", "polar"):
        for real in (0, 2, 5, 10, 20, 40, 60, 70, 75, 78):
            memory = Sanitized(mode, real, 80)
            for done in (0, 1, 3, 79, 80, 81, 110):
                view = view_after(game, rounds[:done])
                text = renderer.prompt(act(view), memory.show(view, draws()), None, {}).text
                lines.add(text.count("\n"))
                lengths.add((done, len(text)))
                assert f"This is round {max(81, done + 1)}." in text
    assert len(lines) == 1


def test_the_told_number_of_rounds_moves_with_the_numbering() -> None:
    view = replace(view_after(PD, play_rounds(PD, [(0, 0)])), facts={"repeated": True, "rounds": 10})
    renderer = PromptRenderer(Framing(), LIBRARY, "direct")
    text = renderer.prompt(act(view), Sanitized("ideal", 2, 5).show(view, draws()), None, {}).text
    assert "exactly 14 rounds" in text and "This is round 6 of 14." in text


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=12, max_size=25), st.integers(0, 3))
def test_the_made_up_version_of_a_real_round_never_changes(profiles: list[tuple[int, int]], seed: int) -> None:
    memory = Sanitized("polar", 2, 8)
    rounds = play_rounds(TD, profiles)
    versions: dict[int, set[tuple[int, ...]]] = {}
    for done in range(8, len(rounds) + 1):
        for r in list(show(memory, TD, rounds[:done], seed=seed).rounds)[:-2]:
            versions.setdefault(r.number, set()).add(r.actions)
    assert all(len(v) == 1 for v in versions.values())


def test_polar_rounds_mirror_the_mix_that_was_played() -> None:
    # Three of four rounds are (claim 3, claim 2), the rest (claim 5, claim 4).
    rounds = play_rounds(TD, [(1, 0), (1, 0), (1, 0), (3, 2)] * 100)
    shown = list(show(Sanitized("polar", 0, 300), TD, rounds).rounds)
    share = sum(r.actions == (0, 0) for r in shown) / len(shown)
    assert {r.actions for r in shown} == {(0, 0), (3, 3)}
    assert abs(share - 0.75) < 4 * (0.75 * 0.25 / 300) ** 0.5


def test_a_made_up_round_mirrors_what_was_played_when_it_left_the_real_part() -> None:
    rounds = play_rounds(PD, [(0, 0), (1, 1), (0, 0), (0, 0)])
    shown = [show(Sanitized("polar", 1, 4), PD, rounds, seed=seed).rounds for seed in range(20)]
    first = {made_up[0].actions for made_up in shown}
    assert first == {(0, 0), (1, 1)}, "drawn from rounds 1 and 2, the last one that was real by then"
    void = [replace(r, actions=()) if r.number == 2 else r for r in rounds]
    view = replace(view_after(PD, void), history=History(void, gaps=True))
    for seed in range(20):
        made_up = Sanitized("polar", 1, 4).show(view, draws(seed, 0)).rounds
        assert {r.actions for r in made_up} == {(0, 0)}, "a void round is no combination"


def test_before_the_first_round_polar_combinations_are_drawn_evenly() -> None:
    shown = list(show(Sanitized("polar", 2, 2000), TD, []).rounds)
    for profile in [(0, 0), (0, 3), (3, 0), (3, 3)]:
        assert abs(sum(r.actions == profile for r in shown) / 2000 - 0.25) < 0.04


def test_the_middle_of_an_odd_scale_falls_to_either_side() -> None:
    game = build_game({"name": "travelers_dilemma", "low": 2, "high": 4})
    shown = show(Sanitized("polar", 0, 60), game, play_rounds(game, [(1, 1)] * 60))
    assert {a for r in shown.rounds for a in r.actions} == {0, 2}


def test_games_without_what_it_needs_are_refused() -> None:
    pennies = build_game("matching_pennies")
    assert "cooperative action" in (Sanitized("ideal").unsupported(pennies) or "")
    assert Sanitized("polar").unsupported(pennies) is None
    assert Sanitized("polar").unsupported(TD) is None
