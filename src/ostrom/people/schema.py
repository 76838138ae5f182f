"""The section ``people`` of a study file: recruiting, steps of a visit, time limits, pay and codes."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ostrom.ground.validation import refuse_first
from ostrom.people.questions import Question
from ostrom.studies.extensions import StudySection

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d)?\s*")


def seconds(value: object) -> float:
    """Parse a duration into seconds.

    >>> seconds(20), seconds("30min"), seconds("90d")
    (20.0, 1800.0, 7776000.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a length of time such as 20 (seconds), 30s, 5min, 2h or 90d")
    return float(match[1]) * _UNITS[match[2] or "s"]


Seconds = Annotated[float, BeforeValidator(seconds)]
TextFile = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}\.(md|yaml|yml)$")]
STEPS = ("consent", "text", "quiz", "match", "ask", "survey", "debrief")
ENDS = (
    "done", "declined", "screened_out", "full", "no_partner", "timed_out", "departed", "withdrawn", "finished_before",
)  # fmt: skip
"""The possible ends of a visit; each may have a completion code."""


class Source(StudySection):
    """Where people come from, and how they are identified."""

    name: Literal["prolific", "mturk", "sona", "link", "lab"]
    verify: bool = Field(default=False, description="prolific: accept signed parameters alone")
    keys: str | None = Field(default=None, description="file with the platform's public keys (JWK set)")
    places: int | None = Field(default=None, ge=1, le=100_000, description="link: how many links; lab: how many seats")

    @model_validator(mode="after")
    def _fits(self) -> Source:
        counted = self.name in ("link", "lab")
        refuse_first([
            (self.verify and self.name != "prolific",
             f"verify is for source prolific, which signs its parameters (found {self.name})"),
            (self.verify and self.keys is None,
             "verify needs 'keys': the file with the platform's public keys (JWK set)"),
            (self.places is not None and not counted, f"places is for sources link and lab (found {self.name})"),
            (self.places is None and counted, f"source {self.name} needs 'places': how many people may come"),
        ])  # fmt: skip
        return self


class Assign(StudySection):
    """How people are put into cells."""

    rule: Literal["least_filled", "random"] = "least_filled"
    coin: float = Field(default=0.2, ge=0, le=1, description="share of the draws that are made at random")
    after: str | None = Field(
        default=None, description="the step after which people are assigned; left out: before the first match"
    )


class Quiz(StudySection):
    """Questions that must be answered correctly."""

    file: TextFile
    wrong: str | None = Field(default=None, description="the text to which a wrong answer leads back")
    tries: int | None = Field(default=None, ge=2, le=100, description="how often it may be tried")
    failed: Literal["screened_out", "go_on"] = "screened_out"


class Survey(StudySection):
    """Questions without right answers."""

    file: TextFile
    name: str = Field(default="survey", pattern=r"^[a-z][a-z0-9_]{0,39}$")


