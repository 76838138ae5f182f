"""A run as oTree's "all apps, wide" table: one row per participant, columns like ``app.2.player.decision``.

An app is a game; a participant is a player of a match, or a person with all matches of a visit. Columns bear the
names of oTree 5, so that scripts written for its exports find what they expect.
"""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ostrom.data.tables import safe_rows
from ostrom.engine.rows import Row
from ostrom.games.amounts import IDLE
from ostrom.ground.files import draft_of
from ostrom.studies.run import Run

FILE = "all_apps_wide.csv"
PARTICIPANT = (
    "id_in_session", "code", "label", "_is_bot", "_index_in_pages", "_max_page_index", "_current_app_name",
    "_current_page_name", "time_started_utc", "visited", "mturk_worker_id", "mturk_assignment_id", "payoff",
)  # fmt: skip
SESSION = ("code", "label", "mturk_HITId", "mturk_HITGroupId", "comment", "is_demo")
PLAYER = ("id_in_group", "role", "payoff", "decision", "cooperative", "agent", "model", "timed_out")
AGENTS = ("agent", "model", "strategy", "agent_memory", "agent_style")


def write_wide(run: Run, out: Path, *, visits: bool = False, safe: bool = False) -> dict[str, tuple[Path, int]]:
    """Write the wide table; return its file and the number of participants."""
    factors = [factor.name for factor in run.plan.factors]
    surveys = _surveys(run) if visits else {}
    answered = list(dict.fromkeys(name for row in surveys.values() for name in row))
    apps: Counter[str] = Counter()
    for app, acts in chain.from_iterable(_participants(run)):
        apps[app] = max(apps[app], len(acts))
    header = [
        *(f"participant.{name}" for name in (*PARTICIPANT, *AGENTS, *factors, *answered)),
        *(f"session.{name}" for name in SESSION),
        "session.config.name",
        *(
            f"{app}.{number}.{column}"
            for app, rounds in apps.items()
            for number in range(1, rounds + 1)
            for column in (*(f"player.{name}" for name in PLAYER), "group.id_in_subsession", "subsession.round_number")
        ),
    ]
    rows: Iterable[Row] = (
        _row(run, number, seats, factors, surveys) for number, seats in enumerate(_participants(run), 1)
    )
    path = out / FILE
    draft = draft_of(path)
    count = 0
    with draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, header, restval="")
        writer.writeheader()
        for row in safe_rows(rows) if safe else rows:
            writer.writerow(row)
            count += 1
    draft.replace(path)
    return {"participants": (path, count)}


def app_name(game: str) -> str:
    """Return a game's name as a valid oTree app name.

    >>> app_name("ordinal_2x2:67"), app_name("144 games")
    ('ordinal_2x2_67', 'app_144_games')
    """
    plain = re.sub(r"\W+", "_", game, flags=re.ASCII).strip("_")
    return plain if plain[:1].isalpha() else f"app_{plain}"


def _acts(run: Run) -> Iterator[tuple[tuple[int, int], list[Row]]]:
    """Yield each player's acts of each match in the order of rounds, including rounds in which it was not asked."""
    for match, rows in groupby(run.rows.decisions(), key=lambda row: row["match"]):
        acts = [row for row in rows if row["unit"] == "match" and row["kind"] == "act"]
        acts += unasked(run, match, {(row["player"], row["round"]) for row in acts})
        acts.sort(key=lambda row: (row["player"], row["round"], row["step"]))
        yield from ((place, list(own)) for place, own in groupby(acts, key=lambda row: (row["match"], row["player"])))


def _participants(run: Run) -> Iterator[list[tuple[str, list[Row]]]]:
    """Yield for each participant the apps that it played, each with its acts."""
    people: dict[str, list[tuple[str, list[Row]]]] = {}
    for _, acts in _acts(run):
        app, person = app_name(acts[0]["game"]), acts[0].get("person")
        if person is None:
            yield [(app, acts)]
        else:
            gone = people.setdefault(person, [])
            times = sum(name == app or name.startswith(f"{app}_again") for name, _ in gone)
            gone.append((app if not times else f"{app}_again{times}", acts))
    yield from people.values()


def _row(run: Run, number: int, apps: list[tuple[str, list[Row]]], factors: list[str], surveys: dict[str, Row]) -> Row:
    first = apps[0][1][0]
    person = first.get("person")
    code = person or f"m{first['match']}p{first['player']}"
    paid = [row["payoff"] for _, acts in apps for row in acts if row["payoff"] is not None]
    cells: dict[str, Any] = {
        "id_in_session": number,
        "code": code,
        "_is_bot": int(person is None),
        "_current_app_name": apps[-1][0],
        "visited": 1,
        "payoff": sum(paid),
        **{name: first[name] for name in AGENTS},
        **{name: first.get(name) for name in factors},
        **surveys.get(code, {}),
    }
    row: Row = {
        **{f"participant.{name}": value for name, value in cells.items()},
        "session.code": run.name, "session.label": "", "session.is_demo": 0, "session.config.name": run.plan.name,
    }  # fmt: skip
    for app, acts in apps:
        roles = run.plan.unit(acts[0]["match"]).game.roles
        for nth, act in enumerate(acts, 1):
            head = f"{app}.{nth}."
            row |= {
                f"{head}player.id_in_group": act["seat"],
                f"{head}player.role": roles[(act["seat"] or 1) - 1],
                f"{head}player.payoff": act["payoff"],
                f"{head}player.decision": act["action"] if act["action"] is not None else act["answer"],
                f"{head}player.cooperative": None if act["cooperative"] is None else int(act["cooperative"]),
                f"{head}player.agent": act["agent"],
                f"{head}player.model": act["model"],
                f"{head}player.timed_out": int(act["missed"]),
                f"{head}group.id_in_subsession": act["match"] + 1,
                f"{head}subsession.round_number": nth,
            }
    return {name: "" if value is None else value for name, value in row.items()}


def _surveys(run: Run) -> dict[str, Row]:
    """Return people's survey answers by their random code."""
    tables: Any = run.rows.people
    questions = [] if tables is None else list(tables.surveys)
    return {row["person"]: {name: row[name] for name in questions} for row in run.rows.visits()}


def unasked(run: Run, match: int, acted: Collection[tuple[int, int]]) -> Iterator[Row]:
    """Yield a row for each round in which a player was not asked: bound, idle, not reached or unmatched.

    ``acted`` holds the pairs (player, round) that were asked. A row looks like that of an act; its action is the agreed
    action or ``no_move``. A match that is not over has no such rows.
    """
    people, unit = run.rows.people, run.plan.unit(match)
    yield from (
        {
            **row, "kind": "act", "step": -1, "answer": None, "missed": False,
            "person": None if people is None else people.of_match(unit, row["player"] - 1).get("person"),
            "action": IDLE if row["action"] is None else row["action"],
        }
        for row in run.rows.rounds(match)
        if (row["player"], row["round"]) not in acted
    )  # fmt: skip
