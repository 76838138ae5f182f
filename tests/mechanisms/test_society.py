"""A society on a network: who meets whom, what is seen, how ways of playing spread, who is linked to whom."""

from collections import Counter
from collections.abc import Mapping
from math import sqrt
from typing import Any

import numpy as np
import pytest

from ostrom.answers import Answer
from ostrom.answers.random_answers import random_answer
from ostrom.features.evolution.coalescence import critical_ratio
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.networks import Links, networks, pairs_of
from ostrom.mechanisms.populations import Plant, Society, homes, population
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.selection import takeover
from ostrom.testing.check_mechanism import Playing, drive, played_by

PD = build_game("prisoners_dilemma:coopeval")
GOODS = build_game("public_goods")


def ring(members: int, degree: int) -> Links:
    return networks.build(f"ring:{degree}").links(members, np.random.default_rng(0))


def donation(benefit: float, cost: float) -> Game:
    both = benefit - cost
    return TensorGame(
        "donation", (("give", "keep"),) * 2, np.array([[[both, both], [-cost, benefit]], [[benefit, -cost], [0, 0]]]),
        (0, 0), (1, 1),
    )  # fmt: skip


def played(types: list[str], seed: int = 0, game: Game = PD, **params: Any) -> Playing:
    streams = Streams(seed, 1)
    return drive(Society(**params).for_players(len(types)), game, streams, played_by(types, streams))


