"""`ostrom people`: who came to a study, their links, payments and rights."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import Runs
from ostrom.cli.output import print_json, print_table, say, write

RunName = Annotated[str, typer.Argument(help="The run: its folder or its name.")]
Json = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
Code = Annotated[str, typer.Argument(help="The code of a person (ostrom people RUN list).")]
MaybeCode = Annotated[
    str | None, typer.Argument(help="The code of a person (ostrom people RUN list).", show_default=False)
]

people = typer.Typer(
    help="People who took part: list, links, close, bonuses, erase, withdraw, audit.", no_args_is_help=True
)


@people.callback()
def _run(context: typer.Context, run: RunName, runs: Runs = Path("runs")) -> None:
    """People who took part in a run."""
    context.obj = (run, runs)


def _records(context: typer.Context) -> Any:
    from ostrom.people.records import Records

    return Records(*context.obj)


@people.command("list")
def list_people(
    context: typer.Context,
    ids: Annotated[bool, typer.Option(help="Show the ids that the platform gave them.")] = False,
    json: Json = False,
) -> None:
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
    if json:
        print_json(rows)
        return
    heads = [
        "code",
        "cell",
        "end",
        "points",
        "missed",
        "base",
        "bonus",
        "paid",
        *(["id"] if ids else []),
        "joined",
    ]
    table = [[_shown(row, head) for head in heads] for row in rows]
    print_table(f"{len(rows)} people", heads, table)


def _shown(row: dict[str, Any], head: str) -> str:
    value = row[head]
    if head == "joined":
        return "erased" if value is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(value))
    if head == "code" and row["test"]:
        return f"{value} (test)"
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


@people.command("links")
def links(
    context: typer.Context,
    public: Annotated[str, typer.Option(help="How browsers reach the server.")] = "http://127.0.0.1:8000",
    back: Annotated[
        bool, typer.Option("--return", help="Links that bring people who have begun back to their visit.")
    ] = False,
    json: Json = False,
) -> None:
    """Links to give to people: one secret link each, seats of a lab, or the link for a platform."""
    from ostrom.people.sources import LinkReader
    from ostrom.people.tokens import signed

    base = public.rstrip("/")
    with _records(context) as records:
        key = records.register.key
        if back:
            found = [
                f"{v.code} {base}/?return={signed(key, 'return', v.code)}"
                for v in records.visits()
                if v.end is None
            ]
        else:
            source = records.plan.people.source.model_copy(update={"verify": False})
            found = LinkReader(source, key, Path()).links(base)
    if json:
        print_json(found)
        return
    for link in found:
        write(link)


@people.command("close")
def close(
    context: typer.Context,
    again: Annotated[bool, typer.Option("--open", help="Open recruiting again.")] = False,
) -> None:
    """Let nobody new join; visits under way go on. A server that is running obeys within seconds."""
    with _records(context) as records:
        records.register.set_meta("closed", int(not again))
        records.register.note("", "opened" if again else "closed")
    say(f"recruiting is {'open' if again else 'closed'}")


@people.command("bonuses")
def bonuses(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", help="The payment file (id,amount).")],
    json: Json = False,
) -> None:
    """Write a payment file for everybody who is done and was in none before; nothing is paid by this command."""
    with _records(context) as records:
        count, total = records.pay(out)
        currency = records.plan.people.pay.currency
    if json:
        print_json({"file": str(out), "people": count, "total": str(total), "currency": currency})
        return
    say(f"{out}: {count} people, {total:.2f} {currency}; the ledger has them, so no later file will")


@people.command("erase")
def erase(
    context: typer.Context,
    code: MaybeCode = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Instead of a code: everybody who joined longer ago, for example 90d, and is paid."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Remove everything personal about somebody; a tombstone with the code stays. Their decisions stay, by code."""
    from ostrom.ground.errors import UsageError
    from ostrom.people.schema import seconds

    if (code is None) == (older_than is None):
        raise UsageError(
            "erase: name either the code of a person or --older-than, for example --older-than 90d"
        )
    try:
        keep = None if older_than is None else seconds(older_than)
    except ValueError as error:
        raise UsageError(f"--older-than {older_than}: {error}") from None
    with _records(context) as records:
        if code is not None:
            records.find(code)
            codes, unpaid = (code,), ()
        else:
            codes, unpaid = (found := records.overdue(keep)).erasable, found.unpaid
        known = records.register.erase(*codes)
    if json:
        print_json({"erased": known, "not_paid": list(unpaid)})
    elif code is not None:
        say(f"{code}: {'erased' if known else 'was erased before'}")
    else:
        left = f"; {len(unpaid)} are owed money and stay until a payment file has them" if unpaid else ""
        say(f"{known} people erased{left}")


@people.command("withdraw")
def withdraw(context: typer.Context, code: Code) -> None:
    """Take somebody's visit and matches out of all tables."""
    with _records(context) as records:
        at_once = records.withdraw(code)
    say(f"{code}: {'taken out of all tables' if at_once else 'the server that is running takes it out now'}")


@people.command("audit")
def audit(context: typer.Context, json: Json = False) -> None:
    """Check what must hold: served = assigned in every round, journal and register fit, nobody is paid twice."""
    with _records(context) as records:
        found = records.audit()
    wrong = any(problem for _, _, problem in found)
    if json:
        print_json([{"check": what, "looked_at": count, "wrong": problem} for what, count, problem in found])
    else:
        rows = [[what, count, problem or "holds"] for what, count, problem in found]
        print_table("Audit", ["check", "looked at", "found"], rows)
    if wrong:
        sys.exit(1)
