"""Trust with amounts, a public good and a common stock with a model behind HTTP, at the size of ``small``."""

import re
from collections.abc import Iterator
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


def test_amounts_are_told_and_measured(played: RunData) -> None:
    shares = {(e.key["game"], e.key["stage"]): e.value for e in estimate(played, "amount_share", ["game", "stage"])}
    assert shares["trust", "send"] == pytest.approx(0.4) and shares["trust", "return"] == pytest.approx(0.5)
    assert shares["public_goods", "contribute"] == pytest.approx(0.25)
    assert {e.value for e in estimate(played, "survival", ["game"], where={"game": "commons"})} == {1.0}
    # 4 x 23 of the 4 x 32 that all could get in the public good.
    (welfare,) = estimate(played, "efficiency", ["game"], where={"game": "public_goods"})
    assert welfare.value == pytest.approx(92 / 128)
