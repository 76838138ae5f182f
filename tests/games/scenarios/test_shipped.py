"""What is promised about the scenarios that come with Ostrom."""

from collections import Counter
from itertools import combinations

import pytest

from ostrom.games.scenarios import Scenario, families, prove, scenarios, shipped_cast, shipped_scenario
from ostrom.ground.errors import UnknownName

ALL = [(family, name) for family in families() for name in scenarios(family)]

# Manoranjan & Gaikwad 2026, Table 8.
PUBLISHED_SUBTYPES = {
    "Economic Pressure": "Hyperinflation, Trade Embargo, Debt Crisis, Commodity Crash, Currency Devaluation,"
    " Supply Chain Collapse, Energy Blackout, Labor Strike, Pandemic Economic Crisis",
    "Environmental Crisis": "Water Crisis, Biodiversity Collapse, Air Quality Emergency,"
    " Carbon Tax Implementation, Ocean Acidification Crisis, Extreme Weather Damage, Toxic Waste Crisis",
    "Political Pressure": "Youth Revolt, Corporate Scandal, International Shaming, Scientific Consensus,"
    " Voter Referendum, Media Exposure, Regulatory Capture Reversal, Climate Litigation",
    "Social Movement": "Celebrity Endorsement, Health Insurance Incentive, Generational Wealth Transfer,"
    " Corporate Sustainability Requirement, Influencer Network, Corporate Wellness Programs,"
    " Education Campaign, Insurance Mandate",
    "Mixed/Complex": "Economic Green Hybrid, Political Uncertainty, Technological Breakthrough,"
    " Resource Discovery, Mixed Economic Signals, Technological Disruption, Resource Innovation",
}

# Manoranjan & Gaikwad 2026, Table 9: what the Industrialist earns, by (government, activist, citizen).
PUBLISHED_DEBT_CRISIS = {
    ("NOREG", "NOCAMPAIGN", "BUY_CHEAP"): {"POLLUTE": 15.0, "CLEAN": -0.5},
    ("NOREG", "NOCAMPAIGN", "SUPPORT_GREEN"): {"POLLUTE": 14.0, "CLEAN": 1.5},
    ("NOREG", "CAMPAIGN", "BUY_CHEAP"): {"POLLUTE": 13.5, "CLEAN": -0.5},
    ("NOREG", "CAMPAIGN", "SUPPORT_GREEN"): {"POLLUTE": 12.5, "CLEAN": 1.5},
    ("REGULATE", "NOCAMPAIGN", "BUY_CHEAP"): {"POLLUTE": 12.0, "CLEAN": 0.5},
    ("REGULATE", "NOCAMPAIGN", "SUPPORT_GREEN"): {"POLLUTE": 11.0, "CLEAN": 2.5},
    ("REGULATE", "CAMPAIGN", "BUY_CHEAP"): {"POLLUTE": 10.5, "CLEAN": 0.5},
    ("REGULATE", "CAMPAIGN", "SUPPORT_GREEN"): {"POLLUTE": 9.5, "CLEAN": 3.0},
}


def family_scenarios(family: str) -> list[Scenario]:
    return [shipped_scenario(family, name) for name in scenarios(family)]


@pytest.mark.parametrize(("family", "name"), ALL)
def test_every_scenario_proves_its_claim_with_strict_equilibria_and_no_ties(family: str, name: str) -> None:
    scenario = shipped_scenario(family, name)
    proof = prove(scenario)
    assert proof.holds
    assert proof.green.is_equilibrium == (scenario.claim in ("green", "both"))
    assert proof.tragedy.is_equilibrium == (scenario.claim in ("tragedy", "both"))
    assert all(equilibrium.strict for equilibrium in proof.equilibria)
    assert proof.ties == ()
    for status in (proof.green, proof.tragedy):
        assert bool(status.gains) != status.is_equilibrium


def test_the_commons_family_has_the_published_counts_and_a_third_class() -> None:
    assert Counter(s.scenario_class for s in family_scenarios("commons")) == {
        "economic": 12,
        "environmental": 41,
        "mixed": 8,
    }


def test_the_53_economic_and_environmental_scenarios_cover_every_published_subtype() -> None:
    published = {name for names in PUBLISHED_SUBTYPES.values() for name in names.split(", ")}
    assert len(published) == 39
    assert {s.subtype for s in family_scenarios("commons") if s.scenario_class != "mixed"} == published
    listed = shipped_cast("commons").subtypes
    assert listed is not None
    assert {group: ", ".join(names) for group, names in listed.items()} == PUBLISHED_SUBTYPES


