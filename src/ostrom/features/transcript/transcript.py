"""The transcript of a match: every question, reply, parsed answer and outcome."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ostrom.engine.plan import Unit
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.studies.run import Run

ANSWER_COLUMNS = (
    "round", "kind", "stage", "answer", "action", "label", "payoff", "reading", "complaints", "note", "rationale",
)  # fmt: skip
"""The columns of a decision that a transcript shows, besides player and step."""
TRY = (
    "part", "try", "model", "source", "reply", "reasoning", "finish", "error", "status", "tokens_in",
    "tokens_out", "usd", "latency",
)  # fmt: skip
"""The columns of a try at a call that a transcript shows, besides the messages."""


def transcript(
    run: Run, match: int, *, number: int | None = None, player: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a match in order, each with all its calls; optionally one round or one player.

    Questions within a decision (a note, a prediction) come before it. A decision without an answer is one
    that the match did not get over: its tries say why.
    """
    _check(run, match, player)
    calls = _calls(run, match)
    unit = run.plan.unit(match)
    channels = channels_of(unit)
    tables = list(run.rows.tables(match, rounds=True))
    decided = grouped(((row["step"], row["player"]), row) for table in tables for row in run.rows.decision_rows(table))
    settled = {
        (row["round"], row["player"]): row
        for table in tables
        for row in run.rows.round_rows(table)
        if row["meeting"] == 1
    }
    if not decided and not calls and run.journal.outcome_of(match) is None:
        raise UsageError(f"match {match} of {run.name} has not begun")
    every: dict[Any, list[dict[str, Any]]] = {**decided, **_bound(decided, settled)}
    for step, who in sorted(every.keys() | calls.keys()):
        rows, tries = every.get((step, who), []), calls.get((step, who), [])
        parts = [row["kind"] for row in rows if any(t["part"].startswith(f"{row['kind']}.") for t in tries)]
        rows = sorted(rows, key=lambda row: row["kind"] not in parts)
        # The results of tools are quoted by the next call.
        for row in [row for row in rows if row["kind"] not in ("tool", "tool_list")] or [{}]:
            kind = row.get("kind")
            own = [t for t in tries if _part_of(t["part"], parts) == (kind if kind in parts else None)]
            row_facts = {name: row.get(name) for name in ANSWER_COLUMNS}
            paid = settled.get((row_facts["round"], who), {}).get("paid") if row_facts["payoff"] is not None else None
            if (player is None or who == player) and (number is None or row_facts["round"] == number):
                yield {
                    "match": match,
                    "step": max(int(step), 0),
                    "player": who,
                    "agent": row.get("agent") or unit.players[who - 1].name,
                    **row_facts,
                    "agreed": paid,
                    "said": words_of(row_facts["kind"], row_facts["answer"], who, channels),
                    "calls": own,
                }


def _bound(
    decided: Mapping[tuple[int, int], list[dict[str, Any]]], settled: Mapping[tuple[int, int], dict[str, Any]]
) -> dict[tuple[float, int], list[dict[str, Any]]]:
    """Return actions of players who were bound and not asked, placed after the last decision up to their round."""
    steps = grouped((row["round"], step) for (step, _), rows in decided.items() for row in rows)
    last = {number: max(of) for number, of in steps.items()}
    acted = {(row["round"], row["player"]) for rows in decided.values() for row in rows if row["kind"] == "act"}

    def place(number: int) -> float:
        """Return a place between two steps: rounds without a question follow one another."""
        return max((at for of, at in last.items() if of <= number), default=-1) + number / (2 * len(settled) + 2)

    return grouped(
        ((place(number), who), {**row, "kind": "bound", "answer": row["action"], "reading": "bound"})
        for (number, who), row in settled.items()
        if row["what"] == "bound" and (number, who) not in acted
    )


Seats = tuple[int, ...]


def channels_of(unit: Unit) -> Mapping[str, tuple[Seats, str]]:
    """Return the seats that read each channel of a match, and its oversight; empty for talk without channels."""
    talk = getattr(unit.mechanism, "talk", None)
    return {} if talk is None else talk.open_channels(unit.game)


