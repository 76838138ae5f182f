"""What Python code can call stays within 2.x: names, parameters, their order, and no new one that must be passed.

``signatures.txt`` has one line for each function, class and method of `ostrom` and `ostrom.testing`. A new name or
parameter is added to it with its release (``OSTROM_GOLDEN=write`` writes the file anew); none is removed before 3.0.
"""

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ostrom
import ostrom.testing

PROMISED = Path(__file__).with_name("signatures.txt")
ORDERED, NAMED, MORE = "POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY", "VAR_KEYWORD"


def callables() -> Iterator[tuple[str, Any]]:
    """Every public function, class and method by its full name."""
    for module in (ostrom, ostrom.testing):
        for name in module.__all__:
            item = getattr(module, name)
            if callable(item):
                yield f"{module.__name__}.{name}", item
            if inspect.isclass(item):
                members = ((member, getattr(item, member, None)) for member in dir(item) if not member.startswith("_"))
                yield from (
                    (f"{module.__name__}.{name}.{member}", found) for member, found in members if callable(found)
                )
    for name in dir(ostrom.commands):
        if callable(command := getattr(ostrom.commands, name)) and not name.startswith("_"):
            yield f"ostrom.commands.{name}", command


def line_of(name: str, item: Any) -> str:
    """A name and its parameters: a question mark where there is a default, and ``*`` before those passed by name."""
    words: list[str] = []
    for parameter in inspect.signature(item).parameters.values():
        if parameter.kind.name == NAMED and "*" not in words:
            words.append("*")
        star = {"VAR_POSITIONAL": "*", MORE: "**"}.get(parameter.kind.name, "")
        words.append(star + parameter.name + ("?" if parameter.default is not parameter.empty else ""))
    return f"{name}({', '.join(words)})"


def problems(promised: str, item: Any) -> list[str]:
    """What code that calls by the promised line could no longer do."""
    words = [word for word in promised.partition("(")[2].rstrip(")").split(", ") if word]
    parameters = inspect.signature(item).parameters
    ordered = [parameter.name for parameter in parameters.values() if parameter.kind.name == ORDERED]
    star = words.index("*") if "*" in words else len(words)
    names = [word.rstrip("?") for word in words if not word.startswith("*")]
    first = [word.rstrip("?") for word in words[:star] if not word.startswith("*")]
    needed = {word for word in words if not word.endswith("?")}
    found = [f"{name} is gone" for name in names if name not in parameters]
    if ordered[: len(first)] != first and set(first) <= set(parameters):
        found.append(f"the order {', '.join(first)} became {', '.join(ordered)}")
    return found + [
        f"{name} must be passed"
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty and parameter.kind.name in (ORDERED, NAMED) and name not in needed
    ]


def test_calls_that_were_promised_go_on_working() -> None:
    now = dict(callables())
    if os.environ.get("OSTROM_GOLDEN") == "write":
        PROMISED.write_text("".join(f"{line_of(*one)}\n" for one in sorted(now.items())), encoding="utf-8")
    lines = {line.partition("(")[0]: line for line in PROMISED.read_text(encoding="utf-8").splitlines()}
    assert len(lines) > 100 and not sorted(set(lines) - set(now))
    assert {name: found for name, line in lines.items() if (found := problems(line, now[name]))} == {}
    assert not sorted(set(now) - set(lines)), "new: promise them (OSTROM_GOLDEN=write), or begin their names with _"


def one(a: int, b: int = 0, *, c: int = 0) -> None:
    """What the lines below promise."""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("one(a, b?, *, c?)", []),
        ("one(a, b?)", []),
        ("one(a, b?, d?)", ["d is gone"]),
        ("one(b?, a)", ["the order b, a became a, b"]),
        ("one(b?)", ["the order b became a, b", "a must be passed"]),
        ("one(a, c?)", ["the order a, c became a, b"]),
    ],
)
def test_what_breaks_a_call_is_named(line: str, found: list[str]) -> None:
    assert problems(line, one) == found
    assert line_of("one", one) == "one(a, b?, *, c?)"
