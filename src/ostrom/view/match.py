"""The page of one match: its rounds on the left, the selected decision on the right.

A decision can be copied as text or as JSON, piece by piece: all words of its prompts, replies and reasoning.
"""

import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ostrom.engine.integrity import connect_read_only
from ostrom.engine.plan import Unit
from ostrom.engine.shards import holder
from ostrom.features.transcript.transcript import channels_of, ended_early, tried, words_of
from ostrom.features.words.lexicons import Lexicon, defection, highlight, memory_curse, normative
from ostrom.ground.errors import UsageError
from ostrom.ground.terminal import escaped
from ostrom.reports.words import pretty, shortened
from ostrom.studies.run import Run
from ostrom.view.calls import FACTS, TEXTS, called_decisions, piece_of, prompt_of, tries_of
from ostrom.view.render import payment
from ostrom.view.viewer import Routes, Viewer, parse_integer, run_and_number

Marked = list[tuple[str, str]]
"""Parts of a text, each with its word group, or none."""


@lru_cache(maxsize=1)
def groups() -> tuple[Lexicon, ...]:
    """Return the lexicons that pages highlight; the first wins where they overlap."""
    return (*memory_curse(), defection(), normative())


def highlighted(text: str) -> Marked:
    """Split the text into parts; where two groups overlap, the one that begins first wins.

    >>> [part for part in highlighted("I fear the future.") if part[1]]
    [('fear', 'paranoia'), ('future', 'forward_looking')]
    """
    try:
        spans = highlight(text, groups())
    except UsageError:  # the matching package is not installed: the text is shown without highlights
        return [(text, "")]
    parts: Marked = []
    at = 0
    for span in spans:
        if span.start >= at:
            parts += [(text[at : span.start], ""), (text[span.start : span.end], span.list_name)]
            at = span.end
    return [part for part in (*parts, (text[at:], "")) if part[0]]


PIECE = 256_000
"""The number of bytes of a text read at a time."""


def whole_of(connection: sqlite3.Connection, call: int, name: str) -> Iterator[str]:
    """Yield one text of a call in pieces."""
    if name.startswith("prompt."):
        yield piece_of(connection, call, name, 0, 1 << 40).text
        return
    start, rest = 0, 1
    while rest:
        piece = piece_of(connection, call, name, start, PIECE)
        yield piece.text
        start, rest = piece.end, piece.rest


