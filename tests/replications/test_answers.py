"""Every built-in study answers its title: a model of known truth, once as the question says and once turned round."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.data.rundata import run_data
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.reports.answers import ReportAnswers, answers
from ostrom.studies.files import builtin_names
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.replies import answer

PAYOFF = re.compile(r"If you \w+ (\S+) and (?:the other \w+|\w+ \d) \w+ (\S+), you \w+ (-?[\d.]+)")
VALID = re.compile(r"(?:Valid answers|Valid last lines): ([^\n]*)")
MODEL = "known"


class Prompt:
    """What a model is asked, and replies in the form that is wanted."""

    def __init__(self, request: Request) -> None:
        self.system = "\n".join(m.content for m in request.messages if m.role == "system")
        self.text = "\n".join(m.content for m in request.messages)
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

    def act(self, cooperate: bool) -> str:
        """The action that is best, or worst, where both take it."""
        worth = {one: float(points) for one, two, points in PAYOFF.findall(self.text) if one == two}
        known = [label for label in self.options if label in worth]
        assert len(known) == 2, self.text
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
    true: Rule
    turned: Rule
    says: tuple[str, str]
    """The first words: of the rule as the question has it, and turned round."""
    preset: str | None = "smoke"
    seeds: int | None = 12
    changes: tuple[str, ...] = ()
    slow: bool = True
    models: tuple[str, ...] = (f"scripted/{MODEL}",)
    more: dict[str, Any] = field(default_factory=dict)


def first_screen(case: Case, rule: Rule, folder: Path) -> ReportAnswers:
    """The first screen of a study that was played by a rule."""

    def reply(request: Request) -> str:
        prompt = Prompt(request)
        made = rule(prompt)
        return prompt.other() if made is None else made

    register(MODEL, reply)
    try:
        study = load_study(
            case.study, preset=case.preset, changes=case.changes, models=case.models, seeds=case.seeds
        )  # fmt: skip
        play(study, name="run", runs=folder)
    finally:
        unregister(MODEL)
    with open_run("run", folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = answers(data)
    assert found is not None and found.declared, found
    return found


def line(found: ReportAnswers, at: int = 0) -> str:
    """A line in a few words."""
    one = found.lines[at]
    return f"{one.word}, {one.direction}".removesuffix(", ").replace(", guaranteed", "")


# -- rules ------------------------------------------------------------------------------------------


def price(at: float) -> Rule:
    """Every seller names one price."""
    return lambda prompt: prompt.say(at) if "At which price" in prompt else None


NASH, MONOPOLY = 1.47, 1.92


def test_of(words: str | None) -> Rule:
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
    return lambda prompt: prompt.act(cooperates(prompt)) if len(prompt.options) == 2 else None


def explains(action: Callable[[Prompt, list[str]], str]) -> Rule:
    """A player who names an action with a rationale."""

    def rule(prompt: Prompt) -> str | None:
        listed = re.findall(r'"action", one of ((?:"[^"]+"(?:, | or )?)+)', prompt.text)
        if not listed:
            return None
        named = action(prompt, re.findall(r'"([^"]+)"', listed[-1]))
        return orjson.dumps({"action": named, "rationale": "It follows."}).decode()

    return rule


CASES = [
    Case("pricing", price(MONOPOLY), price(NASH), ("YES, collude", "NO, compete"), slow=False),
    Case("pricing", price(MONOPOLY), price(1.1), ("YES, collude", "NO, compete")),
    Case("recognised", test_of("Prisoner's Dilemma"), test_of(None), ("YES, calls it a test", "NO, takes it for real"), slow=False),
    Case("commons", takes(5), takes(60), ("YES, survives", "NO, collapses"), slow=False),
    Case("framing-robustness", acts(lambda _: True), acts(lambda p: "Q" in p.options), ("YES, survives", "NO, depends on the wording"), seeds=100),
    Case("memory", acts(lambda p: "at most the last 2)" in p or "the last 2 " in p), acts(lambda p: "the last 80" in p), ("YES, falls", "YES, rises")),
    Case("horizon", acts(lambda p: "This is round 4 of 4" not in p), acts(lambda p: p.round < 4 or "4 of 4" in p), ("YES, breaks it", "NO, does not"), slow=False),
    Case("hints", acts(lambda _: True), acts(lambda p: p.round == 1), ("YES, forgives", "NO, does not"), slow=False),
]  # fmt: skip


def _named(case: Case, number: int) -> Any:
    return pytest.param(case, id=f"{case.study}-{number}", marks=[pytest.mark.slow] if case.slow else [])


@pytest.mark.parametrize("case", [_named(case, i) for i, case in enumerate(CASES)])
def test_the_first_line_answers_the_title(case: Case, tmp_path: Path) -> None:
    for name, rule, says in zip(("true", "turned"), (case.true, case.turned), case.says, strict=True):
        found = first_screen(case, rule, tmp_path / name)
        assert line(found) == says, [one.sentence for one in found.lines]


def test_every_study_declares_its_answers() -> None:
    assert [name for name in builtin_names() if not load_study(name).answers] == []
