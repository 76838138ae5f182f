"""`ostrom serve`, `ostrom pilot` and `ostrom people`: serve a study, rehearse it, and manage participants."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ostrom.cli.ending import spending_text, spent_data
from ostrom.cli.options import BUDGET, PlayOptions, Presets, Runs, Sets, with_play_options
from ostrom.cli.output import Output, Remark, TextTable, print_stderr
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.engine.folder import Folder
    from ostrom.people.host import Host


RunName = Annotated[str, typer.Argument(help="The run: its folder or its name.")]
Code = Annotated[str, typer.Argument(help="The code of a person (ostrom people RUN list).")]
MaybeCode = Annotated[
    str | None, typer.Argument(help="The code of a person (ostrom people RUN list).", show_default=False)
]

people = typer.Typer(help="Manage who took part: list, links, close, bonuses, erase, audit.", no_args_is_help=True)


class RunFirst(TyperGroup):
    """A command group that accepts `people list RUN` as well as `people RUN list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a command name before the run is swapped with it."""
        swapped = len(args) > 1 and args[0] in self.commands and args[1] not in self.commands
        if swapped and not args[1].startswith("-"):
            args = [args[1], args[0], *args[2:]]
        return super().parse_args(ctx, args)


@people.callback(cls=RunFirst)
def _run(context: typer.Context, run: RunName, runs: Runs = Path("runs")) -> None:
    """People who took part in a run."""
    context.obj = (run, runs)


def _records(context: typer.Context) -> Any:
    from ostrom.people.records import Records

    return Records(*context.obj)


@people.command("list")
def list_people(
    context: typer.Context, ids: Annotated[bool, typer.Option(help="Show the ids that the platform gave them.")] = False
) -> Output:
    """Who came, where they are or how they left."""
    with _records(context) as records:
        paid = records.register.payments()
        rows = [
            {
                "code": v.code, "cell": v.cell, "end": v.end or "under way", "points": v.points, "missed": v.missed,
                "base": str(v.base), "bonus": str(v.bonus), "paid": paid[v.code].amount if v.code in paid else "",
                "test": v.test, "joined": None if v.who is None else round(v.who.joined),
                **({"id": None if v.who is None else v.who.external} if ids else {}),
            }
            for v in records.visits()
        ]  # fmt: skip
    heads = ["code", "cell", "end", "points", "missed", "base", "bonus", "paid", *(["id"] if ids else []), "joined"]
    return Output(
        rows, [TextTable(how_many(len(rows), "person"), heads, [[_cell(row, head) for head in heads] for row in rows])]
    )


def _cell(row: dict[str, Any], head: str) -> str:
    value = row[head]
    if head == "joined":
        return "erased" if value is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(value))
    if head == "code" and row["test"]:
        return f"{value} (test)"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@people.command("links")
def links(
    context: typer.Context,
    public: Annotated[
        str | None,
        typer.Option(help="How browsers reach the server (default: as it was served last).", show_default=False),
    ] = None,
    back: Annotated[
        bool, typer.Option("--return", help="Links that bring people who have begun back to their visit.")
    ] = False,
) -> Output:
    """Links to give to people: one secret link each, seats of a lab, or the link for a platform."""
    from ostrom.people.sources import LinkReader
    from ostrom.web.tokens import sign

    with _records(context) as records:
        key = records.register.key
        base = (public or records.register.meta("address") or "http://127.0.0.1:8000").rstrip("/")
        if back:
            rows = [f"{v.code} {base}/?return={sign(key, 'return', v.code)}" for v in records.visits() if v.end is None]
        else:
            rows = LinkReader(records.plan.people.source.model_copy(update={"verify": False}), key, Path()).links(base)
    return Output(rows, rows)


@people.command("close")
def close(
    context: typer.Context, again: Annotated[bool, typer.Option("--open", help="Open recruiting again.")] = False
) -> object:
    """Let nobody new join; visits under way go on. A server that is running obeys within seconds."""
    with _records(context) as records:
        records.register.set_meta("closed", int(not again))
        records.register.note("", "opened" if again else "closed")
    state = "open" if again else "closed"
    return Output({"recruiting": state}, [Remark(f"recruiting is {state}")])


@people.command("bonuses")
def bonuses(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", help="The payment file (CSV: id, amount, currency, pays).")],
) -> Output:
    """Write a payment file for everybody who is done and was in none before; nothing is paid by this command."""
    from ostrom.people.payment import pays_for

    with _records(context) as records:
        count, total = records.pay(out)
        currency, pays = records.plan.people.pay.currency, pays_for(records.plan.people.source.name)
    base = "the base is paid by the platform and not in it" if pays == "bonus" else "the base is in it"
    lines = [f"nobody is owed anything that no earlier file has: {out} has no rows and pays nobody"]
    if count:
        lines = [
            f"{out}: {how_many(count, 'person')}, {total:.2f} {currency} ({pays}: {base})",
            "the ledger has them, so no later file will",
        ]
    document = {"file": str(out), "people": count, "total": str(total), "currency": currency, "pays": pays}
    return Output(document, map(Remark, lines))


@people.command("erase")
def erase(
    context: typer.Context,
    code: MaybeCode = None,
    older_than: Annotated[
        str | None,
        typer.Option(help="Instead of a code: everybody who joined longer ago, for example 90d, and is paid."),
    ] = None,
) -> Output:
    """Remove everything personal about somebody; a tombstone with the code stays. Their decisions stay, by code."""
    from ostrom.people.schema import seconds

    if (code is None) == (older_than is None):
        raise UsageError("erase: name either the code of a person or --older-than, for example --older-than 90d")
    try:
        if older_than is not None and older_than.strip().isdecimal():  # 30 would mean seconds, and erasing is final
            raise ValueError(f"needs a unit: {older_than.strip()}d, or h, min, s")
        keep = None if older_than is None else seconds(older_than)
    except ValueError as error:
        raise UsageError(f"--older-than {older_than}: {error}") from None
    with _records(context) as records:
        if code is not None:
            records.find(code)
            codes, unpaid = (code,), ()
        else:
            codes, unpaid = (overdue := records.overdue(keep)).erasable, overdue.unpaid
        erased_count = records.register.erase(*codes)
    left = f"; {len(unpaid)} are owed money and stay until a payment file has them" if unpaid else ""
    one = f"{code}: {'erased' if erased_count else 'was erased before'}"
    line = f"{how_many(erased_count, 'person')} erased{left}" if code is None else one
    return Output({"erased": erased_count, "not_paid": list(unpaid)}, [Remark(line)])


@people.command("withdraw")
def withdraw(context: typer.Context, code: Code) -> object:
    """Take somebody's visit and matches out of all tables."""
    with _records(context) as records:
        at_once = records.withdraw(code)
    state = "taken out of all tables" if at_once else "the server that is running takes it out now"
    return Output({"code": code, "withdrawn": at_once}, [Remark(f"{code}: {state}")])


@people.command("audit")
def audit(context: typer.Context) -> Output:
    """Check what must hold: served = assigned in every round, journal and register fit, nobody is paid twice."""
    with _records(context) as records:
        checks = records.audit()
    heads = ["check", "looked at", "found"]
    return Output(
        [{"check": what, "looked_at": count, "wrong": problem} for what, count, problem in checks],
        [TextTable("Audit", heads, [[what, count, problem or "holds"] for what, count, problem in checks])],
        code=int(any(problem for _, _, problem in checks)),
    )


@with_play_options(*BUDGET, "prompts", "prices", "cache", "allow_key", "allow_command")
def serve(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    port: Annotated[int, typer.Option(help="The port for participants.", min=0, max=65535)] = 8000,
    public: Annotated[
        str | None, typer.Option(help="How browsers reach the server: https://HOST (a reverse proxy in front).")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    admin_port: Annotated[
        int | None, typer.Option(help="The port of the admin page (default: the next one).", min=0, max=65535)
    ] = None,
    joins_a_minute: Annotated[
        int, typer.Option(help="How many people may join from one address in a minute (a lab needs more).", min=1)
    ] = 120,
    test: Annotated[bool, typer.Option(help="All visits are tests: marked, and never counted.")] = False,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[str | None, typer.Option(help="The name of the run (default: that of the study).")] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> None:
    """Serve a study with people in their browsers.

    The same command goes on after a stop, a crash or a restart.

    The admin page always has a password: OSTROM_ADMIN_PASSWORD, or a random one that is printed.

    With --public OSTROM_ADMIN_PASSWORD must be set.
    """
    from ostrom.engine.folder import check_name
    from ostrom.people.pilot import host_plan
    from ostrom.people.server import listening, serve_people
    from ostrom.studies.files import folder_of
    from ostrom.studies.resolve import resolve

    setup = resolve(study, preset=preset, changes=set_ or (), options=options)

    async def run(people: Host, folder: Folder) -> None:
        await serve_people(people, folder, where, folder_of(study), print_stderr, joins_a_minute)

    with listening(host, port, admin_port, public) as where:
        host_plan(setup.plan, run, name=check_name(name or setup.plan.name), runs=runs, options=options, test=test)
    print_stderr(f"stopped; the same command goes on. run: {runs / (name or setup.plan.name)}")


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "cache", "allow_key", "allow_command")
def pilot(
    study: Annotated[str, typer.Argument(help="A study with people: its file (YAML) or its name.")],
    people: Annotated[int, typer.Option(help="How many participants come.", min=1, max=100_000)] = 40,
    model: Annotated[str | None, typer.Option(help="The model that decides for them: provider/model or a URL.")] = None,
    strategy: Annotated[str | None, typer.Option(help="The strategy that decides for them (default: random).")] = None,
    dropout: Annotated[
        float, typer.Option(help="The share of participants who drop out on the way.", min=0, max=1)
    ] = 0.0,
    miss: Annotated[
        float, typer.Option(help="The share of decisions with a time limit that are missed.", min=0, max=1)
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="The seed of their answers and of who drops out.", min=0)] = 0,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Keep the waiting times of the study (people.time.reveal).")
    ] = False,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the run (default: that of the study, with -pilot).")
    ] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Let simulated participants through a study with people.

    They take the same visit as people, into a run of its own.

    Consent, quiz and questions are answered by chance; actions by a model or a strategy. The tables, measures and
    reports are those of a real run, so the whole analysis can be tried before anybody is recruited.
    """
    from ostrom.engine.folder import check_name
    from ostrom.people.pilot import Crowd, pilot_agent
    from ostrom.people.pilot import pilot as play
    from ostrom.studies.files import read_study
    from ostrom.studies.resolve import resolve

    if not read_study(study)[0].get("people"):
        raise UsageError(f"{study}: has no section 'people'; `ostrom run` plays it")
    changes = [*(set_ or ()), *(() if real_time else ("people.time.reveal=null",))]
    plan = resolve(study, preset=preset, changes=changes, options=options).plan
    crowd = Crowd(people, pilot_agent(plan, model, strategy), dropout, miss, seed)
    called = check_name(name or f"{plan.name}-pilot")
    result, summary = play(plan, crowd, name=called, runs=runs, options=options)
    ends, cells = sorted(summary["ends"]), {**summary["cells"]}
    rest = {end: n - sum(c.get(end, 0) for c in cells.values()) for end, n in summary["ends"].items()}
    if any(rest.values()):
        cells["not assigned"] = rest
    if len(cells) > 1:
        cells["in all"] = summary["ends"]
    table = TextTable(
        f"{called}: visits by cell",
        ["cell", *ends, "people"],
        [[cell, *(of.get(end, 0) for end in ends), sum(of.values())] for cell, of in cells.items()],
    )
    shares = ", ".join(f"{count} {end}" for end, count in sorted(summary["ends"].items()))
    over = sum(count for end, count in summary["ends"].items() if end != "open")
    notes = (
        f"{how_many(summary['people'], 'participant')}: {shares}; {spending_text(result.tally)}",
        f"{over} of {summary['people']} visits are over: the pilot is "
        + ("complete" if over == summary["people"] else "not complete: the same command goes on"),
        f"run: {runs / called}",
    )
    return Output({"run": str(runs / called), **summary, **spent_data(result.tally)}, [table, *map(Remark, notes)])
