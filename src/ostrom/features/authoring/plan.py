"""Scenarios written by a model: a new story for a payoff table, kept only if another model reads the claim off it.

The payoff table is given and its claim proved; the author writes a story that tells the table in words. A second model,
the reader, gets the story without the table and names the stable combinations of actions (those from which no player
gains by deviating alone). A story is kept if the reader names the same combinations as the claim of the table (after
Manoranjan & Gaikwad 2026, Section 3.1.2). Files name their author, and no model plays what it wrote.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from typing import Any, ClassVar

import orjson
import yaml

from ostrom.agents.config import AgentConfig
from ostrom.answers import Record
from ostrom.costs.derived import DerivedPlan, TaskPrompts
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.framing import Framing
from ostrom.games.game import Game
from ostrom.games.scenarios import Scenario, load_scenario
from ostrom.games.scenarios.reader import CAST, cast_file
from ostrom.games.scenarios.schema import NARRATIVE_WORDS
from ostrom.ground.errors import UsageError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View

READINGS = ("first", "second", "both", "neither")
FILES = (
    "answers/correction.txt", "answers/record_direct.txt", "mechanisms/authoring.txt", "records/reading.txt",
    "records/story.txt", "stories/neutral.txt", "turn.txt", "turns/read.txt", "turns/write.txt",
)  # fmt: skip
"""The prompt files of authors and readers."""


@dataclass(frozen=True, slots=True)
class Written:
    """One finished story: the scenario it is based on, what its reader concluded, and whether it is kept."""

    name: str
    base: str
    title: str
    narrative: str
    claim: str
    read: str
    kept: bool
    why: str


class Authoring(Mechanism):
    """A two-step mechanism: player 1 writes a story for a payoff table, player 2 reads it without the table."""

    name: ClassVar[str] = "authoring"

    def __init__(self, scenario: Scenario, swapped: bool = False) -> None:
        self.scenario, self.swapped = scenario, swapped

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask the author for a story, then the reader for its reading."""
        (written,) = yield [self.question(game)]
        story = dict(written.value)
        facts = {**self._facts_for("read"), "narrative": story["narrative"]}
        (read,) = yield [Decision(1, "read", View(game, 1, self.name, facts=facts), READING)]
        return Outcome([], (), {**story, "stable": read.value["stable"], "reason": read.value["reason"]})

    def question(self, game: Game) -> Decision:
        """Return the question to the author."""
        scenario = self.scenario
        rows = [[list(p), [float(x) for x in scenario.payoffs_at(p)]] for p in scenario.profiles()]
        facts = {
            "subtype": scenario.subtype, "class_title": scenario.class_title, "rows": rows,
            "least": NARRATIVE_WORDS[0], "most": NARRATIVE_WORDS[1], "stable": self._stable(),
        }  # fmt: skip
        return Decision(0, "write", View(game, 0, self.name, facts={**self._facts_for("write"), **facts}), STORY)

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """Return 2: one decision for the story and one for its reading."""
        return 2

    def _facts_for(self, task: str) -> dict[str, Any]:
        pair = [list(self.scenario.green.profile), list(self.scenario.tragedy.profile)]
        return {
            "task": task,
            "roles": [
                {"title": r.title, "actions": [{"key": a.key, "label": a.label} for a in r.actions]}
                for r in self.scenario.roles
            ],
            "pair": pair[::-1] if self.swapped else pair,
        }

    def _stable(self) -> str:
        """Return the claim about the stable outcomes in the words that the reader uses."""
        places = ("second", "first") if self.swapped else ("first", "second")
        return {"green": places[0], "tragedy": places[1]}.get(self.scenario.claim, self.scenario.claim)

    def verdict(self, facts: Mapping[str, Any]) -> tuple[bool, str]:
        """Return whether a story is kept, and the reason if not."""
        words, (least, most) = len(str(facts["narrative"]).split()), NARRATIVE_WORDS
        if not least <= words <= most:
            return False, f"has {words} words (from {least} to {most} are allowed)"
        agrees = facts["stable"] == self._stable()
        return agrees, "" if agrees else f"the reader finds {facts['stable']}, the table says {self._stable()}"


