"""A run as logs of Inspect AI: one log per cell, one sample per match, one model event per call.

The files follow the JSON form of Inspect's log (version 2), which ``inspect view``, ``read_eval_log`` and
``samples_df`` read; writing them needs no package. Each sample also holds its rounds as plain data, from which
`ostrom import` makes a run again.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson

from ostrom.engine.plan import Unit
from ostrom.features.exporting.otree import unasked
from ostrom.games.game import Game
from ostrom.games.yaml_file import game_to_mapping
from ostrom.ground.files import draft_of
from ostrom.ground.values import grouped
from ostrom.ground.version import __version__
from ostrom.studies.run import Run

FORMAT = 1
"""The version of the layout in which samples describe rounds."""
NO_MODEL = "none/none"
"""The model name of an evaluation without a model, in Inspect."""
STOPS = {"stop": "stop", "length": "max_tokens", "filter": "content_filter"}
SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty", "presence_penalty")
"""Parameters of a call that have the same name in Inspect."""
FIGURES = ("cooperation", "score")
USAGE = ("input_tokens", "output_tokens", "total_tokens")
PLAYER = ("player", "seat", "agent", "model", "strategy", "agent_memory", "agent_style", *FIGURES)
MATCH = ("game", "seed", "state", "reason", "rounds_played")
ROUND = ("round", "player", "seat", "agent", "action", "payoff")


def write_logs(run: Run, out: Path) -> dict[str, tuple[Path, int]]:
    """Write one log for every cell that has begun; return each file and its number of samples."""
    played = (unit for unit, _, _ in run.rows.played() if unit.kind == "match")
    cells = grouped((_dumped(cell_of(unit)), unit.index) for unit in played)
    players = grouped((row["match"], {name: row.get(name) for name in (*MATCH, *PLAYER)}) for row in run.rows.matches())
    written = {}
    for number, (cell_key, matches) in enumerate(cells.items()):
        cell = cell_of(run.plan.unit(matches[0]))
        mark = _mark(run.name, run.manifest["created"], cell_key)
        stamp = run.manifest["created"].replace(":", "-").removesuffix("Z") + "+00-00"
        path = out / f"{stamp}_{_plain(run.name)}-{number}_{mark}.json"
        draft = draft_of(path)
        with draft.open("w+b") as file:
            _write_log(file, run, cell, mark, matches, players)
        draft.replace(path)
        written[f"cell {number}"] = (path, len(matches))
    return written


def cell_of(unit: Unit) -> dict[str, Any]:
    """Return the levels of a match, with its game and mechanism."""
    return {"game": unit.game.name, "mechanism": unit.mechanism.name, **unit.cell}


def _write_log(
    file: IO[bytes],
    run: Run,
    cell: Mapping[str, Any],
    mark: str,
    matches: Sequence[int],
    players: Mapping[int, list[dict[str, Any]]],
) -> None:
    """Write a log sample by sample, so that only one match is in memory."""
    rows = [row for match in matches for row in players[match]]
    models = list(dict.fromkeys(row["model"] for row in rows if row["model"] is not None))
    done = sum(players[match][0]["state"] == "done" for match in matches)
    created = run.manifest["created"]
    head = {
        "version": 2,
        "status": "success" if done == len(matches) else "cancelled",
        "eval": {
            "eval_id": mark,
            "run_id": _mark(run.name, created),
            "created": created,
            "task": run.plan.name,
            "task_id": mark,
            "task_args": dict(cell),
            "task_args_passed": dict(cell),
            "dataset": {"name": run.name, "samples": len(matches), "sample_ids": list(matches)},
            "model": models[0] if models else NO_MODEL,
            "model_roles": {row["agent"]: {"model": row["model"]} for row in rows if row["model"] is not None},
            "config": {"epochs": 1},
            "packages": {"ostrom": __version__},
            "metadata": {
                "ostrom": {
                    "format": FORMAT,
                    "run": run.name,
                    "cell": dict(cell),
                    "game": _game(run.plan.unit(matches[0])),
                }
            },
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(matches),
            "completed_samples": done,
            "scores": [_mean(name, rows) for name in FIGURES],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
    }
    file.write(orjson.dumps(head)[:-1] + b',"samples":[')
    for place, match in enumerate(matches):
        file.write(b"," if place else b"")
        file.write(orjson.dumps(_sample(run, match, players[match])))
    file.write(b"]}\n")


def _game(unit: Unit) -> dict[str, Any] | None:
    """Return the game as study files describe it; None for a game that no file can describe."""
    game = unit.game
    if not isinstance(game, Game):
        return None
    return game_to_mapping(game) if game.has_table else {"name": game.name, **game.params}


def _sample(run: Run, match: int, players: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    events, messages = [], list[dict[str, Any]]()
    lengths: dict[tuple[int, int], int] = {}
    usage: dict[str, Counter[str]] = defaultdict(Counter)
    for call in run.rows.calls(match):
        prompt = [{"role": role, "content": text} for role, text in run.journal.prompt(call["id"]) or []]
        who = players[call["player"] - 1]
        event = _event(call, prompt, who["agent"])
        events.append(event)
        if call["error"] is None:
            place = (call["step"], call["player"])
            about = {"player": call["player"], "agent": who["agent"], "step": call["step"]}
            messages += [{**message, "metadata": about} for message in prompt[lengths.get(place, 0) :]]
            lengths[place] = len(prompt) + 1
            messages.append({**event["output"]["choices"][0]["message"], "metadata": about})
            usage[call["model"]].update({name: event["output"]["usage"][name] for name in USAGE})
    for number, message in enumerate(messages):
        message["id"] = f"{match}-{number}"
    first = players[0]
    rounds = list(_rounds(run, match))
    averages = {name: _average(name, players) for name in FIGURES}
    return {
        "id": match,
        "epoch": 1,
        "input": events[0]["input"] if events else f"match {match}: {first['game']}, no model was asked",
        "target": "",
        "messages": messages,
        "output": events[-1]["output"] if events else {"model": NO_MODEL, "choices": []},
        "scores": {name: {"value": value} for name, value in averages.items() if value is not None},
        "metadata": {
            "seed": first["seed"],
            "state": first["state"],
            **({} if first["reason"] is None else {"reason": first["reason"]}),
            "rounds_played": first["rounds_played"],
            "players": [{name: row.get(name) for name in PLAYER} for row in players],
            "rounds": rounds,
        },
        "store": {},
        "events": events,
        "model_usage": usage,
        "uuid": _mark(run.name, run.manifest["created"], str(match)),
        "attachments": {},
    }


def _rounds(run: Run, match: int) -> Iterator[dict[str, Any]]:
    """Yield each player's actions and payoffs by round, without texts or personal data."""
    acts = [row for row in run.rows.decisions(match) if row["kind"] == "act"]
    acts += unasked(run, match, {(row["player"], row["round"]) for row in acts})
    rows = (row for row in sorted(acts, key=lambda row: row["round"]) if row["action"] is not None)
    yield from ({name: row[name] for name in ROUND} for row in rows)


