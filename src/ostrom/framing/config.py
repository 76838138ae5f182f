"""The framing parameters of an agent, as people write them in a study."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

LETTERS = "JFQXRHYWTNPM"
"""Letters that small models treat about alike, for answers of one token (pairs as in Akata et al. 2025)."""


class Framing(BaseModel):
    """How a view becomes words. Every field can be varied in a study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: str | tuple[str, ...] | None = Field(
        default=None,
        description="names of the actions as shown: a list, letters like 'JF', 'actions' for the game's own "
        "names; left out: A0, A1, ... (J, F, ... where one token is compared)",
    )
    counterbalance: bool = Field(
        default=False, description="draw per match which label stands for which action"
    )
    order: Literal["given", "reversed", "shuffled"] = Field(
        default="given", description="order in which actions are named; shuffled is drawn for every decision"
    )
    units: str = Field(default="points", description="what payoffs are called")
    story: str = Field(default="neutral", description="cover story: a file in stories/")
    payoffs: str | None = Field(
        default="sentences", description="presentation of the payoffs: a file in payoffs/; null hides them"
    )
    history: str = Field(default="compact", description="a line of the past: a file in history/")
    goal: str | None = Field(default="total", description="the stated goal: a file in goals/; null: none")
    hint: str | None = Field(default=None, description="a hint about the others: a file in hints/")
    words: int = Field(default=500, ge=1, description="most words of reasoning asked for")

    @field_validator("labels", mode="before")
    @classmethod
    def _labels(cls, value: object) -> object:
        if isinstance(value, list):
            value = tuple(str(v) for v in value)
        if isinstance(value, tuple):
            if len(set(value)) != len(value):
                raise ValueError("labels must differ from each other")
            if any(not label.strip() or "\n" in label for label in value):
                raise ValueError("a label must be a non-empty text on one line")
        return value

    def labels_for(self, actions: tuple[str, ...], one_token: bool = False) -> tuple[str, ...]:
        """The labels of a seat's actions, in the order of the actions.

        >>> Framing().labels_for(("cooperate", "defect")), Framing(labels="JF").labels_for(("a", "b"))
        (('A0', 'A1'), ('J', 'F'))
        """
        count = len(actions)
        if self.labels is None:
            if one_token and count <= len(LETTERS):
                return tuple(LETTERS[:count])
            return tuple(f"A{i}" for i in range(count))
        if self.labels == "actions":
            return actions
        labels = tuple(self.labels)
        if len(labels) != count:
            raise ValueError(f"{len(labels)} labels for {count} actions")
        return labels