def _record(name: str, **properties: Any) -> Record:
    return Record(
        name,
        {
            "type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False,
        },
    )  # fmt: skip


STORY = _record(
    "story",
    title={"type": "string", "minLength": 3, "maxLength": 80},
    narrative={"type": "string", "minLength": 100, "maxLength": 1500},
)
READING = _record(
    "reading", stable={"type": "string", "enum": list(READINGS)}, reason={"type": "string", "maxLength": 1000}
)


class AuthorPlan(DerivedPlan):
    """The plan of an authoring run: every table ``copies`` times, written by one model and read by another."""

    kind: ClassVar[str] = "author"
    command: ClassVar[str] = "ostrom more author"
    files: ClassVar[tuple[str, ...]] = FILES

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        author: str,
        reader: str,
        *,
        name: str,
        runs: str | Path = "runs",
        copies: int = 1,
        prompts: str | Path | None = None,
        retries: int = 3,
        budget: Budget | None = None,
        temperature: float = 1.0,
    ) -> None:
        if author == reader:
            raise UsageError(f"--reader: {reader} wrote the stories; another model has to read them")
        super().__init__(
            name, runs, (author, reader), TaskPrompts(prompts), retries=retries, policy="skip-match", budget=budget
        )
        self.scenarios, self.author, self.reader = tuple(scenarios), author, reader
        self.copies = copies
        self.params = {"temperature": temperature, "max_tokens": 1000}

    def description(self) -> dict[str, Any]:
        """Return who writes and who reads which scenarios, as plain data."""
        return {
            "author": self.author, "reader": self.reader,
            "scenarios": [f"{s.family}/{s.name}" for s in self.scenarios], "copies": self.copies,
            "params": self.params,
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self.scenarios) * self.copies

    def unit(self, index: int) -> Unit:
        """Return the unit in which one story is written and read."""
        scenario, copy = self.scenarios[index % len(self.scenarios)], index // len(self.scenarios) + 1
        players = (
            Seated("author", self._config(self.author, self.params)),
            Seated("reader", self._config(self.reader, {**self.params, "temperature": 0.0})),
        )
        cell = {"base": scenario.name, "copy": copy}
        key = orjson.dumps(["author", scenario.family, scenario.name, copy]).decode()
        return Unit(
            index, key, copy, cell, scenario.game(), Authoring(scenario, swapped=copy % 2 == 0), players, kind="story"
        )

    def _config(self, model: str, params: Mapping[str, Any]) -> AgentConfig:
        return AgentConfig(model=model, style="direct", framing=Framing(payoffs=None, goal=None), params=dict(params))

    def written(self, journal: Journal) -> list[Written]:
        """Return every finished story, kept or rejected."""
        stories = []
        for unit in self.units():
            ended = journal.outcome_of(unit.index)
            if ended is None or ended[0] != "done":
                continue
            assert isinstance(unit.mechanism, Authoring)
            facts, base = ended[3], unit.mechanism.scenario
            title, story = (" ".join(str(facts[key]).split()) for key in ("title", "narrative"))
            name, verdict = f"{base.name}_{unit.cell['copy']}", unit.mechanism.verdict(facts)
            stories.append(Written(name, base.name, title, story, base.claim, facts["stable"], *verdict))
        return stories


def write_scenarios(plan: AuthorPlan, stories: Sequence[Written], folder: Path) -> list[Path]:
    """Write the kept stories as scenario files, with the family's cast file; load each file again as a check."""
    bases = {scenario.name: scenario for scenario in plan.scenarios}
    folder.mkdir(parents=True, exist_ok=True)
    with as_file(cast_file(plan.scenarios[0].family)) as cast:
        shutil.copyfile(cast, folder / CAST)
    paths = []
    for story in (story for story in stories if story.kept):
        base = bases[story.base]
        data = {
            "name": story.name, "title": story.title, "family": base.family, "class": base.scenario_class,
            "subtype": base.subtype, "claim": base.claim, "author": plan.author, "narrative": story.narrative,
            "payoffs": {" ".join(p): [float(x) for x in base.payoffs_at(p)] for p in base.profiles()},
        }  # fmt: skip
        path = folder / f"{story.name}.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110), encoding="utf-8")
        load_scenario(path)
        paths.append(path)
    return paths
