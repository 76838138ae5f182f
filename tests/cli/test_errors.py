"""Bad input gets one clear line, never a traceback, and the right exit code."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = """
name: good
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 3}
types: {tft: tit_for_tat}
"""

WRONG = {
    "not yaml": ("name: [", ["line 1", "not valid YAML"]),
    "a list": ("- a\n- b\n", ["a study is a mapping"]),
    "no game": ("name: x\n", ["game: is missing"]),
    "unknown key": (GOOD + "gmae: x\n", ["gmae", "no such key", "allowed", "seating"]),
    "unknown game": (GOOD.replace("prisoners_dilemma", "prisoner_dilema"), ["study.yaml: game:", "did you mean"]),
    "unknown strategy": (GOOD.replace("tit_for_tat", "tit_for_tatt"), ["study.yaml: types.tft:", "did you mean"]),
    "unknown mechanism": (GOOD.replace("repetition", "repitition"), ["study.yaml: mechanism:", "did you mean"]),
    "rounds of zero": (GOOD.replace("rounds: 3", "rounds: 0"), ["mechanism", "rounds", "0"]),
    "rounds as text": (GOOD.replace("rounds: 3", "rounds: many"), ["mechanism", "rounds", "many"]),
    "unknown parameter": (GOOD.replace("rounds: 3", "round: 3"), ["mechanism", "round", "allowed", "rounds"]),
    "bad policy": (GOOD + "invalid: {policy: guess}\n", ["invalid.policy", "guess"]),
    "bad seating": (GOOD + "seating: circle\n", ["seating", "circle"]),
    "zero seeds": (GOOD + "seeds: 0\n", ["seeds", "0"]),
    "empty factor": (GOOD + "vary: {mechanism.rounds: []}\n", ["vary.mechanism.rounds", "at least one level"]),
    "level twice": (GOOD + "vary: {mechanism.rounds: [3, 3]}\n", ["vary.mechanism.rounds", "twice"]),
    "factor of nothing": (GOOD + "vary: {weather: [1, 2]}\n", ["vary.weather", "cannot be varied"]),
    "no agent": ("name: x\ngame: chicken\n", ["agent", "model", "strategy"]),
    "two ways to decide": (GOOD.replace("tft: tit_for_tat", "t: {strategy: grim, model: a/b}"), ["exactly one way"]),
    "seat out of range": (GOOD + "seats: {3: {memory: 'window:2'}}\n", ["seats.3", "seats 1 to 2"]),
    "bad memory": (GOOD + "agent: {memory: 'window:-1'}\n", ["agent.memory", "-1"]),
    "unknown memory": (GOOD + "agent: {memory: windw}\n", ["study.yaml: agent.memory:", "did you mean window"]),
    "unknown style": (GOOD.replace("tit_for_tat", "{model: a/b, style: loud}"), ["types.tft.style:", "direct"]),
    "unknown story": (
        GOOD.replace("tit_for_tat", "{model: a/b, framing: {story: saga}}"),
        ["study.yaml: types.tft.framing.story:", "'saga'", "neutral"],
    ),
    "noise as text": (GOOD.replace("rounds: 3", "rounds: 3, noise: loud"), ["mechanism", "noise", "loud"]),
    "a hot temperature": (
        GOOD.replace("tit_for_tat", "{model: a/b, params: {temperature: hot}}"),
        ["study.yaml: types.tft.params.temperature:", "a number", "'hot'"],
    ),
    "no tokens": (
        GOOD.replace("tit_for_tat", "{model: a/b, params: {max_tokens: 0}}"),
        ["study.yaml: types.tft.params.max_tokens:", "found 0"],
    ),
    "extra that is no mapping": (
        GOOD.replace("tit_for_tat", "{model: a/b, params: {extra: 5}}"),
        ["study.yaml: types.tft.params.extra:", "found 5"],
    ),
    "unknown persona": (
        GOOD.replace("tit_for_tat", "{model: a/b, persona: rolle}"),
        ["study.yaml: types.tft.persona:", "did you mean role"],
    ),
    "key twice": (GOOD + "game: chicken\n", ["given twice", "line 6"]),
    "too many labels": (
        GOOD.replace("tft: tit_for_tat", "m: {model: a/b, framing: {labels: [A, B, C]}}"),
        ["agent.framing.labels", "3 labels for 2 actions"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_study_file_is_named_with_key_and_reason(ostrom: Command, tmp_path: Path, case: str) -> None:
    text, expected = WRONG[case]
    (tmp_path / "study.yaml").write_text(text)
    done = ostrom("run", "study.yaml")
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
    for word in expected:
        assert word in lines[0], lines[0]
    assert not (tmp_path / "runs" / "good").exists(), "nothing is left behind"


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("{panels: [cooperation, costs]}", "study.yaml: report.panels: unknown panel 'costs' (did you mean cost?"),
        ("{panels: [{title: x}]}", "study.yaml: report.panels: needs a 'name'"),
        ("{reference: coopevil}", "study.yaml: report.reference: unknown reference 'coopevil' (did you mean coopeval?"),
    ],
)
def test_what_only_the_report_would_miss_is_found_by_validate(
    ostrom: Command, tmp_path: Path, report: str, said: str
) -> None:
    (tmp_path / "study.yaml").write_text(GOOD + f"report: {report}\n")
    done = ostrom("validate", "study.yaml")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ("{a: tit_for_tat, b: {model: gpt}}", "model gpt: model: a model is named provider/model"),
        ("{b: {model: foo/bar}}", "unknown model provider 'foo'"),
        ("{b: {model: 'http://h:99999/v1#m'}}", "'http://h:99999/v1' is not a URL"),
        ("{b: {model: openai/m, settings: {timeout: 3, retires: 2}}}", "no such setting (found 'retires'"),
    ],
)
def test_models_that_cannot_be_opened_are_found_by_validate(
    ostrom: Command, tmp_path: Path, types: str, said: str
) -> None:
    (tmp_path / "study.yaml").write_text(f"name: s\ngame: chicken\ntypes: {types}\n")
    done = ostrom("validate", "study.yaml")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("ostrom: study.yaml: ")


def test_a_read_only_folder_and_a_damaged_manifest(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(GOOD)
    (tmp_path / "file").write_text("")
    done = ostrom("run", "study.yaml", "--runs", "file")
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1
    assert ostrom("run", "study.yaml").returncode == 0
    (tmp_path / "runs/good/run.json").write_text("{")
    done = ostrom("run", "study.yaml")
    assert done.returncode == 1 and "run.json" in done.stderr and "Traceback" not in done.stderr
