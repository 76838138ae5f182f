"""A run as records of Every Eval Ever (evaleval/every_eval_ever, schema 0.2.2): results, and samples per player.

Written by the names and types of the schema; nothing of that project is part of this package. Every model of the run
has a record at ``data/STUDY/DEVELOPER/MODEL/UUID.json`` and its matches beside it in ``UUID_samples.jsonl``.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.manifests import models_of, study_hash
from ostrom.data.rundata import RunData, run_data
from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_atomically
from ostrom.ground.values import grouped
from ostrom.models.redaction import redact
from ostrom.studies.run import Run

SCHEMA = "0.2.2"
MEASURES = ("cooperation", "score")
HOME = "https://pypi.org/project/ostrom/"
_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")


def write_records(run: Run, out: Path, *, texts: bool = False) -> dict[str, tuple[Path, int]]:
    """Write one record per model; return its file and the number of lines in its samples file."""
    models = models_of(run.manifest)
    if not models:
        raise UsageError(f"{run.folder.path}: no model plays in it, and records are of models")
    with run_data(run.rows, run.folder.path, run.manifest) as data:
        return {model: _write(run, data, model, out, texts) for model in models}


def _write(run: Run, data: RunData, model: str, out: Path, texts: bool) -> tuple[Path, int]:
    developer, name = developer_and_name(model)
    created = str(run.manifest["created"])
    # The identifier depends only on the run, so importing a record twice changes nothing.
    uuid = str(
        UUID(bytes=hashlib.sha256(f"{model}/{created}/{study_hash(run.manifest)}".encode()).digest()[:16], version=4)
    )
    evaluation = f"ostrom.{run.plan.name}/{developer}/{name}/{created}/{uuid[:8]}"
    folder = Path("data", _portable(run.plan.name), _portable(developer), _portable(name))
    (out / folder).mkdir(parents=True, exist_ok=True)
    by_game = [
        (str(one.key["game"]), result)
        for measure in MEASURES
        for one in estimate(data, measure, ["game"], where={"model": model})
        if (result := _result(run, one, measure, evaluation)) is not None
    ]
    names = {game: str(result["evaluation_result_id"]) for game, result in reversed(by_game)}
    if not by_game:
        raise UsageError(f"{run.folder.path}: {model} has no finished match with a value between known bounds")
    lines = list(_lines(run, data, model, f"{developer}/{name}", evaluation, names, texts))
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "evaluation_timestamp": created,
        "retrieved_timestamp": str(int(datetime.fromisoformat(created.replace("Z", "+00:00")).timestamp())),
        "source_metadata": {
            "source_name": "Ostrom", "source_type": "evaluation_run", "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "ostrom", "version": str(run.manifest["versions"].get("ostrom", "unknown"))},
        "model_info": {
            "name": redact(model, ()), "id": f"{developer}/{name}", "developer": developer,
            "additional_details": _deployment(model),
        },
        "evaluation_results": [result for _, result in by_game],
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": (folder / f"{uuid}_samples.jsonl").as_posix(), "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(body).hexdigest(), "total_rows": len(lines),
        },
    }  # fmt: skip
    write_atomically(out / folder / f"{uuid}_samples.jsonl", body)
    write_atomically(out / folder / f"{uuid}.json", orjson.dumps(record, option=orjson.OPT_INDENT_2))
    return out / folder / f"{uuid}.json", len(lines)


def _result(run: Run, one: Estimate, measure: str, evaluation: str) -> dict[str, Any] | None:
    """Return one result of one game; None without known bounds, which the schema requires."""
    bounds = (0.0, 1.0) if measure == "cooperation" else (-math.inf, math.inf)
    if one.inference is not None and not one.inference.exact:
        bounds = one.inference.least, one.inference.most
    if not all(map(math.isfinite, bounds)):
        return None
    game = str(one.key["game"])
    interval = {"lower": one.low, "upper": one.high, "confidence_level": one.level, "method": one.method}
    uncertainty = {
        "num_samples": one.n,
        **({} if one.sd is None else {"standard_deviation": one.sd}),
        **({} if one.low is None or one.high is None else {"confidence_interval": interval}),
    }
    study, bound = run.plan.study, run.manifest.get("registered")
    registration = {"label": "exploratory", "registration": bound["hash"]} if bound else {}
    return {
        "evaluation_name": f"ostrom.{run.plan.name}.{game}",
        "evaluation_result_id": f"{evaluation}#{measure}.{game}",
        "source_data": {"dataset_name": run.plan.name, "source_type": "url", "url": [HOME]},
        "metric_config": {
            "evaluation_description": f"{measure} in {game}, study {run.plan.name}", "metric_id": f"ostrom.{measure}",
            "metric_name": measure, "lower_is_better": False, "score_type": "continuous", "min_score": bounds[0],
            "max_score": bounds[1],
        },
        "score_details": {"score": one.value, "uncertainty": uncertainty},
        "generation_config": {
            "additional_details": {"study_hash": study_hash(run.manifest), "seeds": str(study.seeds), **registration}
        },
    }  # fmt: skip


def _deployment(model: str) -> dict[str, str]:
    """Return who serves a model and whether its weights are open, as far as its name shows."""
    provider = model.partition("/")[0]
    ours = provider in ("embedded", "vllm", "llama-server", "transformers")
    hosted = provider in ("openai", "anthropic")
    return {
        "deployment_type": "self_deployed" if ours else "externally_managed" if hosted else "unknown",
        "model_availability": "open_weights" if ours else "closed_weights" if hosted else "unknown",
    }


def _lines(
    run: Run, data: RunData, model: str, model_id: str, evaluation: str, results: Mapping[str, str], texts: bool
) -> Iterator[dict[str, Any]]:
    """Yield a line for every finished match and player of a model: its answers, and its cooperation rate or score."""
    matches = data.records(
        "SELECT match, player, game, seed, agent, opponents, cooperation, score FROM matches "
        "WHERE state = 'done' AND unit = 'match' AND model = ? ORDER BY match, player",
        model,
    )
    turns = grouped(
        ((row["match"], row["player"]), row)
        for row in data.records(
            "SELECT match, player, step, action, answer, reading FROM decisions WHERE model = ? ORDER BY match, step",
            model,
        )
    )
    written = _texts(run) if texts else {}
    for row in matches:
        game, own = str(row["game"]), turns.get((row["match"], row["player"]), [])
        score = row["cooperation"] if results.get(game, "").endswith(f"#cooperation.{game}") else row["score"]
        if game not in results or not own or score is None:
            continue
        messages: list[dict[str, Any]] = []
        answers: list[dict[str, Any]] = []
        for turn in own:
            value = str(turn["action"] if turn["action"] is not None else turn["answer"])
            prompt, reply = written.get((row["match"], row["player"], turn["step"]), (None, None))
            if prompt is not None:
                messages.append({"turn_idx": len(messages), "role": "user", "content": prompt})
            content = reply if reply is not None else value if turn["action"] is not None else None
            answers.append({
                "turn_idx": len(messages), "source": f"messages[{len(messages)}].content",
                "extracted_value": value if content is not None else "", "extraction_method": str(turn["reading"]),
                "is_terminal": turn is own[-1],
            })  # fmt: skip
            messages.append({"turn_idx": len(messages), "role": "assistant", "content": content})
        yield {
            "schema_version": SCHEMA, "evaluation_id": evaluation, "model_id": model_id,
            "evaluation_name": f"ostrom.{run.plan.name}.{game}", "evaluation_result_id": results[game],
            "sample_id": f"match-{row['match']}-player-{row['player']}", "interaction_type": "multi_turn",
            "input": {"raw": f"{run.plan.name}: {game}, seed {row['seed']}", "reference": []}, "output": None,
            "messages": messages, "answer_attribution": answers,
            "evaluation": {"score": score, "is_correct": score == 1, "num_turns": len(messages)},
            "metadata": {
                "seed": str(row["seed"]), "opponents": redact(str(row["opponents"]), ()),
                "is_correct": "whether the score is 1: games have no correct answer",
            },
        }  # fmt: skip


def _texts(run: Run) -> dict[tuple[int, int, int], tuple[str, str]]:
    """Return the last prompt and reply of every decision, by match, player and step."""
    return {
        (call["match"], call["player"], call["step"]): (
            "\n\n".join(text for _, text in run.journal.prompt(call["id"]) or []),
            str(call["reply"]),
        )
        for call in run.rows.calls()
        if call["reply"] is not None and call["error"] is None
    }


def developer_and_name(model: str) -> tuple[str, str]:
    """Return the developer and the name of a model; a model behind a bare address has only a name.

    >>> developer_and_name("openrouter/meta-llama/llama-3"), developer_and_name("http://127.0.0.1:80/v1#m")
    (('meta-llama', 'llama-3'), ('unknown', 'm'))
    """
    developer, _, last = (model.rpartition("#")[2] if "://" in model else model).rpartition("/")
    return developer.rpartition("/")[2] or "unknown", last or "unknown"


def _portable(name: str) -> str:
    return _PORTABLE.sub("-", name).strip(".-") or "unknown"
