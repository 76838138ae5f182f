"""Controls of mechanisms: the game alone, a text of the same length, the induced game, words without power."""

from typing import Any

import pytest

from ostrom.agents.bargains import rules_of
from ostrom.answers import Answer, Choice, Record
from ostrom.features.words.lexicons import highlight, normative
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.framing.rules import of_length, rules_files, tokens
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.controls import build_mechanism
from ostrom.mechanisms.designs import Contracting, Mediation, contracted_game, mediated_game
from ostrom.mechanisms.incentives import is_equilibrium, lasting_game
from ostrom.mechanisms.protocol import Decision, Outcome, View
from ostrom.memory import MemoryView

LIBRARY = Library()
PD = build_game("prisoners_dilemma:coopeval")
SPECS: dict[str, dict[str, Any]] = {
    "repetition": {"name": "repetition", "rounds": 3, "told_continuation": 0.8},
    "reputation": {"name": "reputation", "rounds": 3, "window": 2},
    "mediation": {"name": "mediation", "designs": [[1, 0], [1, 0]]},
    "contracting": {"name": "contracting", "designs": [[0, -10], [0, -10]]},
}
WORDINGS = ("plain", "brief", "formal", "example")


def rules(name: str, control: str | None = None) -> Mechanism:
    return build_mechanism({**SPECS[name], "control": control}, key="mechanism")


def asked(mechanism: Mechanism, action: str = "cooperate", game: Game = PD) -> tuple[list[Decision], Outcome]:
    """All decisions of a match in which everybody approves, signs and takes one action."""
    play, seen = mechanism.play(game, Streams(3, 5)), list[Decision]()
    due = next(play)
    while True:
        seen += due
        answers = []
        for decision in due:
            value: Any = (
                dict.fromkeys(decision.form.schema["properties"], True) if isinstance(decision.form, Record) else action
            )
            if isinstance(decision.form, Choice) and action not in decision.form.options:
                value = "cooperate"
            answers.append(Answer(value, "scripted"))
        try:
            due = play.send(answers)
        except StopIteration as end:
            return seen, end.value


def told(decision: Decision, **framing: Any) -> str:
    voice = PromptRenderer(Framing(**framing), LIBRARY, "direct")
    return voice.prompt(decision, MemoryView(tuple(decision.view.history)), None, {}).text


def said(text: str) -> list[str]:
    """The normative words of a text."""
    return [text[span.start : span.end] for span in highlight(text, [normative()])]


def rules_told(decision: Decision) -> str:
    """The rules as the fixed part of a prompt tells them."""
    renderer = PromptRenderer(Framing(), LIBRARY, "direct")
    values = renderer._values(decision.view, (0, 1), {"kind": "act", "target": ""})
    return str(renderer.blocks.all(decision.view, (0, 1), values)["rules"])


@pytest.mark.parametrize("name", SPECS)
def test_a_text_of_the_same_length_has_as_many_tokens_as_the_rules(name: str) -> None:
    real, _ = asked(rules(name))
    neutral, _ = asked(rules(name, "length"))
    bare, _ = asked(rules(name, "none"))
    texts = [rules_told(d[0]) for d in (real, neutral, bare)]
    assert tokens(texts[0]) == tokens(texts[1]) > tokens(texts[2])
    assert texts[1].startswith(texts[2])
    assert not said(texts[1])
    assert all(text in told(d[0]) for text, d in zip(texts, (real, neutral, bare), strict=True))
    assert told(neutral[0]).endswith(told(bare[0])[-80:]), "the question is that of the game alone"


def test_a_text_is_cut_or_repeated_to_any_length() -> None:
    text = LIBRARY.fill("mechanisms/_filler.txt", {})
    assert all(tokens(of_length(text, n)) == n for n in (1, 2, 17, 150, 151, 152, 400, 1000))


def test_induced_games_pay_what_the_mechanism_makes_of_the_game() -> None:
    assert rules("contracting").induced_game(PD) is contracted_game(PD, [0, -10])
    assert rules("mediation").induced_game(PD) is mediated_game(PD, [1, 0])
    lasting = rules("repetition").induced_game(PD)
    assert lasting is not None
    assert lasting.payoff((0, 0)) == (2, 2) and lasting.payoff((1, 1)) == (1, 1)
    assert lasting.payoff((1, 0)) == (1.4, 0.8)
    assert is_equilibrium(lasting, (0, 0)) and not is_equilibrium(PD, (0, 0))
    known = build_mechanism({"name": "repetition", "rounds": 3, "told_rounds": True}, key="mechanism")
    certain = known.induced_game(PD)
    assert certain is not None and (certain.payoffs == PD.payoffs).all(), "a known end unravels"


