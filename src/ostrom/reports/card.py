"""The first screen: the study and its state, what was found in words and one chart, and what the figures rest on."""

import shlex
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate, fixed
from ostrom.analysis.measure import measures
from ostrom.analysis.stopping import stopping
from ostrom.analysis.verdicts import above
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.errors import OstromError
from ostrom.ground.words import how_many
from ostrom.reports.cells import DONE, agents, levels, policy_warnings, varied
from ostrom.reports.chart import Chart
from ostrom.reports.charts.curve import Curve
from ostrom.reports.charts.dots import Dots
from ostrom.reports.panel import Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import Share, is_bare, labels, number, pretty


def states(data: RunData) -> dict[str, int]:
    """How many units of work are in each state; those that have not begun are missing."""
    rows = data.records("SELECT state, count(DISTINCT match) AS n FROM matches GROUP BY state")
    return {row["state"]: row["n"] for row in rows}


def card(data: RunData) -> list[tuple[str, str]]:
    """Terms and values of the study card."""
    study, manifest = data.study, data.manifest
    found = states(data)
    versions = manifest.get("versions") or {}
    factors = [f"{pretty(name)} ({len(levels)})" for name, levels in data.levels.items()]
    models = [
        r["model"]
        for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")
    ]
    rows = [
        ("Study", study["name"]),
        ("Citation", study.get("citation") or ""),
        ("Varied", ", ".join(factors) or "nothing"),
        ("Seeds", f"{study.get('seeds', 1)} from {study.get('seed', 0)}"),
        ("Stopping", stopping(study, data.folder)),
        ("Matches done", f"{number(found.get('done', 0))} of {number(data.planned)}"),
        ("Models", ", ".join(models) or "none"),
        ("Invalid answers", _rule(study)),
        ("Refused answers", str(study.get("refused") or "fail")),
        ("Begun", str(manifest.get("created") or "unknown")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Git commit", str(manifest.get("git") or "none")[:12]),
    ]
    parent = manifest.get("parent")
    if parent:
        rows.append(("Parent", str(parent)))
    return [(term, value) for term, value in rows if value]


def _rule(study: dict[str, Any]) -> str:
    rule = study.get("invalid") or {}
    retries = rule.get("retries", 0)
    return f"{how_many(retries, 'retry')}, then {rule.get('policy', 'fail')}"


def warnings(data: RunData) -> list[str]:
    """What must be seen before any figure."""
    found = states(data)
    done, rest = found.get("done", 0), {k: v for k, v in found.items() if k != "done"}
    doubtful = policy_warnings(data)
    if done == data.planned:
        return doubtful
    waiting = data.planned - sum(found.values())
    parts = [f"{number(n)} {state}" for state, n in sorted(rest.items())]
    if waiting:
        parts.append(f"{number(waiting)} not begun")
    return [
        f"The run is not complete: {number(done)} of {number(data.planned)} matches are done "
        f"({', '.join(parts)}). Results cover finished matches only.",
        *doubtful,
    ]


def headline(data: RunData) -> Table | None:
    """The result in numbers: one row per cell and agent."""
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
        base = c or s
        assert base is not None
        interval = None if c is None else c.interval_text
        by_policy = Share(policies[key]) if key in policies else None
        rows.append([*key, base.n, c.value if c else None, interval, s.value if s else None, by_policy])
    columns = [*by, "matches", "cooperation", "95 % interval", "score", "answers by policy"]
    caption = "Every cell and agent: means over matches with 95 % intervals."
    return Table("headline", columns, rows, caption)


def reproduce(data: RunData) -> dict[str, str]:
    """The command that plays the study again, and what can be expected of it."""
    command = f"ostrom run study.yaml --name {shlex.quote(data.name + '-again')}"
    prompts = data.manifest.get("prompts_folder")
    if prompts:
        command += f" --prompts {shlex.quote(str(prompts))}"
    models = [
        r["model"]
        for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")
    ]
    if models:
        told = (
            f"The answers of {', '.join(models)} may differ from call to call; the journal of this run keeps "
            "every reply, and its tables are rebuilt from there at any time with `ostrom export`."
        )
    else:
        told = "No language model took part: the tables come out the same to the byte."
    made_with = str((data.manifest.get("versions") or {}).get("ostrom", "unknown"))
    return {"command": command, "reproducible": told, "made_with": made_with}


MOST_NAMED = 4
"""So many models are named in a caption; the table of calls names all."""
CALLS = (
    "SELECT model, version, match, player, "
    "try_cast(nullif(regexp_extract(params, '\"temperature\": *([-+0-9.eE]+)', 1), '') AS DOUBLE) AS temperature "
    "FROM calls WHERE error IS NULL"
)


def made_of(data: RunData) -> str:
    """One sentence for captions: calls, temperature, models and the versions that their servers named."""
    if not data.rows["calls"]:
        return "No model was called."
    rows = data.records(
        f"SELECT model, version, temperature, count(*) AS n FROM ({CALLS}) GROUP BY ALL ORDER BY model, version"
    )
    if not rows:
        return "No model call succeeded."
    total = sum(row["n"] for row in rows)
    models = list(dict.fromkeys(_model_label(row) for row in rows))
    named = ", ".join(models[:MOST_NAMED])
    if len(models) > MOST_NAMED:
        named += f" and {len(models) - MOST_NAMED} more"
    return f"{number(total)} model calls at temperature {_temperatures(rows)}; models: {named}."


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
    return Table(
        "calls", names, [[row[name] for name in names] for row in rows], "Model calls by condition and agent."
    )


def _model_label(row: dict[str, Any]) -> str:
    model, version = row["model"], row["version"]
    return model if version in (None, "", model) else f"{model} (version {version})"


def _temperatures(rows: list[dict[str, Any]]) -> str:
    found = sorted({row["temperature"] for row in rows}, key=lambda t: (t is None, t or 0.0))
    return ", ".join("of the server" if t is None else f"{t:g}" for t in found)


MOST_LEVELS = 40
"""A factor with more levels (scenarios, games) is no headline."""
MOST_FACETS = 6


def headline_measure(data: RunData) -> str | None:
    """What the first screen speaks of: cooperation where it is defined, else the score."""
    for name in ("cooperation", "score"):
        found = data.records(
            f"SELECT count({name}) AS n FROM matches WHERE state = 'done' AND unit = 'match'"
        )
        if found[0]["n"]:
            return name
    return None


def findings(data: RunData) -> list[str]:
    """Sentences: the mean over everything, then the factors between whose levels the difference is largest."""
    name = headline_measure(data)
    if name is None:
        return []
    title = measures.named(name).title
    (whole,) = estimate(data, name)
    said = [f"{title}: {whole}."]
    columns = [*varied(data), *(["agent"] if len(agents(data)) > 1 else [])]
    spread = [s for c in columns if len(levels(data, c)) <= MOST_LEVELS and (s := _spread(data, name, c))]
    verdicts = above([difference for _, _, difference in spread], 0.0)
    for (high, low, difference), verdict in zip(spread, verdicts, strict=True):
        column = next(iter(high.key))
        top, bottom = (_level(column, e) for e in (high, low))
        size = "clear" if verdict.answer == "yes" else str(verdict)
        said.append(
            f"By {pretty(column)}: highest {top}, lowest {bottom}; {_compared(high, low, difference)} ({size})."
        )
    if spread:
        said.append(f"Highest and lowest levels were picked by the data; {verdicts.control}.")
    return said + amounts(data)


def amounts(data: RunData) -> list[str]:
    """How much of what may be named is named, at each stage of games with amounts; nothing where there are none."""
    measure = measures.named("amount_share")
    try:
        measure.check(data)
    except OstromError:
        return []
    found = estimate(data, measure.name, ["game", "stage"])
    return [f"{measure.title}, {pretty(e.key['game'])}, {pretty(e.key['stage'])}: {e}." for e in found]


def _spread(data: RunData, name: str, column: str) -> tuple[Estimate, Estimate, Estimate] | None:
    found = estimate(data, name, [column])
    if len(found) < 2:
        return None
    high, low = max(found, key=lambda e: e.value), min(found, key=lambda e: e.value)
    if high.value - low.value <= 1e-9 * max(abs(high.value), abs(low.value), 1.0):
        return None
    made = contrast(data, name, column, (high.key[column], low.key[column]))
    return (high, low, made[0]) if made else None


def _compared(high: Estimate, low: Estimate, difference: Estimate) -> str:
    """The difference, and over what it is taken where that is not all matches of both levels."""
    plain = high.value - low.value
    if abs(difference.value - plain) <= 1e-9 * max(abs(high.value), abs(low.value), 1.0):
        return f"difference {difference.text()}"
    return f"difference {fixed(plain)}; {difference.text()} where matches pair (the same match, or cell and seed)"


def _level(column: str, one: Estimate) -> str:
    value = one.key[column]
    return f"{labels([value])[value]} ({one.value:.2f})"


def first_chart(data: RunData) -> Chart | None:
    """One chart of the headline measure: along a factor of numbers where there is one, else by cell."""
    name = headline_measure(data)
    if name is None:
        return None
    factors = varied(data)
    numeric = [f for f in factors if len(levels(data, f)) > 2 and all(is_bare(v) for v in levels(data, f))]
    rest = [f for f in [*factors, "agent"] if f not in numeric[:1] and len(levels(data, f)) > 1]
    try:
        if numeric:
            chosen: dict[str, Any] = {}
            for role, most in (("facet", MOST_FACETS), ("colour", MOST_COLOURS)):
                fitting = [f for f in rest if f not in chosen.values() and len(levels(data, f)) <= most]
                if fitting:
                    chosen[role] = fitting[0] if role == "facet" and len(rest) > 1 else fitting[-1]
            return Curve(name, numeric[0], **chosen)
        few = [f for f in rest if len(levels(data, f)) <= MOST_LEVELS]
        return Dots(name, few[:1] or None) if few else None
    except OstromError:
        return None
