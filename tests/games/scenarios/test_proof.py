"""The proof says exactly what the definition of a pure equilibrium says."""

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.games.scenarios import Action, Canonical, Claim, Profile, Role, Scenario, prove


def build(counts: list[int], payoffs: list[list[float]], claim: Claim = "neither") -> Scenario:
    roles = tuple(
        Role(f"r{seat}", f"Role {seat}", "", tuple(Action(f"A{n}", f"a {n}", n == 0) for n in range(count)))
        for seat, count in enumerate(counts)
    )
    return Scenario(
        name="random",
        title="Random",
        family="random",
        scenario_class="mixed",
        class_title="mixed",
        subtype="any",
        narrative="",
        roles=roles,
        green=Canonical("First", tuple("A0" for _ in counts)),
        tragedy=Canonical("Last", tuple(f"A{count - 1}" for count in counts)),
        claim=claim,
        payoffs=tuple(tuple(row) for row in payoffs),
    )


@st.composite
def random_scenarios(draw: st.DrawFn) -> Scenario:
    """Two to four roles with two or three actions; few distinct values, so that ties are common."""
    counts = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    size = 1
    for count in counts:
        size *= count
    value = st.integers(-2, 3).map(lambda n: n / 2)
    rows = draw(st.lists(st.lists(value, min_size=len(counts), max_size=len(counts)), min_size=size, max_size=size))
    return build(counts, rows)


def gains_by_definition(scenario: Scenario, profile: Profile) -> list[float]:
    """What each single change of action brings to the one who makes it, straight from the table."""
    table = dict(zip(scenario.profiles(), scenario.payoffs, strict=True))
    gains = []
    for seat, role in enumerate(scenario.roles):
        for action in role.action_keys:
            changed = list(profile)
            changed[seat] = action
            if tuple(changed) != profile:
                gains.append(table[tuple(changed)][seat] - table[profile][seat])
    return gains


@settings(max_examples=80, deadline=None)
@given(random_scenarios())
def test_equilibria_and_strictness_agree_with_the_definition(scenario: Scenario) -> None:
    found = {equilibrium.profile: equilibrium.strict for equilibrium in prove(scenario).equilibria}
    best_gain = {profile: max(gains_by_definition(scenario, profile)) for profile in scenario.profiles()}
    expected = {profile: gain < 0 for profile, gain in best_gain.items() if gain <= 0}
    assert found == expected


@settings(max_examples=80, deadline=None)
@given(random_scenarios())
def test_a_canonical_profile_is_an_equilibrium_or_someone_gains_by_leaving(scenario: Scenario) -> None:
    proof = prove(scenario)
    for status in (proof.green, proof.tragedy):
        gains = gains_by_definition(scenario, status.canonical.profile)
        assert status.is_equilibrium == all(gain <= 0 for gain in gains)
        assert sorted(change.gain for change in status.gains) == sorted(gain for gain in gains if gain > 0)
        assert status.strict == all(gain < 0 for gain in gains)
    names = {(True, True): "both", (True, False): "green", (False, True): "tragedy", (False, False): "neither"}
    assert proof.found == names[proof.green.is_equilibrium, proof.tragedy.is_equilibrium]
    for claim in ("green", "tragedy", "both", "neither"):
        assert prove(replace(scenario, claim=claim)).holds == (claim == proof.found)


@settings(max_examples=60, deadline=None)
@given(random_scenarios())
def test_ties_are_the_situations_with_more_than_one_best_reply(scenario: Scenario) -> None:
    table = dict(zip(scenario.profiles(), scenario.payoffs, strict=True))
    expected = set()
    for seat, role in enumerate(scenario.roles):
        others = [other.action_keys for other in scenario.roles]
        others[seat] = ("",)
        for situation in product(*others):
            worth = {a: table[(*situation[:seat], a, *situation[seat + 1 :])][seat] for a in role.action_keys}
            best = tuple(a for a, value in worth.items() if value == max(worth.values()))
            if len(best) > 1:
                expected.add((role.key, (*situation[:seat], best[0], *situation[seat + 1 :]), best))
    assert {(tie.role, tie.profile, tie.actions) for tie in prove(scenario).ties} == expected


@given(random_scenarios())
@settings(max_examples=40, deadline=None)
def test_the_tensor_holds_the_table(scenario: Scenario) -> None:
    tensor = scenario.payoff_tensor()
    assert tensor.shape == (*scenario.shape, len(scenario.roles))
    for profile in scenario.profiles():
        assert tuple(tensor[scenario.indices(profile)]) == scenario.payoffs_at(profile)


def test_the_proof_can_be_read() -> None:
    # A stag hunt in which hunting alone costs the second role nothing.
    scenario = build([2, 2], [[4, 4], [0, 3], [3, 2], [2, 2]], claim="both")
    assert prove(scenario).lines() == [
        "random: claim both holds",
        "  First is a strict equilibrium",
        "  Last is a weak equilibrium",
        "  pure equilibria: 2",
        "    A0 A0 (strict)",
        "    A1 A1 (weak)",
        "  ties between best replies: 1",
        "    r1: A0 = A1 at A1 A0",
    ]
    assert prove(replace(scenario, claim="green")).lines()[0] == ("random: claim green fails, the table says both")


def test_a_refuted_claim_says_who_would_leave() -> None:
    dilemma = build([2, 2], [[3, 3], [0, 5], [5, 0], [1, 1]], claim="green")
    assert prove(dilemma).refutation() == (
        "First is no equilibrium: r0 gains 2 by A1 instead of A0, r1 gains 2 by A1 instead of A0;"
        " Last is a strict equilibrium"
    )
