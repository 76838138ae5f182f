"""Games of amounts in a report: stock and harvest by round, and amounts as numbers on an axis."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.reports.canvas import WIDE
from ostrom.reports.declared import panels
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


@contextmanager
def commons(folder: Path, *changes: str) -> Iterator[RunData]:
    study = load_study("commons", changes=["mechanism.rounds=3", *changes], seeds=1)
    assert play(study, runs=folder).complete
    with open_run("commons", folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def test_stock_and_harvest_stand_in_one_panel(tmp_path: Path) -> None:
    with commons(tmp_path, "types={taker: 'proportional:0.12', greedy: 'proportional:0.5'}") as data:
        drawn = panels.build("stock_and_harvest").draw(data)
        amounts = {(e.key["agent"], e.key["round"]): e.value for e in
                   estimate(data, "amount_by_round", ["agent", "round"])}  # fmt: skip
    (figure,), (table,) = drawn.figures, drawn.tables
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    shown = {(r["talk"], r["agent"], r["round"]): (r["stock"], r["harvest"]) for r in rows}
    # 100 - 60 doubles to 80; 80 - 50 to 60; five halves are more than there is, and nothing is left.
    lasting = {1: (100, 60), 2: (80, 50), 3: (60, 35)}
    assert shown == {
        **{(talk, "taker", n): of for talk in ("talk", "silence") for n, of in lasting.items()},
        **{(talk, "greedy", 1): (100, 100) for talk in ("talk", "silence")},
    }
    assert amounts == {("taker", 1): 12, ("taker", 2): 10, ("taker", 3): 7, ("greedy", 1): 50}
    spec = figure.chart(WIDE)
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles == ["talk · taker", "talk · greedy", "silence · taker", "silence · greedy"]
    for panel in spec["concat"]:
        assert {row["series"] for row in panel["data"]["values"]} == {"stock", "harvest"}
        y = panel["layer"][0]["encoding"]["y"]
        assert y["type"] == "quantitative" and y["scale"]["domain"] == [0, 100]


def test_a_run_without_a_stock_says_so(tmp_path: Path) -> None:
    alone = ["types={even: 'proportional:0.5'}", "vary={}"]
    assert play(load_study("sharing", changes=alone, seeds=1), runs=tmp_path).complete
    with open_run("sharing", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        drawn = panels.build("stock_and_harvest").draw(data)
    assert not drawn.figures and "states 'stock'" in drawn.notes[0]


def test_strips_of_amounts_are_bars_on_one_scale(tmp_path: Path) -> None:
    with commons(tmp_path, "types={taker: 'proportional:0.12'}", "vary={}", "game.n=2") as data:
        (figure,) = panels.build("strips").draw(data).figures
    lanes: list[Any] = figure.chart(WIDE)["concat"]
    ups = [lane["layer"][0]["encoding"]["y"] for lane in lanes]
    assert [up["title"] for up in ups] == ["1 taker", "2 taker"]
    assert all(up["type"] == "quantitative" and up["scale"]["domain"] == [0, 12] for up in ups)
    assert [[row["amount"] for row in lane["data"]["values"]] for lane in lanes] == [[12, 12, 12]] * 2
    assert "title" in lanes[0] and "title" not in lanes[1]
    assert lanes[0]["encoding"]["x"]["axis"] is None
    assert lanes[1]["encoding"]["x"]["title"] == "round"


def test_strips_of_all_matches_share_one_scale(tmp_path: Path) -> None:
    study = {
        "name": "gifts", "game": "dictator", "types": {"giver": "constant:5", "other": "random"}, "seating": "seats",
        "vary": {"gift": {"small": {"types.giver": "constant:5"}, "large": {"types.giver": "constant:80"}}},
    }  # fmt: skip
    assert play(load_study(study, seeds=1), runs=tmp_path).complete
    with open_run("gifts", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (figure,) = panels.build("strips").draw(data).figures
    lanes: list[Any] = figure.chart(WIDE)["concat"]
    ups = [lane["layer"][0]["encoding"]["y"] for lane in lanes if "layer" in lane]
    assert [up["scale"]["domain"] for up in ups if up["type"] == "quantitative"] == [[0, 80], [0, 80]]
