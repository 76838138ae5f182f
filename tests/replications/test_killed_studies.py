"""Studies killed in the middle of play and resumed give the same tables, whatever parts they are made of.

`prompt-evolution`, `society` and `mechanisms` have tests of their own beside their other tests.
"""

from pathlib import Path

import pytest
from tests.replications.killing import calm_and_killed

from ostrom.testing.small_run import tables

PLAY = """
import asyncio, json, sys
import numpy as np
from ostrom.answers import Record
from ostrom.models.providers.scripted import register
from ostrom.ground.streams import key_of
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.answers.random_answers import random_answer

async def reply(request):
    await asyncio.sleep(0.005)
    asked = "".join(message.content for message in request.messages) + str(request.params.get("seed"))
    rng, bound = np.random.default_rng(key_of(asked)), request.constraint
    if bound is None:
        return "I look at what the other did, and answer in kind."
    if bound.choices:
        return bound.choices[int(rng.integers(len(bound.choices)))]
    return json.dumps(random_answer(Record(bound.name, bound.schema), rng).value)

register("any", reply)
changes = [] if not SCRIPTS else [f"types={{any: {{model: scripted/any}}, {SCRIPTS}}}"]
study = load_study(STUDY, preset="smoke", models=[] if SCRIPTS else ["scripted/any"], changes=changes)
sys.exit(0 if play(study, name="run", runs=sys.argv[1]).complete else 1)
"""


@pytest.mark.slow  # a study that is killed, in `make test`: tests/engine/test_resume.py
@pytest.mark.parametrize(
    ("study", "scripts", "growth"),
    [
        ("mechanisms-controls", "best_response: {strategy: best_response}", 40_000),
        ("memory-curation", "", 40_000),
        ("said-and-done", "tit_for_tat: {strategy: tit_for_tat}", 20_000),
        ("personas-mitigation", "", 20_000),
    ],
)
def test_killed_and_resumed_it_is_identical(study: str, scripts: str, growth: int, tmp_path: Path) -> None:
    script = f"STUDY, SCRIPTS = {study!r}, {scripts!r}\n{PLAY}"
    calm, killed = calm_and_killed(script, tmp_path, kills=1, growth=growth)
    assert tables(calm, tmp_path / "calm-out") == tables(killed, tmp_path / "killed-out")