def calls_of(connection: sqlite3.Connection, head: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the tries for a decision, each with the names of its texts."""
    there = ", ".join(f"{name} IS NOT NULL" for name in TEXTS)
    query = f"SELECT {', '.join(FACTS)}, {there} FROM calls WHERE unit=? AND step=? AND player=? ORDER BY id"
    yield from (
        (
            {**dict(zip(FACTS, row, strict=False)), "player": head["player"]},
            [name for name, has in zip(TEXTS, row[len(FACTS) :], strict=True) if has],
        )
        for row in connection.execute(query, (head["match"], head["step"], head["player"] - 1)).fetchall()
    )


def as_json(connection: sqlite3.Connection, head: Mapping[str, Any]) -> Iterator[str]:
    """Yield a decision and its calls, with all messages, as JSON."""
    yield orjson.dumps(head).decode()[:-1] + ',"calls":['
    for i, (facts, names) in enumerate(calls_of(connection, head)):
        yield ("," if i else "") + orjson.dumps(facts).decode()[:-1]
        for name in names:
            yield f',"{name}":"'
            for part in whole_of(connection, facts["id"], name):
                yield orjson.dumps(part).decode()[1:-1]
            yield '"'
        yield (
            ',"messages":'
            + orjson.dumps(
                [{"role": role, "content": content} for role, content in prompt_of(connection, facts["id"])]
            ).decode()
            + "}"
        )
    yield "]}\n"


def as_text(connection: sqlite3.Connection, head: Mapping[str, Any]) -> Iterator[str]:
    """Yield a decision as plain text: its calls with all messages, and its answers."""
    yield f"match {head['match']}, step {head['step']}, player {head['player']} ({head['agent']})\n"
    for facts, names in calls_of(connection, head):
        yield from (f"\n--- {role}\n{content}\n" for role, content in prompt_of(connection, facts["id"]))
        yield f"\n--- {facts['model']}, {tried(facts)}\n"
        if "reasoning" in names:
            yield "<reasoning>\n"
            yield from whole_of(connection, facts["id"], "reasoning")
            yield "\n</reasoning>\n"
        if words := [name for name in ("reply", "error") if name in names]:
            yield from whole_of(connection, facts["id"], words[0])
            yield "\n"
    yield from (
        f"\n=> {answer['stage'] or answer['kind']}: {answer['said']} ({answer['reading']})\n"
        for answer in head["answers"]
    )


COLUMNS = (
    "step round player seat agent kind stage target answer action label cooperative payoff probabilities reading "
    "invalid missed complaints note rationale copied"
).split()
"""The columns of an answer that a page shows."""
PLAIN = "text/plain; charset=utf-8"
FORMS = {"json": (as_json, "application/json"), "txt": (as_text, PLAIN)}
"""The formats in which a decision can be copied."""
LONGEST_FACT = 200
"""The longest fact of a round, in characters."""
LONGEST_MOVE = 18
"""The longest move in the list of rounds, in characters."""


class ListedMove(NamedTuple):
    """One move in the list of rounds."""

    style: str
    step: int
    player: int
    text: Markup
    paid: str | None
    current: bool


def match_of(run: Run, number: int) -> dict[str, Any]:
    """Return a match for a page: its setting, players and decisions by step."""
    if not 0 <= number < len(run.plan):
        raise UsageError(f"match {number}: {run.name} has the matches 0 to {len(run.plan) - 1}")
    unit = run.plan.unit(number)
    state, reason, scores, facts = run.journal.outcome_of(number) or ("open", None, None, {})
    if state == "withdrawn" or number in run.plan.hidden:
        raise UsageError(f"match {number}: is not shown: it was withdrawn, or was a test")
    steps: dict[int, dict[str, Any]] = {}
    learned: dict[int, dict[str, Any]] = {}
    channels = channels_of(unit)
    for row in run.rows.decisions(number):
        fields = {name: row.get(name) for name in COLUMNS}
        if row.get("facts"):
            learned[row["round"]] = orjson.loads(row["facts"])
        fields["said"] = words_of(row["kind"], row["answer"], row["player"], channels)
        step = steps.setdefault(row["step"], {"step": row["step"], "round": row["round"], "players": {}})
        step["players"].setdefault(row["player"], []).append(fields)
    with closing(connect_read_only(run.journal.file(number))) as connection:
        for at, player in called_decisions(connection, number):
            step = steps.setdefault(at, {"step": at, "round": None, "players": {}})
            step["players"].setdefault(player, [])
    return {
        "number": number, "kind": unit.kind, "game": unit.game.name, "mechanism": unit.mechanism.name,
        "seed": unit.seed, "cell": dict(unit.cell), "state": state, "reason": reason or ended_early(facts),
        "scores": scores, "facts": facts, "learned": learned,
        "players": [
            {"player": i + 1, "agent": one.name, "observes": one.observes, "model": one.config.model or "no model",
             "role": role_of(unit, i)}
            for i, one in enumerate(unit.players)
        ],
        "steps": [steps[step] for step in sorted(steps)],
    }  # fmt: skip


def role_of(unit: Unit, player: int) -> str | None:
    """Return the role of a player; None if all seats have the same role."""
    game = unit.game
    return (
        None
        if unit.kind == "visit" or unit.players[player].observes or len({*game.roles}) == 1
        else game.roles[(unit.seat + player) % game.seats]
    )


def facts_of(match: dict[str, Any], number: int | None) -> list[tuple[str, str, Any]]:
    """Return the facts of a round besides its moves: name, value, and who knows it."""
    hidden = match["facts"].get("hidden")
    undisclosed = hidden[number - 1] if number and isinstance(hidden, list) and number <= len(hidden) else {}
    everybody = match["learned"].get(number, {})
    rows = [(name, value, "told to all") for name, value in everybody.items()]
    rows += [(name, value, "told to nobody") for name, value in undisclosed.items() if name not in everybody]
    return [
        (
            pretty(name),
            escaped(shortened(value if isinstance(value, str) else orjson.dumps(value).decode(), LONGEST_FACT)),
            whom,
        )
        for name, value, whom in rows
    ]


def chosen_of(match: dict[str, Any], step: str | None, player: str | None) -> tuple[int, int] | None:
    """Return the decision that a URL names, or the first one."""
    places = [(s["step"], p) for s in match["steps"] for p in sorted(s["players"])]
    if step is None and player is None:
        return places[0] if places else None
    try:
        wanted = (int(step or 0), int(player or 1))
    except ValueError:
        raise UsageError(f"step {step!r:.20}, player {player!r:.20}: must be numbers") from None
    if wanted not in places:
        raise UsageError(f"match {match['number']}: has no decision of player {wanted[1]} in step {wanted[0]}")
    return wanted


def rounds_of(match: dict[str, Any], chosen: tuple[int, int] | None) -> Iterator[tuple[str, list[ListedMove | None]]]:
    """Yield the list of rounds: the label of each row, and every player's move."""
    rendered: dict[Any, Markup] = {}

    def text(words: Any) -> Markup:
        # Cached: a match of a thousand moves has few distinct texts to escape.
        if words not in rendered:
            rendered[words] = escape(escaped(pretty(shortened(str(words), LONGEST_MOVE))))
        return rendered[words]

    several = (
        len({a["stage"] for step in match["steps"] for acts in step["players"].values() for a in acts} - {None}) > 1
    )
    for step in match["steps"]:
        row: list[ListedMove | None] = []
        for one in match["players"]:
            here, answers = (step["step"], one["player"]), step["players"].get(one["player"])
            act = next((a for a in answers or () if a["cooperative"] is not None), (answers or [None])[0])
            if act is None:
                row.append(None if answers is None else ListedMove("o", *here, text("no answer"), None, here == chosen))
                continue
            style = "o" if act["cooperative"] is None else "c" if act["cooperative"] else "d"
            move, paid = act["action"] or act["said"] or act["kind"], act["payoff"]
            move = f"{act['stage']} {move}" if several and act["stage"] else move
            style += " policy" if act["invalid"] else ""
            row.append(ListedMove(style, *here, text(move), None if paid is None else payment(paid), here == chosen))
        kinds = {a["kind"] for acts in step["players"].values() for a in acts}
        talk = " talk" if kinds == {"message"} else ""
        yield f"{step['round']}{talk}" if step["round"] is not None else f"step {step['step']}", row


def decision_of(run: Run, match: dict[str, Any], step: int, player: int) -> dict[str, Any]:
    """Everything about one decision."""
    here = next(s for s in match["steps"] if s["step"] == step)
    with closing(connect_read_only(run.journal.file(match["number"]))) as connection:
        tries = tries_of(connection, match["number"], step, player)
    return {
        "step": step, "player": player, "round": here["round"], "answers": here["players"][player], "tries": tries,
        "others": sorted(here["players"]),
        "role": match["players"][player - 1]["role"], "facts": facts_of(match, here["round"]),
        "agent": match["players"][player - 1]["agent"],
        "changed": any(kind == "new" for t in tries for m in t.messages for _, kind in m.marks),
        "groups": sorted({
            group for one in tries for name in ("reply", "reasoning") if name in one.texts
            for _, group in highlighted(one.texts[name].text) if group
        }),
    }  # fmt: skip


def commands_of(viewer: Viewer, name: str, number: int, decision: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return commands to copy, with titles: the transcript, and questions about a decision."""
    place = [str(viewer.shelf.folder(name).path), "--match", str(number)]
    at, player = (None, None) if decision is None else (decision["round"], str(decision["player"]))
    round_ = [] if at is None else ["--round", str(at)]
    words = [("Copy command", ["transcript", *place, *([] if player is None else [*round_, "--player", player])])]
    if player is not None and round_:
        words += [
            ("Copy attribution", ["more", "attribute", *place, *round_, "--seat", player]),
            ("Copy branch", ["more", "branch", *place, "--at", str(at)]),
        ]
    return [(title, shlex.join(["ostrom", *parts])) for title, parts in words]


def page(viewer: Viewer, request: Request) -> Response:
    """A match, or only one of its decisions."""
    name, number = run_and_number(request)
    params = request.query_params
    with viewer.shelf.opened(name) as run:
        match = match_of(run, number)
        chosen = chosen_of(match, params.get("step"), params.get("player"))
        decision = None if chosen is None else decision_of(run, match, *chosen)
        total = len(run.plan)
    return viewer.page(
        request,
        "_decision" if request.headers.get("hx-target") == "decision" else "match",
        title=f"Match {number} of {name}",
        **viewer.run_header(name),
        match=match,
        decision=decision,
        marked=highlighted,
        commands=commands_of(viewer, name, number, decision),
        total=total,
        here="matches",
        rounds=list(rounds_of(match, chosen)),
    )


def text(viewer: Viewer, request: Request) -> Response:
    """Serve more of a long text: its next part, or the rest as a plain file."""
    name, call = run_and_number(request)
    which, start = (str(request.path_params["name"]), parse_integer(request.query_params.get("from", "0"), "from"))
    journal = holder(call, viewer.shelf.folder(name).parts).journal
    with closing(connect_read_only(journal)) as connection:
        piece = piece_of(connection, call, which, start)
    if request.query_params.get("whole"):
        return StreamingResponse(_reading(journal, lambda c: whole_of(c, call, which)), media_type=PLAIN)
    return viewer.page(request, "_more", run=name, call=call, name=which, piece=piece)


def _reading(journal: Path, parts: Callable[[sqlite3.Connection], Iterator[str]]) -> Iterator[bytes]:
    """Yield text from a journal while it is sent: it may be larger than memory."""
    with closing(connect_read_only(journal)) as connection:
        yield from (part.encode("utf-8", "replace") for part in parts(connection))


def copy(viewer: Viewer, request: Request) -> Response:
    """Serve one decision as JSON or text, with all prompts and replies."""
    (name, number), form = run_and_number(request), str(request.path_params["form"])
    if form not in FORMS:
        raise UsageError(f"{form[:20]}: allowed are txt and json")
    with viewer.shelf.opened(name) as run:
        match = match_of(run, number)
        chosen = chosen_of(match, request.query_params.get("step"), request.query_params.get("player"))
        if chosen is None:
            raise UsageError(f"match {number}: has no decision yet")
        journal = run.journal.file(number)
    head, (write, kind) = _about(name, match, *chosen), FORMS[form]
    return StreamingResponse(_reading(journal, lambda c: write(c, head)), media_type=kind)


def _about(name: str, match: dict[str, Any], step: int, player: int) -> dict[str, Any]:
    """Return the head of a copied decision."""
    here = next(s for s in match["steps"] if s["step"] == step)
    return {
        "run": name, "match": match["number"], "step": step, "player": player,
        "agent": match["players"][player - 1]["agent"], "answers": here["players"][player],
    }  # fmt: skip


def transcript(viewer: Viewer, request: Request) -> Response:
    """All decisions of a match as text, one after the other."""
    name, number = run_and_number(request)
    with viewer.shelf.opened(name) as run:
        match, journal = match_of(run, number), run.journal.file(number)

    def parts(connection: sqlite3.Connection) -> Iterator[str]:
        for step in match["steps"]:
            for player in sorted(step["players"]):
                yield from as_text(connection, _about(name, match, step["step"], player))
                yield "\n"

    return StreamingResponse(_reading(journal, parts), media_type=PLAIN)


ROUTES: Routes = [
    ("/run/{run}/match/{number}", page, ["GET"]),
    ("/run/{run}/match/{number}/decision.{form}", copy, ["GET"]),
    ("/run/{run}/match/{number}/transcript.txt", transcript, ["GET"]),
    ("/run/{run}/call/{number}/{name}", text, ["GET"]),
]
