"""The options of playing are declared once: commands, Python and the record for resume follow the declaration."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.ground.commands import every_command
from ostrom.ground.errors import UsageError
from ostrom.studies.resolve import load_session, save_session

STUDY = {"name": "s", "game": "chicken", "types": {"a": "random"}, "seating": "self"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_connections": 0}, "max_connections: must be at least 1 (found 0)"),
        ({"limit": -2}, "limit: must be at least 0 (found -2)"),
        ({"budget_usd": -0.5}, "budget_usd: must be at least 0 (found -0.5)"),
        ({"budget_calls": 1.5}, "budget_calls: must be a whole number (found 1.5)"),
        ({"workers": "3"}, "workers: must be a whole number (found '3')"),
        ({"batch_waves": True}, "batch_waves: must be a whole number (found True)"),
        ({"executor": "slurm"}, "--executor slurm: there is no such executor (allowed: local, ray)"),
        ({"workers": 2}, "--workers: needs --executor ray, for the local executor has one process"),
        ({"ray_address": "a:1"}, "--ray-address: needs --executor ray, for the local executor has one process"),
        ({"batch_waves": 2}, "--batch-waves: needs --batch"),
    ],
)
def test_python_refuses_what_the_command_line_refuses(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        ostrom.play(STUDY, runs=tmp_path, progress=False, **given)
    assert str(error.value) == message and not list(tmp_path.iterdir())


def test_every_command_has_an_option_as_it_is_declared() -> None:
    seen = set()
    for words, (*_, command) in every_command().items():
        for parameter in command.params:
            declaration = DECLARED.get(parameter.name)
            if declaration is None or parameter.help != declaration.help:
                continue  # an option of another meaning, such as the decisions that a judge is limited to
            seen.add(parameter.name)
            assert parameter.default == getattr(PlayOptions(), parameter.name), words
            flags = (declaration.flag or f"--{parameter.name.replace('_', '-')}").split("/")
            assert [*parameter.opts, *parameter.secondary_opts] == flags, words
    assert seen == set(DECLARED)


def test_play_shows_every_option_with_its_default() -> None:
    for function in (ostrom.play, ostrom.play_async):
        shown = inspect.signature(function).parameters
        for name in DECLARED:
            assert shown[name].default == getattr(PlayOptions(), name), name


def test_what_is_recorded_comes_back_and_what_is_stated_goes_before_it(tmp_path: Path) -> None:
    begun = PlayOptions(max_connections=3, executor="ray", workers=2, batch=False, limit=5, budget_usd=1.0)
    save_session(tmp_path, begun)
    assert load_session(tmp_path, PlayOptions()).stated() == {
        "max_connections": 3, "executor": "ray", "workers": 2, "batch": False,
    }  # fmt: skip
    again = load_session(tmp_path, PlayOptions(max_connections=9, budget_calls=7))
    assert (again.max_connections, again.budget_calls, again.workers) == (9, 7, 2)


def test_workers_get_how_calls_are_made_and_nothing_else(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("openai/x: {input: 1, output: 2}\n")
    retry = RetryPolicy(tries=3)
    options = PlayOptions(prices=prices, retry=retry, limit=3, prompts=tmp_path, allow_key=["A=b"])
    sent = pickle.loads(pickle.dumps(options.for_workers()))
    prices.unlink()  # a worker is another machine
    assert set(sent.stated()) == {"prices", "retry"} and sent.rates["openai/x"].output == 2
