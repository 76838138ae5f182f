"""A run to be shared: its tables without anything that a model or a person wrote, in a folder that is read like a run.

`ostrom estimate`, `compare`, `pool`, `gate` and `report` take the folder wherever they take a run. The registry is a
static page over a folder of such folders.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from ostrom.analysis.registered import RegisteredRun, registered_run
from ostrom.data.early_looks import DECIDED, counted_looks
from ostrom.data.manifests import models_of, study_hash
from ostrom.data.tables import TYPES, factor_types, write_parquet
from ostrom.engine.folder import MANIFEST, identity, kind_of, manifest_bytes
from ostrom.engine.rows import Row
from ostrom.games import copy_game_files, game_hashes
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.files import digest, draft_of, read_plain, write_whole
from ostrom.models.redaction import redact
from ostrom.studies.run import Run, open_run

TEXTS = frozenset("reply reasoning logprobs error reason note rationale".split())
"""Columns that are empty in shared tables."""
LEFT = ("prompts_folder", "prompts_home", "code_home", "joined", "shard")
"""Parts of a manifest that lead to other folders."""
LONGEST = 40
"""Characters of a text among facts: a name, not a sentence."""
WRITTEN = frozenset("text message messages reasons".split())
"""Facts that hold what players wrote, however short."""
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")


def write_shared(run: Run, out: Path) -> dict[str, tuple[Path, int]]:
    """Write the folder; gives the file and the number of rows of each table."""
    manifest = dict(run.manifest)
    if manifest.get("shared"):
        raise UsageError(f"{run.folder.path}: is a shared run already (copy its folder)")
    if kind_of(manifest) != "study" or run.plan.study.people is not None:
        raise UsageError(
            f"{run.folder.path}: only runs of studies without people are shared (--format hf writes any run)"
        )
    if any(game.as_journaled(run.journal.questions) is not game for game in run.plan.games):
        raise UsageError(f"{run.folder.path}: was played when actions had other names; --format hf writes it")
    if out.resolve() == run.folder.path.resolve():
        raise UsageError(f"--out {out}: is the run itself (name another folder)")
    if (out / MANIFEST).exists() and not (out / MARK).exists():
        raise UsageError(f"--out {out}: holds a run (name another folder)")
    rows = run.rows
    types = {**TYPES, **factor_types(rows), **run.plan.round_columns}
    sources: dict[str, Callable[[], Iterable[Row]]] = {
        "matches": rows.matches,
        "rounds": rows.rounds,
        "decisions": rows.decisions,
        "calls": rows.calls,
    }
    write_whole(out / MARK, b"Shared by `ostrom export --format shared`: tables without texts.\n")
    files, tables = {}, {}
    for name, source in sources.items():
        path = out / f"{name}.parquet"
        draft = draft_of(path)
        count = write_parquet(draft, ({**without_texts(row), "run": out.name} for row in source()), types)
        draft.replace(path)
        files[name] = (path, count)
        tables[name] = {"rows": count, "digest": digest(path.read_bytes())}
    for part in LEFT:
        manifest.pop(part, None)
    # Keys never are in a manifest; what looks like one in a name or an address is taken out all the same.
    clean: dict[str, Any] = orjson.loads(redact(orjson.dumps(manifest).decode(), ()))
    clean["shared"] = {"of": identity(run.manifest), "tables": tables}
    if manifest.get("registered"):
        looks = counted_looks(run.folder.path, run.manifest, run.journal.entries)
        clean["shared"] |= {"versions": run.journal.versions, "looks": [asdict(look) for look in looks]}
    if (decided := run.folder.path / DECIDED).exists():
        write_whole(out / DECIDED, read_plain(decided))
    write_whole(out / MANIFEST, manifest_bytes(clean))
    copy_game_files(game_hashes(manifest), run.folder.path, out)
    return {**files, "manifest": (out / MANIFEST, 1)}


MARK = "SHARED.txt"


def without_texts(row: Row) -> dict[str, Any]:
    """A row without what somebody wrote: answers that name no option and are no number, messages among facts.

    >>> without_texts({"answer": "I trust you", "options": '["A", "B"]', "note": "x", "facts": '{"text": "a", "n": 1}'})
    {'answer': None, 'options': '["A", "B"]', 'note': None, 'facts': '{"text":"","n":1}'}
    """
    made = {name: None if name in TEXTS else value for name, value in row.items()}
    if made.get("answer") is not None and made.get("action") is None:
        answer = str(made["answer"])
        named = answer.strip() and answer in _options(made.get("options"))
        made["answer"] = made["answer"] if named or _NUMBER.fullmatch(answer) else None
    facts = made.get("facts")
    if isinstance(facts, str):
        made["facts"] = orjson.dumps(_short(orjson.loads(facts))).decode()
    return made


def _options(text: Any) -> list[Any]:
    try:
        found = orjson.loads(text) if isinstance(text, str) else text or []
    except orjson.JSONDecodeError:
        return str(text).split(",")
    return found if isinstance(found, list) else []


def _short(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _short(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner, key) for inner in value]
    return "" if isinstance(value, str) and (key in WRITTEN or len(value) > LONGEST) else value


def _registration(registered: RegisteredRun | None) -> str:
    """The registration of a shared run, whose main result is exploratory, in a few words."""
    if registered is None:
        return "none"
    verdicts = ", ".join(one.verdict for one in registered.results if one.role == "primary")
    return f"{registered.heading} Primary: {verdicts}. The main result is exploratory."


def write_registry(folder: Path, out: Path) -> tuple[Path, int]:
    """A page over a folder of shared runs: what each is, and its main result; those that cannot be read say why."""
    from ostrom.analysis.estimate import estimate
    from ostrom.data.rundata import run_data
    from ostrom.reports.answers import headline_measure
    from ostrom.reports.page import Section, plain_page, shown_table
    from ostrom.reports.panel import Table

    rows: list[list[Any]] = []
    wrong: list[str] = []
    for place in sorted(path.parent for path in folder.glob(f"*/{MANIFEST}")):
        try:
            with open_run(place) as run, run_data(run.rows, place, run.manifest) as data:
                name = headline_measure(data)
                result = "" if name is None else f"{name} {estimate(data, name)[0].text(3)}"
                day, version = str(run.manifest["created"])[:10], run.manifest["versions"].get("ostrom")
                hashed = study_hash(run.manifest)
                rows.append([
                    place.name, run.plan.name, hashed, ", ".join(models_of(run.manifest)) or "none",
                    run.plan.study.seeds, day, version, result, _registration(registered_run(data)),
                ])  # fmt: skip
        except OstromError as error:
            wrong.append(str(error))
    if not rows and not wrong:
        raise UsageError(f"{folder}: holds no shared run")
    columns = ["run", "study", "hash", "models", "seeds", "day", "ostrom", "main result", "registration"]
    section = Section("runs", "Shared runs")
    section.notes.append("Runs with one hash hold one study: `ostrom pool` adds them up.")
    section.tables.append(shown_table(Table("runs", columns, rows), "", always_open=True))
    page = plain_page("Registry", folder.name, [section], warnings=wrong)
    path = out / "index.html"
    write_whole(path, page.encode())
    return path, len(rows)