class Ask(Question):
    """One question between the steps; its answer is a column of the visits table."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")


class Step(StudySection):
    """One step of a visit: exactly one of its keys is set."""

    consent: TextFile | None = None
    text: TextFile | None = None
    quiz: Quiz | None = None
    match: int | None = Field(default=None, ge=1, le=100)
    ask: Ask | None = None
    survey: Survey | None = None
    debrief: TextFile | None = None

    @field_validator("quiz", "survey", mode="before")
    @classmethod
    def _file_alone(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _exactly_one(self) -> Step:
        kinds = [name for name in STEPS if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError(
                f"a step of a visit is exactly one of {', '.join(STEPS)} (found {', '.join(kinds) or 'none'})"
            )
        return self

    @property
    def kind(self) -> str:
        """Return the kind of the step."""
        return next(name for name in STEPS if getattr(self, name) is not None)

    @property
    def file(self) -> str | None:
        """The text file of the step, if it has one."""
        content = getattr(self, self.kind)
        return content if isinstance(content, str) else getattr(content, "file", None)

    @property
    def name(self) -> str:
        """Return the step's name for other keys: its file's name without folder and ending, or its kind."""
        return re.split(r"[./]", self.file)[-2] if self.file and self.kind in ("text", "debrief") else self.kind


class Times(StudySection):
    """Time limits."""

    decision: Seconds | None = Field(default=None, description="time for a decision; left out: no limit")
    missed: str = Field(default="mark", description="mark, end-visit or default:<action>")
    missed_at_most: int | None = Field(default=None, ge=0)
    reveal: tuple[Seconds, Seconds] | None = Field(
        default=None, description="the other's move appears after a time drawn between these"
    )
    resume_within: Seconds = Field(default=1800.0, description="a visit left for longer than this is over")
    accommodation: tuple[float | Literal["none"], ...] = Field(
        default=(1.0,), min_length=1, description="factors by which people may lengthen their time, or none"
    )

    @model_validator(mode="after")
    def _fits(self) -> Times:
        limit = 1.0 if self.decision is None else self.decision
        refuse_first([
            (not 1 <= limit <= 86400, f"decision must be between 1 second and one day (found {limit:g})"),
            (self.reveal is not None and not self.reveal[0] <= self.reveal[1] <= 3600,
             "reveal must be a shortest and a longest time, at most an hour"),
            (self.decision is None and self.missed_at_most is not None,
             "missed_at_most needs a time limit: set 'decision'"),
            (not 60 <= self.resume_within <= 30 * 86400, "resume_within must be between one minute and 30 days"),
            (any(isinstance(f, float) and not 1 <= f <= 100 for f in self.accommodation),
             "accommodation lists factors from 1 to 100, or none"),
        ])  # fmt: skip
        return self


class Pay(StudySection):
    """The pay of people: a base, and points times a rate."""

    currency: str = Field(default="GBP", pattern=r"^[A-Z]{3}$")
    base: Decimal = Field(default=Decimal(0), ge=0, le=10_000)
    per_point: Decimal = Field(default=Decimal(0), ge=0, le=1000)
    at_most: Decimal | None = Field(default=None, ge=0, le=10_000, description="the largest bonus")

    @field_validator("base", "per_point", "at_most", mode="before")
    @classmethod
    def _decimal(cls, value: Any) -> Any:
        return str(value) if isinstance(value, float) else value  # 0.1 is meant as written


class LobbyRules(StudySection):
    """How people who play together are matched."""

    wait: Seconds = Field(default=300.0, description="how long somebody waits for partners")
    stand_in: str | None = Field(
        default=None, description="type of agent that takes empty seats then; left out: no_partner"
    )
    departed: str = Field(
        default="end-match", pattern=r"^(end-match|agent:.+)$", description="end-match or agent:<type>"
    )


class Retention(StudySection):
    """How long personal data is kept."""

    people: Seconds = Field(default=90 * 86400.0)


class Exclude(StudySection):
    """Which people the analysis excludes; both counts are reported."""

    missed: int | None = Field(default=None, ge=1, description="people who missed so many rounds or more")

    def leaves_out(self, missed: int) -> bool:
        """Return whether a person with this many missed rounds is excluded."""
        return self.missed is not None and missed >= self.missed


class People(StudySection):
    """A study with people in the browser."""

    title: str | None = Field(
        default=None,
        min_length=1,
        description="what participants read above the pages; left out: the title of the study, which may say too much",
    )
    source: Source
    quota: int = Field(ge=1, le=1_000_000, description="finished people per cell, excluded ones not counted")
    assign: Assign = Assign()
    games: dict[str, dict[str, Any]] = Field(
        default={"game": {}}, min_length=1, description="games by name: what differs from the study"
    )
    matches: tuple[str, ...] = Field(default=(), description="the games of a visit, in order")
    visit: tuple[Step, ...] = Field(min_length=1)
    time: Times = Times()
    pay: Pay = Pay()
    codes: dict[Literal[ENDS], str] = Field(default_factory=dict)  # type: ignore[valid-type]
    lobby: LobbyRules = LobbyRules()
    languages: tuple[Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")], ...] = Field(
        default=("en",), min_length=1
    )
    keep: Retention = Retention()
    exclude: Exclude = Exclude()
    texts: dict[str, str] = Field(
        default_factory=dict, description="the text files by name and language; filled in when the study is read"
    )

    pictures: dict[str, str] = Field(
        default_factory=dict,
        description="the pictures of the texts by their paths, with a hash each; filled in when the study is read",
    )

    @field_validator("source", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("codes")
    @classmethod
    def _plain(cls, value: dict[str, str]) -> dict[str, str]:
        for end, code in value.items():
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code):
                raise ValueError(f"{end}: a code is made of letters, digits, '_' and '-' (found {code!r})")
        return value

    @model_validator(mode="after")
    def _fits(self) -> People:
        played = [step.match for step in self.visit if step.match is not None]
        count = len(self.matches or self.games)
        asks = [step.ask.name for step in self.visit if step.ask is not None]
        surveys = [step.survey.name for step in self.visit if step.survey is not None]
        refuse_first([
            *((part not in ("game", "mechanism"), f"games.{key}: only game and mechanism can differ (found {part!r})")
              for key, overrides in self.games.items() for part in overrides),
            *((key not in self.games, f"matches: there is no game {key!r} in 'games' (found: {', '.join(self.games)})")
              for key in self.matches),
            (played != list(range(1, count + 1)),
             f"visit: needs the steps match: 1 to match: {count} in order, once each (found {played or 'none'})"),
            (len(set(surveys)) != len(surveys) or set(surveys) & set(asks),
             "visit: two surveys, or a survey and a question, have the same name"),
        ])  # fmt: skip
        self._check_steps()
        return self

    def _check_steps(self) -> None:
        kinds, after = [step.kind for step in self.visit], self.assign.after
        names = [step.name for step in self.visit[: kinds.index("match")]]
        refuse_first([
            ("consent" in kinds[1:], "visit: consent comes first"),
            ("debrief" in kinds[:-1], "visit: debrief comes last"),
            (after is not None and after not in names,
             f"assign.after: names no step before the first match (found {after!r}, allowed: {', '.join(names)})"),
        ])  # fmt: skip
        for place, step in enumerate(self.visit):
            wrong = None if step.quiz is None else step.quiz.wrong
            texts = [other.name for other in self.visit[:place] if other.kind == "text"]
            if wrong is not None and wrong not in texts:
                raise ValueError(
                    f"visit: quiz.wrong names no text before the quiz (found {wrong!r}, "
                    f"allowed: {', '.join(texts) or 'none'})"
                )

    @property
    def order(self) -> tuple[str, ...]:
        """The games of a visit, in order."""
        return self.matches or tuple(self.games)

    @property
    def files(self) -> tuple[str, ...]:
        """The text files that the visit uses."""
        return tuple(dict.fromkeys(step.file for step in self.visit if step.file is not None))
