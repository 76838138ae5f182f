"""What is no shard of the run is refused in one line that names it, when shards are joined and at each later open."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run_tables import tables

from ostrom.engine.folder import Folder, identity
from ostrom.engine.integrity import COLUMNS, seal
from ostrom.engine.joined import JoinedJournal
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Counted
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.shards import Shard
from ostrom.features.joining import ShardState, join_shards
from ostrom.ground.errors import OstromError, RunError, UsageError
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

from .conftest import SCRIPTED, manifest_of, play_joined, play_shards, play_whole, rewrite


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three shards and the run that was joined from them."""
    runs = tmp_path_factory.mktemp("first")
    play_joined(SCRIPTED, runs, 3)
    return runs


@pytest.fixture
def runs(first: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(first, tmp_path / "runs")
    return tmp_path / "runs"


def shard(runs: Path, number: int, of: int = 3) -> Path:
    return runs / f"whole.{number}-of-{of}"


def shards(runs: Path) -> list[Path]:
    return [shard(runs, number) for number in (1, 2, 3)]


def refused(call: Callable[[], object]) -> str:
    """The one line with which something is refused."""
    with pytest.raises(OstromError) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def opened(runs: Path) -> None:
    with open_run(runs / "whole") as run:
        list(run.rows.matches())


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/4097", "1/0", "1", "a/b", "-1/3", "1/3 "])
def test_a_shard_is_one_of_at_most_4096(text: str) -> None:
    assert str(Shard.parse("4096/4096")) == "4096/4096"
    with pytest.raises(UsageError, match=f"--shard '?{text}'?: "):
        Shard.parse(text)


def test_a_shard_that_was_played_twice_is_refused_by_name(runs: Path, tmp_path: Path) -> None:
    [again] = play_shards(SCRIPTED, tmp_path / "other", 3, only=[2])
    said = refused(lambda: join_shards("new", [*shards(runs), again], runs))
    assert said == f"{again}: is shard 2/3, and so is {shard(runs, 2)}: leave one of them out"
    join_shards("new", [again, shard(runs, 3), shard(runs, 1)], runs)  # either of them will do, in any order
    assert tables(runs / "new", tmp_path / "a") != {}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mechanism": {"name": "repetition", "rounds": 7}}, "mechanism.rounds"),
        ({"seeds": 3}, "seeds: 2 -> 3"),
        ({"seed": 5}, "seed: 0 -> 5"),
        ({"types": {"echo": "tit_for_tat", "chance": "random:0.7"}}, "types.chance"),
    ],
)
def test_a_shard_of_another_study_is_refused(runs: Path, tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    [other] = play_shards({**SCRIPTED, **changes}, tmp_path / "other", 3, only=[2])
    said = refused(lambda: join_shards("new", [shard(runs, 1), other, shard(runs, 3)], runs))
    assert said.startswith(f"{other}: holds another study: ") and why in said


def test_another_title_or_budget_is_no_other_study(runs: Path, tmp_path: Path) -> None:
    study = {**SCRIPTED, "title": "Another", "budget": {"calls": 5}}
    [other] = play_shards(study, tmp_path / "other", 3, only=[2])
    join_shards("new", [shard(runs, 1), other, shard(runs, 3)], runs)
    assert manifest_of(runs / "new")["joined"][1]["path"] == str(other)


def test_a_joined_run_began_with_its_first_shard_and_has_the_models_of_all(runs: Path) -> None:
    for number, (year, name) in enumerate([("2022", "a"), ("2021", "b"), ("2023", "a")], 1):
        rewrite(shard(runs, number), created=f"{year}-01-01T00:00:00Z", models={name: {"wire": "openai"}})
    join_shards("new", shards(runs), runs)
    made = manifest_of(runs / "new")
    assert made["created"] == "2021-01-01T00:00:00Z" and sorted(made["models"]) == ["a", "b"]


def put_unit(folder: Path, unit: int) -> None:
    """Write the end of a unit into a journal as somebody would who knows how it is sealed."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        row = db.execute(f"SELECT {COLUMNS['units']} FROM units LIMIT 1").fetchone()
        new = (unit, *row[1:])
        db.execute("INSERT INTO units VALUES (?,?,?,?,?,?,1,?)", (*new, seal(new)))
        db.execute("UPDATE meta SET value=value+1 WHERE key='entries'")


# -- what is broken, and how it is refused -----------------------------------------------------------------


def listing(runs: Path, path: str) -> None:
    """Name another path for the second shard of the joined run."""
    listed = manifest_of(runs / "whole")["joined"]
    rewrite(runs / "whole", joined=[listed[0], {**listed[1], "path": path}, listed[2]])


def replaced(runs: Path, one: int, other: int) -> None:
    shutil.rmtree(shard(runs, one))
    shutil.copytree(shard(runs, other), shard(runs, one))


def linked(path: Path) -> None:
    """Put a symbolic link in the place of a file or folder."""
    path.rename(path.parent.parent / "taken")
    path.symlink_to(path.parent.parent / "taken")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def relisted(runs: Path, places: list[int]) -> None:
    listed = manifest_of(runs / "whole")["joined"]
    rewrite(runs / "whole", joined=[listed[place] for place in places])


def lists_itself(runs: Path) -> None:
    own = manifest_of(shard(runs, 1))["shard"]
    listed = [{"path": "whole", "identity": "0" * 32, "entries": 0}]
    rewrite(runs / "whole", shard={**own, "number": 1, "of": 1}, joined=listed)


def played_elsewhere(runs: Path, *names: str) -> None:
    """Take files of another playing of the second shard."""
    [again] = play_shards(SCRIPTED, runs.parent / "other", 3, only=[2])
    for name in names:
        shutil.copy(again / name, shard(runs, 2) / name)


def numbered(runs: Path, number: object) -> None:
    rewrite(shard(runs, 1), shard={**manifest_of(shard(runs, 1))["shard"], "number": number})


def treed(runs: Path) -> None:
    rewrite(shard(runs, 2), shard={**manifest_of(shard(runs, 2))["shard"], "trees": "0" * 32})


def spoiled(runs: Path, how: Callable[[Path], None], name: str) -> None:
    how(shard(runs, 2) / name)


def about(damage: Callable[..., object], *values: object) -> Callable[[Path], object]:
    return lambda runs: damage(runs, *values)


BROKEN: dict[str, tuple[Callable[[Path], object], str | None, str | None]] = {
    "other prompts": (
        lambda runs: rewrite(shard(runs, 2), prompts={"en/rules.txt": "0" * 32}), None,
        "whole.2-of-3: was played with other prompts: en/rules.txt",
    ),
    "other trees": (treed, None, "other trees"),
    "no journal": (lambda runs: (shard(runs, 2) / "journal.db").unlink(), "", "there is no journal"),
    "moved": (lambda runs: shard(runs, 2).rename(runs.parent / "elsewhere"), "is not there", ""),
    "a link to a shard": (lambda runs: linked(shard(runs, 2)), "symbolic link", "symbolic link"),
    "another shard": (lambda runs: replaced(runs, 1, 2), "is shard 2/3, not 1/3", "leave one of them out"),
    "the shard before": (lambda runs: replaced(runs, 3, 2), "is shard 2/3, not 3/3", "leave one of them out"),
    "too few": (lambda runs: relisted(runs, [0, 1]), "is shard 1/3, one of 3, not of 2", None),
    "too many": (lambda runs: relisted(runs, [0, 1, 2, 0]), "", None),
    "none": (lambda runs: relisted(runs, []), "joined", None),
    "itself": (lists_itself, "is no shard", None),
    "another journal": (
        lambda runs: played_elsewhere(runs, "journal.db", "journal.db.tally"), "belongs to another study", "",
    ),
    "another playing": (
        lambda runs: played_elsewhere(runs, "journal.db", "journal.db.tally", "run.json"),
        "is another playing of shard 2/3", None,
    ),
    "a match of another shard": (
        lambda runs: put_unit(shard(runs, 2), 3), "holds match 3, which belongs to shard 1, not 2", "holds match 3",
    ),
    "a match beyond the study": (
        lambda runs: put_unit(shard(runs, 2), 3001), "holds match 3001, the study has only 24", "holds match 3001, the",
    ),
    "the first match beyond": (
        lambda runs: put_unit(shard(runs, 1), 24), "holds match 24, the study has only 24", "holds match 24, the",
    ),
    "a path with steps upwards": (lambda runs: listing(runs, f"{runs}/../runs/whole.2-of-3"), "", None),
    **{
        f"path {path[:20]!r}": (about(listing, path), "run.json: joined: ", None)
        for path in (
            "../runs/whole.2-of-3", "..", ".", "", "a/b", "whole.2-of-3/", "./whole.2-of-3", "whole.2-of-3\0",
            "x" * 5000,
        )
    },
    **{
        f"{how.__name__} {name}": (about(spoiled, how, name), "", "")
        for how in (linked, piped) for name in ("run.json", "journal.db", "journal.db.tally")
    },
    **{
        f"number {number!r}": (about(numbered, number), "", "run.json: shard")
        for number in (0, 4, 5000, "1", None)
    },
}  # fmt: skip
"""How a folder of runs is broken, and the line that opening and joining it end with (None: it is not refused there)."""


@pytest.mark.parametrize("case", BROKEN)
def test_what_was_broken_is_refused_in_one_line(runs: Path, case: str) -> None:
    damage, opening, joining = BROKEN[case]
    damage(runs)
    if opening is not None:
        assert opening in refused(lambda: opened(runs))
    if joining is not None:
        assert joining in refused(lambda: join_shards("new", shards(runs), runs))
        assert not (runs / "new").exists()


WRONG: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "two missing": (lambda runs: shards(runs)[:1], "2 shards of 3 are missing: 2 and 3"),
    "one missing": (lambda runs: shards(runs)[1:], "1 shard of 3 is missing: 1"),
    "one twice": (lambda runs: [*shards(runs), shards(runs)[0]], "leave one of them out"),
    "undivided": (lambda runs: [play_whole(SCRIPTED, runs.parent / "one")], "is no shard"),
    "joined": (lambda runs: [runs / "whole"], "is no shard"),
    "of another number": (
        lambda runs: [*shards(runs)[:2], *play_shards(SCRIPTED, runs.parent / "other", 4, only=[3])],
        "whole.3-of-4: is shard 3/4, and ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_shards_that_are_no_whole_run_are_not_joined(runs: Path, case: str) -> None:
    folders, message = WRONG[case]
    assert message in refused(lambda: join_shards("new", folders(runs), runs))
    assert not (runs / "new").exists()
    with pytest.raises(UsageError):
        join_shards("new", [runs / "nowhere"], runs)


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\udcffb"])
def test_a_folder_whose_name_cannot_be_written_is_not_listed(runs: Path, name: str) -> None:
    shard(runs, 2).rename(runs / name)
    assert "unprintable" in refused(lambda: join_shards("new", [shard(runs, 1), runs / name, shard(runs, 3)], runs))


def test_shards_may_be_moved_together_or_named_by_a_whole_path(runs: Path, tmp_path: Path) -> None:
    shard(runs, 2).rename(tmp_path / "elsewhere")
    join_shards("whole", [shard(runs, 1), tmp_path / "elsewhere", shard(runs, 3)], runs)
    opened(runs)
    (tmp_path / "elsewhere").rename(shard(runs, 2))
    listing(runs, "whole.2-of-3")
    runs.rename(tmp_path / "moved")
    opened(tmp_path / "moved")


def version(folder: Path, versions: str) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        db.execute("UPDATE meta SET value=? WHERE key='ostrom'", (versions,))


def test_another_version_is_refused_until_it_goes_on_with_this_one(runs: Path) -> None:
    version(shard(runs, 3), "0.0.9")
    for call in (lambda: join_shards("new", shards(runs), runs), lambda: opened(runs)):
        assert f"{shard(runs, 3)}: was played by ostrom 0.0.9" in refused(call)
    play_shards(SCRIPTED, runs, 3, only=[3])
    opened(runs)


def test_the_name_of_another_run_is_refused(runs: Path) -> None:
    for name in ("whole.1-of-3", "taken"):
        (runs / "taken").mkdir(exist_ok=True)
        (runs / "taken" / "file").touch()
        before = sorted((runs / name).iterdir())
        refused(lambda name=name: join_shards(name, shards(runs), runs))  # type: ignore[misc]
        assert sorted((runs / name).iterdir()) == before
    assert "use letters" in refused(lambda: join_shards("../up", shards(runs), runs))


def test_joining_again_takes_the_shards_as_they_are_now(runs: Path, tmp_path: Path) -> None:
    shutil.rmtree(shard(runs, 2))
    play_shards(SCRIPTED, runs, 3, only=[2])
    assert "is another playing of shard 2/3" in refused(lambda: opened(runs))
    join_shards("whole", shards(runs), runs)
    opened(runs)
    [*others] = play_shards({**SCRIPTED, "seed": 1}, tmp_path / "other", 3)
    assert "holds another run" in refused(lambda: join_shards("whole", others, runs))


def test_a_shard_that_is_not_complete_is_said_to_be_so_and_the_run_grows(tmp_path: Path) -> None:
    study = validate(StudyFile, SCRIPTED, "test")
    play(study, runs=tmp_path, options=PlayOptions(shard="1/2", limit=3))
    play(study, runs=tmp_path, options=PlayOptions(shard="2/2"))
    folders = [shard(tmp_path, number, 2) for number in (1, 2)]
    joined = join_shards("whole", folders, tmp_path)
    assert [(state.complete, state.units.done, state.units.planned) for state in joined] == [
        (False, 3, 12),
        (True, 12, 12),
    ]
    with open_run(tmp_path / "whole") as run:
        assert len({row["match"] for row in run.rows.matches()}) == 15
        assert run.plan.progress(run.journal.states()).planned == 24
    play(study, runs=tmp_path, options=PlayOptions(shard="1/2"))
    undivided = play_whole(SCRIPTED, tmp_path / "one")
    assert tables(tmp_path / "whole", tmp_path / "a") == tables(undivided, tmp_path / "b")


def test_an_older_copy_of_a_shard_is_refused(tmp_path: Path) -> None:
    study = validate(StudyFile, SCRIPTED, "test")
    play(study, runs=tmp_path, options=PlayOptions(shard="1/1", limit=3))
    shutil.copytree(shard(tmp_path, 1, 1), tmp_path / "old")
    play(study, runs=tmp_path, options=PlayOptions(shard="1/1"))
    join_shards("whole", [shard(tmp_path, 1, 1)], tmp_path)
    shutil.rmtree(shard(tmp_path, 1, 1))
    (tmp_path / "old").rename(shard(tmp_path, 1, 1))
    assert "was an old copy put back?" in refused(lambda: opened(tmp_path))


@pytest.mark.parametrize("number", [0, 10**9, 2 * 10**9 + 1])
def test_a_call_with_a_number_of_another_shard_is_refused(runs: Path, number: int) -> None:
    """A call is looked for by its number alone: it would be shown with the prompt of another one."""
    new = (1, 0, 0, "", 1, 0.0, "m", b"k", 1, 0, "{}", *[None] * 12, "model", None, None)
    with closing(sqlite3.connect(shard(runs, 2) / "journal.db")) as db, db:
        marks = ",".join("?" * (len(new) + 2))
        db.execute(f"INSERT INTO calls VALUES ({marks})", (10**9 + 1, *new, seal(new)))
        db.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
    opened(runs)
    with closing(sqlite3.connect(shard(runs, 2) / "journal.db")) as db, db:
        db.execute("UPDATE calls SET id=?", (number,))
    for ask in (lambda: opened(runs), lambda: join_shards("new", shards(runs), runs)):
        assert f"holds calls {number} to {number}, its own are 1000000001 to 2000000000" in refused(ask)


@given(st.integers(0, 2), st.floats(0, 1), st.integers(0, 255), st.sampled_from(["run.json", "journal.db"]))
@settings(max_examples=40)
def test_a_damaged_shard_is_refused_or_reads_as_it_was(
    first: Path, tmp_path_factory: pytest.TempPathFactory, number: int, at: float, byte: int, name: str
) -> None:
    runs = tmp_path_factory.mktemp("damaged") / "runs"
    shutil.copytree(first, runs)
    path = shards(runs)[number] / name
    raw = bytearray(path.read_bytes())
    place = int(at * (len(raw) - 1))
    raw[place] = byte
    path.write_bytes(raw)
    try:
        made = tables(runs / "whole", runs / "a")
    except OstromError as error:
        assert "\n" not in str(error)
    else:
        assert made == tables(first / "whole", runs / "b")
    shutil.rmtree(runs)


def test_seals_of_large_shards_are_checked_as_they_are_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.engine.journal.MOST_AT_ONCE", 0)
    with open_run(runs / "whole") as run:
        assert run.journal.lazily_verified
        assert run.journal.check_seals() == run.journal.entries and not run.journal.lazily_verified
    with closing(sqlite3.connect(shard(runs, 2) / "journal.db")) as db, db:
        db.execute("UPDATE plays SET intended=x'00' WHERE unit=(SELECT min(unit) FROM plays)")
    assert "damaged" in refused(lambda: opened(runs))


# -- what is not done with a joined run ----------------------------------------------------------------


def test_a_joined_run_is_not_played(runs: Path) -> None:
    study = validate(StudyFile, SCRIPTED, "test")
    said = refused(lambda: play(study, runs=runs))
    assert "is joined from 3 shards" in said and "whole.1-of-3" in said
    with pytest.raises(UsageError, match="joined"):
        Folder(runs / "whole").open_journal(create=True)
    with open_run(runs / "whole") as run, pytest.raises(RunError, match="joined"):
        run.journal.start()
    assert not (runs / "whole" / "journal.db").exists()


def test_a_shard_is_not_gone_on_with_as_another_one(runs: Path) -> None:
    study = validate(StudyFile, SCRIPTED, "test")
    shard(runs, 1).rename(runs / "whole.2-of-4")
    said = refused(lambda: play(study, runs=runs, options=PlayOptions(shard="2/4")))
    assert "holds shard 1/3, not shard 2/4" in said
    (runs / "whole.2-of-4").rename(runs / "plain")
    assert "holds shard 1/3, not the undivided study" in refused(lambda: play(study, runs=runs, name="plain"))


def test_the_identity_of_undivided_runs_is_what_it_was() -> None:
    study = {"study": {"game": "chicken"}, "prompts": {}}
    assert identity({**study, "joined": []}) == identity(study)
    part = {"number": 1, "of": 2, "playing": "a", "trees": None}
    assert identity({**study, "joined": [{"identity": "a"}]}) != identity({**study, "joined": [{"identity": "b"}]})
    known = {identity(study), identity({**study, "shard": part})}
    known |= {identity({**study, "shard": {**part, key: "b"}}) for key in part}
    assert len(known) == 6


def test_every_question_to_a_journal_is_one_to_joined_journals(first: Path) -> None:
    writing = {
        "answer", "call", "keep_batches", "batch", "record_array_play", "finish", "flush", "backlog", "failed",
        "check_place", "played_by", "call_rows",
    }  # fmt: skip
    about_one_unit = {"outcome_of", "readings", "has_begun", "play", "replies", "replies_to", "refusals"}
    public = {name for name in vars(Journal) if not name.startswith("_")}
    assert public - writing - about_one_unit <= set(vars(JoinedJournal))
    with open_run(first / "whole") as joined, open_run(shard(first, 1)) as one:
        assert isinstance(joined.journal, JoinedJournal)
        for unit in joined.journal.states():  # asked of the journal that holds the unit
            for name in about_one_unit:
                place = (unit, 0, 0) if name == "replies_to" else (unit,)
                part = joined.journal._part(unit)
                assert getattr(joined.journal, name)(*place) == getattr(part, name)(*place), name
        own = {name for name in vars(one.journal) if not name.startswith("_")}
        assert own <= set(dir(joined.journal))
        joined.close()
        with joined.journal.reopened() as again:
            assert joined.journal.closed and not again.closed and again.answers(1) == again.answers(1)
            assert len(again.states()) == 24


def test_a_shard_is_complete_when_all_its_matches_are_done_or_skipped() -> None:
    for counts, complete in (((3, 2, 1, 0), True), ((3, 2, 0, 1), False), ((3, 2, 0, 0), False), ((0, 0, 0, 0), True)):
        assert ShardState(Shard(1, 1), Path(), Counted(*counts)).complete is complete