# -- networks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["complete", "ring:4", "small_world:4,0.3", "scale_free:2", "communities:2,4,0.3,3"])
def test_links_go_both_ways_and_depend_on_the_seed_alone(spec: str) -> None:
    made = [networks.build(spec).links(30, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    for found in made:
        assert all(one in found[other] and one != other for one in range(30) for other in found[one])
        assert all(found), "nobody is alone"
    if spec.partition(":")[0] in ("small_world", "scale_free", "communities"):
        assert made[0] != made[2]


def test_networks_have_the_links_that_they_are_known_for() -> None:
    rng = np.random.default_rng(3)
    assert {len(around) for around in ring(11, 4)} == {4}
    assert len(pairs_of(networks.build("small_world:6,0.5").links(40, rng))) == 40 * 3
    grown = networks.build("scale_free:2").links(200, rng)
    assert len(pairs_of(grown)) == 3 + 197 * 2
    assert max(len(around) for around in grown) > 15, "there are hubs"
    assert max(len(around) for around in grown[3:]) > 2, "newcomers are found by later ones"
    halves = networks.build("communities:2,4,0.3,3").links(40, rng)
    assert sum(one < 20 <= other for one, other in pairs_of(halves)) == 3


def test_a_network_that_the_members_do_not_fill_is_refused() -> None:
    with pytest.raises(GameError, match="degree must be even and from 2 to 5 among 6 members, found 8"):
        played(["cooperator"] * 6, network="ring:8")
    with pytest.raises(GameError, match="battle_of_the_sexes is not the same from every seat"):
        Society().check(build_game("battle_of_the_sexes"))
    with pytest.raises(GameError, match="meeting pair needs a game of 2 seats, public_goods has 3"):
        Society(meeting="pair").check(GOODS)
    with pytest.raises(StudyError, match=r"observe must be one of nobody, partners, neighbours, found 'all'"):
        mechanisms.build({"name": "society", "observe": "all"})


# -- members ---------------------------------------------------------------------------------------------


def test_members_are_shared_among_types_and_planted_ones_take_places() -> None:
    assert Counter(population(["a", "b", "bad"], 2, 10, Plant("bad", 3))) == {"a": 3, "b": 4, "bad": 3}
    assert population(["a", "b"], 2, {"b": 3}, None) == ["b"] * 3
    assert population(["a", "b"], 2, None, None) == ["a", "a", "b", "b"]
    with pytest.raises(StudyError, match=r"mechanism.members: names no type of the study \(found 'c'"):
        population(["a", "b"], 2, {"c": 3}, None)
    with pytest.raises(StudyError, match="are more than the society has members"):
        population(["a", "b"], 2, 4, Plant("b", 5))


def test_planted_members_live_at_hubs_or_side_by_side() -> None:
    grown = networks.build("scale_free:2").links(50, np.random.default_rng(0))
    at_hubs = homes(grown, Plant("bad", 3, "hubs"), True, np.random.default_rng(1))[-3:]
    assert sorted(len(grown[p]) for p in at_hubs) == sorted(map(len, grown))[-3:]
    alike = [homes(ring(9, 2), Plant("bad", 1, "hubs"), False, np.random.default_rng(i))[-1] for i in range(9)]
    assert len(set(alike)) > 2, "among equals, chance decides"
    near = homes(ring(20, 2), Plant("bad", 5, "cluster"), True, np.random.default_rng(1))
    assert sorted(near) == list(range(20))
    inside = sum(one in near[-5:] and other in near[-5:] for one, other in pairs_of(ring(20, 2)))
    assert inside == 4


# -- meetings and records --------------------------------------------------------------------------------


def test_one_action_towards_all_neighbours_pays_the_mean_or_the_total() -> None:
    types = ["cooperator"] * 3 + ["defector"]
    mean = played(types, rounds=1, network="complete")
    assert mean.outcome.scores == (4 / 3, 4 / 3, 4 / 3, 3.0)
    assert played(types, rounds=1, network="complete", pay="total").outcome.scores == (4.0, 4.0, 4.0, 9.0)
    (step,) = mean.asked
    assert [d.player for d in step] == [0, 1, 2, 3]
    assert all(d.view.facts["neighbours"] == 3 for d in step)


def test_a_game_of_more_seats_is_played_in_neighbourhoods() -> None:
    found = played(["cooperator"] * 5 + ["defector"], rounds=1, network="ring:2", game=GOODS, placing="blocks")
    full = GOODS.payoff((0, 0, 0))[0]
    lone = GOODS.payoff((1, 0, 0))
    # Members 4, 5 and 0 share groups with the defector; 2 does not.
    assert found.outcome.scores[2] == pytest.approx(full)
    assert found.outcome.scores[5] == pytest.approx(lone[0])
    assert found.outcome.scores[0] == pytest.approx((full + 2 * lone[1]) / 3)


def test_neighbours_meet_two_by_two_and_the_rest_sits_out() -> None:
    found = played(["cooperator"] * 7, rounds=6, meeting="pair", network="ring:2", placing="blocks")
    lived = found.outcome.facts["links"]
    for number in range(1, 7):
        tables = [r.players for r in found.outcome.rounds if r.number == number and not r.void]
        assert all(list(table) in lived for table in tables)
        met = [p for table in tables for p in table]
        assert len(met) == len(set(met)) >= 4
    sums = [sum(r.payoffs[0] for r in found.outcome.rounds if p in r.players) for p in range(7)]
    assert found.outcome.scores == tuple(pytest.approx(points / 6) for points in sums)


@pytest.mark.parametrize(("observe", "seen"), [("nobody", 0), ("partners", 1), ("neighbours", 4)])
def test_members_see_the_records_of_whom_they_observe(observe: str, seen: int) -> None:
    found = played(["cooperator"] * 8, rounds=3, meeting="pair", network="ring:4", observe=observe, window=2)
    for decision in found.asked[-1]:
        facts = decision.view.facts
        records = [*facts["records"], *facts.get("observed", ())]
        assert records[0]["name"] == "You" and len(records) == 1 + seen
        assert all(match["round"] in (1, 2) for record in records for match in record["matches"])


def test_a_record_that_is_read_late_ends_where_the_question_was_asked() -> None:
    play = Society(network="ring:2", rounds=4, window=2).for_players(6).play(PD, Streams(0, 1))
    asked = [next(play)]
    while len(asked) < 4:
        asked.append(play.send([Answer("cooperate")] * 6))
    shown = [step[0].view.facts["records"][0]["matches"] for step in asked]
    assert [[match["round"] for match in matches] for matches in shown] == [[], [1], [2, 1], [3, 2]]
    facts = asked[1][1].view.facts
    assert "records" in facts and len(facts) == len(dict(facts))


def test_too_many_neighbours_are_shown_by_chance() -> None:
    found = played(["cooperator"] * 20, rounds=3, records=5)
    shown = [tuple(r["name"] for r in step[0].view.facts["records"][1:]) for step in found.asked]
    assert all(len(names) == 5 for names in shown) and len(set(shown)) == 3


def test_the_partner_of_a_round_is_always_among_those_who_are_shown() -> None:
    found = played(["cooperator"] * 8, rounds=2, meeting="pair", observe="neighbours", records=2)
    for step in found.asked:
        for decision in step:
            facts = decision.view.facts
            assert [record["name"] for record in facts["records"]] == ["You", decision.view.names[1]]
            assert len(facts["observed"]) == 1


def test_a_strategy_reads_its_neighbourhood_as_one_player() -> None:
    """Tit for tat defects where most neighbours did, and cooperates in a tie."""
    tied = played(["tit_for_tat", "cooperator", "defector"], rounds=2, placing="blocks")
    most = played(["tit_for_tat", "cooperator", "defector", "defector"], rounds=2, placing="blocks")
    did = [[r.actions[0] for r in m.outcome.rounds if r.players == (0,)] for m in (tied, most)]
    assert did == [[0, 0], [0, 1]]
    blind = played(["tit_for_tat", "defector", "defector"], rounds=2, observe="nobody")
    assert [r.actions[0] for r in blind.outcome.rounds if r.players == (0,)] == [0, 0]


@pytest.mark.parametrize("name", ["society", "reputation"])
def test_the_own_past_can_be_left_to_the_memory_of_the_agent(name: str) -> None:
    streams = Streams(0, 1)
    more = {"meeting": "pair"} if name == "society" else {}
    rules = mechanisms.build({"name": name, "own": "memory", "rounds": 4, "window": 3, **more}).for_players(6)
    types = ["tit_for_tat"] * 5 + ["defector"]
    match = drive(rules, PD, streams, played_by(types, streams))
    for decision in match.asked[-1]:
        view = decision.view
        assert "You" not in [record["name"] for record in view.facts["records"]]
        own = [r for r in match.outcome.rounds if decision.player in r.players and r.number < 4]
        assert len(view.history) == len(own) == 3
        for shown, happened in zip(view.history, own, strict=True):
            place = happened.players.index(decision.player)
            assert shown.actions[view.seat] == happened.actions[place]
            assert shown.payoffs[view.seat] == happened.payoffs[place]
            assert shown.facts["names"][view.seat] == "You"
            names = match.outcome.facts["names"]
            assert sorted(shown.facts["names"]) == sorted(
                "You" if p == decision.player else names[p] for p in happened.players
            )
    # Image scoring still works: those who met the defector's record defect against it.
    assert any(1 in r.actions[:1] for r in match.outcome.rounds if r.number > 1)


# -- imitation -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ways_of_playing_are_taken_over_with_the_chances_of_the_rule() -> None:
    """One defector among five on a ring: how often the one update of a society takes a defector more or fewer."""
    links, game, tries, moved = ring(6, 2), donation(3, 1), 400, Counter[int]()
    types = ["cooperator"] * 5 + ["defector"]
    for seed in range(tries):
        found = played(
            types, seed, game, rounds=2, network="ring:2", placing="blocks",
            imitation={"rule": "imitation", "strength": 0.8},
        )  # fmt: skip
        last = [r for r in found.outcome.rounds if r.number == 2]
        moved[sum(r.actions[0] for r in last) - 1] += 1
    paid = [r.payoffs[0] for r in found.outcome.rounds if r.number == 1]
    expected = {1: 0.0, -1: 0.0}
    for member in range(6):
        around = sorted(links[member])
        for other, chance in zip(
            around, takeover("imitation", 0.8, paid[member], [paid[p] for p in around]), strict=True
        ):
            if (other == 5) != (member == 5):
                expected[1 if other == 5 else -1] += chance / 6
    for change, chance in expected.items():
        assert abs(moved[change] / tries - chance) < 4 * sqrt(chance * (1 - chance) / tries)
        assert chance > 0.02


def fixation(links: Links, rule: str, benefit: float, strength: float) -> float:
    """The exact chance that one cooperator, anywhere, takes over, from the chances that the mechanism draws by."""
    size = len(links)
    states = 1 << size
    matrix, ends = np.eye(states), np.zeros(states)
    for state in range(1, states - 1):
        bits = [state >> p & 1 for p in range(size)]
        paid = [sum(benefit * bits[q] - bits[p] for q in links[p]) / len(links[p]) for p in range(size)]
        for member, around in enumerate(map(sorted, links)):
            chances = takeover(rule, strength, paid[member], [paid[q] for q in around])
            matrix[state, state] -= (1 - sum(chances)) / size
            for other, chance in zip(around, chances, strict=True):
                after = (state | 1 << member) if bits[other] else state & ~(1 << member)
                matrix[state, after] -= chance / size
    ends[-1] = 1.0
    found = np.linalg.solve(matrix, ends)
    return float(np.mean([found[1 << p] for p in range(size)]))


@pytest.mark.parametrize("rule", ["death-birth", "imitation"])
def test_cooperation_is_favoured_above_the_critical_ratio_and_not_below(rule: str) -> None:
    """On a small ring, exactly: every state of the society and every chance of the rule."""
    links = ring(8, 2)
    ratio = critical_ratio(links, rule)
    assert fixation(links, rule, ratio * 1.05, 0.001) > 1 / 8 + 1e-9
    assert fixation(links, rule, ratio * 0.95, 0.001) < 1 / 8 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("degree", [2, 4, 6])
def test_the_critical_ratio_of_a_large_ring_is_its_degree_or_two_more(degree: int) -> None:
    """Ohtsuki et al. (2006): b/c > k for death-birth and b/c > k + 2 for imitation, in the limit of large rings."""
    for size in (20, 30):
        links = ring(size, degree)
        by_death = (size - 2) / (size / degree - 2)  # Taylor, Day and Wild (2007), tends to k
        by_imitation = ((degree + 2) * size - 2 * degree - 2) / (size - 2 * degree - 2)  # tends to k + 2
        assert critical_ratio(links) == pytest.approx(by_death)
        assert critical_ratio(links, "imitation") == pytest.approx(by_imitation)


def test_who_took_over_whose_way_is_on_record_and_decides_who_answers() -> None:
    found = played(
        ["cooperator"] * 4 + ["defector"] * 4, rounds=8, network="ring:2",
        imitation={"rule": "death-birth", "strength": 5.0, "members": 4},
    )  # fmt: skip
    ways = list(range(8))
    assert found.outcome.facts["adopted"]
    for number, step in enumerate(found.asked, 1):
        for decision in step:
            assert (decision.agent or ways[decision.player]) == ways[decision.player]
        before = list(ways)
        for when, player, imitated in found.outcome.facts["adopted"]:
            if when == number:
                assert sorted((player, imitated)) in found.outcome.facts["links"], "they are neighbours"
                ways[player] = before[imitated]


# -- partner choice --------------------------------------------------------------------------------------


def linked_after(facts: Mapping[str, Any]) -> set[tuple[int, int]]:
    now = {(one, other) for one, other in facts["links"]}
    for _, kind, one, other in facts["changes"]:
        if kind == "cut":
            assert (one, other) in now
            now.remove((one, other))
        else:
            assert (one, other) not in now
            now.add((one, other))
    return now


def test_links_are_cut_by_one_and_made_by_two() -> None:
    def at_random(decision: Decision, step: int) -> Answer:
        return random_answer(decision.form, Streams(5, 5).generator(step, decision.player))

    rules = Society(network="ring:4", rounds=10, links={"share": 0.5, "offers": 2}).for_players(12)
    found = drive(rules, PD, Streams(0, 1), at_random)
    kinds = Counter(change[1] for change in found.outcome.facts["changes"])
    proposals = Counter(d.kind for step in found.asked for d in step)
    assert kinds["cut"] > 3 and 3 < kinds["made"] < proposals["link"]
    assert proposals["accept"] <= proposals["link"] == 9 * 6
    said = [
        (d, a) for step, given in zip(found.asked, found.answers, strict=True) for d, a in zip(step, given, strict=True)
    ]
    yes = sum(sum(a.value.values()) for d, a in said if d.kind == "accept")
    wanted = sum(a.value["propose"] != "nobody" for d, a in said if d.kind == "link")
    assert kinds["made"] <= yes < wanted, "two who propose to each other make one link"
    assert yes - kinds["made"] <= 2
    after = linked_after(found.outcome.facts)
    last = found.asked[-1]
    assert last[0].kind == "act"
    degree = Counter(p for pair in after for p in pair)
    assert {d.player: d.view.facts["neighbours"] for d in last} == {p: degree[p] for p in sorted(degree)}


def test_cooperators_leave_defectors_and_find_each_other() -> None:
    types = ["cooperator"] * 10 + ["defector"] * 2
    found = played(types, network="complete", rounds=12, links={"share": 1.0})
    after = linked_after(found.outcome.facts)
    assert not any(one < 10 <= other for one, other in after)
    assert found.outcome.scores[0] > found.outcome.scores[11]
