"""What a run is and what it found: the study card, the first screen, its sources, and the reporting checklist."""

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from ostrom.analysis.estimate import estimate
from ostrom.analysis.registered import registered_run
from ostrom.analysis.stopping import stopping
from ostrom.data.rundata import RunData, quoted
from ostrom.games import is_game_file
from ostrom.ground.errors import OstromError
from ostrom.ground.python_files import references
from ostrom.ground.words import how_many
from ostrom.reports.answers import answer_factors, answers, headline_measure, keep_result, settings
from ostrom.reports.cells import DONE, levels, policy_warnings, varied
from ostrom.reports.chart import Chart
from ostrom.reports.charts._of_estimates import Curve, Dots
from ostrom.reports.panel import Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import Share, is_bare, number, pretty


def states(data: RunData) -> dict[str, int]:
    """Return the number of units by state; units not begun are missing."""
    return {
        row["state"]: row["n"]
        for row in data.records("SELECT state, count(DISTINCT match) AS n FROM matches GROUP BY state")
    }


def card(data: RunData) -> list[tuple[str, str]]:
    """Terms and values of the study card."""
    study, manifest = data.study, data.manifest
    by_state = states(data)
    versions, packages = manifest.get("versions") or {}, manifest.get("parts") or {}
    factors = [f"{pretty(name)} ({len(levels)})" for name, levels in data.levels.items()]
    models = [r["model"] for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")]
    rows = (
        ("Study", study["name"]),
        ("Citation", study.get("citation") or ""),
        ("Varied", ", ".join(factors) or "nothing"),
        ("Seeds", f"{study.get('seeds', 1)} from {study.get('seed', 0)}"),
        ("Stopping", stopping(study, data.folder)),
        ("Matches done", f"{number(by_state.get('done', 0))} of {number(data.planned)}"),
        ("Models", ", ".join(models) or "none"),
        ("Invalid answers", _rule(study)),
        ("Refused answers", str(study.get("refused") or "fail")),
        ("Begun", str(manifest.get("created") or "unknown")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Packages", ", ".join(f"{part.removeprefix('ostrom.')}: {package}" for part, package in packages.items())),
        ("Own files", ", ".join(f"{file} ({digest})" for file, digest in sorted(own_files(manifest).items()))),
        ("Git commit", str(manifest.get("git") or "none")[:12]),
        ("Parent", str(manifest.get("parent") or "")),
    )
    return [(term, value) for term, value in rows if value]


def own_files(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the user's own Python and game files of a run, each with its hash."""
    return {bound["file"]: bound["digest"] for bound in references(manifest["study"])} | {
        name: of for name, of in manifest["prompts"].items() if is_game_file(name)
    }


def _rule(study: dict[str, Any]) -> str:
    rule = {"retries": 0, "policy": "fail", **(study.get("invalid") or {})}
    return f"{how_many(rule['retries'], 'retry')}, then {rule['policy']}"


def registered_lines(data: RunData) -> list[str]:
    """Return the first lines of a registered run: its registered contrasts, and its deviations."""
    if (registered := registered_run(data)) is None:
        return []
    heading, *rest = registered.lines
    return [
        heading,
        *[f"{one.role}: {one.contrast.words}: {one.verdict} {one.value}".strip() for one in registered.results],
        *rest,
        "Everything else on this page is exploratory.",
    ]


def warnings(data: RunData) -> list[str]:
    """Return warnings to be shown before any figure."""
    by_state = states(data)
    done, rest = by_state.get("done", 0), {k: v for k, v in by_state.items() if k != "done"}
    lazily_verified = policy_warnings(data)
    if done == data.planned:
        return lazily_verified
    waiting = data.planned - sum(by_state.values())
    begun = [f"{number(n)} {state}" for state, n in sorted(rest.items())]
    parts = [*begun, f"{number(waiting)} not begun"] if waiting else begun
    return [
        f"The run is not complete: {number(done)} of {number(data.planned)} matches are done "
        f"({', '.join(parts)}). Results cover finished matches only.",
        *lazily_verified,
    ]


def headline(data: RunData) -> Table | None:
    """Return the results in numbers: one row for each cell and agent."""
    by = [*data.factors, "agent"]
    coop = {tuple(e.key.values()): e for e in estimate(data, "cooperation", by)}
    score = {tuple(e.key.values()): e for e in estimate(data, "score", by)}
    if not coop and not score:
        return None
    keys = ", ".join(quoted(name) for name in by)
    policies = {
        tuple(row[name] for name in by): row["p"]
        for row in data.records(
            f"SELECT {keys}, avg(invalid::INTEGER) AS p FROM decisions WHERE {DONE} GROUP BY {keys}"
        )
    }
    rows = []
    for key in score or coop:
        c, s = coop.get(key), score.get(key)
        base = c or score[key]
        means = (c, s) if coop else (s,)  # a run without cooperation shows the interval of its scores
        interval = None if means[0] is None else means[0].interval_text
        first, *rest = [None if one is None else one.value for one in means]
        rows.append([*key, base.n, first, interval, *rest, Share(policies[key]) if key in policies else None])
    columns = [
        *by, "matches", *(("cooperation", "95 % interval", "score") if coop else ("score", "95 % interval")),
        "answers by policy",
    ]  # fmt: skip
    return Table("headline", columns, rows, "Every cell and agent: means over matches with 95 % intervals.")


def reproduce(data: RunData) -> dict[str, str]:
    """Return the command that plays the study again, and what to expect from it."""
    prompts = data.manifest.get("prompts_folder")
    command = f"ostrom run study.yaml --name {shlex.quote(data.name + '-again')}"
    command += f" --prompts {shlex.quote(str(prompts))}" if prompts else ""
    models = [r["model"] for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")]
    repeat_note = (
        f"The answers of {', '.join(models)} may differ from call to call; the journal of this run keeps "
        "every reply, and its tables are rebuilt from there at any time with: ostrom export."
        if models
        else "No language model took part: the tables come out the same to the byte."
    )
    versions, packages = data.manifest.get("versions") or {}, data.manifest.get("parts") or {}
    return {
        "command": command,
        "reproducible": repeat_note,
        "made_with": " and ".join((str(versions.get("ostrom", "unknown")), *sorted(set(packages.values())))),
    }


MOST_NAMED = 4
"""The most models named in a caption; the table of calls names all."""
CALLS = (
    "SELECT model, version, match, player, "
    "try_cast(nullif(regexp_extract(params, '\"temperature\": *([-+0-9.eE]+)', 1), '') AS DOUBLE) AS temperature "
    "FROM calls WHERE error IS NULL"
)


def provenance(data: RunData) -> str:
    """One sentence for captions: calls, temperature, models and the versions that their servers named."""
    if not data.rows["calls"]:
        return "No model was called."
    rows = data.records(
        f"SELECT model, version, temperature, count(*) AS n FROM ({CALLS}) GROUP BY ALL ORDER BY model, version"
    )
    if not rows:
        return "No model call succeeded."
    total = sum(row["n"] for row in rows)
    models = list(dict.fromkeys(map(_model_label, rows)))
    more = f" and {len(models) - MOST_NAMED} more" if len(models) > MOST_NAMED else ""
    return (
        f"{number(total)} model calls at temperature {_temperatures(rows)}; "
        f"models: {', '.join(models[:MOST_NAMED])}{more}."
    )


def calls_table(data: RunData) -> Table | None:
    """Calls, temperature and versions for every condition and agent."""
    if not data.rows["calls"]:
        return None
    by = [name for name in data.factors if name in data.columns("matches")]
    columns = "".join(f"m.{quoted(name)}, " for name in by)
    played = f"SELECT DISTINCT match, player, agent{''.join(', ' + quoted(n) for n in by)} FROM matches"
    rows = data.records(
        f"SELECT {columns}m.agent AS agent, c.model, c.version, c.temperature, count(*) AS calls "
        f"FROM ({CALLS}) c JOIN ({played}) m "
        f"ON m.match = c.match AND m.player = c.player GROUP BY ALL ORDER BY ALL"
    )
    if not rows:
        return None
    names = [*by, "agent", "model", "version", "temperature", "calls"]
    return Table("calls", names, [[row[name] for name in names] for row in rows], "Model calls by condition and agent.")


def _model_label(row: dict[str, Any]) -> str:
    model, version = row["model"], row["version"]
    return model if version in (None, "", model) else f"{model} (version {version})"


def _temperatures(rows: list[dict[str, Any]]) -> str:
    return ", ".join(
        "of the server" if t is None else f"{t:g}"
        for t in sorted({row["temperature"] for row in rows}, key=lambda t: (t is None, t or 0.0))
    )


MOST_FACETS = 6


def findings(data: RunData) -> list[str]:
    """Return the answers of the study in sentences; the first is stored for lists of runs."""
    if (summary := answers(data)) is None:
        return []
    keep_result(data, summary)
    return [*(line.sentence for line in summary.lines), *(f"{words}." for words in summary.between)]


def first_chart(data: RunData) -> Chart | None:
    """Return a chart of the headline measure along the first factor; games are small multiples."""
    if (name := headline_measure(data)) is None:
        return None
    many = {f: len(levels(data, f)) for f in [*varied(data), "agent"]}
    factors = [f for f in [*answer_factors(data), *many] if many.get(f, 0) > 1]
    if not factors:
        return Dots(name, "agent")
    # A numeric factor is more informative along x, so it is preferred among the first two.
    ordered = [f for f in factors[:2] if many[f] > 2 and all(is_bare(level) for level in levels(data, f))]
    x, where = (*ordered, factors[0])[0], settings(data)
    facet = next((f for f in where if f != x and many[f] <= MOST_FACETS), None)
    rest = [f for f in factors if f not in (x, facet) and many[f] <= MOST_COLOURS]
    colour = "agent" if "agent" in rest and x == factors[0] else rest[0] if rest else None
    try:
        return Curve(name, x, facet=facet, colour=colour) if x in ordered else Dots(name, x, facet=facet, colour=colour)
    except OstromError:
        return None


UNKNOWN = "not recorded"
VALIDATION = "Validation against people or published figures"
ITEMS = (
    "Model", "Version that replied", "Dates of use", "Access", "Parameters", "Prompts", "Reading of replies",
    VALIDATION, "Code", "Data", "Registration",
)  # fmt: skip


def checklist_table(entries: Mapping[str, str]) -> Table:
    """Return all items with their entries; an empty item says "not recorded"."""
    rows = [[item, entries.get(item) or UNKNOWN] for item in ITEMS]
    return Table("checklist", ("item", "entry"), rows, "Reporting checklist (items of GUIDE-LLM)", shown=len(rows))


def run_entries(data: RunData) -> dict[str, str]:
    """Return what a run recorded about each item; nothing is inferred."""
    manifest, study = data.manifest, data.study
    calls = data.records(
        'SELECT model, count(*) AS n, min("at") AS first, max("at") AS last, list(DISTINCT version) AS versions, '
        "list(DISTINCT params) AS params, list(DISTINCT source) AS sources FROM calls GROUP BY model ORDER BY model"
    )
    if not calls:
        entries = dict.fromkeys(ITEMS[:5], "no call of a model is in this run")
    else:
        versions = {call["model"]: sorted(v for v in call["versions"] if v) for call in calls}
        entries = {
            "Model": "; ".join(f"{call['model']} ({how_many(call['n'], 'call')})" for call in calls),
            "Version that replied": "; ".join(f"{m}: {', '.join(v) or UNKNOWN}" for m, v in versions.items()),
            "Dates of use": "; ".join(
                f"{call['model']}: {_day(call['first'])} to {_day(call['last'])}" for call in calls
            ),
            "Access": "; ".join(_access(call, manifest.get("models") or {}) for call in calls),
            "Parameters": "; ".join(f"{call['model']}: {_parameters(call['params'])}" for call in calls),
        }
    versions_used, done = manifest.get("versions") or {}, states(data).get("done", 0)
    commit, files = manifest.get("git"), own_files(manifest)
    reference, registered = (study.get("report") or {}).get("reference"), manifest.get("registered")
    return entries | {
        "Prompts": prompts_entry(manifest.get("prompts") or {})
        + ("; every prompt as sent: ostrom transcript RUN" if calls else ""),
        "Reading of replies": _reading(data) if calls else "no reply was read",
        VALIDATION: f"published figures {reference}: ostrom compare RUN" if reference else "",
        "Code": ", ".join(f"{name} {version}" for name, version in versions_used.items())
        + f"; git commit {commit or UNKNOWN}"
        + "".join(f"; {file} ({digest})" for file, digest in sorted(files.items())),
        "Data": f"{done:,} of {how_many(data.planned, 'match')} done; seals and replay: ostrom check RUN; where it is "
        f"published: {UNKNOWN}",
        "Registration": f"hash {registered['hash']}" if registered else "the run is not bound to one",
    }  # fmt: skip


def prompts_entry(prompts: Mapping[str, str]) -> str:
    """Say how many prompt files a run is bound to."""
    return f"{how_many(len(prompts), 'file')}, each with its hash in run.json" if prompts else ""


def _day(at: float | None) -> str:
    return UNKNOWN if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _access(call: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Say how a model was reached: its client's description, and the source of its replies."""
    client = models.get(call["model"]) or {}
    facts = [
        f"{key} {client[key]}" for key in ("wire", "base_url", "dialect", "file", "sha256", "mode") if client.get(key)
    ]
    sources = ", ".join(sorted(source for source in call["sources"] if source))
    return f"{call['model']}: {', '.join(facts) or UNKNOWN}; replies {sources or UNKNOWN}"


def _parameters(texts: list[str | None]) -> str:
    """Describe the distinct sampling parameters; seeds and answer constraints are mentioned without their values."""
    distinct: dict[str, None] = {}
    for text in texts:
        params = orjson.loads(text) if text else {}
        seeded, bound = "seed" in params, bool(params.get("constraint"))
        parameters = [
            f"{k} {v}" for k, v in sorted(params.items()) if k not in ("seed", "constraint", "tools") and v is not None
        ]
        parameters += ["a seed for each call"] * seeded + ["bound to the form of the answer"] * bound
        distinct[", ".join(parameters) or "those of the service"] = None
    return " | ".join(sorted(distinct))


def _reading(data: RunData) -> str:
    [row] = data.records(
        "SELECT count(*) AS n, sum(complaints) AS bad, sum(invalid::INTEGER) AS policy FROM decisions "
        "WHERE model IS NOT NULL"
    )
    return (
        f"{how_many(row['n'], 'answer')} of models; {row['bad'] or 0:,} unreadable replies, {row['policy'] or 0:,} "
        f"answers by policy (rule: {_rule(data.study)})"
    )
