"""An analysis that finds nothing is one line with the reason, and exit code 2: never an empty table or page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 3}
types: {copycat: tit_for_tat, coin: "random:0.5"}
seeds: 1
"""
GATES = "gates:\n- {name: a, measure: amount_share, at_least: 0.5}\n"

NOTHING = {
    "estimate none cooperation": "cooperation: no match of none is finished (so far: 0 of 2 matches)",
    "test none cooperation --factor agent": "cooperation: no match of none is finished (so far: 0 of 2 matches)",
    "compare none full": "none: has no finished match with cooperation or a score",
    "compare full none": "none: no match is finished (so far: 0 of 2 matches)",
    "pool none full": "none: has no finished match with cooperation or a score",
    "report none": "none: no match has ended, so there is nothing to report (so far: 0 of 2 matches)",
    "power s.yaml --from none --measure cooperation --contrast agent=copycat-coin": "no finished match",
    "transcript none": "match 0 of none has not begun",
    "transcript full --round 99": "match 0 of full: round 99 has no decisions",
    "transcript full --player 7": "match 0 has the players 1 to 2",
    "more infer none": "no match is finished",
    "more robustness none": "too few",
    "more traces none": "none: no reply of a model holds reasoning (of 0 replies)",
    "more traces full": "full: no reply of a model holds reasoning (of 0 replies)",
    "more judge full --model scripted/judge": "nothing to judge",
    "more corpus none --judge scripted/judge --out c": "none: has no finished match with a reply of a model",
    "more attribute none --match 0 --round 2": "match 0 is not finished",
    "more evolve none": "no match has begun",
    "more observe none --model scripted/judge --name o": "has no finished match of repeated rounds",
    "estimate full cooperation --where agent=nobody": "agent has no level 'nobody' (levels: copycat, coin)",
    "estimate full cooperation --where seed>99": "the condition selects none of its 4 values: (seed>99)",
    "test full cooperation --factor agent --where seed>99": "the condition selects none of its 4 values: (seed>99)",
    "estimate full cooperation --agents nobody": "unknown agent 'nobody' (known: coin, copycat)",
    "estimate full cooperation --over seed": "two levels of the column",
    "estimate full amount_share": "amount_share: full has no column decisions.amount",
    "test full amount_share --factor agent": "amount_share: full has no column decisions.amount",
    "gate full --gates g.yaml": "gate 'a': unknown column of decisions 'amount'",
}  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """A folder with a run that has no finished match, and one that has all."""
    folder: Path = tmp_path_factory.mktemp("nothing")
    (folder / "s.yaml").write_text(STUDY)
    (folder / "g.yaml").write_text(GATES)
    with pytest.MonkeyPatch.context() as patch:
        call = caller(patch, folder)
        assert call("run", "s.yaml", "--name", "none", "--limit", "0").code == 1
        assert call("run", "s.yaml", "--name", "full").code == 0
        yield call


@pytest.mark.parametrize("command", NOTHING)
def test_an_analysis_that_finds_nothing_says_why(command: str, played: Call) -> None:
    done = played(*command.split())
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1), done.err
    assert NOTHING[command] in done.err


@pytest.mark.parametrize("command", ["run s.yaml --seeds x", "replicate memory-curse none", "estimate full", "list"])
def test_wrong_use_is_one_line(command: str, played: Call) -> None:
    done = played(*command.split())
    assert done.code == 2 and not done.out and done.err.startswith("ostrom: ") and len(done.err.splitlines()) == 1


def test_a_folder_without_runs_is_no_empty_table(played: Call) -> None:
    done = played("list", "runs", "--runs", "nowhere")
    assert (done.code, done.out) == (0, "") and done.err.startswith(
        "nowhere: holds no run (`ostrom run STUDY` plays one"
    )
    assert played("list", "runs", "--runs", "nowhere", "--json").out.strip() == "[]"


def test_validate_and_a_dry_run_begin_with_size_hours_and_money(played: Call) -> None:
    first = "size   1 cell, 2 matches\nhours  no model to wait for\nmoney  no calls of a model\n"
    assert played("validate", "s.yaml").out.replace("     ", "").startswith(first.replace("     ", ""))
    assert played("run", "s.yaml", "--dry-run").out.startswith(first)
    asked = played("validate", "memory", "--preset", "smoke").out.splitlines()
    assert asked[1:3] == ["hours   depends on the model: name it with --model", "money   depends on the model"]
