"""Evolution of instructions: selection follows the theory of its process, mutation changes what it says it changes."""

from collections import Counter
from collections.abc import Callable
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer, Text
from ostrom.features.evolution.process import log_fixation
from ostrom.games import build_game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.catalog.evolution import Evolution, sentences
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.selection import fermi, next_parents, takeover

PD = build_game("prisoners_dilemma:coopeval")
KIND, BAD = "Be a cooperator. Be fair.", "Be a defector. Trust nobody."
HOW: dict[str, Any] = {"strength": 1.0, "size": 2, "births": 1, "least": 0.0}


def generation(
    rules: Evolution, streams: Streams, paraphrase: Callable[[str], str] = str, seen: list[Decision] | None = None
) -> Outcome:
    """One generation of members who follow their instructions, and of a paraphraser."""
    agents = [ScriptedAgent(strategies.build("instructed")) for _ in range(rules.members)]
    play, step = rules.play(PD, streams), 0
    try:
        decisions = next(play)
        while True:
            answers = []
            for d in decisions:
                if seen is not None:
                    seen.append(d)
                chance = streams.chance(step, d.player)
                answers.append(
                    Answer(paraphrase(d.view.facts["sentence"]), "scripted")
                    if d.kind == "paraphrase"
                    else agents[d.player].decide(d, lambda u=chance: u)  # type: ignore[misc]
                )
            decisions, step = play.send(answers), step + 1
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


def close(found: int, tries: int, chance: float) -> bool:
    return abs(found / tries - chance) < 4 * sqrt(chance * (1 - chance) / tries)


# -- selection follows its theory ------------------------------------------------------------------------


def test_a_mutant_of_constant_fitness_takes_over_as_moran_says() -> None:
    tries, size, gap, fixed = 1200, 6, 0.5, 0
    for seed in range(tries):
        rng, mutant = np.random.default_rng(seed), [True] + [False] * (size - 1)
        while any(mutant) and not all(mutant):
            parents, _ = next_parents("moran", [gap * m for m in mutant], rng, **HOW)
            mutant = [mutant[p] for p in parents]
        fixed += all(mutant)
    assert close(fixed, tries, exp(log_fixation([-gap] * (size - 1))))


def test_a_large_population_follows_the_replicator() -> None:
    size, shares, rng = 6000, 0.9, np.random.default_rng(5)
    now = np.arange(size) < round(shares * size)  # cooperators
    for _ in range(6):
        x = now.mean()
        paid = np.where(now, 2 * x, 3 * x + (1 - x))  # expected payoffs, counted from 0
        expected = x * 2 * x / paid.mean()
        parents, newborn = next_parents("proportional", paid.tolist(), rng, **HOW)
        now = now[parents]
        assert all(newborn) and abs(now.mean() - expected) < 4 * sqrt(expected * (1 - expected) / size)
    assert now.mean() < 0.5


def test_tournaments_and_imitation_have_their_chances() -> None:
    rng, tries = np.random.default_rng(1), 4000
    parents, _ = next_parents("tournament", [1.0] * 1000 + [2.0] * (tries - 1000), rng, **HOW)
    assert close(sum(p < 1000 for p in parents), tries, (1000 / tries) ** 2)
    paid = [0.0] * 2000 + [1.0] * 2000
    parents, newborn = next_parents("imitation", paid, rng, **HOW)
    changed = sum(p >= 2000 for p in parents[:2000])
    assert close(changed, 2000, 2000 / 3999 * fermi(1.0))
    assert all(born == (p != i) for i, (p, born) in enumerate(zip(parents, newborn, strict=True)))


# -- arms, genomes, mutation -----------------------------------------------------------------------------


def test_every_member_is_told_its_own_instruction_and_plays_by_it() -> None:
    seen: list[Decision] = []
    rules = Evolution([KIND, BAD], under={"name": "repetition", "rounds": 3}, population=8, meetings=2, generations=2)
    outcome = generation(rules, Streams(0, 1), seen=seen)
    acts = [d for d in seen if d.kind == "act"]
    assert len(acts) == 8 * 3 * 2
    for d in acts:
        assert d.view.facts["instruction"] == (KIND, BAD)[d.player % 2]
        assert d.view.mechanism == "repetition"
    for played in outcome.rounds:
        assert [a == 1 for a in played.actions] == [p % 2 == 1 for p in played.players]
    per_meeting = Counter((r.facts["bout"], p) for r in outcome.rounds for p in r.players)
    assert set(per_meeting.values()) == {3} and len(per_meeting) == 16
    assert min(outcome.scores[1::2]) >= 1.0


