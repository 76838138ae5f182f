"""What options and names on the command line stand for, at their bounds."""

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli.commands.run import refuse_unused
from ostrom.cli.options import check_level, stated_query
from ostrom.ground.errors import UsageError


def test_a_level_lies_between_a_half_and_one() -> None:
    check_level(0.5)
    check_level(0.999)
    for level in (0.499, 1.0, 95.0):
        with pytest.raises(UsageError, match="--level must lie between"):
            check_level(level)


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ([], {}), (["game=a, b", "k = 2"], {"game": ["a", "b"], "k": ["2"]}), (["game='a'"], "(game='a')"),
        (["k=2", "k > 1"], "(k=2) AND (k > 1)"),
    ],
)  # fmt: skip
def test_conditions_are_columns_with_levels_or_sql(where: list[str], condition: Any) -> None:
    asked = stated_query("cooperation", by=" a, ,b ", where=where)
    assert (asked.where, asked.by) == (condition, ("a", "b"))
    with pytest.raises(UsageError, match=r"^log needs over$"):
        stated_query("cooperation", log=True)


def found(batch: bool | None = None) -> Any:
    return SimpleNamespace(plan="plan", options=SimpleNamespace(batch=batch, batch_waves=3))


def test_options_that_would_do_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[Any, Any]]()
    monkeypatch.setattr("ostrom.costs.waves.check_batch", lambda plan, most: asked.append((plan, most)))
    with pytest.raises(UsageError, match="needs --dry-run"):
        refuse_unused(found(), "old")
    refuse_unused(found())
    refuse_unused(found(batch=True), begun=True)
    assert asked == []
    refuse_unused(found(batch=True))
    assert asked == [("plan", 3)]
