"""The study of giving, offering and entrusting: figures beside those of people, kills change nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostrom.data.rundata import RunData, run_data
from ostrom.features.comparing import compare_run
from ostrom.features.comparing.command import _row
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def giver(request: Request) -> str:
    """Gives 30 of 100 in whatever way it is asked, accepts, and returns half of what arrived."""
    text = request.messages[-1].content
    if "[accept]" in text:
        return "It is better than nothing.\n[accept]"
    if "do you return" in text:
        return f"Half is fair.\n[{int(text.rpartition(' points arrived')[0].split()[-1]) // 2}]"
    return "I keep most of it.\n[30]"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    register("giver", giver)
    study = load_study(
        "sharing", preset="smoke", models=["scripted/giver"], changes=["agent.constrain=never", "seeds=2"]
    )
    assert play(study, runs=runs).complete
    unregister("giver")
    with open_run("sharing", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def test_amounts_stand_beside_those_of_people(played: RunData) -> None:
    with open_run(played.folder):
        found = compare_run(played)
    own = {line.cell: line.own.value for line in found.lines}
    assert own == {
        ("dictator", "given"): pytest.approx(0.3), ("dictator", "gives_nothing"): 0.0,
        ("dictator", "gives_half"): 0.0, ("ultimatum", "offered"): pytest.approx(0.3),
        ("ultimatum", "rejected"): 0.0, ("trust", "sent"): pytest.approx(0.3),
        ("trust", "returned"): pytest.approx(0.5),
    }  # fmt: skip
    published = {line.cell: line.low for line in found.lines}
    assert published["dictator", "given"] == 0.2835 and published["trust", "returned"] == 0.37
    assert any("quotations" in remark for remark in found.remarks)


def test_a_run_of_trust_under_its_own_name_is_compared_and_people_are_named(tmp_path: Path) -> None:
    study = {"name": "trusting", "game": "trust_amounts", "types": {"a": "constant:4"}, "seating": "self", "seeds": 1}
    play(load_study(study), runs=tmp_path)
    with open_run("trusting", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = compare_run(data, reference="sharing")
    own = {line.cell: line.own.value for line in found.lines}
    assert own == {("trust", "sent"): pytest.approx(0.4), ("trust", "returned"): pytest.approx(4 / 12)}
    assert [(_row(line, [0], {})[3], _row(line, [0], {})[4]) for line in found.lines] == [
        ("People", "0.5"), ("People", "0.37"),
    ]  # fmt: skip
