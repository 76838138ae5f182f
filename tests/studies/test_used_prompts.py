"""A run is bound to the prompt files that its study uses, to all of them and to no others."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.framing.fingerprint import hashes
from ostrom.ground.errors import RunError, StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.resolve import resolve
from ostrom.studies.run import play_plan
from ostrom.testing.server import LoopbackServer

OWN: dict[str, Any] = {
    "name": "own",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 2},
    "agent": {"style": "direct", "framing": {"story": "cooking"}},
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("style", ["social", "reasoned"])
@pytest.mark.parametrize(
    ("study", "changes"),
    [
        ("memory", []),
        ("memory", ["agent.memory=tally", "vary={}"]),
        ("memory", ["agent.memory=summary:1", "vary={}"]),
        ("mechanisms", []),
        ("prediction", []),
        ("personas", []),
        ("memory", ["mechanism={name: punishment, rounds: 3}", "vary={}"]),
        ("memory", ["mechanism=cheap_talk", "vary={}"]),
        ("memory", ["mechanism=disarmament", "vary={}"]),
        ("commons", ["agent.framing.story=lake", "vary={}"]),
    ],
)
def test_every_file_that_is_read_while_playing_is_among_those_used(
    study: str, changes: list[str], style: str, tmp_path: Path
) -> None:
    with LoopbackServer() as server:
        loaded = load_study(
            study, preset="smoke", models=[server.model],
            changes=[*changes, f"agent.style={style}", *(["vary.style=null"] if not changes else [])],
        )  # fmt: skip
        plan = StudyPlan(loaded, library := Library())
        assert play_plan(plan, name="run", runs=tmp_path).tally.calls
    read = set(library._templates) | set(library._stories)
    used = StudyPlan(loaded).prompts  # of a library that nothing was read from
    assert read <= set(used), sorted(read - set(used))


def _play(folder: Path, runs: Path, server: LoopbackServer) -> None:
    play_plan(resolve(OWN, models=[server.model], options=PlayOptions(prompts=folder)).plan, name="run", runs=runs)


def test_a_file_that_the_study_uses_is_held_fast_and_another_is_free(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "stories").mkdir(parents=True)
    (mine / "turns").mkdir()
    story = mine / "stories" / "cooking.txt"
    own = (Path(Library().folders[0]) / "stories" / "cooking.txt").read_text()
    story.write_text(own + " Indeed.")
    with LoopbackServer() as server:
        _play(mine, tmp_path, server)
        (mine / "stories" / "project.txt").write_text("Another story.")
        (mine / "turns" / "auction_bid.txt").write_text("{{ what }}")
        (mine / "goals").mkdir()
        (mine / "goals" / "shine.txt").write_text("Shine.")
        _play(mine, tmp_path, server)
        story.write_text(own + " Indeed!")
        with pytest.raises(RunError, match=r"prompts were other ones than now: stories/cooking.txt was changed"):
            _play(mine, tmp_path, server)
        story.write_text(own + " Indeed.")
        (mine / "turns" / "repetition_act.txt").write_text("Your turn in round {{ round }}.")
        with pytest.raises(RunError, match=r"turns/act.txt is gone, turns/repetition_act.txt was added"):
            _play(mine, tmp_path, server)


def test_scripts_are_told_nothing_so_no_prompt_binds_them(tmp_path: Path) -> None:
    study = {**OWN, "types": {"a": "tit_for_tat"}}
    assert resolve(study).plan.prompts == {}


def test_included_files_are_used_too(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "total.txt").write_text('{% include "goals/_own.txt" %}')
    (tmp_path / "goals" / "_own.txt").write_text("Earn.")
    assert "goals/_own.txt" in resolve(OWN, models=["openai/x"], options=PlayOptions(prompts=tmp_path)).plan.prompts


def test_a_prompt_that_cannot_be_filled_in_is_refused_before_the_first_match(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "correction.txt").write_text("{{ reson }}")
    with pytest.raises(StudyError, match="reson"):
        resolve(OWN, models=["openai/x"], options=PlayOptions(prompts=tmp_path))


def test_a_file_that_was_rewritten_keeps_its_hash() -> None:
    """Runs recorded the hashes of these files before they were written in another way, and have to resume."""
    recorded = {
        "amount.txt": "9c2fff56600b8c0a01a308fc",
        "games/beauty_contest.txt": "e167c045ded91268e6058462",
        "games/centipede.txt": "205a8bab88f440a1ec2d41ce",
        "games/gift_exchange.txt": "50247f910f05ca89bd643d5e",
        "languages/ar/amount.txt": "fdc9b2cf2564cd714d5b4e1b",
        "languages/ar/count.txt": "e38480ac7a0febd67df99892",
        "turns/society_told.txt": "2be40ec38b8b0542bc13eeef",
    }
    assert hashes(Library(), recorded) == recorded
