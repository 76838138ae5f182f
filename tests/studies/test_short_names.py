"""Short names for models: in tables and charts the name, in the manifest the address."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.studies.load import with_addresses
from ostrom.testing.server import LoopbackServer

STUDY = """
name: s
game: chicken
mechanism: {name: repetition, rounds: 2}
models:
  small: {model: "ADDRESS", params: {max_tokens: 50}}
  large: "ADDRESS-large"
agent: {style: direct}
"""


@pytest.fixture
def address() -> Iterator[str]:
    with LoopbackServer() as server:
        yield server.model


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a: small", "a: {model: smal}", ["types.a.model", "unknown model 'smal'", "did you mean small?"]),
        ("  small:", "  grim:", ["models.grim", "is the name of a strategy"]),
        ("  small:", "  a/b:", ["models.a/b", "a short name has letters"]),
        ('large: "ADDRESS-large"', "large: small", ["models.large.model", "not another short name"]),
        ('large: "ADDRESS-large"', "large: {params: {}}", ["models.large", "needs 'model'"]),
        ('large: "ADDRESS-large"', "large: {model: a/b, style: direct}", ["models.large", "unknown key 'style'"]),
        (
            '"ADDRESS-large"',
            '{model: "ADDRESS", params: {max_tokens: 50}}',
            ["models.large", "the same model as small"],
        ),
        ("agent: {style: direct}", "vary: {agent.model: [small, smal]}", ["vary.agent.model", "did you mean small?"]),
        ("agent: {style: direct}", "vary: {agent.model: [small, small]}", ["vary.agent.model", "names a level twice"]),
    ],
)
def test_what_is_wrong_is_one_line(call: Call, old: str, new: str, said: list[str]) -> None:
    text = (STUDY + "types: {a: small}\n").replace(old, new, 1).replace("ADDRESS", "openai/x")
    Path("s.yaml").write_text(text)
    done = call("validate", "s.yaml")
    assert done.code == 2 and done.err.count("\n") == 1 and all(words in done.err for words in said), done.err


def test_an_unknown_name_on_the_command_line_is_refused(call: Call) -> None:
    Path("s.yaml").write_text(STUDY.replace("ADDRESS", "openai/x"))
    done = call("run", "s.yaml", "--model", "smal")
    assert done.code == 2 and "did you mean small?" in done.err


def test_a_level_that_is_an_address_has_no_short_name_and_no_parameters_of_another() -> None:
    models = {"small": {"model": "openai/x", "params": {"seed": 1}}}
    made = with_addresses({"models": models, "vary": {"agent.model": ["small", "openai/y"]}}, "s")
    assert made["vary"] == {
        "model": {
            "small": {"agent.called": "small", "agent.model": "openai/x", "agent.params": {"seed": 1}},
            "openai/y": {"agent.called": None, "agent.model": "openai/y"},
        }
    }
