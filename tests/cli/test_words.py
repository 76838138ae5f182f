"""What commands say: the word that was wrong, where it stands, and what would have been right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

GOOD = """
name: good
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
agent: {}
types: {tft: tit_for_tat}
invalid: {retries: 1}
"""
MODEL = "{model: openai/gpt-4o-mini, style: direct}"


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


WRONG = {
    "a parameter nobody takes": (
        GOOD.replace("tit_for_tat", "{model: openai/gpt-4o-mini, params: {temprature: 0}}"),
        ["types.tft.params.temprature", "did you mean 'temperature'?", "allowed: temperature, top_p, max_tokens"],
    ),
    "a parameter nobody takes, of scripts": (
        GOOD.replace("agent: {}", "agent: {params: {temprature: 0}}"),
        ["agent.params.temprature", "did you mean 'temperature'?"],
    ),
    "a parameter of another provider": (
        GOOD.replace("tit_for_tat", "{model: anthropic/claude-x, params: {top_k: 3}}"),
        ["types.tft.params.top_k", "anthropic models", "extra (a mapping of what only this server takes)"],
    ),
    "a story that is not there, in a scripted study": (
        GOOD.replace("agent: {}", "agent: {framing: {story: saga}}"),
        ["agent.framing.story", "'saga'", "known: cooking, long, neutral"],
    ),
    "a style that is not there, in a scripted study": (
        GOOD.replace("agent: {}", "agent: {style: loud}"),
        ["agent.style", "'loud'", "direct"],
    ),
    "a persona that is not there, in a scripted study": (
        GOOD.replace("agent: {}", "agent: {persona: rolle}"),
        ["agent.persona", "did you mean role?"],
    ),
    "a misspelled key of a mechanism": (
        GOOD.replace("rounds", "rouns"),
        ["mechanism: unknown key 'rouns' of mechanism repetition, did you mean 'rounds'?", "allowed: rounds,"],
    ),
    "a mechanism with too many values": (
        GOOD.replace("{name: repetition, rounds: 2}", "'repetition:" + ",".join("1" * 40) + "'"),
        ["mechanism repetition takes at most", "found 40"],
    ),
    "a misspelled policy": (
        GOOD.replace("retries: 1", "policy: skip_match"),
        ["invalid.policy", "did you mean 'skip-match'?", "allowed: fail, skip-match, uniform, default:<action>"],
    ),
    "a default that the game does not have": (
        GOOD.replace("retries: 1", "policy: 'default:cooprate'"),
        ["invalid.policy", "default:cooperate, default:defect"],
    ),
    "a model where a strategy stands": (
        GOOD.replace("tit_for_tat", "gpt-4o"),
        ["types.tft", "'gpt-4o' is no strategy but looks like a model: write 'openai/gpt-4o'"],
    ),
    "a model without its provider": (
        GOOD.replace("tit_for_tat", "{model: gpt-4o}"),
        ["model gpt-4o", "did you mean 'openai/gpt-4o'?"],
    ),
    "nobody who decides": (
        GOOD.replace("types: {tft: tit_for_tat}", "types: {tft: {style: direct}}"),
        ["types.tft", "--model PROVIDER/MODEL"],
    ),
    "an unknown provider": (GOOD.replace("tit_for_tat", "opnai/x"), ["opnai", "did you mean openai"]),
    "a setting that the client lacks": (
        GOOD.replace("tit_for_tat", "{model: openai/x, settings: {timeot: 3}}"),
        ["openai/x", "timeot", "timeout"],
    ),
    "a setting of the wrong type": (
        GOOD.replace("tit_for_tat", "{model: openai/x, settings: {timeout: soon}}"),
        ["openai/x", "timeout", "soon"],
    ),
    "a style that the model cannot answer": (
        GOOD.replace("tit_for_tat", "{model: groq/x, style: logprob}"),
        ["agent.style", "groq/x does not report log-probabilities"],
    ),
    "embedded weights that do not exist": (GOOD.replace("tit_for_tat", "embedded/smollm"), ["smollm2-135m"]),
    "a panel that does not exist": (
        GOOD + "report: {panels: [cooperaton]}\n",
        ["report.panels", "did you mean cooperation"],
    ),
    "a misspelled key of the study": (GOOD + "seatings: self\n", ["seatings", "did you mean 'seating'?"]),
    "a misspelled key of a framing": (
        GOOD.replace("agent: {}", "agent: {framing: {storry: neutral}}"),
        ["agent.framing.storry", "did you mean 'story'?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_validate_and_run_refuse_in_the_same_words(ostrom: Call, tmp_path: Path, case: str) -> None:
    text, expected = WRONG[case]
    (tmp_path / "own.yaml").write_text(text)
    said = {ostrom(*command).err for command in (["validate", "own.yaml"], ["run", "own.yaml", "--dry-run"])}
    assert len(said) == 1, said
    done = ostrom("run", "own.yaml")
    assert done.code == 2 and {done.err} == said and not (tmp_path / "runs").exists()
    assert done.err.count("\n") == 1 and done.err.startswith("ostrom: own.yaml: "), done.err
    for words in expected:
        assert words in done.err, done.err


def test_validate_takes_the_options_of_run(ostrom: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("tit_for_tat", MODEL))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "setup.txt").write_text("{{ nothing }")
    for options in (
        ["--preset", "small"],
        ["--set", "mechanism.rouns=3"],
        ["--model", "gpt-4o"],
        ["--seeds", "0"],
        ["--prompts", "nowhere"],
        ["--prompts", "prompts"],
        ["--prices", "nowhere.yaml"],
    ):
        told = [ostrom(*command, "own.yaml", *options) for command in (["validate"], ["run", "--dry-run"])]
        assert told[0].code == told[1].code == 2, (options, told)
        line = [done.err.splitlines()[-1].replace("ostrom validate", "ostrom run") for done in told]
        line[0] = line[0].replace("ostrom: validate: ", "ostrom: run: ")
        assert line[0] == line[1], (options, line)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "games", "x"), "unknown game 'x'"),
        (("show", "gamess", "x"), "did you mean 'games'?"),
        (("list", "gmae"), "did you mean 'game'?"),
        (("show", "memories", "windw"), "did you mean window"),
        (("show", "prompt", "cooking"), "did you mean 'stories/cooking'?"),
        (("show", "mechanism", "repetition:rouns=3"), "did you mean 'rounds'?"),
        (("show", "model", "opnai/x"), "did you mean openai"),
        (("validate", "."), "is a folder"),
        (("validate", "nowhere.yaml"), "there is no such file"),
    ],
)
def test_a_wrong_word_gets_the_right_one(ostrom: Call, words: tuple[str, ...], said: str) -> None:
    done = ostrom(*words)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1 and done.out == "", done


@pytest.mark.parametrize("name", ["../x", "a/b", "/tmp/x", ".x", ""])
def test_the_name_of_a_run_leads_nowhere_else(ostrom: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / "own.yaml").write_text(GOOD)
    done = ostrom("run", "own.yaml", "--name", name, "--runs", "here")
    assert (done.code == 2 and "run name" in done.err) or (not name and (tmp_path / "here" / "good").is_dir())
    assert {p.name for p in tmp_path.iterdir()} <= {"own.yaml", "here", ".state"}


def test_play_asks_on_stderr_so_that_json_is_alone(ostrom: Call) -> None:
    done = ostrom("play", "prisoners_dilemma", "--rounds", "2", "--json", keys="1\n2\n")
    assert done.code == 0 and len(json.loads(done.out)["decisions"]) == 4
    assert done.err.count("] > ") == 2


def test_designs_are_no_matches(ostrom: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\ngame: prisoners_dilemma\nmechanism: mediation\ntypes: {a: tit_for_tat, b: grim}\n"
    )
    done = ostrom("run", "own.yaml", "--limit", "3", "--json")
    assert done.code == 1 and json.loads(done.out)["matches"]["planned"] == 2
    done = ostrom("run", "own.yaml", "--json")
    told = json.loads(done.out)
    assert told["matches"] == {"planned": 2, "done": 2, "skipped": 0, "failed": 0}, done
    assert told["designs"] == {"planned": 4, "done": 4, "skipped": 0, "failed": 0}
    assert "2 of 2 matches done; 4 of 4 designs done;" in done.err
    assert json.loads(ostrom("validate", "own.yaml", "--json").out)["as written"] == "1 cell, 2 matches"
    told = json.loads(ostrom("run", "own.yaml", "--dry-run", "--json").out)
    assert (told["matches"], told["designs"]) == (2, 4)
