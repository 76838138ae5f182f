"""A society of different players on networks, with planted defectors: measures, pictures, kills."""

from collections.abc import Iterator

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.costs.forecast import forecast
from ostrom.data.rundata import RunData, run_data
from ostrom.features.societies.networks import Seen, assortment, clusters
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.testing.check_measure import check_values

OWN = (
    "cooperation_by_round", "share_of_type", "assortment", "cluster_size", "largest_cluster", "norm", "norm_round",
    "gini", "response",
)  # fmt: skip


def follower(request: Request) -> str:
    """Cooperates unless a neighbour is on record with a defection."""
    others = [
        line for line in request.messages[-1].content.splitlines() if line.startswith("- Round") and "You" not in line
    ]
    return "[A1]" if any(" A1 " in line for line in others) else "[A0]"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    register("follower", follower)
    changes = ["agent.constrain=never", "mechanism.links={share: 0.2}", "mechanism.rounds=5"]
    study = load_study("society", preset="smoke", models=["scripted/follower"], changes=changes)
    assert play(study, runs=runs).complete
    unregister("follower")
    with open_run("society", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


@pytest.mark.slow
def test_defectors_spread_from_neighbour_to_neighbour(played: RunData) -> None:
    found = {e.key["dose"]: e.value for e in estimate(played, "response", ["dose"])}
    assert found[0] == 1.0 > found[3]
    (first, *_, last) = [e.value for e in estimate(played, "cooperation_by_round", ["round"], where={"dose": 3})]
    assert first == pytest.approx(9 / 12) and last < first
    norms = {e.key["dose"]: e.value for e in estimate(played, "norm_round", ["dose"])}
    assert norms[0] == 1


@pytest.mark.parametrize("name", OWN)
def test_the_measures_conform_in_a_society(played: RunData, name: str) -> None:
    assert list(measures.named(name).rows(played))
    check_values(measures.named(name), played)


def test_shares_of_types_sum_to_one_in_every_round(played: RunData) -> None:
    total: dict[tuple[int, int], float] = {}
    for row in measures.named("share_of_type").rows(played):
        key = (row["match"], row["round"])
        total[key] = total.get(key, 0.0) + row["value"]
    assert len(total) == 2 * 5 and all(value == pytest.approx(1) for value in total.values())


def test_assortment_and_clusters_of_a_society_that_is_known() -> None:
    """Two cooperators side by side, one by itself, on a ring of six."""
    ring = frozenset((i, i % 6 + 1) if i < 6 else (1, 6) for i in range(1, 7))
    did = {1: True, 2: True, 3: False, 4: True, 5: False, 6: False}
    seen = Seen(0, 1, ring, did, dict.fromkeys(did, "a"), dict.fromkeys(did, "x"))
    assert clusters(seen) == [2, 1]
    # Shares of cooperators around: 1/2, 1/2, 0 of cooperators; 1, 1/2, 1/2 of the others.
    assert assortment(seen) == pytest.approx(1 / 3 - 2 / 3)


MODELS = ["openai/some-model", "openai/another"]


def test_every_member_is_forecast_as_a_model_that_it_may_come_to_play_as() -> None:
    found = forecast(StudyPlan(load_study("society", preset="smoke", models=MODELS)))
    assert found.calls == found.decisions > 0