@pytest.mark.slow
def test_selection_prefers_what_pays_drift_does_not_and_the_frozen_stay() -> None:
    bad: dict[str, int] = {}
    for arm in ("selected", "drift", "frozen"):
        rules = Evolution([KIND, BAD], under={"name": "society", "rounds": 1}, population=200, generations=2, arm=arm)
        outcome = generation(rules, Streams(3, 1))
        bad[arm] = sum(g[0] == "Be a defector." for g in outcome.facts["next"]["genomes"])
        parents = outcome.facts["next"]["parents"]
        assert [outcome.facts["genomes"][p] for p in parents] == outcome.facts["next"]["genomes"]
        assert (parents == list(range(200))) == (arm == "frozen")
    assert bad["frozen"] == 100
    assert close(bad["drift"], 200, 0.5)
    assert close(bad["selected"], 200, 2 / 3)  # payoffs 2 and 1 of a defector and a cooperator


def test_a_share_of_the_sentences_of_newborns_is_said_in_other_words() -> None:
    text = "One is here. Two is here. Three is here. Four is here. Five is here."
    seen: list[Decision] = []
    rules = Evolution([text], population=10, generations=2, mutation={"share": 0.4})
    outcome = generation(rules, Streams(0, 1), lambda s: f"  New:\n{s} ", seen)
    asked = [d for d in seen if d.kind == "paraphrase"]
    assert len(asked) == 10 * 2 and all(d.view.facts["alone"] for d in asked)
    assert "instruction" not in asked[0].view.facts
    assert {d.form for d in asked} == {Text(words=20, characters=1000)}
    long = Evolution([" ".join(["word"] * 9) + "."], population=2, generations=2, mutation={"share": 1.0})
    more: list[Decision] = []
    generation(long, Streams(0, 1), seen=more)
    assert {d.form for d in more if d.kind == "paraphrase"} == {Text(words=27, characters=1000)}
    for genome in outcome.facts["next"]["genomes"]:
        assert sum(s.startswith("New: ") for s in genome) == 2 and len(genome) == 5
        assert [s.removeprefix("New: ") for s in genome] == sentences(text)
    last = rules.generation(1)
    assert "next" not in generation(last, Streams(0, 1)).facts
    # A paraphrase of nothing leaves the sentence as it was.
    same = generation(rules, Streams(0, 1), lambda _: " \n ").facts["next"]["genomes"]
    assert all(genome == sentences(text) for genome in same)


def test_an_observer_paraphrases_and_a_second_parent_gives_the_rest() -> None:
    seen: list[Decision] = []
    rules = Evolution(
        ["A one. A two.", "B one. B two."], population=6, generations=2,
        mutation={"by": "observer", "crossover": 1.0, "share": 0.5},
    ).for_players(7)  # fmt: skip
    assert rules.members == 6 and rules.observers == 1
    outcome = generation(rules, Streams(2, 1), seen=seen)
    assert {d.agent for d in seen if d.kind == "paraphrase"} == {6}
    assert len(outcome.scores) == 6, "whoever paraphrases earns nothing"
    found = outcome.facts["next"]
    assert any(mate is not None for mate in found["mates"])
    for genome in found["genomes"]:
        assert [s.split()[1] for s in genome] == ["one.", "two."]
    assert rules.decisions_of(PD, 6, 7) == 6 and rules.decisions_of(PD, 0, 7) == 1


# -- designs ---------------------------------------------------------------------------------------------


def designs_of(rules: Evolution, seed: int) -> tuple[list[Decision], dict[str, Any]]:
    seen: list[Decision] = []
    facts = dict(generation(rules, Streams(seed, 1), seen=seen).facts)
    return [d for d in seen if d.kind == "design"], facts


def test_founders_make_designs_by_their_instructions_and_propose_them() -> None:
    rules = Evolution([KIND, BAD], under="mediation", population=6, generations=2)
    seen: list[Decision] = []
    outcome = generation(rules, Streams(3, 1), seen=seen)
    asked = [d for d in seen if d.kind == "design"]
    assert [d.player for d in asked] == list(range(6))
    assert [d.view.facts["instruction"] for d in asked] == [KIND, BAD] * 3
    # A kind script defects unless both delegate, the other one always does.
    assert outcome.facts["designs"] == [[1, 0], [1, 1]] * 3
    for d in (d for d in seen if d.kind == "vote"):
        tables = [p["design"] for p in d.view.facts["proposals"]]
        own = outcome.facts["designs"][d.player]
        assert tables[d.view.seat] == own


def test_designs_are_inherited_and_a_share_of_newborns_makes_its_own() -> None:
    fresh = total = 0
    for seed in range(30):
        rules = Evolution([KIND, BAD], under="mediation", population=8, generations=3)
        _, facts = designs_of(rules, seed)
        left = facts["next"]
        for design, parent in zip(left["designs"], left["parents"], strict=True):
            assert design in (None, facts["designs"][parent])
            fresh, total = fresh + (design is None), total + 1
        asked, after = designs_of(rules.generation(1).with_preparations([facts]), seed)
        makers = [member for member, design in enumerate(left["designs"]) if design is None]
        assert [d.player for d in asked] == makers
        kept = [d for d in left["designs"] if d is not None]
        assert [after["designs"][m] for m in range(8) if m not in makers] == kept
    assert close(fresh, total, 0.2)


