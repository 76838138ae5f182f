"""What else an adapter changed: the same items asked of the base model and of the adapted one, and compared in pairs.

Items come from held-out prompts of a corpus (is the answer readable, is it a refusal?), from ``reasoning-gym``, whose
exercises are generated and need no download, and from HumanEval. Answers are kept as they arrive, so that a stopped
check goes on.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ostrom.analysis.statistics.counts import McNemar, mcnemar
from ostrom.ground.errors import ModelError, UsageError
from ostrom.models.base import Message, Model, Request
from ostrom.probe import human_eval
from ostrom.probe.training.data import read_examples

ANSWERS = "regression.jsonl"
_LABEL = re.compile(r"\[([^\[\]\n]{1,60})\]")
_REFUSAL = re.compile(
    r"\b(?:I(?:'m| am) sorry|I can(?:no|')t|as an AI|I(?:'m| am) (?:not able|unable) to)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Item:
    """One question and what makes its answer good."""

    task: str
    number: int
    messages: tuple[tuple[str, str], ...]
    good: Callable[[str], bool]

    @property
    def key(self) -> str:
        """Its name in the file of answers."""
        return f"{self.task}:{self.number}"


def format_items(corpus: Path, most: int) -> list[Item]:
    """Prompts of a corpus, held-out ones first: does the reply end with a valid option, and does it not refuse?"""
    rows = [*read_examples(corpus / "val.jsonl"), *read_examples(corpus / "train.jsonl")][:most]
    items = []
    for number, row in enumerate(rows):
        told = tuple((m["role"], m["content"]) for m in row["messages"][:-1])
        options = set(_LABEL.findall(told[-1][1].rpartition("\n\n")[2]))
        items.append(Item("format", number, told, partial(readable, options=options)))
        items.append(Item("no refusal", number, told, lambda reply: not _REFUSAL.search(reply)))
    return items


def readable(reply: str, options: set[str]) -> bool:
    """Whether the last line is one of the options in brackets, and nothing else.

    >>> readable("So.\\n[A0]", {"A0", "A1"}), readable("I take [A0] now", {"A0", "A1"})
    (True, False)
    """
    lines = reply.strip().splitlines()
    found = _LABEL.fullmatch(lines[-1].strip()) if lines else None
    return found is not None and found[1] in options


def gym_items(task: str, most: int) -> list[Item]:
    """Generated exercises of ``reasoning-gym``, the same ones for every model."""
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
        told = f"{entry['question']}\n\nThink briefly, then write the answer alone on the last line."

        def good(reply: str, entry: Any = entry) -> bool:
            last = (reply.strip().splitlines() or [""])[-1]
            return float(data.score_answer(last.strip(), entry)) >= 0.99

        items.append(Item(task, number, (("user", told),), good))
    return items


def code_items(path: Path, most: int) -> list[Item]:
    """Problems of HumanEval; judging a reply runs what the model wrote, in a process with limits."""
    return [
        Item("human-eval", number, (("user", human_eval.asked(one)),), partial(human_eval.solved, one))
        for number, one in enumerate(human_eval.problems(path, most))
    ]


@dataclass(frozen=True, slots=True)
class Regression:
    """One task: base against adapter."""

    task: str
    compared: McNemar

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the drop that could have been seen as a share."""
        made = asdict(self.compared)
        detectable = self.compared.detectable
        return {"task": self.task, **made,
                "detectable_share": None if detectable is None else detectable / self.compared.pairs}  # fmt: skip


def compare(items: Sequence[Item], replies: Mapping[str, Mapping[str, str]]) -> list[Regression]:
    """Compare the replies of ``base`` and ``adapter``, task by task."""
    found = []
    for task in dict.fromkeys(item.task for item in items):
        own = [item for item in items if item.task == task]
        right = {arm: [item.good(replies[arm][_asked(item)]) for item in own] for arm in ("base", "adapter")}
        found.append(Regression(task, mcnemar(right["base"], right["adapter"])))
    return found


def ask(
    items: Sequence[Item], models: Mapping[str, Model], folder: Path, max_tokens: int
) -> dict[str, dict[str, str]]:
    """Every question once to every model, at temperature 0; what was answered before is not asked again."""
    path = folder / ANSWERS
    known: dict[str, dict[str, str]] = {arm: {} for arm in models}
    if path.is_file():
        for line in path.read_text("utf-8").splitlines():
            try:
                row = json.loads(line)
                known.get(row["arm"], {})[row["asked"]] = row["reply"]
            except (ValueError, KeyError, TypeError):
                continue  # the last line of a check that was killed
    due = [
        (arm, asked, item)
        for asked, item in {_asked(item): item for item in items}.items()
        for arm in models
        if asked not in known[arm]
    ]

    async def all_of_them() -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")  # after a line that a kill cut short
            for arm, asked, item in due:
                messages = tuple(Message(role, text) for role, text in item.messages)  # type: ignore[arg-type]
                reply = await models[arm].complete(
                    Request(messages, {"temperature": 0, "max_tokens": max_tokens})
                )
                known[arm][asked] = reply.text
                file.write(json.dumps({"arm": arm, "asked": asked, "reply": reply.text}) + "\n")
                file.flush()
        for model in models.values():
            await model.close()

    if due:
        try:
            asyncio.run(all_of_them())
        except ModelError as error:
            raise UsageError(f"stopped: {error}; the same command goes on") from None
    return known


def _asked(item: Item) -> str:
    """Items that ask the same share one answer."""
    return json.dumps(item.messages, ensure_ascii=False)
