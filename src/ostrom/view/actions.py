"""From a decision: ask how much each remembered round moved it, or play on from there with something changed.

The page makes the command that one would type, shows it with its budget, and starts it when that is confirmed. What is
started makes a run of its own beside the others; the run that is looked at is only read.
"""

import asyncio
import hashlib
from collections import defaultdict
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ostrom.engine.folder import check_name
from ostrom.ground.errors import OstromError, UsageError
from ostrom.studies.run import Run
from ostrom.view.jobs import Intent, own
from ostrom.view.render import draw
from ostrom.view.viewer import Routes, Viewer, message, run_and_number, stream, whole_number
from ostrom.web.security import Refused

KINDS = ("attribute", "branch")
MOST_CHANGES = 10


def page(viewer: Viewer, request: Request) -> Response:
    """What can be asked about a decision."""
    name, number = run_and_number(request)
    asked = request.query_params
    return _form(
        viewer, request, name, number, {"round": asked.get("round", "1"), "seat": asked.get("player", "1")}
    )


def _form(
    viewer: Viewer,
    request: Request,
    name: str,
    number: int,
    fields: dict[str, str],
    problem: str | None = None,
) -> Response:
    with viewer.shelf.opened(name) as run:
        players = [(i + 1, seated.name) for i, seated in enumerate(_unit(run, number).players)]
    return viewer.page(
        request, "act", title=f"From match {number} of {name}", **viewer.about(name), number=number, players=players,
        fields=defaultdict(str, fields), problem=problem, refused=refusal(viewer, name), here="matches",
        jobs=viewer.jobs.of(name)[:10],
    )  # fmt: skip


def _unit(run: Run, number: int) -> Any:
    if not 0 <= number < len(run.plan):
        raise UsageError(f"match {number}: {run.name} has the matches 0 to {len(run.plan) - 1}")
    return run.plan.unit(number)


def refusal(viewer: Viewer, name: str) -> str | None:
    """Why nothing can be started from this run here; the command can still be copied."""
    if not viewer.may_act:
        return "This server can be reached from other machines without a password: commands are only shown."
    folder = viewer.shelf.folder(name).path
    if not own(folder):
        return (
            "This run belongs to somebody else, or its folder cannot be written to: commands are only shown."
        )
    return None


async def ask(viewer: Viewer, request: Request) -> Response:
    """The command that was asked for, to be confirmed."""
    form = await viewer.gatekeeper.form(request)
    return await asyncio.to_thread(_asked, viewer, request, form)


def _asked(viewer: Viewer, request: Request, form: dict[str, str]) -> Response:
    name, number = run_and_number(request)
    try:
        with viewer.shelf.opened(name) as run:
            _unit(run, number)
        intent = intent_of(viewer, name, number, form)
    except OstromError as error:
        return _form(viewer, request, name, number, form, str(error))
    refused = refusal(viewer, name)
    nonce = None if refused else viewer.jobs.ask(intent)
    return viewer.page(
        request, "confirm", title="Confirm", **viewer.about(name), number=number, intent=intent, nonce=nonce,
        refused=refused, here="matches",
    )  # fmt: skip


def intent_of(viewer: Viewer, name: str, number: int, form: dict[str, str]) -> Intent:
    """The command for what a form asks for; refused where it is not complete."""
    kind = form.get("kind", "")
    if kind not in KINDS:
        raise UsageError(f"kind {kind[:20]!r} (allowed: {', '.join(KINDS)})")
    folder = viewer.shelf.folder(name).path
    at = _option(form, "round")[1]
    arguments = [kind, str(folder), "--match", str(number)]
    if kind == "attribute":
        method = form.get("method", "both")
        if method not in ("drop", "flip", "both"):
            raise UsageError(f"method {method[:20]!r} (allowed: drop, flip, both)")
        arguments += ["--round", at, *_option(form, "seat"), "--method", method]
        arguments += [*_option(form, "samples", "20", most=10_000), *_option(form, "last", None)]
    else:
        arguments += ["--at", at, *_option(form, "seeds", "1", most=10_000)]
        changes = [line.strip() for line in form.get("changes", "").splitlines() if line.strip()]
        if len(changes) > MOST_CHANGES or any("=" not in line or line.startswith("-") for line in changes):
            raise UsageError(f"changes: one KEY=VALUE a line, {MOST_CHANGES} at the most (memory=window:2)")
        arguments += [*(part for line in changes for part in ("--set", line)), *_option(form, "seat", None)]
    arguments += _budget(form)
    digest = hashlib.blake2b("\0".join(arguments).encode(), digest_size=3).hexdigest()
    makes = check_name(f"{kind}-{name[:60]}-m{number}-r{at}-{digest}")
    return Intent((*arguments, "--name", makes, "--runs", str(folder.parent), "--json"), name, makes, kind)


