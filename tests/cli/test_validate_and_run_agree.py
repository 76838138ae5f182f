"""Whatever is done to a study file, `validate` and `run` say the same, in one line that names file and key."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.in_process import Call, Done, caller

STUDY: dict[str, Any] = {
    "name": "own",
    "game": {"name": "prisoners_dilemma", "preset": "axelrod"},
    "mechanism": {"name": "repetition", "rounds": 2, "noise": 0.1},
    "agent": {
        "style": "direct",
        "memory": "window:2",
        "framing": {"story": "cooking", "labels": "JF", "order": "shuffled", "goal": "total", "words": 50},
        "params": {"temperature": 0.5, "max_tokens": 30},
        "settings": {"timeout": 5},
        "persona": "neutral",
        "answer": "choice",
        "strict": False,
    },
    "types": {"m": {"model": "openai/gpt-4o-mini"}, "g": "grim"},
    "seats": {1: {"memory": "full"}},
    "seating": "ordered",
    "vary": {"mechanism.rounds": [2, 3], "who": {"x": {"agent.style": "direct"}}},
    "seeds": 2,
    "invalid": {"retries": 1, "policy": "fail"},
    "budget": {"usd": 1.0, "calls": 100},
    "report": {"panels": ["cooperation"]},
}
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3.5, "", "x", "é☃", "a" * 400, [], {}, [1, 2], {"a": 1}, {"name": 3}, [[]], 10**17, "../x",
    "/", "{{ x }}", 1e300, "1:2:3", ":", "name:=,", "x,y=1,2",
)  # fmt: skip
PYTHON = (
    "internal error", "Traceback", "object has no", "not supported between", "unhashable", "NoneType", "positional",
    "unexpected keyword", "Input should", "valid dictionary", "BudgetRule", "must be str", "ordinal not in",
)  # fmt: skip


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in data.items() if isinstance(data, dict) else ():
        yield (*path, key)
        yield from paths(value, (*path, key))


def holder(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        data = data[key]
    return data


PATHS = list(paths(STUDY))


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


def told(ostrom: Call, tmp_path: Path, data: Any) -> Done:
    """What both commands say to a study, once it is known that they agree."""
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    checked, run = ostrom("validate", "own.yaml"), ostrom("run", "own.yaml", "--dry-run")
    assert checked.code == run.code and checked.code in (0, 2), (checked, run)
    if checked.code:
        assert checked.err == run.err
        assert checked.err.startswith("ostrom: own.yaml: ") and checked.err.count("\n") == 1, checked.err
        assert not [word for word in PYTHON if word in checked.err], checked.err
    return checked


def test_the_study_itself_is_right(ostrom: Call, tmp_path: Path) -> None:
    assert told(ostrom, tmp_path, STUDY).code == 0


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(path=st.sampled_from(PATHS), value=st.sampled_from(VALUES))
def test_any_value_anywhere_is_taken_or_refused_alike(
    ostrom: Call, tmp_path: Path, path: tuple[Any, ...], value: Any
) -> None:
    data = copy.deepcopy(STUDY)
    holder(data, path)[path[-1]] = value
    told(ostrom, tmp_path, data)


@pytest.mark.parametrize(
    "text", ["", "- a\n", "3\n", "name: [", "a: !!python/object:os.system {}\n", "\x00", "x: &a [*a]\n", "ü: 1\n"]
)
def test_what_is_no_study_is_refused_alike(ostrom: Call, tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    said = [ostrom("validate", "own.yaml"), ostrom("run", "own.yaml", "--dry-run")]
    assert [done.code for done in said] == [2, 2] and said[0].err == said[1].err, said
    assert said[0].err.startswith("ostrom: own.yaml: ") and said[0].err.count("\n") == 1, said
