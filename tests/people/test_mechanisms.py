"""People in every mechanism: choices, votes, records, percentages and texts, with two to five players."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.people.crawling import WORDS, Log, crawl, crawl_together
from tests.people.served import served

from ostrom.ground.errors import StudyError
from ostrom.mechanisms import mechanisms
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import open_run

RULES: dict[str, dict[str, Any]] = {
    "none": {},
    "repetition": {"rounds": 2},
    "cheap_talk": {"rounds": 2},
    "in_turn": {},
    "shared_code": {},
    "similarity": {},
    "punishment": {"rounds": 2},
    "disarmament": {"sweeps": 1},
    "mediation": {},
    "contracting": {},
    "negotiation": {"turns": 3, "endowment": 4},
}
ASKED = {
    "cheap_talk": {"message", "act"},
    "in_turn": {"message", "act"},
    "punishment": {"act", "punish"},
    "disarmament": {"disarm", "act"},
    "mediation": {"design", "vote", "act"},
    "contracting": {"design", "vote", "sign", "act"},
    "negotiation": {"offer", "reply", "act"},
}
"""What people are asked for besides an action."""


def people_study(seats: int, people: int, games: dict[str, Any], **section: Any) -> dict[str, Any]:
    persons: dict[str, Any] = {f"p{number}": {"person": "web"} for number in range(people)}
    return {
        "name": "many",
        "title": "Many rules",
        "game": "prisoners_dilemma" if seats == 2 else {"name": "public_goods", "n": seats},
        "types": persons | {f"s{number}": "random" for number in range(people, seats)},
        "seating": "seats",
        "people": {
            "source": {"name": "link", "places": 20},
            "quota": 20,
            "games": games,
            "visit": [{"match": number} for number in range(1, len(games) + 1)],
            "codes": {"done": "CDONE", "departed": "CDEP", "no_partner": "CNOP"},
            "lobby": {"wait": 60},
            **section,
        },
    }


@pytest.mark.slow
def test_two_people_and_a_script_play_every_mechanism_in_one_visit(tmp_path: Path) -> None:
    elsewhere = {"advice", "reputation", "society", "evolution"}
    assert {*RULES} | elsewhere == set(mechanisms.names()), "a new mechanism belongs here, too"
    games: dict[str, Any] = {name: {"mechanism": {"name": name, **rules}} for name, rules in RULES.items()}
    games["in_turn"]["mechanism"]["talk"] = {"private": True, "order": "in_turn"}
    logs: list[Log] = [[], []]
    with served(tmp_path, people_study(3, 2, games)) as server:
        people = [server.visitor(join=True) for _ in logs]
        crawl_together(*(partial(crawl, person, seed, log=logs[seed]) for seed, person in enumerate(people)))
        assert all("CDONE" in person.page for person in people)
        assert server.ostrom("people", "many", "audit").returncode == 0
        server.stop()
        with open_run(server.run) as run:
            rows = [row for row in run.rows.decisions() if row["agent"] in ("p0", "p1") and row["unit"] != "visit"]
    assert {row["reading"] for row in rows} == {"person"}
    asked: dict[str, set[str]] = {}
    for row in rows:
        asked.setdefault(row["mechanism"], set()).add(row["kind"])
    assert asked == {name: ASKED.get(name, {"act"}) for name in RULES}
    pages = "".join(page for log in logs for _, _, page in log)
    assert (
        "&lt;b&gt;hello&lt;/b&gt;" in pages
        and "<b>hello" not in pages
        and "{{ 7*7 }}" in pages
        and "u003cb" not in pages
    )
    said = [json.loads(row["answer"]) for row in rows if row["kind"] == "message"]
    assert [answer["message"] for answer in said] == [WORDS] * 6
    assert {answer["to"] for answer in said if "to" in answer} <= {"player_1", "player_2", "player_3"}
    places = [place for log in logs for place, _, _ in log]
    assert len(set(places)) == len(places), "nobody was asked twice, or asked what belongs to somebody else"


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [{"name": "reputation"}, pytest.param({"name": "society", "members": 4}, marks=pytest.mark.slow)]
)
def test_two_people_live_in_a_society_with_two_scripts(tmp_path: Path, rules: dict[str, Any]) -> None:
    """Every type has one member per seat, so one type of people in a game for two is two people."""
    games = {"society": {"mechanism": {**rules, "rounds": 3}}}
    with served(tmp_path, people_study(2, 1, games)) as server:
        people, logs = [server.visitor(join=True) for _ in range(2)], [Log(), Log()]
        crawl_together(*(partial(crawl, person, seed, log=logs[seed]) for seed, person in enumerate(people)))
        assert all("CDONE" in person.page and len(log) == 3 for person, log in zip(people, logs, strict=True))
        server.stop()
        with open_run(server.run) as run:
            rows = [row for row in run.rows.decisions() if row["agent"] == "p0" and row["kind"] == "act"]
    assert len(rows) == 6 and {row["reading"] for row in rows} == {"person"}
    assert len({row["person"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("key", "rules"),
    [
        ("imitation", {"name": "society", "members": 4, "imitation": "imitation"}),
        ("generations", {"name": "evolution", "genomes": ["Be kind."], "population": 4, "generations": 2}),
    ],
)
def test_people_are_refused_where_ways_of_playing_spread(key: str, rules: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match=rf"mechanism\.{key}: ways of playing spread, and p0 is a person"):
        plan_of(load_study(people_study(2, 1, {"spreading": {"mechanism": rules}})))