@pytest.mark.parametrize("delta", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_lasting_cooperation_pays_exactly_where_theory_says(delta: float) -> None:
    made = lasting_game(PD, delta)
    assert made is not None
    assert is_equilibrium(made, (0, 0)) == (delta >= 0.5), "(T - R) / (T - P) = 1/2"


def test_the_induced_game_is_played_once_and_without_words() -> None:
    seen, outcome = asked(rules("mediation", "induced"), "delegate")
    assert len(seen) == 2 and seen[0].form == Choice(("cooperate", "defect", "delegate"))
    assert outcome.rounds[0].actions == (0, 0), "both delegate: the mediator cooperates for both"
    assert "mediator" not in told(seen[0]) and "This happens only once." in told(seen[0])
    _, alone = asked(rules("contracting", "induced"), "defect")
    assert alone.scores == (1.0, 1.0)


def test_a_control_keeps_what_stated_chances_are_worth() -> None:
    run = rules("repetition", "none").play(PD, Streams(0, 0))
    half = Answer("cooperate", "exact", {"cooperate": 0.5, "defect": 0.5})
    next(run)
    with pytest.raises(StopIteration) as end:
        run.send([half, half])
    (played,) = end.value.value.rounds
    assert played.payoffs == PD.payoff((0, 0))
    assert played.expected == pytest.approx(PD.expected([[0.5, 0.5], [0.5, 0.5]]))


def test_a_sham_mediator_names_an_action_and_binds_nobody() -> None:
    run = rules("mediation", "sham").play(PD, Streams(0, 0))
    votes = next(run)
    acts = run.send([Answer({"M1": True, "M2": True}, "scripted") for _ in votes])
    again = run.send([Answer("delegate", "scripted"), Answer("defect", "scripted")])
    assert [d.player for d in again] == [0] and again[0].form == Choice(("cooperate", "defect"))
    assert "It names A1" in told(again[0]), "one delegator: the plan says defect"
    with pytest.raises(StopIteration) as end:
        run.send([Answer("cooperate", "scripted")])
    assert end.value.value.rounds[0].actions == (0, 1)
    assert len(acts) == 2 and "the mediator has no power here" in told(acts[0])
    run = rules("mediation", "sham").play(PD, Streams(0, 0))
    run.send([Answer({"M1": True, "M2": True}, "scripted") for _ in next(run)])
    (second,) = run.send([Answer("cooperate", "scripted"), Answer("delegate", "scripted")])
    assert (second.player, second.view.facts["named"]) == (1, 1), "what is named for oneself, not what another did"


@pytest.mark.parametrize("name", ["repetition", "reputation"])
def test_a_sham_past_was_drawn_and_depends_on_nothing_that_was_played(name: str) -> None:
    good, bad = (asked(rules(name, "sham"), action)[0] for action in ("cooperate", "defect"))
    real = asked(rules(name), "defect")[0]
    assert [told(d) for d in good] == [told(d) for d in bad]
    assert [told(d) for d in real] != [told(d) for d in bad]
    assert "A machine draws them by lot" in told(good[-1])


@pytest.mark.parametrize("name", SPECS)
def test_every_mechanism_has_five_wordings_with_the_same_facts(name: str) -> None:
    texts = {w: told(asked(rules(name))[0][0], wording=w) for w in (None, *WORDINGS)}
    assert len(set(texts.values())) == 5
    for text in texts.values():
        fact = {"contracting": "-30", "mediation": "lot"}.get(name, "80 %")
        assert fact in text


@pytest.mark.parametrize("name", SPECS)
def test_the_plain_wording_has_no_normative_word_and_the_usual_one_has(name: str) -> None:
    specs = dict(SPECS[name])
    designing = specs.pop("designs", None) is not None
    decisions = asked(rules(name))[0] + asked(rules(name), "defect")[0]
    if designing:
        preparation = rules_of(name).preparation(PD, 0)
        assert preparation is not None
        decisions.append(next(preparation.play(PD, Streams(0, 0)))[0])
    for decision in decisions:
        text = told(decision, wording="plain")
        assert said(text) == [], (decision.kind, text)
    if name != "repetition":
        assert any(said(told(decision)) for decision in decisions)


def test_what_cannot_be_controlled_is_refused() -> None:
    with pytest.raises(StudyError, match=r"mechanism\.control: is no control .*placebo.*none, length"):
        rules("contracting", "placebo")
    with pytest.raises(StudyError, match="disarmament cannot be played without its power"):
        build_mechanism({"name": "disarmament", "control": "sham"}, key="mechanism")
    with pytest.raises(GameError, match="disarmament: what rational players face under it is not known"):
        build_mechanism({"name": "disarmament", "control": "induced"}, key="mechanism").check(PD)
    for made in (Contracting(), Mediation(designs=[[1, 0], [0, 0]])):
        with pytest.raises(GameError, match="needs one design, the same for every seat"):
            made.induced_game(PD)


@pytest.mark.parametrize(
    ("mechanism", "facts", "wording", "files"),
    [
        ("none", {}, "short", ["mechanisms/none.txt"]),
        ("repetition", {}, "short", ["mechanisms/repetition.short.txt"]),
        ("contracting", {"sham": True}, None, ["mechanisms/contracting.txt", "mechanisms/contracting.sham.txt"]),
        (
            "none",
            {"as_long_as": {"mechanism": "repetition", "facts": {}}},
            None,
            ["mechanisms/none.txt", "mechanisms/_filler.txt", "mechanisms/repetition.txt"],
        ),
        (
            "repetition",
            {"talk": {"channels": []}},
            None,
            ["mechanisms/repetition.txt", "talk/channel_rules.txt", "talk/channel_messages.txt"],
        ),
    ],
)
def test_the_files_of_rules_are_all_that_they_are_put_together_from(
    mechanism: str, facts: dict[str, Any], wording: str | None, files: list[str]
) -> None:
    view = View(build_game("prisoners_dilemma"), 0, mechanism, facts=facts)
    assert list(rules_files(view, wording)) == files
