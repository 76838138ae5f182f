"""Attributions and branches of games by a rule: on players whose reasons are known."""

import re
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from tests.features.attribution.test_attribution import changes, effects

from ostrom.features.attribution.effects import Attribution, Chance, RoundEffect, strips
from ostrom.features.attribution.plan import attribute
from ostrom.features.branching.branch import branch, continuations, measure_of
from ostrom.features.exporting.inspect_log import write_logs
from ostrom.games import build_game
from ostrom.games.function import FunctionGame
from ostrom.ground.errors import UsageError
from ostrom.mechanisms.protocol import Round
from ostrom.mechanisms.rounds import otherwise
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

OFFERS = re.compile(r"you offered (\d+)")


def played(runs: Path, game: Any, types: dict[str, Any], rounds: int = 4) -> None:
    study = {
        "name": "duel",
        "game": game,
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": types,
        "seating": "seats",
    }
    assert play(load_study(study), runs=runs).complete


def test_an_amount_is_attributed_as_its_share_of_what_is_allowed(tmp_path: Path) -> None:
    """A conditional cooperator puts in what the others did on average in the last round."""
    types = {"one": "conditional_cooperator", "two": "constant:20", "three": "constant:0"}
    played(tmp_path, {"name": "public_goods_amounts", "n": 3}, types)
    found = effects(tmp_path, 4)
    assert (found.what, found.taken, found.baseline.p) == ("share of 0 to 20", "10", 0.5)
    assert changes(found, "left out") == [0, 0, 0]
    assert changes(found, "own flipped") == [0, 0, 0]
    assert changes(found, "P2 flipped") == [0, 0, -0.5] and changes(found, "P3 flipped") == [0, 0, 0.5]


def test_a_script_that_draws_every_amount_alike_names_half_of_the_range_on_average(tmp_path: Path) -> None:
    played(tmp_path, {"name": "public_goods_amounts", "n": 2}, {"one": "random", "two": "constant:20"})
    found = effects(tmp_path, 3)
    assert found.baseline.p == 0.5 and changes(found, "left out") == [0, 0]


def test_sampled_amounts_that_are_alike_have_no_interval_and_a_named_option_the_chance_of_what_was_done(
    tmp_path: Path,
) -> None:
    def reply(request: Request) -> str:
        """Offers what the last reply allows: ten more after a rejection, the same after an acceptance."""
        text = request.messages[-1].content
        offers = [int(x) for x in OFFERS.findall(text)]
        if not offers:
            return "[10]"
        return f"[{offers[-1] + 10 * text.count('rejected')}]"

    register("climber", reply)
    try:
        fair = {"strategy": {"name": "threshold", "least": 30}}
        climber = {"model": "scripted/climber", "style": "direct"}
        played(tmp_path, "ultimatum", {"one": climber, "two": fair}, 3)
        found = effects(tmp_path, 3, samples=3, method="both")
        assert found.measure == "sample" and found.what == "share of 0 to 100" and found.taken == "40"
        base = found.baseline
        assert base.p == 0.4 and base.n == 3 and base.low is None and base.high is None  # all three are alike
        assert changes(found, "P2 flipped") == [pytest.approx(-0.1), pytest.approx(-0.1)]
        answers = effects(tmp_path, 3, seat=2, stage="reply")
        assert answers.what == "P(accept)" and answers.baseline.p == 1
        assert {e.shown for e in answers.effects} == {"reject / 10", "reject / 20"}
    finally:
        unregister("climber")


def test_sampled_amounts_that_vary_have_students_interval(tmp_path: Path) -> None:
    """Samples of the same prompt give 10, 20, 60 in turn: the mean share and its interval are those of the samples."""
    amounts: list[int] = []

    def reply(request: Request) -> str:
        amounts.append((10, 20, 60)[len(amounts) % 3])
        return f"[{amounts[-1]}]"

    register("wavers", reply)
    try:
        wavers = {"model": "scripted/wavers", "style": "direct"}
        played(tmp_path, "ultimatum", {"one": wavers, "two": {"strategy": {"name": "threshold", "least": 0}}}, 2)
        amounts.clear()
        base = effects(tmp_path, 2, samples=3, method="both").baseline
    finally:
        unregister("wavers")
    shares = [0.1, 0.2, 0.6]
    assert base.n == 3 and base.p == pytest.approx(0.3)
    reach = 4.302652729911275 * stdev(shares) / 3**0.5  # Student's t with 2 degrees of freedom
    assert base.high == pytest.approx(min(1.0, 0.3 + reach)) and base.low == pytest.approx(max(0.0, 0.3 - reach))


