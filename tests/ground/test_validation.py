"""One line for what a person wrote wrongly: the first problem, what it may be, and the word that is nearest."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from ostrom.ground.errors import StudyError
from ostrom.ground.validation import validate


class Inner(BaseModel):
    """Keys below a key."""

    model_config = ConfigDict(extra="forbid")
    deep: int = 1


class Written(BaseModel):
    """Keys of several kinds."""

    model_config = ConfigDict(extra="forbid")
    many: int | str = 1
    parts: list[int] = []
    word: Literal["direct", "reasoned"] = "direct"
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"many": {}, "parts": 7}, "many: must be a whole number or a text (found {})"),
        ({"many": {}}, "many: must be a whole number or a text (found {})"),
        ({"parts": {}, "many": {}}, "many: must be a whole number or a text (found {})"),
        ({"word": "reasond"}, "word: is none of the allowed words, did you mean 'reasoned'? (found 'reasond'; "
         "allowed: direct, reasoned)"),
        ({"word": 7}, "word: is none of the allowed words (found 7; allowed: direct, reasoned)"),
        ({"wrod": "direct"}, "wrod: there is no such key, did you mean 'word'? (allowed: inner, many, parts, word)"),
        ({"inner": {"deap": 1}}, "inner.deap: there is no such key, did you mean 'deep'? (allowed: deep)"),
        ({"inner": {"deep": "x"}}, "inner.deep: must be a whole number (found 'x')"),
        ({"parts": [1, "x" * 100]}, f"parts.1: must be a whole number (found '{'x' * 100}')"),
        ({"word": ["direct"] * 20}, "word: is none of the allowed words (allowed: direct, reasoned)"),
    ],
)  # fmt: skip
def test_the_first_problem_is_told_and_no_other(data: dict[str, Any], line: str) -> None:
    with pytest.raises(StudyError) as caught:
        validate(Written, data, "f.yaml")
    assert str(caught.value) == f"f.yaml: {line}"