@pytest.mark.parametrize(("arm", "changes"), [("frozen", {}), ("selected", {"design": 0})])
def test_nobody_designs_anew_where_nothing_mutates(arm: str, changes: dict[str, Any]) -> None:
    rules = Evolution(
        [KIND, BAD],
        under="contracting",
        population=6,
        generations=2,
        arm=arm,  # type: ignore[arg-type]
        mutation=changes,
    )
    _, facts = designs_of(rules, 5)
    later = rules.generation(1)
    asked, _ = designs_of(later.with_preparations([facts]), 5)
    assert not asked
    assert None not in facts["next"]["designs"]
    # A vote, a signature and an act of each; the founders also design, and here a third is said in other words.
    paraphrases = 0 if arm == "frozen" else 1
    assert rules.most_decisions(PD) == 6 * (4 + paraphrases)
    assert later.most_decisions(PD) == 6 * 3


def test_given_designs_stay_as_they_are() -> None:
    rules = Evolution([KIND], under={"name": "mediation", "designs": [[1, 0], [1, 0]]}, population=4, generations=2)
    asked, facts = designs_of(rules, 1)
    assert not asked
    assert "designs" not in facts and "designs" not in facts["next"]


def test_what_cannot_evolve_is_refused() -> None:
    with pytest.raises(GameError, match="cannot be played under none"):
        Evolution([KIND], under={"name": "evolution", "genomes": [KIND]}).check(PD)
    with pytest.raises(GameError, match="5 members do not fill tables of 2 seats"):
        Evolution([KIND], population=5).check(PD)
    for changes, says in (
        ({"genomes": "Be kind."}, "genomes must list at least one instruction in words"),
        ({"arm": "random"}, "arm must be one of selected, drift, frozen, found 'random'"),
        ({"selection": "best"}, "selection.rule must be one of proportional, tournament, moran, imitation"),
        ({"mutation": {"shares": 1}}, "unknown key 'shares' of mutation, did you mean 'share'"),
    ):
        with pytest.raises(StudyError, match=says):
            mechanisms.build({"name": "evolution", "genomes": [KIND], **changes})


@pytest.mark.parametrize(
    ("rule", "strength", "own", "others", "chances"),
    [
        ("pairwise", 0.0, 1.0, [0.0, 3.0], [0.25, 0.25]),
        ("pairwise", log(3), 0.0, [1.0], [0.75]),
        ("pairwise", log(3), 1.0, [0.0], [0.25]),
        ("imitation", log(2), 1.0, [0.0], [1 / 3]),
        ("imitation", log(2), 0.0, [0.0, 1.0], [0.25, 0.5]),
        ("death-birth", log(2), 9.0, [0.0, 1.0], [1 / 3, 2 / 3]),
        ("death-birth", 1e6, 0.0, [0.0, 1e6], [0.0, 1.0]),
        ("imitation", 1.0, 1.0, [], []),
    ],
)
def test_the_chances_of_a_takeover_by_hand(
    rule: str, strength: float, own: float, others: list[float], chances: list[float]
) -> None:
    assert takeover(rule, strength, own, others) == pytest.approx(chances)


@pytest.mark.parametrize(
    ("rule", "payoffs", "change", "parents", "newborn"),
    [
        ("proportional", [0.0, 4.0, -1.0], {}, [1, 1, 1], [True] * 3),
        ("proportional", [2.0, 4.0, 1.0], {"least": 2.0}, [1, 1, 1], [True] * 3),
        ("tournament", [0.0, 4.0, 1.0], {"size": 60}, [1, 1, 1], [True] * 3),
        ("moran", [0.0, 4.0, 1.0], {"births": 0}, [0, 1, 2], [False] * 3),
        ("moran", [0.0, 9.0, 1.0], {"births": 60, "strength": 1e6}, [1, 1, 1], [True] * 3),
        ("imitation", [0.0, 9.0], {"strength": 1e6}, [1, 1], [True, False]),
        ("imitation", [9.0, 0.0], {"strength": 1e6}, [0, 0], [False, True]),
        ("imitation", [0.0], {}, [0], [False]),
    ],
)
def test_who_is_born_of_whom_where_chance_has_no_say(
    rule: str, payoffs: list[float], change: dict[str, Any], parents: list[int], newborn: list[bool]
) -> None:
    found = next_parents(rule, payoffs, np.random.default_rng(0), **{**HOW, **change})
    assert found == (parents, newborn)


def test_parents_are_drawn_evenly_where_nobody_earns_more_than_the_least() -> None:
    found = {
        p
        for seed in range(9)
        for p in next_parents("proportional", [1, 1], np.random.default_rng(seed), **{**HOW, "least": 1.0})[0]
    }
    assert found == {0, 1}
