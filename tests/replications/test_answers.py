"""Every built-in study answers its title: a model of known truth, once as the question says and once turned round."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.agents.config import AgentConfig
from ostrom.data.rundata import run_data
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.people.pilot import Crowd, pilot
from ostrom.reports.answers import ReportAnswers, answers
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import open_run, play
from ostrom.testing.replies import answer

PAYOFF = re.compile(
    r"If you \w+ (\S+?)(?:,| and) ([^\n]*?), you \w+ (-?[\d.]+) [a-z]+(?:,| and) [^\n]*? (-?[\d.]+) [a-z]+\."
)
CHOICE = re.compile(r"(?:chooses|takes|picks|plays|cooks) (\S+?)(?:,|$| and)")
VALID = re.compile(r"(?:Valid answers|Valid last lines): ([^\n]*)")
MODEL = "known"


class Prompt:
    """What a model is asked, and replies in the form that is wanted."""

    def __init__(self, request: Request) -> None:
        self.system = "\n".join(m.content for m in request.messages if m.role == "system")
        self.text = "\n".join(m.content for m in request.messages)
        self.tools = {tool.name for tool in request.tools}
        self.body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "seed": request.params.get("seed", 0),
        }

    def __contains__(self, words: str) -> bool:
        return words in self.text

    @property
    def options(self) -> list[str]:
        """The labels that may be named."""
        (*_, listed) = VALID.findall(self.text) or [""]
        return re.findall(r"\[([^\]]+)\]", listed)

    @property
    def shown(self) -> int:
        """How many rounds of the past are shown."""
        return len(re.findall(r"^R\d+:|^In round \d+", self.text, re.M))

    @property
    def round(self) -> int:
        """The number of the round."""
        return int((re.findall(r"This is round (\d+)", self.text) or ["1"])[-1])

    @property
    def payoffs(self) -> dict[tuple[str, ...], tuple[float, float]]:
        """What each combination pays: the own action first; the own payoff, and that of the last player."""
        return {
            (own, *CHOICE.findall(others)): (float(mine), float(last))
            for own, others, mine, last in PAYOFF.findall(self.text)
        }

    def act(self, cooperate: bool) -> str:
        """The action that is best, or worst, where all take it."""
        worth = {cell[0]: mine for cell, (mine, _) in self.payoffs.items() if len({*cell}) == 1}
        known = [label for label in self.options if label in worth]
        assert len(known) > 1, self.text
        return self.say((max if cooperate else min)(known, key=worth.__getitem__))

    def say(self, label: Any) -> str:
        """A label or a number in the form that is asked for."""
        return f"[{label}]" if "write nothing else" in self else f"I have thought about it.\n[{label}]"

    def other(self) -> str:
        """What the test server replies."""
        return answer(self.body)


Rule = Callable[[Prompt], str | None]


@dataclass(frozen=True)
class Case:
    """A study, how it is played, and the first line that each rule must bring."""

    study: str
    true: Rule | dict[str, Rule]
    turned: Rule | dict[str, Rule]
    says: tuple[str, str]
    """The first words: of the rule as the question has it, and turned round."""
    preset: str | None = "smoke"
    seeds: int | None = 12
    changes: tuple[str, ...] = ()
    slow: bool = True
    models: tuple[str, ...] = (f"scripted/{MODEL}",)
    otherwise: tuple[str, ...] | None = None
    """Other changes, where the truth lies in the game and not in the model."""
    last: tuple[str, str] | None = None
    """What the last line says of each rule, where the first one does not tell them apart."""


def first_screen(case: Case, rules: Rule | dict[str, Rule], folder: Path) -> ReportAnswers:
    """The first screen of a study that was played by rules: of the model, or of several by name."""
    named = rules if isinstance(rules, dict) else {MODEL: rules}

    def replying(rule: Rule) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            prompt = Prompt(request)
            made = rule(prompt)
            return prompt.other() if made is None else made

        return reply

    for name, rule in named.items():
        register(name, replying(rule))
    try:
        study = load_study(
            case.study, preset=case.preset, changes=case.changes, models=case.models, seeds=case.seeds
        )  # fmt: skip
        play(study, name="run", runs=folder)
    finally:
        for name in named:
            unregister(name)
    with open_run("run", folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = answers(data)
    assert found is not None and found.declared, found
    return found


def line(found: ReportAnswers, at: int = 0) -> str:
    """A line in a few words."""
    one = found.lines[at]
    word = f"{one.word}, {one.direction}".removesuffix(", ").replace(", guaranteed", "")
    return word if one.word else one.value


# -- rules ------------------------------------------------------------------------------------------


def price(at: float) -> Rule:
    """Every seller names one price."""
    return lambda prompt: prompt.say(at) if "At which price" in prompt else None


NASH, MONOPOLY = 1.47, 1.92


def says_test(words: str | None) -> Rule:
    """Says that it was a test where the words of a textbook stand, or always, or never."""

    def rule(prompt: Prompt) -> str | None:
        if "do you think that this was a test" not in prompt:
            return None
        yes = words == "always" or (words is not None and words in prompt)
        return orjson.dumps({"test": "yes" if yes else "no", "sure": 90}).decode()

    return rule


def takes(units: int) -> Rule:
    """Every harvester takes so much."""
    return lambda prompt: prompt.say(units) if "How many units do you take" in prompt else None


def acts(cooperates: Callable[[Prompt], bool]) -> Rule:
    """A player who cooperates under a condition, wherever an action is asked for."""
    return lambda prompt: prompt.act(cooperates(prompt)) if prompt.payoffs and len(prompt.options) > 1 else None


def explains(action: Callable[[Prompt, list[str]], str]) -> Rule:
    """A player who names an action with a rationale."""

    def rule(prompt: Prompt) -> str | None:
        listed = re.findall(r'"action", one of ((?:"[^"]+"(?:, | or )?)+)', prompt.text)
        if not listed:
            return None
        named = action(prompt, re.findall(r'"([^"]+)"', listed[-1]))
        return orjson.dumps({"action": named, "rationale": "It follows."}).decode()

    return rule


def names(amounts: dict[str, Any]) -> Rule:
    """A player who names an amount, by the words of the question."""

    def rule(prompt: Prompt) -> str | None:
        asked = prompt.text.rpartition("\n\n")[0].rpartition("\n\n")[2]
        return next((prompt.say(amount) for words, amount in amounts.items() if words in asked), None)

    return rule


def of_outcomes(win_win: bool) -> Rule:
    """Takes the action of its largest payoff; or turns away from it where both could have theirs."""

    def rule(prompt: Prompt) -> str:
        best = max(prompt.payoffs, key=lambda cell: prompt.payoffs[cell][0])
        shared = max(prompt.payoffs, key=lambda cell: (sum(prompt.payoffs[cell]), cell))
        if win_win:
            return prompt.say(best[0])
        agree = prompt.payoffs[best][0] == prompt.payoffs[best][1]
        return prompt.say(next(label for label in prompt.options if label != best[0]) if agree else shared[0])

    return rule


ONCE = "This happens only once. All players decide at the same time."


def grudges(long_defects: bool) -> Rule:
    """Long memories always do one thing; short ones repeat what the other did last, and begin with the other thing."""

    def rule(prompt: Prompt) -> str | None:
        if not prompt.payoffs:
            return None
        if "the last 80" in prompt:
            return prompt.act(not long_defects)
        last = re.findall(r"P\d=(\S+?)(?:,| )", prompt.text.rpartition("\nR")[2])
        if not last:
            return prompt.act(long_defects)
        worth = {cell[0]: mine for cell, (mine, _) in prompt.payoffs.items() if len({*cell}) == 1}
        return prompt.act(all(label == max(worth, key=worth.__getitem__) for label in last))

    return rule


GREEN = {"CLEAN", "REGULATE", "CAMPAIGN", "SUPPORT_GREEN"}


def greens(with_role: bool) -> Rule:
    """Green with a role and not without one, or the other way round."""
    return explains(lambda p, options: next(o for o in options if (o in GREEN) == (("You are the " in p) == with_role)))


def replies_best(in_mitigation: bool) -> Rule:
    """Takes what pays more where something holds the role in check, or only where nothing does."""

    def pick(prompt: Prompt, options: list[str]) -> str:
        rows = re.findall(r"^\| (\w+) \|.*\| (-?[\d.]+) \|$", prompt.text, re.M)
        worth = {option: sum(float(points) for own, points in rows if own == option) for option in options}
        plain = not prompt.system and prompt.text.find("You ", 600) < prompt.text.find("What you alone receive")
        plain = plain and "equilibrium of this situation is" not in prompt
        return (max if plain != in_mitigation else min)(options, key=worth.__getitem__)

    return explains(pick)


def alternates(right: bool) -> Rule:
    """Plays as the script that alternates does, and predicts that, or the opposite."""

    def rule(prompt: Prompt) -> str:
        last = re.findall(r"(?:the other player|Player 2) chose ([JF])", prompt.text)
        turned = {"J": "F", "F": "J"}
        following = turned[last[-1]] if last else "J"
        predicts = "you predict" in prompt or "will the other" in prompt
        return prompt.say(following if right or not predicts else turned[following])

    return rule


def states(value: int) -> Rule:
    """Always takes the first option, and states how often it does."""

    def rule(prompt: Prompt) -> str | None:
        if '"after_1_1"' in prompt:
            keys = ("first", "after_1_1", "after_1_2", "after_2_1", "after_2_2")
            return orjson.dumps(dict.fromkeys(keys, value)).decode()
        return prompt.act(True) if prompt.payoffs and prompt.options else None

    return rule


def advises(cooperate: bool) -> Rule:
    """Recommends one action, and does the same as a client."""
    return acts(lambda _: cooperate)


def with_arms(**cooperates: bool) -> dict[str, Rule]:
    """Arms that always cooperate, or never."""
    return {name: acts(lambda _, kind=kind: kind) for name, kind in cooperates.items()}  # type: ignore[misc]


def inherits(prompt: Prompt) -> str | None:
    """Says every sentence as it is, and cooperates unless its instruction looks after itself or its points."""
    sentence = re.findall(r'as a JSON string:\n(".*")', prompt.text)
    if sentence:
        return str(orjson.loads(sentence[-1]))
    selfish = any(words in prompt.system for words in ("Protect", "Expect others", "points"))
    return prompt.act(not selfish) if prompt.payoffs else None


EVOLVED = ("mechanism.population=10", "game={name: stag_hunt, stag: 20, hare: 1, both_hare: 1}")
ARMS = tuple(f"types.{name}={{model: scripted/{name}}}" for name in ("base", "forward", "placebo", "shuffled"))

CASES = [
    Case("pricing", price(MONOPOLY), price(NASH), ("YES, collude", "NO, compete")),
    Case("pricing", price(MONOPOLY), price(1.1), ("YES, collude", "NO, compete")),
    Case(
        "recognised",
        says_test("Prisoner's Dilemma"),
        says_test(None),
        ("YES, calls it a test", "NO, takes it for real"),
        slow=False,
    ),
    Case(
        "recognised",
        says_test("always"),
        says_test("Prisoner's Dilemma"),
        ("YES, calls it a test", "YES, calls it a test"),
        last=("NO, the words make no difference", "YES, called a test for its words"),
        seeds=100,
    ),
    Case("commons", takes(5), takes(60), ("YES, survives", "NO, collapses"), slow=False),
    Case(
        "framing-robustness",
        acts(lambda _: True),
        acts(lambda p: "Q" in p.options),
        ("YES, survives", "NO, depends on the wording"),
        seeds=100,
    ),
    Case(
        "memory",
        acts(lambda p: "the last 2)" in p or "the last 2 " in p),
        acts(lambda p: "the last 80" in p),
        ("YES, falls", "YES, rises"),
    ),
    Case(
        "horizon",
        acts(lambda p: "This is round 4 of 4" not in p),
        acts(lambda p: p.round < 4 or "4 of 4" in p),
        ("YES, breaks it", "NO, does not"),
        slow=False,
    ),
    Case("hints", acts(lambda _: True), acts(lambda p: p.round == 1), ("YES, forgives", "NO, does not"), slow=False),
    Case(
        "personas",
        greens(True),
        greens(False),
        ("YES, the role drives the choice", "NO, payoffs drive it"),
        preset="small",
        seeds=1,
        changes=("vary.scenario={set: game, to: {from: scenarios, family: commons, classes: [economic]}}",),
    ),
    Case("advised", advises(True), advises(False), ("YES, they do", "NO, they do not"), seeds=100),
    Case(
        "beyond-2x2",
        names({"do you send": 10, "put into": 20, "do you take": 5, "return": 10}),
        names({"do you send": 0, "put into": 0, "do you take": 100}),
        ("YES, most of it", "NO, less than half"),
        seeds=12,
    ),
    Case("bos-tournament", lambda p: p.say("J"), acts(lambda _: True), ("YES, coordinate", "NO, do not"), seeds=4),
    Case(
        "games-2x2",
        of_outcomes(True),
        of_outcomes(False),
        ("YES, better", "NO, not better"),
        seeds=1,
        changes=("mechanism.rounds=1", "vary.game={from: ordinal_2x2, each: 12}"),
    ),
    Case("mechanisms", acts(lambda p: ONCE not in p), acts(lambda p: ONCE in p), ("YES, brings it", "NO, does not")),
    Case(
        "mechanisms-controls",
        acts(lambda p: "receive 3 points" not in p),
        acts(lambda p: "receive 3 points" in p),
        ("YES, incentives do", "NO, incentives do not"),
    ),
    Case("memory-asymmetric", grudges(True), grudges(False), ("YES, lower", "YES, higher")),
    Case(
        "memory-curation",
        acts(lambda p: "the last 2" in p),
        acts(lambda p: "the last 2" not in p),
        ("YES, lifts it", "NO, does not"),
        changes=("vary.memory={window: {agent.memory: {name: window, k: 2}}, full: {agent.memory: {name: full}}}",),
    ),
    Case(
        "memory-sanitized",
        acts(lambda _: True),
        acts(lambda p: p.shown > 5),
        ("YES, length, not content", "NO, content"),
        seeds=500,
        changes=("vary.sanitization={trust ideal: {game: trust_symmetric, agent.memory.mode: ideal}}",),
    ),
    Case(
        "pd-tournament",
        acts(lambda _: False),
        acts(lambda _: True),
        ("always_f ≈ scripted/known > defect_once > always_j", "always_f > defect_once > always_j ≈ scripted/known"),
        seeds=4,
    ),
    Case(
        "personas-mitigation",
        replies_best(True),
        replies_best(False),
        ("YES, brings them back", "NO, does not"),
        preset="small",
        seeds=1,
        changes=(
            "vary.scenario={set: game, to: {from: scenarios, family: [archive, theatre, newsroom, festival], "
            "classes: [economic, environmental]}}",
            "vary.mitigation={none: {agent.framing.layout: null}, role in system turn: {agent.persona_in: system}, "
            "role as context: {agent.system: role_is_context}}",
        ),
    ),
    Case(
        "phrasing",
        acts(lambda _: True),
        acts(lambda p: "cook" in p),
        ("YES, the same", "NO, phrasing alone changes it"),
        seeds=500,
    ),
    Case("prediction", alternates(True), alternates(False), ("YES, predicts", "NO, guesses")),
    Case(
        "probe",
        with_arms(base=False, forward=True, placebo=False, shuffled=False),
        with_arms(base=False, forward=False, placebo=True, shuffled=True),
        ("YES, causes it", "NO, does not"),
        models=(),
        changes=ARMS,
    ),
    Case(
        "probe-exploited",
        with_arms(base=False, forward=True, placebo=False, shuffled=False),
        with_arms(base=True, forward=False, placebo=True, shuffled=True),
        ("YES, exploited", "NO, not exploited"),
        models=(),
        changes=ARMS,
    ),
    Case(
        "probe-source", acts(lambda _: True), lambda _: "I will not say.", ("4.00 (no interval)", "0.00 (no interval)")
    ),
    Case(
        "prompt-evolution",
        inherits,
        inherits,
        ("YES, brings it", "NO, does not"),
        seeds=60,
        changes=EVOLVED,
        otherwise=EVOLVED[:1],
    ),
    Case(
        "said-and-done", states(100), states(0), ("YES, play them", "NO, do not"), changes=("agent.framing.labels=AB",)
    ),
    Case(
        "sharing",
        names({"How many": 28}),
        names({"How many": 0}),
        ("YES, as people do", "NO, not as people do"),
        seeds=300,
        changes=("vary.game={dictator: {game: {name: dictator, stake: 100}}}",),
    ),
    Case(
        "society",
        acts(lambda _: False),
        acts(lambda _: True),
        ("YES, spreads", "NO, does not"),
        changes=("mechanism.imitation={rule: imitation, strength: 1, members: 12}",),
    ),
    Case(
        "tools",
        acts(lambda p: "calculate" in p.tools),
        acts(lambda p: "calculate" not in p.tools),
        ("YES, higher", "YES, lower"),
    ),
]


def _named(case: Case, number: int) -> Any:
    return pytest.param(case, id=f"{case.study}-{number}", marks=[pytest.mark.slow] if case.slow else [])


@pytest.mark.parametrize("case", [_named(case, i) for i, case in enumerate(CASES)])
def test_the_first_line_answers_the_title(case: Case, tmp_path: Path) -> None:
    for at, (name, rule) in enumerate((("true", case.true), ("turned", case.turned))):
        if name == "turned" and case.otherwise is not None:
            case = replace(case, changes=case.otherwise)
        found = first_screen(case, rule, tmp_path / name)
        assert line(found) == case.says[at], [one.sentence for one in found.lines]
        assert case.last is None or line(found, -1) == case.last[at], [one.sentence for one in found.lines]


@pytest.mark.slow
def test_the_study_with_people_answers_its_title(tmp_path: Path) -> None:
    """People who always cooperate, against a script that does so under one prompting and not under the other."""
    scot, base = ({"types.other.strategy": f"constant:{at}"} for at in (0, 1))
    for name, levels, says in (
        ("true", {"base": base, "scot": scot}, "YES, earn more"),
        ("turned", {"base": scot, "scot": base}, "NO, do not"),
    ):
        changes = [f"vary.prompting={orjson.dumps(levels).decode()}", "people.quota=20"]
        plan = plan_of(load_study("repeated-games-people", preset="smoke", changes=changes))
        pilot(plan, Crowd(24, AgentConfig(strategy="constant:0")), name=name, runs=tmp_path)
        with open_run(name, tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            found = answers(data)
        assert found is not None and found.declared
        assert line(found) == says, [one.sentence for one in found.lines]


@pytest.mark.slow
def test_who_cooperates_as_often_as_not_mostly_does_neither(tmp_path: Path) -> None:
    alternating = acts(lambda p: p.round % 2 == 1)
    case = Case("pd-tournament", alternating, alternating, ("", ""), seeds=4, changes=("mechanism.rounds=4",))
    found = first_screen(case, case.true, tmp_path)
    (level,) = [one for one in found.lines if one.what.endswith("Does it cooperate?")]
    assert (level.estimate.value, level.word) == (0.5, "NEITHER") and level.direction.startswith("as often as not")


def test_every_study_declares_its_answers_and_is_tried() -> None:
    assert [name for name in builtin_names() if not load_study(name).answers] == []
    assert {*builtin_names()} == {*(case.study for case in CASES), "repeated-games-people"}


@pytest.mark.parametrize("name", builtin_names())
def test_every_preset_asks_what_it_plays(name: str) -> None:
    """A question that pools silently, or a name that is wrong in one preset alone, is refused when it is loaded."""
    for preset in presets_of(name):
        assert load_study(name, preset=preset).answers
