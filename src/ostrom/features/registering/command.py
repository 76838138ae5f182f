"""`ostrom register`: state what will be played and tested, before it is played; and check it afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import Models, PlayOptions, Presets, Runs, Seeds, Sets, say_allowed, with_play_options
from ostrom.cli.output import Output, Remark
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.analysis.registration import Registration
    from ostrom.features.registering.plan import RegistrationTerms

CONTRAST = "`MEASURE: FACTOR A - B < 0`"


@with_play_options("prompts")
def register(
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="A study file or a built-in study; with --check a run (optional)."),
    ] = None,
    primary: Annotated[
        list[str] | None,
        typer.Option(metavar="CONTRAST", help=f"What the study is about: {CONTRAST}. May be given several times."),
    ] = None,
    secondary: Annotated[
        list[str] | None, typer.Option(metavar="CONTRAST", help="A further contrast. May be given several times.")
    ] = None,
    smallest: Annotated[
        float | None, typer.Option(help="The smallest difference that matters; less is called absence.")
    ] = None,
    level: Annotated[float, typer.Option(help="The level of all primary contrasts together.")] = 0.95,
    model: Models = None,
    eligible: Annotated[
        str | None, typer.Option(metavar="RULE", help="In place of --model: the rule, in words, that picks one.")
    ] = None,
    seeds: Seeds = None,
    stop: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="In place of --seeds: a stopping rule on the first primary contrast, {width: 0.1, at_most: 50}.",
        ),
    ] = None,
    preset: Presets = None,
    set_: Sets = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="RUN", help="State the power by the spreads of this run.")
    ] = None,
    played: Annotated[
        str | None, typer.Option(metavar="RUN", help="Register a run that was played: all of it stays exploratory.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file; pages (.html, .md) lie beside it.")] = Path(
        "registration.yaml"
    ),
    check: Annotated[
        Path | None, typer.Option(help="Check this registration, and the run that is named, if one is.")
    ] = None,
    options: PlayOptions = PlayOptions(),
    runs: Runs = Path("runs"),
) -> Output:
    """Register what will be played and tested, before it is played.

    `ostrom run STUDY --registered FILE` binds a run to it. Exit code of --check: 0 as registered, 1 with deviations
    or exploratory, 2 where the file was changed.
    """
    if check is not None:
        flags = {"--primary": primary, "--secondary": secondary, "--model": model, "--eligible": eligible,
                 "--seeds": seeds, "--stop": stop, "--played": played, "--smallest": smallest, "--from": from_,
                 "--preset": preset, "--set": set_}  # fmt: skip
        if wrong := [name for name, value in flags.items() if value]:
            raise UsageError(f"--check: takes a registration and perhaps a run, and no {wrong[0]}")
        return _checked(check, study, runs, options)
    if not primary:
        raise UsageError(f"--primary is needed: the contrast that the study is about, {CONTRAST}")
    if (study is None) == (played is None):
        raise UsageError("name a study, or with --played a run that was played")
    if there := [path for path in (out, out.with_suffix(".html"), out.with_suffix(".md")) if path.exists()]:
        raise UsageError(f"{there[0]}: is there already; a registration is never written over (choose another --out)")
    if not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent}")
    if out.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{out}: must end in .yaml")
    terms = _terms(primary, secondary or [], smallest, level, eligible, from_, runs)
    if study is None:
        registration = _after(str(played), runs, terms)
    else:
        say_allowed(None, model, set_)
        registration = _before(study, terms, model or [], seeds, stop, preset, set_ or [], options)
    return _write(registration, out)


def _terms(
    primary: list[str], secondary: list[str], smallest: float | None, level: float, eligible: str | None,
    pilot: str | None, runs: Path,
) -> RegistrationTerms:  # fmt: skip
    from ostrom.analysis.registration import read_contrast
    from ostrom.features.registering.plan import RegistrationTerms

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


def _before(
    study: str, terms: RegistrationTerms, models: list[str], seeds: int | None, stop: str | None, preset: str | None,
    changes: list[str], options: PlayOptions,
) -> Registration:  # fmt: skip
    import orjson

    from ostrom.analysis.registration import StudyStatement
    from ostrom.features.registering.plan import PLACEHOLDER, registration_for
    from ostrom.ground.yaml import in_words, read_yaml
    from ostrom.studies.resolve import resolve

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
    resolved = resolve(
        study,
        preset=preset,
        changes=changes,
        models=[PLACEHOLDER] if terms.eligible is not None else models,
        seeds=seeds,
        options=options,
    )
    if resolved.plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; a registration is that of `ostrom run`")
    stated = StudyStatement(study=study, preset=preset, set=tuple(changes), models=tuple(models), seeds=seeds)
    return registration_for(resolved.plan, stated, terms)


def _after(run: str, runs: Path, terms: RegistrationTerms) -> Registration:
    from ostrom.features.registering.plan import registration_after
    from ostrom.studies.run import open_run

    if terms.eligible is not None or terms.pilot is not None:
        raise UsageError("--played: the run says what was played; leave --eligible and --from out")
    with open_run(run, runs) as opened:
        return registration_after(opened.plan, opened.folder, terms)


def _write(registration: Registration, out: Path) -> Output:
    import yaml

    from ostrom.features.registering import pages
    from ostrom.ground.files import write_atomically

    content = registration.model_dump(mode="json")
    files = {
        out: yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120),
        out.with_suffix(".html"): pages.html(registration),
        out.with_suffix(".md"): pages.markdown(registration),
    }
    for path, data in files.items():
        try:
            write_atomically(path, data.encode("utf-8", errors="replace"))
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
    document = {
        "registration": str(out), "hash": registration.hash, "kind": registration.kind,
        "created": registration.created, "pages": [str(path) for path in list(files)[1:]],
        "sample": content["sample"], "earlier": list(registration.earlier),
    }  # fmt: skip
    contrasts = (*registration.primary, *registration.secondary)
    earlier = f"runs of this study were there already: {', '.join(registration.earlier)}"
    lines = [
        f"hash: {registration.hash}",
        *(f"{'primary' if one in registration.primary else 'secondary'}: {one.words}" for one in contrasts),
        *(f"{name}: {rule}" for name, rule in registration.decisions.items()),
        *(
            f"power {power['power']:.3f} to find {power['effect']:+.3g} with {power['seeds']} seeds: "
            f"{power['contrast']}"
            for power in registration.sample.power
        ),
        registration.sample.note or None,
        earlier if registration.earlier else None,
        Remark(f"publish the hash where its date can be seen by others; pages: {', '.join(map(str, list(files)[1:]))}"),
        Remark(f"play it: ostrom run {registration.stated.study} --registered {out}")
        if registration.kind == "confirmatory"
        else None,
    ]
    return Output(document, lines, source=registration)


def _checked(file: Path, run: str | None, runs: Path, options: PlayOptions) -> Output:
    """Check a registration, the local version of its study and, if named, a run."""
    from ostrom.analysis.registered import checked_against
    from ostrom.analysis.registration import read_registration
    from ostrom.data.rundata import run_data
    from ostrom.studies.run import open_run

    registration = read_registration(file)
    here = study_here(registration, file.parent, options)
    document: dict[str, Any] = {"registration": str(file), "hash": registration.hash, "kind": registration.kind,
                                "created": registration.created, "study_here": here}  # fmt: skip
    fine = not here
    one = None
    if run is not None:
        # No result of an unfinished run is shown, so this does not count as a look.
        with (
            open_run(run, runs) as opened,
            run_data(opened.rows, opened.folder.path, opened.manifest, look=False) as data,
        ):
            one = checked_against(data, registration)
        fine = one.complete and not (one.reasons or one.deviations)
        document |= {"registered": [one.as_dict()]}
    text = [
        f"{file}: {registration.kind}, of {registration.created}, its hash holds: {registration.hash}",
        *(here or ["the study and its prompts are here as they were registered"]),
        *(() if one is None else one.text()),
    ]
    return Output(document, text, code=int(not fine), source=one)


def study_here(registration: Registration, folder: Path, options: PlayOptions) -> list[str]:
    """Return how the local study differs from the registered one; empty if it does not."""
    from ostrom.analysis.registration import changed_prompts, without_model
    from ostrom.engine.folder import FREE_TO_CHANGE, differences
    from ostrom.features.registering.plan import PLACEHOLDER
    from ostrom.ground.errors import OstromError
    from ostrom.studies.resolve import resolve

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