def test_what_nobody_can_know_is_not_flipped(tmp_path: Path) -> None:
    played(tmp_path, "common_pool:2", {"one": "proportional:0.1", "two": "proportional:0.2"})
    found = effects(tmp_path, 3)
    assert {e.row for e in found.effects} == {"left out"}
    with open_run("duel", tmp_path) as parent, pytest.raises(UsageError, match=r"can be flipped.*--method drop"):
        attribute(parent, 0, 3, method="flip", runs=tmp_path)
    with open_run("duel", tmp_path) as parent, pytest.raises(UsageError, match=r"at other stages.*harvest"):
        attribute(parent, 0, 3, stage="offer", runs=tmp_path)


def test_whoever_decides_nothing_has_nothing_to_attribute(tmp_path: Path) -> None:
    played(tmp_path, "dictator", {"one": "constant:30", "two": "random"})
    with open_run("duel", tmp_path) as parent, pytest.raises(UsageError, match="nothing to decide in round 2"):
        attribute(parent, 0, 2, seat=2, runs=tmp_path)


def test_a_round_otherwise_is_what_the_rule_would_have_paid() -> None:
    game = build_game("ultimatum")
    assert isinstance(game, FunctionGame)
    moves = [{"seat": 0, "stage": "offer", "value": 40}, {"seat": 1, "stage": "reply", "value": "accept"}]
    was = Round(2, (40, 0), (60.0, 40.0), facts={"moves": moves, "accepted": True})
    offered, refused = otherwise(game, was, 0), otherwise(game, was, 1)
    assert offered is not None and offered.payoffs == (0, 100) and offered.actions == (100, 0)
    assert refused is not None and refused.payoffs == (0, 0) and refused.facts["moves"][1]["value"] == "reject"
    assert moves[0]["value"] == 40  # the round itself is left alone
    trust = build_game("trust_amounts")
    assert isinstance(trust, FunctionGame)
    returned = [{"seat": 0, "stage": "send", "value": 10}, {"seat": 1, "stage": "return", "value": 15}]
    # Had nothing been sent, nothing could have been returned.
    assert otherwise(trust, Round(1, (10, 15), (15.0, 15.0), facts={"moves": returned}), 0) is None
    auction = build_game("first_price_auction:2")
    assert isinstance(auction, FunctionGame)
    bids = [{"seat": s, "stage": "bid", "value": 10 * s} for s in (0, 1)]
    assert otherwise(auction, Round(1, (0, 10), (0.0, 5.0), facts={"moves": bids}), 0) is None  # values by chance


def test_strips_leave_a_blank_where_a_round_cannot_be_flipped() -> None:
    chance = Chance(0.5, 1, 0)
    made = (
        RoundEffect(1, 2, "left out", "0", chance, 0.5), RoundEffect(2, 1, "left out", "9 / 1", chance, -1.0),
        RoundEffect(2, 1, "own flipped", "9 / 1", chance, 1.0),
    )  # fmt: skip
    found = Attribution("r", 0, 3, 1, "a", "odds", "share of 0 to 9", "full", "1", chance, made, complete=True)
    assert [line.partition("|")[2] for line in strips(found)[:4]] == ["▄█|", "+-|", " █|", " +|"]


def test_a_branch_is_compared_by_what_is_paid(tmp_path: Path) -> None:
    played(tmp_path, "dictator", {"one": "constant:30", "two": "random"})
    with open_run("duel", tmp_path) as parent:
        done = branch(parent, 0, 3, ["strategy=constant:50"], seat=1, runs=tmp_path)
        with open_run(done.folder) as made:
            rows = continuations(parent, made, done.origin)
            assert measure_of(made.plan.unit(0).game) == "payoff per round"
    assert [(r.before, r.parent, r.branch, r.change) for r in rows] == [(70, 70, 50, -20), (30, 30, 50, 20)]


def test_an_inspect_log_holds_the_game_as_study_files_write_it(tmp_path: Path) -> None:
    played(tmp_path, {"name": "dictator", "stake": 10}, {"one": "constant:3", "two": "random"}, 1)
    with open_run("duel", tmp_path) as run:
        (tmp_path / "logs").mkdir()
        written = write_logs(run, tmp_path / "logs")
    text = next((tmp_path / "logs").glob("*.json")).read_text()
    assert '"name":"dictator"' in text.replace(" ", "") and '"stake":10' in text.replace(" ", "") and written