def test_economic_scenarios_come_from_economic_pressure_only() -> None:
    pressure = PUBLISHED_SUBTYPES["Economic Pressure"].split(", ")
    for scenario in family_scenarios("commons"):
        assert (scenario.subtype in pressure) == (scenario.scenario_class == "economic"), scenario.name


def test_every_mixed_subtype_also_has_a_scenario_in_the_mixed_class() -> None:
    mixed = [s for s in family_scenarios("commons") if s.scenario_class == "mixed"]
    assert set(PUBLISHED_SUBTYPES["Mixed/Complex"].split(", ")) <= {s.subtype for s in mixed}
    assert {s.claim for s in mixed} == {"both", "neither"}


def test_the_industrialist_of_the_debt_crisis_has_the_published_payoffs() -> None:
    scenario = shipped_scenario("commons", "debt_crisis")
    found = {
        profile[1:]: {own: scenario.payoffs_at((own, *profile[1:]))[0] for own in ("POLLUTE", "CLEAN")}
        for profile in scenario.profiles()
    }
    assert found == PUBLISHED_DEBT_CRISIS


def test_another_cast_plays_by_the_same_rules() -> None:
    alliance = family_scenarios("data-alliance")
    assert len(alliance) >= 6
    assert {s.scenario_class for s in alliance} == {"economic", "environmental", "mixed"}
    assert [role.key for role in alliance[0].roles] == ["hospital", "insurer", "regulator", "patient"]
    assert alliance[0].green.name == "Trusted Exchange"


@pytest.mark.parametrize(("family", "name"), ALL)
def test_file_and_scenario_have_the_same_name_and_readable_numbers(family: str, name: str) -> None:
    scenario = shipped_scenario(family, name)
    assert (scenario.name, scenario.family) == (name, family)
    assert all(value == round(value, 1) and abs(value) <= 20 for row in scenario.payoffs for value in row)


def test_no_two_scenarios_share_a_table_a_story_or_a_title() -> None:
    everything = [shipped_scenario(family, name) for family, name in ALL]
    for one, other in combinations(everything, 2):
        assert one.payoffs != other.payoffs, (one.name, other.name)
        assert one.title != other.title
        assert one.narrative != other.narrative


def test_the_numbers_of_each_role_vary_from_scenario_to_scenario() -> None:
    # Tables that differ in one column only would be near copies.
    tables = [s.payoff_tensor() for s in family_scenarios("commons")]
    for seat in range(4):
        columns = [tuple(table[..., seat].ravel()) for table in tables]
        assert len(set(columns)) >= 0.8 * len(columns)


def test_stories_do_not_share_sentences_or_openings() -> None:
    stories = [shipped_scenario(family, name).narrative for family, name in ALL]
    sentences = Counter(s.strip() for story in stories for s in story.split(". "))
    assert [s for s, count in sentences.items() if count > 1] == []
    assert max(Counter(" ".join(story.split()[:3]) for story in stories).values()) == 1


@pytest.mark.parametrize(("family", "name"), ALL)
def test_stories_name_no_action_key_and_no_payoff(family: str, name: str) -> None:
    scenario = shipped_scenario(family, name)
    words = scenario.narrative.split()
    assert 60 <= len(words) <= 120
    for role in scenario.roles:
        assert 25 <= len(role.persona.split()) <= 60
        assert not set(role.action_keys) & set(words)
    assert not any(character.isdigit() for character in scenario.narrative)


def test_a_scenario_becomes_a_game_with_the_same_payoffs() -> None:
    scenario = shipped_scenario("commons", "water_crisis")
    game = scenario.game()
    assert game.payoffs.shape == (2, 2, 2, 2, 4)
    for profile in scenario.profiles():
        assert game.payoff(scenario.indices(profile)) == scenario.payoffs_at(profile)
    assert tuple(game.actions[seat][index or 0] for seat, index in enumerate(game.cooperative)) == (
        scenario.green.profile
    )


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean debt_crisis"):
        shipped_scenario("commons", "debt_crises")
    with pytest.raises(UnknownName, match="known: archive, commons, data-alliance"):
        scenarios("comons")
