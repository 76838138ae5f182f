"""The Python face: the same in a script, in a thread, inside a running loop, and twice at once."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run as open_folder

STUDY: dict[str, Any] = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 4},
    "types": {"tft": "tit_for_tat", "all_d": "defector"},
    "seating": "ordered",
}


def cooperation(run: ostrom.Run) -> dict[str, float]:
    found = run.estimate("cooperation", by=["agent"])
    return dict(zip(found["agent"], found["value"], strict=True))


def calls(runs: Path) -> int:
    """Calls in the journal, those of unfinished matches included."""
    with open_folder("duel", runs) as run:
        return int(run.journal.spent()["calls"])


@pytest.mark.slow
def test_a_script_states_plays_and_asks(tmp_path: Path) -> None:
    study = ostrom.study(STUDY, vary={"mechanism.rounds": [2, 4]}, seeds=2)
    assert study.factors == {"rounds": [2, 4]} and "varies rounds (2)" in repr(study)
    run = ostrom.play(study, runs=tmp_path, progress=False)
    assert run.result is not None and run.result.complete
    assert cooperation(run)["all_d"] == 0
    assert set(run.decisions["rounds"].unique()) == {2, 4}
    made = run.contrast("cooperation", "rounds", "4 - 2", by=["agent"])
    assert made.columns[:4] == ["agent", "rounds", "value", "low"]
    assert run.sql("SELECT count(*) AS n FROM decisions")["n"].to_list() == [run.decisions.height]
    assert run.transcript(0, round=1)[0]["round"] == 1
    assert run.export(format="csv", out=tmp_path / "out")["matches"].exists()
    assert "matches played" in repr(run) and run.name in run._repr_html_()
    again = ostrom.open_run("duel", tmp_path)
    assert again.matches.equals(run.matches)


def test_the_same_inside_a_running_loop_and_twice_at_once(tmp_path: Path) -> None:
    plain = cooperation(ostrom.play(STUDY, runs=tmp_path / "a", progress=False))

    async def notebook() -> list[dict[str, float]]:
        inside = ostrom.play(STUDY, runs=tmp_path / "b", progress=False)
        both = await asyncio.gather(
            ostrom.play_async(STUDY, runs=tmp_path / "c", name="one", progress=False),
            ostrom.play_async(STUDY, runs=tmp_path / "c", name="two", progress=False),
        )
        return [cooperation(run) for run in (inside, *both)]

    assert asyncio.run(notebook()) == [plain] * 3


def test_a_budget_may_be_given_to_play_and_nothing_else_beside_a_study(tmp_path: Path) -> None:
    study = ostrom.study(STUDY)
    assert ostrom.play(study, budget_usd=5, runs=tmp_path, progress=False).result is not None
    manifest = (tmp_path / "duel" / "run.json").read_text()
    assert '"usd": 5' in manifest
    with pytest.raises(UsageError, match="seeds: give this to"):
        ostrom.play(study, seeds=2, runs=tmp_path)


def test_a_branch_is_played_inside_a_running_loop_too(tmp_path: Path) -> None:
    async def notebook() -> ostrom.Run:
        return ostrom.play(STUDY, runs=tmp_path, progress=False).branch(0, 2, strategy="defector")

    assert "1 of 1 match played" in repr(asyncio.run(notebook()))


@pytest.mark.slow
def test_a_comparison_is_that_of_the_command(tmp_path: Path) -> None:
    run = ostrom.play("pd-tournament", preset="smoke", runs=tmp_path, progress=False)
    made = run.compare()
    assert made.lines and {"run": str(run.path), **made.as_dict()} == ostrom.commands.compare(run.path)


def test_a_branch_is_a_run(tmp_path: Path) -> None:
    run = ostrom.play(STUDY, runs=tmp_path, progress=False)
    cooperating = run.sql("SELECT match FROM matches GROUP BY match HAVING min(cooperation) = 1")["match"][0]
    made = run.branch(cooperating, 2, strategy="defector", seat=1)
    assert made.path.parent == tmp_path and made.path != run.path
    assert made.decisions.filter(made.decisions["player"] == 1)["cooperative"].to_list()[1:] == [False] * 3


@pytest.mark.slow
def test_an_interrupt_inside_a_loop_stops_cleanly_and_the_same_call_goes_on(tmp_path: Path) -> None:
    data = {**STUDY, "types": {"m": {"model": "scripted/slow"}}, "mechanism": {"name": "repetition", "rounds": 6}}
    data |= {"agent": {"style": "direct", "constrain": "never"}, "seating": "self"}
    code = """
import asyncio, os, signal, sys, threading
import ostrom
from ostrom.models.providers.scripted import register

async def answer(request):
    if not asked.is_set():
        asked.set()
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.05)
    return "[A0]"

asked = threading.Event()
if sys.argv[2] == "again":
    asked.set()
register("slow", answer)
study = ostrom.study(eval(sys.argv[3]))

async def notebook():
    try:
        run = ostrom.play(study, runs=sys.argv[1], progress=False)
        print("complete", run.result.complete)
    except KeyboardInterrupt:
        print("interrupted")

asyncio.run(notebook())
"""

    def session(word: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), word, repr(data)],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        return done.stdout.strip() + done.stderr[-600:]

    assert session("first").startswith("interrupted")
    before = calls(tmp_path)
    assert 1 <= before < 12, "calls under way were kept, no new ones begun"
    assert session("again") == "complete True"
    assert calls(tmp_path) == 12, "no call was paid twice"


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"seeds: give this to ostrom\.study"):
        ostrom.play(ostrom.study(STUDY), runs=tmp_path, seeds=3)
    with pytest.raises(UsageError, match="set: must be a mapping or a list"):
        ostrom.study(STUDY, set="seeds=3")
    with pytest.raises(UsageError, match="there is no such run"):
        ostrom.open_run("nothing", tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ostrom.nothing  # noqa: B018


def test_importing_loads_nothing() -> None:
    heavy = "[m for m in ('numpy', 'pydantic', 'typer', 'asyncio') if m in sys.modules]"
    code = f"import sys, ostrom; print({heavy}, ostrom.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"[] {ostrom.__version__}\n"