def _option(
    form: dict[str, str], name: str, default: str | None = "", called: str = "", most: int = 10**12
) -> list[str]:
    """A field with a whole number as an option; none where it is empty and the default is None."""
    text = form.get(name) or default
    if text is None:
        return []
    return [f"--{name.replace('_', '-')}", str(whole_number(text, called or name, least=1, most=most))]


def _budget(form: dict[str, str]) -> list[str]:
    """The options of a budget; there must be one."""
    given = [
        part
        for name in ("calls", "tokens")
        for part in _option(form, f"budget_{name}", None, f"budget of {name}")
    ]
    if usd := form.get("budget_usd"):
        try:
            amount = float(usd)
        except ValueError:
            amount = -1.0
        if not 0 < amount <= 1_000_000:
            raise UsageError(f"budget in dollars: {usd[:20]!r} must be a number above 0")
        given += ["--budget-usd", f"{amount:g}"]
    if not given:
        raise UsageError("a budget is missing: say how many calls, tokens or dollars this may take")
    return given


async def start(viewer: Viewer, request: Request) -> Response:
    """Start what was confirmed."""
    name = str(request.path_params["run"])
    form = await viewer.gatekeeper.form(request)
    if (why := refusal(viewer, name)) is not None:
        raise Refused(403, why)
    return RedirectResponse(f"/job/{viewer.jobs.confirm(form.get('nonce', ''), name)}", 303)


def job(viewer: Viewer, request: Request) -> Response:
    """How a command that was started is getting on."""
    number = str(request.path_params["job"])
    found = viewer.jobs.job(number)
    return viewer.page(
        request, "job", title=f"{found.intent.kind} from {found.intent.run}", **_stands(viewer, number)
    )


def _stands(viewer: Viewer, number: str) -> dict[str, Any]:
    """What a page says of a job."""
    found = viewer.jobs.job(number)
    made = found.intent.makes if found.intent.makes in viewer.shelf.names() else None
    return {
        "number": number, "job": found, "made": made, "about": viewer.about(made) if made is not None else {},
    }  # fmt: skip


def job_events(viewer: Viewer, request: Request) -> Response:
    """Tell a page how its job is getting on."""
    number = str(request.path_params["job"])
    viewer.jobs.job(number)

    last = ""

    def drawn() -> str:
        return draw("_job", **_stands(viewer, number))

    async def news() -> list[bytes]:
        nonlocal last
        before, last = last, await asyncio.to_thread(drawn)
        return [] if last == before else [message(f"job {number}", last)]

    return stream(viewer, news, 1.0)


def strip(viewer: Viewer, request: Request) -> Response:
    """What an attribution found: how much every remembered round moved the decision."""
    from ostrom.features.attribution.effects import read_effects, strips

    name = str(request.path_params["run"])
    with viewer.shelf.opened(name) as run:
        if (run.manifest.get("parent") or {}).get("kind") != "attribution":
            raise UsageError(f"{name}: is no attribution (ostrom more attribute makes one)")
        found = read_effects(run)
    return viewer.page(
        request, "strip", title=f"What moved the decision, {name}", **viewer.about(name), found=found,
        lines=list(strips(found)), here="",
    )  # fmt: skip


async def stop(viewer: Viewer, request: Request) -> Response:
    """Stop a command as Ctrl-C would."""
    number = str(request.path_params["job"])
    await viewer.gatekeeper.form(request)
    viewer.jobs.stop(number)
    return RedirectResponse(f"/job/{number}", 303)


ROUTES: Routes = [
    ("/run/{run}/match/{number}/act", page, ["GET"]),
    ("/run/{run}/match/{number}/act", ask, ["POST"]),
    ("/run/{run}/start", start, ["POST"]),
    ("/run/{run}/strip", strip, ["GET"]),
    ("/job/{job}", job, ["GET"]),
    ("/job/{job}/events", job_events, ["GET"]),
    ("/job/{job}/stop", stop, ["POST"]),
]