def words_of(
    kind: str | None, answer: str | None, player: int = 0, channels: Mapping[str, tuple[Seats, str]] = {}
) -> str | None:
    """Return an answer for people: a message with its readers, or a tool call with its result.

    >>> words_of("message", '{"message":"Take 5.","to":"player_2"}'), words_of("act", "40")
    ('to player 2: Take 5.', '40')
    >>> words_of("message", '{"message":"Take 5."}', 1, {"ring": ((0, 2), "secret")})
    'on ring (players 1, 3, observers): Take 5.'
    >>> words_of("message", '{"message":""}')
    'no message'
    >>> words_of("tool", '{"tool":"read_notes","arguments":"{}","result":"there are no notes"}')
    'read_notes {} gave there are no notes'
    """
    if kind not in ("message", "tool", "tool_list") or answer is None:
        return answer
    try:
        content = orjson.loads(answer)
        if kind == "tool":
            return f"{content['tool']} {content['arguments']} gave {content['result']}"
        if kind == "tool_list":
            return "\n".join([content["server"], *(tool["name"] for tool in content["tools"]), *content["left_out"]])
        message = content["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return answer
    if not isinstance(message, str):
        return answer
    if not message.strip():
        return "no message"
    own = [name for name, (seats, _) in channels.items() if player - 1 in seats]
    name = content.get("to", own[0] if own else None)
    if name is not None and name in channels:
        seats, overseen = channels[name]
        readers = ", ".join([*(str(seat + 1) for seat in seats), *(["observers"] if overseen != "no" else [])])
        return f"on {name} (players {readers}): {message}"
    return message if name is None else f"to {str(name).replace('_', ' ')}: {message}"


def tried(call: Mapping[str, Any]) -> str:
    """Return the number and the purpose of a try; empty for the first try at the decision itself.

    A reply that cannot be read is asked for again; a call that fails is tried again. Both are counted.

    >>> tried({"part": "try0", "source": "live", "try": 2}), tried({"part": "try1", "source": "live", "try": 1})
    ('try 2', 'asked again')
    >>> tried({"part": "try2", "source": "live", "try": 3})
    'asked again 2 times, try 3'
    >>> tried({"part": "try0.end", "source": "live", "try": 1})
    'forced end'
    >>> tried({"part": "predict.try1", "source": "cache", "try": 0})
    'predict, asked again, from the cache'
    """
    part_match = re.fullmatch(r"(.*?)\.?try([0-9]+)(\.end)?", str(call["part"]))
    name, again, end = part_match.groups() if part_match else (str(call["part"]), "0", None)
    tries, cached = int(again[:9]), call["source"] == "cache"
    asked_again = f"asked again {tries} times" if tries > 1 else "asked again" * tries
    nth = f"try {call['try']}" if not (tries or end) or call["try"] > 1 else ""
    words = (name.replace("_", " "), asked_again, end and "forced end", "from the cache" if cached else nth)
    return ", ".join(filter(None, words))


def ended_early(facts: Mapping[str, Any] | None) -> str | None:
    """Return why and when a match ended early, from its facts; None if it did not.

    >>> ended_early({"over": "collapse", "over_round": 5})
    'ended in round 5: collapse'
    """
    return None if not facts or "over" not in facts else f"ended in round {facts['over_round']}: {facts['over']}"


def _check(run: Run, match: int, player: int | None) -> None:
    most = len(run.plan)
    if not 0 <= match < most:
        raise UsageError(f"match {match}: {run.name} has the matches 0 to {most - 1}")
    players = len(run.plan.unit(match).players)
    if player is not None and not 1 <= player <= players:
        raise UsageError(f"player {player}: match {match} has the players 1 to {players}")


def _calls(run: Run, match: int) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the calls of a match by step and player, each with its messages."""
    return grouped(
        ((row["step"], row["player"]), {**{name: row[name] for name in TRY}, "messages": messages})
        for row in run.rows.calls(match)
        for messages in [[{"role": who, "content": text} for who, text in run.journal.prompt(row["id"]) or []]]
    )


def _part_of(part: str, parts: list[str]) -> str | None:
    """Return the sub-question of a decision that a call was about; None for the decision itself."""
    return next((name for name in parts if part.startswith(f"{name}.")), None)
