"""Plans by kind: every manifest leads to the class that reads it, those of version 0.1 without a kind too."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ostrom.engine.folder import Folder, kind_of
from ostrom.engine.plan import Plan
from ostrom.features.attribution.plan import attribute
from ostrom.features.branching.branch import branch
from ostrom.features.importing import import_rounds
from ostrom.ground.errors import RunError, UsageError
from ostrom.studies.extensions import plan_class, plans
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan, plan_of
from ostrom.studies.prompts import rehearse
from ostrom.studies.resolve import resolve_run
from ostrom.studies.run import open_run, play, play_plan

DUEL: dict[str, Any] = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 4},
    "types": {"a": "tit_for_tat", "b": "win_stay_lose_shift"},
    "seating": "seats",
}
ROUNDS = "round,player1,player2,answer1,answer2,points1,points2,total1,total2\n1,ann,bob,J,J,8,8,8,8\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of every kind that is opened as a study is."""
    folder = tmp_path_factory.mktemp("runs")
    play(load_study(DUEL), runs=folder)
    with open_run("duel", folder) as run:
        branch(run, 0, 3, name="branch", runs=folder)
        attribute(run, 0, 3, name="attribution", runs=folder)
    with open_run("branch", folder) as run:
        branch(run, 0, 4, name="twice", runs=folder)
    rounds = folder / "rounds.csv"
    rounds.write_text(ROUNDS)
    import_rounds([rounds], "repeated-games-pd", name="imported", runs=folder)
    return folder


KINDS = {"duel": "study", "branch": "branch", "twice": "branch", "attribution": "attribution", "imported": "imported"}


@pytest.mark.parametrize("kind", plans.names())
def test_every_kind_is_a_plan_that_says_so(kind: str) -> None:
    found = plan_class(kind)
    assert issubclass(found, Plan) and found.kind == kind


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_a_manifest_names_its_kind(runs: Path, name: str, kind: str) -> None:
    with open_run(name, runs) as run:
        assert run.manifest["kind"] == run.plan.kind == kind


@pytest.mark.parametrize(
    ("study", "kind"),
    [({"kind": "judge"}, "judge"), ({"kind": "tree"}, "tree"), ({"game": "chicken", "people": {}}, "people")],
)
def test_other_manifests_of_version_0_1_are_recognised_too(study: Mapping[str, Any], kind: str) -> None:
    assert kind_of({"study": study}) == kind


def test_a_fork_of_a_fork_wraps_a_fork(runs: Path) -> None:
    with open_run("twice", runs) as run:
        base = run.plan.base
        assert base is not None and base.kind == "branch"
        assert base.base is not None and base.base.kind == "study"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("branch", "is a fork of duel; `ostrom more branch duel` with its options goes on with it"),
        ("attribution", "is a fork of duel; `ostrom more attribute duel` with its options goes on with it"),
        ("imported", "was imported, so there is nothing to play"),
    ],
)
def test_what_is_not_resumed_names_what_goes_on_with_it(runs: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve_run(name, runs)


@pytest.mark.parametrize(
    ("kind", "command"), [("judge", "judge"), ("score", "corpus"), ("tree", "tree"), ("author", "author")]
)
def test_a_derived_run_is_no_run_of_a_study(runs: Path, tmp_path: Path, kind: str, command: str) -> None:
    folder = Folder(tmp_path / kind)
    folder.path.mkdir()
    folder.write_manifest({**Folder(runs / "duel").manifest(), "kind": kind, "study": {"kind": kind}})
    folder.open_journal(create=True).close()
    for opening in (lambda: open_run(folder.path), lambda: resolve_run(folder.path)):
        with pytest.raises(UsageError, match=f"is no run of a study; `ostrom more {command}` goes on with it"):
            opening()


def test_a_kind_that_nobody_reads_is_refused(runs: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "odd")
    folder.path.mkdir()
    folder.write_manifest({**Folder(runs / "duel").manifest(), "kind": "branhc"})
    with pytest.raises(RunError, match=r"run\.json: kind: unknown kind of plan 'branhc' \(did you mean branch"):
        resolve_run(folder.path)


def test_another_package_adds_a_kind_of_run(tmp_path: Path) -> None:
    class Foreign(StudyPlan):
        """A plan of another package."""

        kind: ClassVar[str] = "foreign"

    study = load_study(DUEL)
    plans.add("foreign", Foreign)
    try:
        play_plan(Foreign(study), name="two", runs=tmp_path)
        with open_run("two", tmp_path) as run:
            assert type(run.plan) is Foreign and run.manifest["kind"] == "foreign"
    finally:
        plans.remove("foreign")
    with pytest.raises(RunError, match="unknown kind of plan 'foreign'"):
        open_run("two", tmp_path)


def test_a_plan_has_what_it_does_not_state() -> None:
    plan = plan_of(load_study(DUEL))
    assert (plan.base, plan.preparations, plan.arrivals, dict(plan.trees)) == (None, 0, None, {})
    assert 0 not in plan.hidden and not plan.round_columns


def test_a_rehearsal_goes_on_until_every_player_was_asked_so_often() -> None:
    turns = {**DUEL, "game": "ultimatum", "types": {"a": "random", "b": "random"}}
    plan = plan_of(load_study(turns))
    for enough, asked in ((1, [1, 1]), (2, [2, 2]), (9, [4, 4])):
        assert [len(of) for of in rehearse(plan, plan.unit(0), enough).values()] == asked
