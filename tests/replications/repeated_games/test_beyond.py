"""Trust with amounts, a public good and a common stock with a model behind HTTP, at the size of ``small``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

ROUNDS, SEEDS = 4, 2


def measured(body: dict[str, Any]) -> str:
    """Sends 4 and returns half of what arrives; puts 5 into the project; takes an eighth of the stock."""
    text = body["messages"][-1]["content"]
    if arrived := re.search(r"so (\d+) points arrived\. How many of them do you return", text):
        return f"[{int(arrived[1]) // 2}]"
    if stock := re.findall(r"The stock holds (\d+) units now", text):
        return f"[{int(stock[-1]) // 8}]"
    return "[5]" if "common project" in text else "[4]"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    with LoopbackServer(measured) as server:
        study = load_study("beyond-2x2", preset="small", models=[server.model])
        done = play(study, runs=runs)
        # Two decisions a round in trust, four in each of the others.
        assert server.count == SEEDS * ROUNDS * (2 + 4 + 4)
    assert done.complete and done.tally.invalid == 0 and done.tally.done == 3 * SEEDS
    with open_run("beyond-2x2", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def test_every_round_pays_what_the_rules_of_the_game_say(played: RunData) -> None:
    paid: dict[tuple[str, int], list[float]] = {}
    for row in played.records(
        "SELECT game, round, seat, payoff FROM decisions WHERE match IN (SELECT min(match) FROM matches GROUP BY game) "
        "AND payoff IS NOT NULL ORDER BY game, round, seat"
    ):
        paid.setdefault((row["game"], row["round"]), []).append(row["payoff"])
    # 10 - 4 + 6 back, and 12 arrived - 6 returned.
    assert paid["trust", 1] == paid["trust", ROUNDS] == [12, 6]
    # 20 - 5 + 1.6 / 4 of 20.
    assert paid["public_goods", 1] == paid["public_goods", ROUNDS] == [23] * 4
    # 100 in stock: 12 each, 52 are left and double to 100 again.
    assert paid["commons", 1] == paid["commons", ROUNDS] == [12] * 4


def test_amounts_are_told_and_measured(played: RunData) -> None:
    shares = {
        (e.key["game"], e.key["stage"]): e.value for e in estimate(played, "amount_share", ["game", "stage"])
    }
    assert shares["trust", "send"] == pytest.approx(0.4) and shares["trust", "return"] == pytest.approx(0.5)
    assert shares["public_goods", "contribute"] == pytest.approx(0.25)
    assert {e.value for e in estimate(played, "survival", ["game"], where={"game": "commons"})} == {1.0}
    # 4 x 23 of the 4 x 32 that all could get in the public good.
    (welfare,) = estimate(played, "efficiency", ["game"], where={"game": "public_goods"})
    assert welfare.value == pytest.approx(92 / 128)


def test_the_past_of_amounts_is_shown_to_the_model(tmp_path: Path) -> None:
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return measured(body)

    with LoopbackServer(reply) as server:
        play(load_study("beyond-2x2", preset="smoke", models=[server.model]), runs=tmp_path)
    assert any("sent 4, so 12 arrived" in text for text in asked)
    assert any("the stock held 100" in text for text in asked)
