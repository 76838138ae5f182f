"""Run a study with people: the journal, the register and the host come together here."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from ostrom.engine.folder import Folder, identity
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result, Runner
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import read_plain, write_whole
from ostrom.people.host import Host
from ostrom.people.plan import PeoplePlan
from ostrom.people.register import FILE, Register
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import OpenModels, play_plan

Serve = Callable[[Host, Folder], Coroutine[Any, Any, None]]
"""Serves people until it is told to stop: a web server, or simulated participants."""


def host_plan(
    plan: StudyPlan,
    serve: Serve,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    open_models: OpenModels | None = None,
    test: bool = False,
    hosts: type[Host] = Host,
) -> Result:
    """Host a study with people in ``runs/<name>`` as long as ``serve`` runs; visits under way are taken up."""
    if not isinstance(plan, PeoplePlan):
        raise UsageError(f"{plan.file}: has no section 'people'; `ostrom run` plays it")

    hosted: list[Host] = []

    async def begin(folder: Folder) -> None:
        mark = identity(folder.manifest())
        if folder.journal.exists():
            with folder.open_journal() as journal:
                plan.learn(journal)
            if plan.book.visits and not (folder.path / FILE).exists():
                raise RunError(
                    f"{folder.path / FILE}: is missing, and {len(plan.book.visits)} people have come: without it "
                    "nobody can be told from somebody new and payments are forgotten (put back a copy of it)"
                )
        ignore_register(folder.path)
        register = Register(folder.path, mark, create=True)
        plan.arrivals = host = hosts(plan, register, title=plan.study.title or plan.name, test=test)
        hosted.append(host)

    async def watch(runner: Runner) -> None:
        (host,) = hosted
        await host.ready.wait()
        try:
            await serve(host, Folder(Path(runs) / name))
        finally:
            host.close()
            runner.stop("the server was stopped", interrupted=False)

    try:
        return play_plan(
            plan, name=name, runs=runs, options=options, watch=watch, open_models=open_models, begin=begin
        )
    finally:
        for host in hosted:
            host.register.close()


def ignore_register(folder: Path) -> None:
    """Keep the register out of version control, wherever the runs lie."""
    file = folder / ".gitignore"
    wanted = f"{FILE}*\n".encode()
    try:
        known = read_plain(file) if file.exists() or file.is_symlink() else b""
        if wanted not in known:
            write_whole(file, known + wanted)
    except OSError as error:
        raise RunError(f"{file}: cannot be written ({error.strerror})") from None
