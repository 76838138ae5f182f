"""Builds a registration from a study: what will be played, tested and concluded, with every choice explicit."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ostrom.analysis.registration import (
    MOST_CONTRASTS,
    RegisteredContrast,
    Registration,
    SampleSize,
    StudyStatement,
    changed_prompts,
    now,
    read_contrast,
    without_model,
)
from ostrom.engine.folder import FREE_TO_CHANGE, Folder, differences, identity
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.validation import validate
from ostrom.ground.version import __version__
from ostrom.ground.words import how_many
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.design import planned_contrast
from ostrom.studies.plan import StudyPlan
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run

PLACEHOLDER = "http://eligible.invalid/v1#eligible"
"""A placeholder model for a study registered with a rule for models; no server has this name."""
SIMULATIONS = 1000


@dataclass(frozen=True)
class RegistrationTerms:
    """The choices that a registration adds to a study."""

    primary: tuple[RegisteredContrast, ...]
    secondary: tuple[RegisteredContrast, ...]
    level: float
    eligible: str | None = None
    pilot: str | None = None
    """The run from which the power analysis takes its assumptions."""
    runs: Path = Path("runs")


def read_terms(
    primary: Sequence[str], secondary: Sequence[str], smallest: float | None, level: float, eligible: str | None,
    pilot: str | None, runs: Path,
) -> RegistrationTerms:  # fmt: skip
    """Read the terms as stated on the command line."""
    if not 0.8 <= level < 1:
        raise UsageError(f"--level must lie between 0.8 and 1 (found {level:g})")
    if smallest is not None and not 0 < smallest < float("inf"):
        raise UsageError(f"--smallest must be a number above 0 (found {smallest:g})")
    if eligible is not None and not eligible.strip():
        raise UsageError("--eligible must say in words how the model is picked")
    return RegistrationTerms(
        tuple(read_contrast(text, "--primary", smallest) for text in primary),
        tuple(read_contrast(text, "--secondary", smallest) for text in secondary),
        level, eligible, pilot, runs,
    )  # fmt: skip


def registration_before(
    study: str, terms: RegistrationTerms, models: list[str], seeds: int | None, stop: str | None, preset: str | None,
    changes: list[str], options: PlayOptions,
) -> Registration:  # fmt: skip
    """Return the registration of a study that has not been played."""
    if terms.eligible is not None and models:
        raise UsageError("--model and --eligible exclude each other")
    if stop is not None:
        if seeds is not None:
            raise UsageError("--seeds and --stop exclude each other")
        rule = read_yaml(stop, "--stop")
        if not isinstance(rule, dict):
            raise UsageError(f"--stop: must be a mapping such as {{width: 0.1, at_most: 50}} (found {in_words(rule)})")
        first = terms.primary[0]
        full_rule = {"measure": first.measure, "contrast": first.contrast, "where": first.where, **rule}
        changes = [*changes, f"stop={orjson.dumps(full_rule).decode()}"]
    plan = resolve(
        study, preset=preset, changes=changes, models=models if terms.eligible is None else [PLACEHOLDER], seeds=seeds,
        options=options,
    ).plan  # fmt: skip
    if plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; a registration is that of `ostrom run`")
    stated = StudyStatement(study=study, preset=preset, set=tuple(changes), models=tuple(models), seeds=seeds)
    _check_contrasts(plan, terms)
    return _written(plan, stated, terms, _sample(plan, stated, terms), None)


def registration_after(run: str, runs: Path, terms: RegistrationTerms) -> Registration:
    """Return the registration of a run that was already played; no result of it is confirmatory."""
    if terms.eligible is not None or terms.pilot is not None:
        raise UsageError("--played: the run says what was played; leave --eligible and --from out")
    with open_run(run, runs) as opened:
        plan, manifest = opened.plan, opened.folder.manifest()
        _check_contrasts(plan, terms)
        with opened.folder.open_journal(manifest) as journal:
            played = {
                "run": opened.folder.path.name, "created": manifest["created"], "identity": identity(manifest),
                "entries": journal.entries,
            }  # fmt: skip
    statement = StudyStatement(study=str(manifest["study"]["name"]), preset=None, set=(), models=(), seeds=None)
    return _written(
        plan, statement, terms, _sample_size(plan, note="the run had been played: no power is stated"), played
    )


def study_here(registration: Registration, folder: Path, options: PlayOptions) -> list[str]:
    """Return how the local study differs from the registered one; empty if it does not."""
    stated = registration.stated
    if registration.kind != "confirmatory":
        return []
    beside = folder / stated.study
    try:
        plan = resolve(
            beside if beside.is_file() else stated.study,
            preset=stated.preset,
            changes=stated.set,
            models=[PLACEHOLDER] if registration.eligible is not None else list(stated.models),
            seeds=stated.seeds,
            options=options,
        ).plan
    except OstromError as error:
        return [f"the study cannot be read here: {error}"]
    before, after = (
        {key: value for key, value in study.items() if key not in FREE_TO_CHANGE}
        for study in (registration.study, without_model(plan.resolved(), PLACEHOLDER))
    )
    lines = [f"study here: {line}" for line in differences(before, after)]
    return lines + [f"prompt here: {line}" for line in changed_prompts(registration.prompts, plan.prompts)]


def _check_contrasts(plan: StudyPlan, terms: RegistrationTerms) -> None:
    """Refuse a contrast that the study cannot estimate, or that has no interval under its stopping rule."""
    for one in (*terms.primary, *terms.secondary):
        try:
            sides, _ = planned_contrast(plan, one.query)
        except UsageError as error:
            raise UsageError(f"{one.words}: {error}") from None
        if plan.stop is not None and None in sides.bounds:
            raise UsageError(
                f"{one.words}: the measure has no declared bounds, so no interval holds at every look of a stopping "
                "rule (register --seeds instead)"
            )


def _rule(plan: StudyPlan) -> str | None:
    rule = plan.stop
    return None if rule is None else (
        f"{rule.words}, {rule.rule}, {rule.at_least} to {rule.at_most} seeds, looked every {rule.every}"
    )  # fmt: skip


def _sample(plan: StudyPlan, stated: StudyStatement, terms: RegistrationTerms) -> SampleSize:
    if all(one.smallest is None for one in terms.primary):
        return _sample_size(plan, note="no smallest effect is registered, so there is no effect to state the power for")
    if plan.stop is not None:
        return _sample_size(plan, note="a stopping rule: `ostrom power STUDY` simulates how many seeds it takes")
    return _sample_size(plan, [_power(plan, stated, terms, one) for one in terms.primary])


def _sample_size(plan: StudyPlan, power: Sequence[dict[str, Any]] = (), note: str = "") -> SampleSize:
    return SampleSize(
        seed=plan.study.seed, seeds=plan.study.seeds, stop=_rule(plan),
        interval="anytime" if plan.stop else "fixed", power=tuple(power), note=note,
    )  # fmt: skip


def _power(
    plan: StudyPlan, statement: StudyStatement, terms: RegistrationTerms, one: RegisteredContrast
) -> dict[str, Any]:
    """Return the result of `ostrom power` for a contrast at its smallest effect and the registered seeds."""
    from ostrom.api import commands

    effect = (one.smallest or 0.0) * (-1 if one.direction == "less" else 1)
    level = 1 - (1 - terms.level) / len(terms.primary)
    document = commands.power(
        statement.study, measure=one.measure, contrast=one.contrast, effect=effect, seeds=plan.study.seeds,
        where=[f"{column}={','.join(levels)}" for column, levels in one.where.items()], level=level,
        simulations=SIMULATIONS, model=list(statement.models) or ([PLACEHOLDER] if terms.eligible else None),
        preset=statement.preset, set=list(statement.set), from_=terms.pilot, runs=terms.runs,
        prompts=plan.library.folder, mean_over_agents=True,  # a registered contrast is tested over all agents
    )  # fmt: skip
    (point,) = [point for point in document["points"] if point["seeds"] == plan.study.seeds]
    shares = ("power", "power_low", "power_high", "error")
    return {
        "contrast": one.words, "effect": document["effect"], "seeds": plan.study.seeds, "n": point["n"],
        **{name: point[name] for name in shares}, "level": level, "assumed": document["assumed"],
        "simulations": SIMULATIONS, "seed": document["seed"],
    }  # fmt: skip


def _written(
    plan: StudyPlan,
    statement: StudyStatement,
    terms: RegistrationTerms,
    sample: SampleSize,
    played: dict[str, Any] | None,
) -> Registration:
    study, models = _plain(plan.resolved()), plan.models
    if terms.eligible is not None:
        study, models = without_model(study, PLACEHOLDER), ()
    many = len(terms.primary)
    level = 1 - (1 - terms.level) / many
    content = {
        "registration": 1,
        "kind": "confirmatory" if played is None else "exploratory",
        "created": now(),
        "primary": [one.model_dump() for one in terms.primary],
        "secondary": [one.model_dump() for one in terms.secondary],
        "level": terms.level,
        "multiplicity": (
            f"Bonferroni over {how_many(many, 'primary contrast')}: each at {level:.6g}; secondary contrasts each at "
            f"{terms.level:.6g}, not corrected"
        ),
        "decisions": decisions(level, sample),
        "sample": sample.model_dump(),
        "models": list(models),
        "eligible": terms.eligible,
        "exclusions": exclusions(study),
        "stated": statement.model_dump(),
        "versions": {"ostrom": __version__},
        "prompts": dict(plan.prompts),
        "study": study,
        "earlier": _earlier(plan, terms.runs),
        "played": played,
        "hash": "0" * 64,
    }
    draft = validate(Registration, _plain(content), "registration")
    return draft.model_copy(update={"hash": draft.content_hash})


def _plain(content: Any) -> Any:
    """Convert content to JSON types with text keys, so that the hash of written and read content agrees."""
    return orjson.loads(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))


def decisions(level: float, sample: SampleSize) -> dict[str, str]:
    """Return the decision rules: which result of a primary contrast means which answer."""
    kind = "the interval of `ostrom estimate`" if sample.interval == "fixed" else (
        "bounds that hold for every distribution and however often is looked"
    )  # fmt: skip
    return {
        "support": f"the {level:.6g} interval ({kind}) lies wholly on the stated side of 0, and absence does not hold",
        "absence": f"the {1 - 2 * (1 - level):.6g} bounds, which hold for every distribution, lie wholly within ± the "
        f"smallest effect: each wrong with a chance of at most {1 - level:.6g}; without a smallest effect, or without "
        "bounds of the measure, there is no absence",
        "contradiction": "the interval lies wholly on the other side of 0, and absence does not hold",
        "undecided": "anything else",
    }


def exclusions(study: dict[str, Any]) -> dict[str, str]:
    """Return which matches and answers are excluded, by the rules of the study."""
    rule = study.get("invalid") or {}
    return {
        "matches": "finished ones of the registered seeds; matches that failed or were skipped are counted as left out",
        "unreadable answers": f"{how_many(int(rule.get('retries', 0)), 'retry')}, then {rule.get('policy', 'fail')}",
        "refused answers": str(study.get("refused") or "fail"),
    }


def _earlier(plan: StudyPlan, runs: Path) -> list[str]:
    """Return earlier runs of this study in the folder of runs: their results were already visible."""
    own = plan.resolved()
    earlier = []
    for path in sorted(runs.glob("*/run.json"))[:1000] if runs.is_dir() else ():
        with suppress(OstromError):
            manifest = Folder(path.parent).manifest()
            if manifest["study"].get("name") == own["name"]:
                earlier.append(f"{path.parent.name} (created {manifest['created']})")
    return earlier[:MOST_CONTRASTS]
