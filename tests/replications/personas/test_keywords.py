"""Words of rationales: hand-counted on the rationales that the paper prints (Appendix F.1), and by measure."""

import re
from collections.abc import Iterator

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.features.words.lexicons import Mode, count_batches, persona_keywords
from ostrom.features.words.lexicons.matcher import Matcher
from ostrom.ground.errors import UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

EXAMPLE_1 = (
    "From the scenario, it is clear that the economic crisis is severe with a 12% GDP drop and 20% "
    "unemployment. Healthcare costs are soaring, and the government is prioritizing healthcare spending "
    "over environmental subsidies. Citizens cannot afford green product premiums, and regulation "
    "enforcement is suspended, favoring polluting production. However, the long-term benefits of "
    "sustainability and resilience are critical. The payoffs for polluting are high in the short term due "
    "to avoiding safety costs and generating higher profits, but the risks include potential long-term "
    "damage to the business's reputation and future regulatory penalties. The payoffs for clean "
    "production are lower in the short term, but they provide long-term stability, environmental "
    "protection, and alignment with future regulatory trends. Given my role as an Industrialist, I must "
    "balance short-term profitability with long-term sustainability and corporate responsibility. While "
    "the immediate economic pressures favor polluting production, the long-term consequences and ethical "
    "considerations lead me to choose clean production."
)
EXAMPLE_2 = (
    "Based on the payoff matrix, I see that CLEAN has a higher maximum payoff (12.0) compared to POLLUTE "
    "(1.0). I also notice that the average payoff for CLEAN (10.1) is higher than for POLLUTE (-1.8). "
    "This suggests that CLEAN is a more beneficial action for me. Given the payoff structure, I expect "
    "the highest payoff for CLEAN is 12.0, which occurs when the government regulates, the environmental "
    "activist campaigns, and the citizen supports the government. In contrast, the highest expected "
    "payoff for POLLUTE is 1.0, which occurs when the government does not regulate, the environmental "
    "activist does not campaign, and the citizen buys cheap products. Since CLEAN has a higher expected "
    "payoff, I choose to take action CLEAN."
)
EXAMPLE_3 = (
    "Given the current scenario with no government regulation and citizens prioritizing cheap options, "
    "polluting production offers significantly higher payoffs (15.0 and 14.0) compared to clean "
    "production, which yields negative or very low payoffs in most scenarios."
)
ROLES = ["Industrialist", "Government", "Environmental activist", "Citizen"]


def found(text: str, mode: Mode) -> dict[str, int]:
    ((trace,),) = count_batches([("one", text)], persona_keywords(ROLES, mode=mode))
    return trace.counts


def test_hand_counted_words_of_the_printed_rationales() -> None:
    one, two, three = (found(text, "inflected") for text in (EXAMPLE_1, EXAMPLE_2, EXAMPLE_3))
    # costs, benefits, payoffs, costs, profits, payoffs, profitability.
    assert one["payoff_focused"] == 7 and found(EXAMPLE_1, "prefix")["payoff_focused"] == 7
    assert one["long_term"] == 9  # long-term five times, sustainability twice, future twice
    assert one["short_term"] == 4  # short term twice, short-term, immediate
    assert (one["identity_based"], one["social_moral"], one["inferential"]) == (2, 1, 1)
    # payoff seven times and matrix; suggests; Given and matrix.
    assert (two["game_theoretic"], two["payoff_focused"]) == (7, 8)
    assert (two["inferential"], two["explicit_info"]) == (1, 2)
    assert three["payoff_focused"] == three["game_theoretic"] == 2  # payoffs, twice
    for text in (EXAMPLE_1, EXAMPLE_3):
        assert found(text, "word")["payoff_focused"] == 0  # whole words alone miss every plural


def reply(request: Request) -> str:
    text = "\n".join(message.content for message in request.messages)
    options = re.search(r'"action", one of (.*?), and "rationale"', text)
    assert options is not None
    label = re.findall(r'"(\w+)"', options.group(1))[0]
    why = "As a Citizen I adjust: the just price now, and the costs." if "as the Citizen" in text else ""
    if "Identify a Nash equilibrium" in text and "no role" in text:
        why = "Payoffs decide: two strategies, one strategic plan for the future."
    return orjson.dumps({"action": label, "rationale": why}).decode()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    register("wordy", reply)
    try:
        study = load_study("personas", preset="small", models=["scripted/wordy"], seeds=1)
        play(study, name="p", runs=runs)
    finally:
        unregister("wordy")
    with open_run("p", runs) as run:
        made = run_data(run.rows, run.folder.path, run.manifest)
    yield made
    made.close()


def test_the_index_sets_payoff_optimal_words_against_identity_driven_ones(data: RunData) -> None:
    index = {e.key["condition"]: e.value for e in estimate(data, "reasoning_index", ["condition"])}
    assert index == {"no persona, visible payoffs": 1.0, "persona, hidden payoffs": -1.0}
    groups = estimate(data, {"name": "keyword_rate", "words": "reasoning"}, ["condition", "category"])
    assert {tuple(e.key.values()): e.value for e in groups} == {
        ("persona, hidden payoffs", "identity_driven"): 2000, ("persona, hidden payoffs", "payoff_optimal"): 0,
        ("no persona, visible payoffs", "identity_driven"): 0,
        ("no persona, visible payoffs", "payoff_optimal"): 4000,
    }  # fmt: skip


def test_every_rule_of_matching_is_shown_beside_the_others(data: RunData) -> None:
    found = {
        e.key["matching"]: e.value
        for e in estimate(
            data, {"name": "keyword_rate", "words": "strategic", "match": "every"}, ["matching"],
            where={"persona": "no"},
        )
    }  # fmt: skip
    assert found == {"word": 1000, "inflected": 2000, "prefix": 1000, "substring": 1000}
    with pytest.raises(UnknownName, match="unknown match mode 'stem'"):
        estimate(data, {"name": "keyword_rate", "match": "stem"})
    with pytest.raises(UnknownName, match="did you mean strategic"):
        estimate(data, {"name": "keyword_rate", "words": "strategc"})


def test_economic_and_social_actors_and_groups_of_scenarios(data: RunData) -> None:
    actors = {e.key["actor"]: e.value for e in estimate(data, "green_action", ["actor"])}
    assert actors == {"economic": 0.5, "social": 1.0}  # the first action: POLLUTE, and the green one of the others
    groups = {e.key["scenario_group"]: e.n for e in estimate(data, "nash_rate", ["scenario_group"])}
    assert groups == {
        "Economic Pressure": 3, "Environmental Crisis": 2, "Political Pressure": 1, "Social Movement": 1,
        "Mixed/Complex": 1,
    }  # fmt: skip


@pytest.mark.parametrize("word", ["strategically", "coordination", "pay-off", "cooperative", "adjust"])
def test_other_endings_and_spellings_are_no_inflections(word: str) -> None:
    assert Matcher(persona_keywords(mode="inflected")).spans(word) == []


@pytest.mark.parametrize(
    "word", ["payoffs", "strategies", "imply", "implied", "competing", "profitability", "equilibria", "matrices"]
)
def test_documented_endings_are_inflections(word: str) -> None:
    assert Matcher(persona_keywords(mode="inflected")).spans(word)
