"""Questions to people outside the game: quiz, surveys and single questions, from YAML files."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from ostrom.answers import Record
from ostrom.ground.validation import Declared, refuse_first

MOST_QUESTIONS = 100
MOST_CHARACTERS = 4000


class Bounds(Declared):
    """The range of a requested number."""

    low: int = Field(default=0, ge=-(10**9), le=10**9)
    high: int = Field(default=10**6, ge=-(10**9), le=10**9)

    @model_validator(mode="after")
    def _ordered(self) -> Bounds:
        if self.low > self.high:
            raise ValueError(f"low must not be above high (found {self.low} and {self.high})")
        return self


class Question(Declared):
    """One question: options to choose from, a whole number, or free text."""

    name: str = Field(default="", pattern=r"^[a-z][a-z0-9_]{0,39}$|^$", description="column of the answer")
    text: str = Field(min_length=1, max_length=2000)
    options: tuple[str, ...] = Field(default=(), max_length=50)
    number: Bounds | None = None
    free: int | None = Field(default=None, ge=1, le=MOST_CHARACTERS, description="free text of so many characters")
    optional: bool = False
    personal: bool | None = Field(
        default=None, description="kept in people.db alone and never exported; the default for free text"
    )
    order: Literal["given", "random"] = "given"
    answer: str | None = Field(default=None, description="the right answer, in a quiz")
    explain: str = Field(default="", max_length=2000, description="shown after a wrong answer, in a quiz")

    @field_validator("options", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        return tuple(_text(item) for item in value) if isinstance(value, list | tuple) else value

    @field_validator("answer", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return _text(value)

    @model_validator(mode="after")
    def _one_kind(self) -> Question:
        kinds = [bool(self.options), self.number is not None, self.free is not None]
        refuse_first([
            (sum(kinds) != 1, "needs exactly one of 'options', 'number' and 'free'"),
            (len(set(self.options)) != len(self.options) or not all(self.options),
             "options must be texts that differ from each other"),
            (self.answer is not None and self.answer not in self.options,
             f"answer must be one of the options (found {self.answer!r})"),
        ])  # fmt: skip
        return self

    @property
    def kept_apart(self) -> bool:
        """Return whether the answer is stored in the register instead of the journal."""
        return self.free is not None if self.personal is None else self.personal

    def json_form(self) -> dict[str, Any]:
        """The answer as a JSON schema."""
        if self.options:
            return {"type": "string", "enum": list(self.options)}
        if self.number is not None:
            return {"type": "integer", "minimum": self.number.low, "maximum": self.number.high}
        return {"type": "string", "maxLength": self.free or MOST_CHARACTERS}


class Questionnaire(Declared):
    """The content of a quiz or a survey file."""

    title: str = ""
    questions: tuple[Question, ...] = Field(min_length=1, max_length=MOST_QUESTIONS)

    @model_validator(mode="after")
    def _named(self) -> Questionnaire:
        names = [key for key, _ in self.named()]
        if len(set(names)) != len(names):
            raise ValueError("two questions have the same name")
        return self

    def named(self) -> list[tuple[str, Question]]:
        """Return the questions by the names of their answers; q1, q2, ... by default."""
        return [(question.name or f"q{number}", question) for number, question in enumerate(self.questions, 1)]

    def form(self, name: str) -> Record:
        """All answers as one record."""
        questions = self.named()
        schema = {
            "type": "object",
            "properties": {key: question.json_form() for key, question in questions},
            "required": [key for key, question in questions if not question.optional],
            "additionalProperties": False,
        }
        return Record(name, schema)

    def wrong(self, answers: dict[str, Any]) -> list[str]:
        """Return the names of the questions with a wrong answer."""
        return [
            key for key, question in self.named() if question.answer is not None and answers.get(key) != question.answer
        ]


def _text(value: Any) -> Any:
    """Convert an option to text: in YAML options are often numbers or booleans."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value