def _event(call: Mapping[str, Any], prompt: list[dict[str, Any]], agent: str) -> dict[str, Any]:
    params = orjson.loads(call["params"] or b"{}")
    at = datetime.fromtimestamp(call["at"] or 0.0, UTC).isoformat()
    return {
        "event": "model",
        "timestamp": at,
        "working_start": 0.0,
        "working_time": call["latency"],
        "model": call["model"],
        "role": agent,
        "input": prompt,
        "tools": [],
        "tool_choice": "none",
        "config": {name: params[name] for name in SETTINGS if params.get(name) is not None},
        "output": _output(call),
        **({"error": call["error"]} if call["error"] is not None else {}),
        **({"cache": "read"} if call["source"] == "cache" else {}),
        "metadata": {name: call[name] for name in ("step", "player", "part", "try", "status", "usd")},
    }


def _output(call: Mapping[str, Any]) -> dict[str, Any]:
    if call["error"] is not None and call["reply"] is None:
        return {"model": call["model"], "choices": [], "error": call["error"]}
    content: str | list[dict[str, Any]] = call["reply"] or ""
    if call["reasoning"]:
        content = [{"type": "reasoning", "reasoning": call["reasoning"]}, {"type": "text", "text": content}]
    message = {"role": "assistant", "source": "generate", "model": call["model"], "content": content}
    tokens_in, tokens_out = call["tokens_in"] or 0, call["tokens_out"] or 0
    return {
        "model": call["model"],
        "choices": [{"message": message, "stop_reason": STOPS.get(call["finish"] or "", "unknown")}],
        "completion": call["reply"] or "",
        "usage": {
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
            "input_tokens_cache_read": call["tokens_cached"],
            "reasoning_tokens": call["tokens_reasoning"],
        },
        "time": call["latency"],
    }


def _average(name: str, rows: Sequence[Mapping[str, Any]]) -> float | None:
    present = [row[name] for row in rows if row[name] is not None]
    return sum(present) / len(present) if present else None


def _mean(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    value = _average(name, rows)
    return {
        "name": name,
        "scorer": name,
        "params": {},
        "metrics": {} if value is None else {"mean": {"name": "mean", "value": value}},
    }


def _dumped(cell: Mapping[str, Any]) -> str:
    return orjson.dumps(cell, option=orjson.OPT_SORT_KEYS, default=str).decode()


def _mark(*parts: str) -> str:
    """Return an identifier that depends only on the content, so that repeated exports agree."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:22]


def _plain(text: str) -> str:
    """Return a name that is safe in a file name; Inspect splits file names at ``_``."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text)[:60]
