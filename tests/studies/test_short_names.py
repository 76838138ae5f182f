"""Short names for models: in tables and charts the name, in the manifest the address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.studies.short_names import with_addresses
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


def agents(
    call: Call, address: str, more: str, *options: str, by: str = "agent,model"
) -> list[tuple[str, ...]]:
    """Who is in the tables of a run of the study."""
    Path("s.yaml").write_text(STUDY.replace("ADDRESS", address) + more)
    done = call("run", "s.yaml", *options)
    assert done.code == 0, done.err
    rows = json.loads(call("estimate", "s", "cooperation", "--by", by, "--json").out)["estimates"]
    return [tuple(str(row[column]) for column in by.split(",")) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("types: {a: {model: small}, b: large, c: grim}\n", [("a", "small"), ("b", "large"), ("c", "None")]),
        ("types: {a: {model: small, params: {temperature: 0}}}\n", [("a", "small")]),
        ("seats: {2: {model: large}}\ntypes: {a: small}\n", [("a", "small"), ("large", "large")]),
    ],
)
def test_tables_have_the_name(call: Call, address: str, more: str, expected: list[tuple[str, ...]]) -> None:
    assert agents(call, address, more) == expected
    study = json.loads(Path("runs/s/run.json").read_text())["study"]
    assert study["models"]["small"] == {"model": address, "params": {"max_tokens": 50}}
    assert study["types"]["a"]["model"] == address and study["types"]["a"]["called"] == "small"
    assert study["types"]["a"]["params"]["max_tokens"] == 50
    assert call("resume", "s", "--seeds", "2").code == 0
    assert call("transcript", "s").code == 0 and call("report", "s").code == 0


def test_a_model_that_all_agents_share_names_them(call: Call, address: str) -> None:
    assert agents(call, address.replace("s.yaml", ""), "", "--set", "agent.model=large") == [
        ("large", "large")
    ]


@pytest.mark.parametrize(
    ("vary", "factor"),
    [
        ("{agent.model: [small, large]}", "model"),
        ("{who: {set: agent.model, to: [small, large]}}", "who"),
        ("{who: {small: {agent.model: small}, large: {agent.model: large}}}", "who"),
    ],
)
def test_a_factor_has_the_names_as_levels(call: Call, address: str, vary: str, factor: str) -> None:
    by = f"{factor},agent" if factor != "model" else "model,agent"
    assert agents(call, address, f"vary: {vary}\n", by=by) == [("small", "small"), ("large", "large")]


def test_the_command_line_takes_a_short_name(call: Call, address: str) -> None:
    expected = [("old", "None"), ("small", "small")]
    assert agents(call, address, "types: {old: grim, b: large}\n", "--model", "small") == expected
    assert json.loads(Path("runs/s/run.json").read_text())["study"]["types"]["small"]["model"] == address


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a: small", "a: {model: smal}", ["types.a.model", "unknown model 'smal'", "did you mean small?"]),
        ("  small:", "  grim:", ["models.grim", "is the name of a strategy"]),
        ("  small:", "  a/b:", ["models.a/b", "a short name has letters"]),
        ('large: "ADDRESS-large"', "large: small", ["models.large.model", "not another short name"]),
        ('large: "ADDRESS-large"', "large: {params: {}}", ["models.large", "needs 'model'"]),
        (
            'large: "ADDRESS-large"',
            "large: {model: a/b, style: direct}",
            ["models.large", "unknown key 'style'"],
        ),
        (
            '"ADDRESS-large"',
            '{model: "ADDRESS", params: {max_tokens: 50}}',
            ["models.large", "the same model as small"],
        ),
        (
            "agent: {style: direct}",
            "vary: {agent.model: [small, smal]}",
            ["vary.agent.model", "did you mean small?"],
        ),
        (
            "agent: {style: direct}",
            "vary: {agent.model: [small, small]}",
            ["vary.agent.model", "names a level twice"],
        ),
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
