"""The framing parameters of an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from ostrom.ground.validation import Declared

if TYPE_CHECKING:
    import numpy as np

LETTERS = "JFQXRHYWTNPM"
"""Letters that small models treat about alike, for one-token answers (pairs as in Akata et al. 2025)."""
PAIRS = ("JF", "QX", "RH", "YW", "TN", "PM")
"""The default pairs of letters for random labels."""


class Framing(Declared):
    """How a view becomes words; every field can be varied in a study."""

    labels: str | tuple[str, ...] | None = Field(
        default=None,
        description="names of the actions as shown: a list, letters like 'JF', 'actions' for the game's own "
        "names, 'draw' for a set from the pool, drawn per match; left out: A0, A1, ... (J, F, ... where one "
        "token is compared)",
    )
    pool: tuple[str | tuple[str, ...], ...] = Field(
        default=PAIRS, min_length=1, description="what 'labels: draw' draws from: sets of labels"
    )
    counterbalance: bool = Field(default=False, description="draw per match which label stands for which action")
    order: Literal["given", "reversed", "shuffled"] = Field(
        default="given", description="order in which actions are named; shuffled is drawn for every decision"
    )
    units: str = Field(default="points", description="what payoffs are called")
    language: str = Field(
        default="en", description="the language of the prompts: a folder in languages/; en, de, es, zh, ar"
    )
    story: str = Field(default="neutral", description="cover story: a file in stories/")
    payoffs: str | None = Field(
        default="sentences", description="presentation of the payoffs: a file in payoffs/; null hides them"
    )
    rows: Literal["given", "sorted", "shuffled"] = Field(
        default="given",
        description="order of the rows of payoffs; sorted: by own action, then the highest own payoff first; "
        "shuffled is drawn per match and seat",
    )
    wording: str | None = Field(
        default=None,
        description="another wording of the mechanism's rules: a file mechanisms/MECHANISM.WORDING.txt, and "
        "turns/MECHANISM_KIND.WORDING.txt where there are any; null: mechanisms/MECHANISM.txt",
    )
    layout: str | None = Field(
        default=None, description="order of the blocks of the fixed part: a file in layouts/; null: setup.txt"
    )
    names: Literal["numbers", "titles", "other"] = Field(
        default="numbers",
        description="what seats are called: by number, by the titles the game carries, or (between two) "
        "the one that is not the reader's just 'the other player'",
    )
    meanings: bool = Field(default=False, description="say what every action means, in the words that the game carries")
    history: str = Field(default="compact", description="a line of the past: a file in history/")
    newest_first: bool = Field(default=False, description="show the past from the newest round back")
    goal: str | None = Field(default="total", description="the stated goal: a file in goals/; null: none")
    chances: bool = Field(
        default=False, description="say that all players choose by chances, where all of them do (answer: mixture)"
    )
    hint: str | None = Field(default=None, description="a hint about the others: a file in hints/")
    words: int | None = Field(
        default=500,
        ge=1,
        description="most words of reasoning asked for; null, for answer: explained: a short explanation, unbounded",
    )

    @field_validator("language")
    @classmethod
    def _code(cls, value: str) -> str:
        if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?", value):
            raise ValueError("must be the code of a language, a folder in languages/: en, de, es, zh, ar, ...")
        return value

    @field_validator("pool", mode="before")
    @classmethod
    def _pool(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            raise ValueError("pool must be a list of sets of labels")
        sets = tuple(tuple(str(v) for v in item) if isinstance(item, list | tuple) else item for item in value)
        for item in sets:
            if isinstance(item, str | tuple) and len(set(item)) != len(item):
                raise ValueError(f"labels must differ from each other (found {item!r})")
        return sets

    @field_validator("labels", mode="before")
    @classmethod
    def _labels(cls, value: object) -> object:
        if isinstance(value, list):
            value = tuple(str(v) for v in value)
        if isinstance(value, str | tuple) and value not in ("actions", "draw") and len(set(value)) != len(value):
            raise ValueError("labels must differ from each other")
        if isinstance(value, tuple) and any(not label.strip() or "\n" in label for label in value):
            raise ValueError("a label must be a non-empty text on one line")
        return value

    @property
    def draws_labels(self) -> bool:
        """Return whether labels of a match are random."""
        return self.counterbalance or self.labels == "draw"

    def labels_for(self, actions: tuple[str, ...], one_token: bool = False) -> tuple[str, ...]:
        """The labels of a seat's actions, in the order of the actions.

        >>> Framing().labels_for(("cooperate", "defect")), Framing(labels="JF").labels_for(("a", "b"))
        (('A0', 'A1'), ('J', 'F'))
        """
        count = len(actions)
        if self.labels is None:
            return (
                tuple(LETTERS[:count]) if one_token and count <= len(LETTERS) else tuple(f"A{i}" for i in range(count))
            )
        match self.labels:
            case "actions":
                return actions
            case "draw":
                return self._of_size(count)[0]
        labels = tuple(self.labels)
        if len(labels) != count:
            raise ValueError(f"{len(labels)} labels for {count} actions")
        return labels

    def drawn_labels(
        self, counts: Sequence[int], rng: np.random.Generator | None
    ) -> tuple[tuple[str, ...], ...] | None:
        """Draw labels from the pool for seats with this many actions each; None if labels are not drawn.

        Seats with equally many actions get the same labels.
        """
        if self.labels != "draw" or rng is None:
            return None
        sets_of_size = {count: self._of_size(count) for count in sorted(set(counts))}
        picked = {count: sets[int(rng.integers(len(sets)))] for count, sets in sets_of_size.items()}
        return tuple(picked[count] for count in counts)

    def _of_size(self, count: int) -> list[tuple[str, ...]]:
        sets = [tuple(item) for item in self.pool if len(item) == count]
        if not sets:
            raise ValueError(f"no set of {count} labels in the pool ({', '.join(map(str, self.pool))})")
        return sets
