"""Side effects of an adapter: the same items for base and adapted model, compared in pairs.

Items come from held-out prompts of a corpus (is the answer readable, is it a refusal?), from ``reasoning-gym``, whose
exercises are generated and need no download, and from tasks of lm-eval (``lm_eval``). Replies are kept as they arrive,
so that a stopped check goes on.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ostrom.analysis.statistics.counts import McNemar, mcnemar
from ostrom.ground.errors import UsageError
from ostrom.models.base import Message, Model, Request
from ostrom.probe.training.data import read_examples

ANSWERS = "regression.jsonl"
_LABEL = re.compile(r"\[([^\[\]\n]{1,60})\]")
_REFUSAL = re.compile(r"\b(?:I(?:'m| am) sorry|I can(?:no|')t|as an AI|I(?:'m| am) (?:not able|unable) to)\b", re.I)


@dataclass(frozen=True, slots=True)
class Item:
    """One question, and the test of its answer."""

    task: str
    messages: tuple[tuple[str, str], ...]
    good: Callable[[str], bool]


def format_items(corpus: Path, most: int) -> list[Item]:
    """Return prompts of a corpus, held-out ones first: a reply must end with a valid option and not refuse."""
    rows = [*read_examples(corpus / "val.jsonl"), *read_examples(corpus / "train.jsonl")][:most]
    items = []
    for row in rows:
        turns = tuple((m["role"], m["content"]) for m in row["messages"][:-1])
        options = set(_LABEL.findall(turns[-1][1].rpartition("\n\n")[2]))
        items += [
            Item("format", turns, partial(readable, options=options)),
            Item("no refusal", turns, lambda reply: not _REFUSAL.search(reply)),
        ]
    return items


def readable(reply: str, options: set[str]) -> bool:
    """Return whether the last line is one of the bracketed options alone.

    >>> readable("So.\\n[A0]", {"A0", "A1"}), readable("I take [A0] now", {"A0", "A1"})
    (True, False)
    """
    lines = reply.strip().splitlines()
    label_match = _LABEL.fullmatch(lines[-1].strip()) if lines else None
    return label_match is not None and label_match[1] in options


def gym_items(task: str, most: int) -> list[Item]:
    """Return generated exercises of ``reasoning-gym``, the same for every model."""
    try:
        import reasoning_gym
    except ImportError:
        raise UsageError("--reasoning-gym needs one more package: pip install reasoning-gym") from None
    try:
        data = reasoning_gym.create_dataset(task, size=most, seed=0)
    except ValueError as error:
        raise UsageError(f"--reasoning-gym {task}: {error}") from None
    items = []
    for number in range(most):
        entry = data[number]
        prompt_text = f"{entry['question']}\n\nThink briefly, then write the answer alone on the last line."

        def good(reply: str, entry: Any = entry) -> bool:
            return float(data.score_answer((reply.strip().splitlines() or [""])[-1].strip(), entry)) >= 0.99

        items.append(Item(task, (("user", prompt_text),), good))
    return items


@dataclass(frozen=True, slots=True)
class Regression:
    """The comparison of base and adapter on one task."""

    task: str
    compared: McNemar

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, with the detectable drop as a share."""
        detectable = self.compared.detectable
        return {"task": self.task, **asdict(self.compared),
                "detectable_share": None if detectable is None else detectable / self.compared.pairs}  # fmt: skip


class ReplyFile:
    """Replies of ``base`` and ``adapter`` in a file, written as they arrive: no question is asked twice."""

    def __init__(self, models: Mapping[str, Model], folder: Path) -> None:
        self.models, self.path = models, folder / ANSWERS
        # What a reply depends on besides the messages: a retrained adapter is another model.
        self._facts = {
            arm: [model.name, {key: fact for key, fact in model.describe().items() if key != "client"}]
            for arm, model in models.items()
        }
        self._replies: dict[str, str] = {}
        if self.path.is_file():
            for line in self.path.read_text("utf-8").splitlines():
                try:
                    row = json.loads(line)
                    self._replies[row["question"]] = row["reply"]
                except (ValueError, KeyError, TypeError):
                    continue  # the last line of a killed check, or one of an earlier version
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")  # after a line that a kill cut short

    async def reply(self, arm: str, messages: Sequence[tuple[str, str]], params: Mapping[str, Any]) -> str:
        """Return a model's reply to these messages, from the file if it was asked before."""
        model = self.models[arm]
        question = json.dumps([*self._facts[arm], messages, params], sort_keys=True, default=str)
        if question not in self._replies:
            request = Request(tuple(Message(role, text) for role, text in messages), params)  # type: ignore[arg-type]
            self._replies[question] = (await model.complete(request)).text
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"arm": arm, "question": question, "reply": self._replies[question]}) + "\n")
        return self._replies[question]

    async def compare(self, items: Sequence[Item], max_tokens: int) -> list[Regression]:
        """Ask both models every item at temperature 0, and compare correct answers by task."""
        right: dict[str, dict[str, list[bool]]] = {}
        params = {"temperature": 0, "max_tokens": max_tokens}
        for item in items:
            for arm in self.models:
                right.setdefault(item.task, {}).setdefault(arm, []).append(
                    item.good(await self.reply(arm, item.messages, params))
                )
        return [Regression(task, mcnemar(arms["base"], arms["adapter"])) for task, arms in right.items()]

    async def close(self) -> None:
        """Release the models."""
        for model in self.models.values():
            await model.close()
