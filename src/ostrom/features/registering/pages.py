"""A registration as pages that people read: HTML that opens offline, and Markdown for a repository or an archive."""

from dataclasses import replace
from typing import Any

import orjson

from ostrom.analysis.registered import LIMITS
from ostrom.analysis.registration import Registration
from ostrom.ground.terminal import escaped
from ostrom.reports.card import checklist_table, prompts_entry
from ostrom.reports.files import as_markdown
from ostrom.reports.page import Section, page_table, plain_page
from ostrom.reports.panel import Table

CHECK = "ostrom register --check FILE [RUN]"


def html(registration: Registration) -> str:
    """Return the registration as an HTML page with all values escaped."""
    sections = [
        Section(
            f"part{number}", title, notes=notes,
            tables=[] if table is None else [page_table(table, "", always_open=True)],
        )
        for number, (title, notes, table) in enumerate(_parts(registration))
    ]  # fmt: skip
    return plain_page(
        f"Registration ({registration.kind})", _title(registration), sections, about=_about(registration),
        warnings=_warnings(registration),
    )  # fmt: skip


def markdown(registration: Registration) -> str:
    """Return the registration as Markdown; foreign text cannot become a heading, a link or a tag."""
    lines = [
        f"# Registration ({registration.kind}): {_inline(_title(registration))}",
        "",
        _inline(_about(registration)),
    ]
    lines += [f"\n**Careful:** {_inline(text)}" for text in _warnings(registration)]
    for title, notes, table in _parts(registration):
        lines += ["", f"## {title}", ""]
        lines += [f"{_inline(note)}\n" for note in notes]
        if table is not None:
            lines.append(as_markdown(replace(table, caption="")))
    return "\n".join(lines).rstrip() + "\n"


def _title(registration: Registration) -> str:
    return str(registration.study.get("title") or registration.study.get("name") or registration.stated.study)


def _about(registration: Registration) -> str:
    return (
        f"Registered {registration.created} with ostrom {registration.versions.ostrom}. Publish this hash where its "
        f"date can be seen by others: {registration.hash}"
    )


def _warnings(registration: Registration) -> list[str]:
    played = registration.played
    after = played and f"The run {played.get('run')} had been played: nothing here is confirmatory."
    beside = registration.earlier and f"Runs of this study were there already: {', '.join(registration.earlier)}."
    return [text for text in (after, beside) if text]


def _parts(registration: Registration) -> list[tuple[str, list[str], Table | None]]:
    """Title, notes and table of every section."""
    sample, study, hashes = registration.sample, registration.study, registration.hashes
    statements = [
        f"{role.capitalize()}: {one.words}; "
        + (f"smallest effect {one.smallest:g}" if one.smallest is not None else "no smallest effect")
        + f"; level {registration.level_of(role):.6g}."
        for role, contrasts in (("primary", registration.primary), ("secondary", registration.secondary))
        for one in contrasts
    ]
    power = [_power(one) for one in sample.power]
    size = f"At most {sample.seeds} seeds: {sample.stop}" if sample.stop else f"{sample.seeds} seeds"
    models = (
        f"One model, picked by this rule: {registration.eligible}"
        if registration.eligible is not None
        else f"Models: {', '.join(registration.models) or 'none'}."
    )
    played = [
        ["study", registration.stated.study],
        ["preset", registration.stated.preset or "none"],
        ["changes", ", ".join(registration.stated.set) or "none"],
        *([key, _dumped(study[key])] for key in sorted(study) if key not in ("title", "about", "report")),
    ]
    return [
        ("What is expected", [*statements, f"{registration.multiplicity}."], None),
        (
            "What will count as an answer",
            [],
            Table("decisions", ("answer", "where"), [[*row] for row in registration.decisions.items()], "The answers"),
        ),
        (
            "How much is played",
            [
                f"{size}; the first is {sample.seed}.",
                *power,
                *([f"{sample.note.capitalize()}."] if sample.note else []),
            ],
            None,
        ),
        (
            "What is left out",
            [],
            Table("exclusions", ("what", "rule"), [[*row] for row in registration.exclusions.items()], "The rules"),
        ),
        (
            "What is played",
            [models, f"Hash of the study {hashes['study']}, of its prompts {hashes['prompts']}."],
            Table("study", ("key", "value"), played, "The study as resolved", shown=200),
        ),
        (
            "Prompts",
            [],
            Table("prompts", ("prompt", "hash"), [[*row] for row in registration.prompts.items()], "Every prompt file")
            if registration.prompts
            else None,
        ),
        ("What a referee asks for", [], checklist_table(_entries(registration))),
        ("What no tool can see", [LIMITS, f"To check the file, and a run beside it: {CHECK}"], None),
    ]


def _entries(registration: Registration) -> dict[str, str]:
    """Return, for each item of the reporting checklist, what the registration says about it."""
    study, stated = registration.study, registration.stated
    params = (study.get("agent") or {}).get("params")
    later = "recorded when it is played"
    return {
        "Model": ", ".join(registration.models) or "none"
        if registration.eligible is None
        else f"by rule: {registration.eligible}",
        "Version that replied": later,
        "Dates of use": later,
        "Access": later,
        "Parameters": f"of all agents: {_dumped(params)}; types and levels may set others" if params else "",
        "Prompts": f"{prompts_entry(registration.prompts) or 'none'}; hash of all {registration.hashes['prompts']}",
        "Reading of replies": "; ".join(
            f"{key}: {_dumped(study[key])}" for key in ("invalid", "refused") if study.get(key)
        ),
        "Code": f"ostrom {registration.versions.ostrom}; study {stated.study}, hash {registration.hashes['study']}",
        "Data": later,
        "Registration": f"hash {registration.hash}, registered {registration.created}",
    }


def _power(one: dict[str, Any]) -> str:
    """Describe the power of one contrast with its assumptions."""
    assumptions = ", ".join(f"{key} {_number(value)}" for key, value in (one.get("assumed") or {}).items())
    low, high = (_number(one.get(name)) for name in ("power_low", "power_high"))
    return (
        f"Power {_number(one.get('power'))} ({low} to {high}) to find a difference of {_number(one.get('effect'))} in "
        f"{one.get('contrast')} with {one.get('seeds')} seeds; error where nothing differs "
        f"{_number(one.get('error'))}; "
        f"assumed: {assumptions}; {one.get('simulations')} simulated runs."
    )


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _dumped(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _inline(text: str) -> str:
    r"""Escape text so that it has no Markdown or HTML markup.

    >>> _inline("<b>*x*</b> [a](b)")
    '&lt;b&gt;\\*x\\*&lt;/b&gt; \\[a\\](b)'
    """
    marks = {mark: f"\\{mark}" for mark in "\\`*_[]#!~|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
    return " ".join("".join(marks.get(char, char) for char in escaped(text)).split())
