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
    from ostrom.features.registering import plan

    terms = plan.read_terms(primary, secondary or [], smallest, level, eligible, from_, runs)
    if study is None:
        return _write(plan.registration_after(str(played), runs, terms), out)
    say_allowed(None, model, set_)
    return _write(plan.registration_before(study, terms, model or [], seeds, stop, preset, set_ or [], options), out)


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
    from ostrom.features.registering.plan import study_here
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
