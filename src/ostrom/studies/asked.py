"""The check of ``answers``: every name that a question writes, and that it averages over nothing silently.

A preset or a change may take out a factor or a level that a question names: then it is not asked. What no design of
the file has is a mistake, and so is a factor that a question neither fixes, shows, contrasts nor names.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from ostrom.analysis.counting import says_what_counts
from ostrom.analysis.estimate import MODEL
from ostrom.analysis.population import averaged_over
from ostrom.analysis.questions import StudyQuestion
from ostrom.analysis.units import as_text
from ostrom.ground.errors import OstromError, StudyError, UnknownName, unknown_key
from ostrom.studies.factors import RESERVED, Factor, Grid, read_factors
from ostrom.studies.schema import StudyFile

MOST_CELLS = 20_000
"""So many cells are looked through for what varies within a question."""
COLUMNS = RESERVED | {"game", "mechanism", "model", "strategy", "agent_memory"}


def check_answers(study: StudyFile, raw: Mapping[str, Any], file: str) -> None:
    """Refuse questions with names that the study does not have, and questions that pool a factor silently."""
    factors = read_factors(study.vary, file)
    written = [*factors, *_written(raw, file)]
    grid = Grid(factors, study.only or (), file)
    for place, question in enumerate(study.answers):
        key = f"answers.{place}"
        try:
            columns = {*COLUMNS, *question.part.columns, *_attributes(study), *_in_sql(question)}
        except OstromError as error:
            raise StudyError(str(error), file=file, key=f"{key}.measure") from None
        if question.part.scale != "share" and question.d is None and question.judged:
            raise StudyError(
                f"{question.part.name} is no share, so a question about it needs d, the smallest effect that matters",
                file=file, key=f"{key}.d",
            )  # fmt: skip
        levels: dict[str, set[str]] = {}
        for factor in written:
            levels.setdefault(factor.name, set()).update(as_text(level.label) for level in factor.levels)
            columns |= {factor.name, *factor.traits}
        _check_names(question, columns, levels, file, key)
        absent = {*levels} - {factor.name for factor in factors}
        if absent & {name for name in question.named if name not in (*question.pools, *question.range)}:
            continue  # this design does not have what it asks about
        own = {factor.name for factor in _written(raw, file)}
        if silent := [name for name in pooled(question, factors, grid) if name in own]:
            raise StudyError(
                f"averages over {', '.join(silent)}, which {'are' if len(silent) > 1 else 'is'} varied: fix it under "
                "where, show it under by, or name it under pools",
                file=file, key=key,
            )  # fmt: skip


def _written(raw: Mapping[str, Any], file: str) -> list[Factor]:
    """The factors of every design that a file states: its own and those of its presets."""
    presets = raw.get("presets")
    designs = [raw, *(presets.values() if isinstance(presets, Mapping) else ())]
    factors: list[Factor] = []
    for design in designs:
        vary = design.get("vary") if isinstance(design, Mapping) else None
        if isinstance(vary, Mapping):
            with suppress(OstromError):  # a design that cannot be read is refused when it is asked for
                factors += read_factors({name: of for name, of in vary.items() if of is not None}, file)
    return factors


def _in_sql(question: StudyQuestion) -> set[str]:
    """The words of a measure's SQL, of which some are columns of its rows."""
    values = question.part.values
    return set(re.findall(r"\w+", values)) if isinstance(values, str) else set()


def _attributes(study: StudyFile) -> Iterator[str]:
    """The columns that agents bring."""
    for spec in (study.agent, *study.types.values(), *study.seats.values(), *study.variants.values()):
        if isinstance(spec, Mapping):
            yield from spec.get("attributes") or ()


def _check_names(
    question: StudyQuestion, columns: set[str], levels: Mapping[str, set[str]], file: str, key: str
) -> None:
    where = {} if isinstance(question.where, str) else question.where
    factor, wanted = question.pair
    ordered, order = question.ordered
    names = [("where", name) for name in where if not says_what_counts(question.part, name)]
    names += [(name, of) for name, of in (("contrast", factor), ("over", question.over), ("order", ordered)) if of]
    names += [(part, name) for part in ("range", "by", "balance") for name in getattr(question, part)]
    for part, name in names:
        if name not in columns:
            raise StudyError(unknown_key(name, sorted(columns), "the columns"), file=file, key=f"{key}.{part}")
    for name, level in where.items():
        for one in level if isinstance(level, list) else [level]:
            _check_level(one, name, levels, file, f"{key}.where.{name}")
    for one in order:
        _check_level(one, ordered, levels, file, f"{key}.order")
    if factor in levels and MODEL not in wanted and not _pair(wanted, levels[factor]):
        raise StudyError(
            "must be two of its levels, 'a - b' or '* - b'", file=file, key=f"{key}.contrast", actual=wanted,
            allowed=sorted(levels[factor]),
        )  # fmt: skip


def _check_level(level: Any, name: str, levels: Mapping[str, set[str]], file: str, key: str) -> None:
    text = as_text(level)
    if name in levels and MODEL not in text and text not in levels[name]:
        raise UnknownName("level", text, sorted(levels[name])).at(file, key)


def _pair(wanted: str, levels: set[str]) -> bool:
    """Whether a contrast names two levels, which may hold hyphens."""
    pieces = wanted.split("-")
    sides = [("-".join(pieces[:i]).strip(), "-".join(pieces[i:]).strip()) for i in range(1, len(pieces))]
    return any(second in levels and (first in levels or first == "*") for first, second in sides)


def pooled(question: StudyQuestion, factors: tuple[Factor, ...], grid: Grid) -> list[str]:
    """The factors that vary within what a question compares, and that it does not name."""
    where = {} if isinstance(question.where, str) else question.where
    wanted = {
        name: {as_text(one) for one in (level if isinstance(level, list) else [level])} for name, level in where.items()
    }
    cells = [cell for cell in islice(_cells(factors, grid), MOST_CELLS) if _meets(cell, wanted)]
    columns = set(cells[0]) if cells else set()
    visible = {*question.by, *question.range, question.over, question.ordered[0], question.pair[0], *wanted} & columns
    return [*averaged_over(cells, [factor.name for factor in factors], visible, (*question.balance, *question.pools))]


def _cells(factors: tuple[Factor, ...], grid: Grid) -> Iterator[dict[str, str]]:
    """Every cell as the columns of the tables have it."""
    traits = {name for factor in factors for name in factor.traits}
    for cell in grid:
        levels = {factor.name: factor.levels[at] for factor, at in zip(factors, cell, strict=True)}
        own = {name: value for level in levels.values() for name, value in level.traits.items()}
        yield {name: as_text(level.label) for name, level in levels.items()} | {n: as_text(own.get(n)) for n in traits}


def _meets(cell: Mapping[str, str], wanted: Mapping[str, set[str]]) -> bool:
    return all(cell[name] in levels for name, levels in wanted.items() if name in cell)
