"""The seats of a run: which external agent has which seat, and the processes that a study starts for agents."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ostrom.agents.commands import Program, start, written
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.engine.plan import Plan, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.features.seats.chair import SeatSession
from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_atomically
from ostrom.ground.terminal import print_stderr
from ostrom.models.base import Abilities, Reply, Request

FILE = "seats.json"
"""The file with the address and the tokens of a run in play, readable by this user alone."""
URL, TOKEN = "OSTROM_SEAT_URL", "OSTROM_SEAT_TOKEN"
"""Environment variables of an agent's process."""
FEW_UNITS = 1000
"""The number of units searched for seats that wait for an agent; later ones appear when they are played."""
FAREWELL = 5.0
"""Seconds to wait until agents know that the run is over."""
AT_ONCE = 4
"""The most matches in play at a time, if each has its own processes."""
ONE_MATCH = "This seat was for one match, which is over."
FINISHED = "The run is over: there are no more matches."


class SeatHost:
    """Asks external agents for decisions through MCP, and tells them how their matches end."""

    name = "mcp"
    abilities = Abilities()
    connections = 1

    def __init__(self, plan: Plan, options: PlayOptions | None = None, *, port: int = 0, quiet: bool = False) -> None:
        try:
            from ostrom.features.seats.server import SeatServer
        except ModuleNotFoundError as error:
            raise UsageError(
                f"{plan.file}: agents at seats need the package {error.name}: pip install 'ostrom[agents]'"
            ) from None
        self.plan, self._quiet = plan, quiet
        commands = any(config.mcp is not None and config.mcp.command for config in plan.agents)
        most = ((options and options.max_connections) or AT_ONCE) if commands else None
        # One match at a time for several agents: in two matches, two agents could wait for each other.
        self.at_once = 1 if len(waiting_seats(plan)) > 1 else most
        self._waiting: dict[int, SeatSession] = {}
        """Seats that wait for an agent, by number."""
        self._own: dict[tuple[int, int], SeatSession] = {}
        """Sessions of agents with their own process, by match and player."""
        self._processes: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._folder: Path | None = None
        self._announced = False
        """Whether the end of a process was already reported: once is enough for a thousand matches."""
        self._server = SeatServer(self._chairs, port)
        self._stack = AsyncExitStack()

    # -- what the engine and `studies.run` call ------------------------------------------------------

    async def open(self, folder: Path) -> None:
        """Start the server and write the address and the tokens to the run folder."""
        if self._folder is not None:
            return
        self._folder = folder
        await self._stack.enter_async_context(self._server.running())
        for seat in waiting_seats(self.plan):
            self.chair(seat)
        self._write()
        if self._waiting and not self._quiet:
            seats = ", ".join(map(str, sorted(self._waiting)))
            print_stderr(f"waiting for agents at seat {seats}: ostrom seat {folder} --seat {next(iter(self._waiting))}")

    async def close(self) -> None:
        """Close the seats after all connected agents know that the run is over."""
        self.stop(FINISHED)
        await asyncio.gather(*(chair.told(FAREWELL) for chair in self._chairs()))
        for process in self._processes.values():
            process.cancel()
        await asyncio.gather(*self._processes.values(), return_exceptions=True)
        await self._stack.aclose()
        self._server.close()
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / FILE).unlink()

    def begin(self, unit: int, player: int, config: AgentConfig, rules: str) -> None:
        """Start a decision."""
        assert config.mcp is not None
        if config.mcp.command is not None and (unit, player) not in self._own:
            self._start(unit, player, config.mcp.command)
        self._chair_at(unit, player).begin(unit, config.mcp.time, rules)

    async def ask(self, unit: int, player: int, part: str, request: Request) -> Reply:
        """Ask one question of a decision."""
        return await self._chair_at(unit, player).ask(unit, part, request)

    def decided(self, unit: int, player: int, answer: Answer | None) -> None:
        """Tell the agent at a seat that its decision is over, by an answer or without one."""
        self._chair_at(unit, player).decided(unit, answer)

    def ended(self, unit: int, scores: Sequence[float] | None) -> None:
        """End a match: tell every agent its score. The end of a preparation is not reported."""
        tell, finished = self.plan.unit(unit).kind == "match", scores is not None
        own = dict(enumerate(scores or ()))  # observers have no score
        for seat, chair in self._waiting.items():
            chair.end_match(unit, own.get(seat - 1), tell=tell, finished=finished)
        for (match, player), chair in self._own.items():
            if match == unit:
                chair.end_match(unit, own.get(player), tell=tell, finished=finished)
                chair.close(ONE_MATCH)

    def stop(self, why: str = "The run was stopped. It may go on later.") -> None:
        """Stop asking questions."""
        for chair in self._chairs():
            chair.close(why)

    async def complete(self, request: Request) -> Reply:
        """Not supported: a seat is asked through ``ask``."""
        raise NotImplementedError("a seat is asked with ask()")

    def describe(self) -> Mapping[str, Any]:
        """An empty description: it has no settings that a reply depends on."""
        return {}

    # -- seats ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return self._server.url

    def chair(self, seat: int) -> SeatSession:
        """Return the session that waits for an agent at a seat."""
        if seat not in self._waiting:
            self._waiting[seat] = SeatSession(seat)
            self._write()
        return self._waiting[seat]

    def _chairs(self) -> Iterator[SeatSession]:
        yield from self._waiting.values()
        yield from self._own.values()

    def _chair_at(self, unit: int, player: int) -> SeatSession:
        if (own := self._own.get((unit, player))) is not None:
            return own
        return self.chair(seat_number(self.plan.unit(unit), player))

    # -- processes -----------------------------------------------------------------------------------

    def _start(self, unit: int, player: int, command: Sequence[str]) -> None:
        """Start the process of an agent for one match."""
        chair = self._own[unit, player] = SeatSession(seat_number(self.plan.unit(unit), player), own_match=True)
        task = self._processes[unit, player] = asyncio.create_task(self._run(chair, command))

        def forget(_: asyncio.Task[None]) -> None:
            self._own.pop((unit, player), None)
            self._processes.pop((unit, player), None)

        task.add_done_callback(forget)

    async def _run(self, chair: SeatSession, command: Sequence[str]) -> None:
        """Run an agent's process until its match is over; if it exits earlier, the agent has left."""
        try:
            program = await start(command, {URL: self.url, TOKEN: chair.token})
        except (OSError, UsageError) as error:
            chair.leave(f"{written(command)}: cannot be started: {error}")
            await chair.closed.wait()
            return
        exit_ = asyncio.create_task(_exit(program))
        try:
            over = asyncio.create_task(chair.closed.wait())
            await asyncio.wait({exit_, over}, return_when=asyncio.FIRST_COMPLETED)
            if not over.done():
                why = f"{written(command)}: ended with status {exit_.result()} before the match was over"
                chair.leave(why)
                if not self._announced and not self._quiet:  # the tables keep no output of the program
                    self._announced = True
                    print_stderr(why + await program.last_words())
                await over
            await asyncio.wait({exit_}, timeout=FAREWELL)
        finally:
            exit_.cancel()
            await program.end()

    def _write(self) -> None:
        if self._folder is not None:
            access = json.dumps(
                {"url": self.url, "tokens": {str(seat): chair.token for seat, chair in sorted(self._waiting.items())}}
            )
            write_atomically(self._folder / FILE, access.encode(), mode=0o600)


async def _exit(program: Program) -> int:
    """Wait until a process ends; its output is read and dropped, so that it does not block."""
    while await program.stdout.read(65_536):
        pass
    return await program.process.wait()


def seat_number(unit: Unit, player: int) -> int:
    """Return the seat number of a player; a preparation belongs to the seat it is made for."""
    return (unit.seat if unit.kind == "preparation" else player) + 1


def waiting_seats(plan: Plan) -> list[int]:
    """Return the numbers of the seats that wait for an agent, among the first units of a plan."""
    return sorted({
        seat_number(unit, player)
        for unit in islice(plan.units(), FEW_UNITS)
        for player, seated in enumerate(unit.players)
        if seated.config.mcp is not None and not seated.config.mcp.command
    })  # fmt: skip
