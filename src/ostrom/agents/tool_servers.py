"""Tools of an MCP server that a study names: ``{mcp: {command: [python, dice.py]}}``.

One process per player and match, started when it is first needed and ended with the match. What it offers is journaled
once per player and match, each result before the model reads it: a replay needs no server. A server is not trusted:
names, schemas and results are bounded, and a call that goes wrong is answered with one line.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from asyncio import IncompleteReadError, LimitOverrunError
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import orjson
from pydantic import ValidationError

from ostrom.agents.base import DecisionContext
from ostrom.agents.commands import LONGEST_LINE, Program, checked, start, without_keys, written
from ostrom.agents.tools import LONGEST_RESULT, Functions, Scene, Tool, ToolFailed
from ostrom.answers import Answer
from ostrom.ground.errors import InvalidAnswers, UsageError
from ostrom.ground.parameters import Gt, Le
from ostrom.ground.terminal import escaped, one_line
from ostrom.ground.version import __version__
from ostrom.models.base import ToolSpec

if TYPE_CHECKING:
    from mcp import Client

MOST_TOOLS, LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_SCHEMA, LONGEST_OFFER = 64, 64, 1000, 8000, 40_000
MOST_PAGES = 20
UNREAD, REFUSED = -32099, -32098
"""Our own codes: of a message that was not read, and of a server's error whose code would mean that it has ended."""
OWN_NAMES = frozenset({"calculate", "expected_payoffs", "write_note", "read_notes", "look_back"})
"""Functions of the built-in tools: no server can take their place."""
TOOL_LIST = "tool_list"
"""The kind of row that says what a server offered."""
logger = logging.getLogger("ostrom.tools")


class ToolServer(Tool):
    """The tools that a program of the study offers."""

    name: ClassVar[str] = "mcp"
    unknown: ClassVar[int] = LONGEST_OFFER + 100 * MOST_TOOLS  # what a wire writes around each

    def __init__(self, command: Any, timeout: Annotated[float, Gt(0), Le(3600)] = 30.0) -> None:
        self.command, self.timeout = checked(command), float(timeout)
        digest = hashlib.blake2b(orjson.dumps(self.command), digest_size=4).hexdigest()
        self._part = f"{TOOL_LIST}.{digest}"
        self._offer: Sequence[dict[str, Any]] = ()
        self._connection: ServerSession | None = None

    async def prepare(self, context: DecisionContext, taken: Collection[str]) -> None:
        """Learn what the server offers; in one match it is the same for the player from the first decision on."""
        if find_spec("mcp") is None:
            raise UsageError("tools of an MCP server need the package mcp: pip install 'ostrom[agents]'")
        context.at_end(self.close)
        if not self._offer:
            known = context.earlier_answers(self._part)
            offer = known[0] if known else await context.answer_once(self._part, partial(self._listed, taken))
            self._offer = offer.value["tools"]

    def functions(self, scene: Scene) -> Functions:  # noqa: ARG002
        """What was offered, and calls of it."""
        return [
            (ToolSpec(tool["name"], tool["description"], tool["schema"]), partial(self._call, tool["tool"]))
            for tool in self._offer
        ]

    async def close(self) -> str:
        """End the process; its last words on stderr."""
        connection, self._connection = self._connection, None
        return "" if connection is None else await connection.close()

    async def _listed(self, taken: Collection[str]) -> Answer:
        """What the server offers, as it is journaled; a match is not played without the tools that its study names."""
        try:
            async with asyncio.timeout(self.timeout):
                listed = await self._connected().tools()
        except UsageError:
            raise
        except Exception as error:
            words = await self.close()
            raise InvalidAnswers(
                f"agent.tools: {written(self.command)}: {_reason(error, self.timeout)}{words}"
            ) from None
        offered, left_out = _offer(listed, {*taken, *OWN_NAMES})
        if left_out and not offered:
            raise InvalidAnswers(f"agent.tools: {written(self.command)}: none of its tools can be used ({left_out[0]})")
        return Answer({"server": written(self.command), "tools": offered, "left_out": left_out})

    async def _call(self, tool: str, /, **given: Any) -> str:
        try:
            async with asyncio.timeout(self.timeout):
                content, failed = await self._connected().call(tool, given)
        except UsageError:
            raise
        except Exception as error:
            reason = _reason(error, self.timeout)
            if not _answered(error):  # it may hang or have ended: the next call starts it anew
                logger.warning("%s: %s%s", written(self.command), reason, await self.close())
            raise ToolFailed(reason) from None
        text = _bounded(content)
        if failed:
            raise ToolFailed(text or "the tool says no more")
        return text

    def _connected(self) -> ServerSession:
        if self._connection is None:
            self._connection = ServerSession(self.command)
        return self._connection


class ServerSession:
    """A server process and the session with it; a task of their own holds both, for a session ends where it began."""

    def __init__(self, command: Sequence[str]) -> None:
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._program: Program | None = None
        self._task = asyncio.create_task(self._hold(command))

    async def tools(self) -> list[Any]:
        """The tools that the server lists."""
        from mcp.types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

        session, found, cursor = (await asyncio.shield(self._ready)).session, list[Any](), None
        for _ in range(MOST_PAGES):
            request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
            page = await session.send_request(request, ListToolsResult)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) > MOST_TOOLS:
                break
        return found

    async def call(self, tool: str, given: dict[str, Any]) -> tuple[list[Any], bool]:
        """What a call gives back, and whether the server says that it failed."""
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

        client = await asyncio.shield(self._ready)
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=given))
        result = await client.session.send_request(request, CallToolResult)
        return list(result.content) or [result.structured_content], bool(result.is_error)

    async def close(self) -> str:
        """End the session and its process; the last words of that."""
        self._over.set()
        try:
            await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        return "" if self._program is None else await self._program.last_words()

    async def _hold(self, command: Sequence[str]) -> None:
        try:
            from mcp import Client
            from mcp.types import Implementation

            for name in ("mcp", "client"):  # what it logs is the server's, and would reach the terminal unescaped
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            self._program = program = await start(command)
            try:
                us = Implementation(name="ostrom", version=__version__)
                async with Client(_pipes(program), cache=None, client_info=us) as client:
                    self._ready.set_result(client)
                    await self._over.wait()
            finally:
                await program.end()
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # seen, also where nobody waits for it any more


@asynccontextmanager
async def _pipes(program: Program) -> AsyncIterator[Any]:
    """The input and output of a process as a transport of messages; a line that is too long becomes an error."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

    stdin, stdout, last = program.stdin, program.stdout, list[Any]([None])
    heard, messages = anyio.create_memory_object_stream[Any](0)
    sending, sent = anyio.create_memory_object_stream[Any](0)

    def refused(problem: str) -> Any:
        """An answer to the last request in place of one that is not read."""
        error = ErrorData(code=UNREAD, message=f"the server wrote {problem}")
        return JSONRPCError(jsonrpc="2.0", id=last[0], error=error)

    def read(line: bytes) -> Any:
        """The message in a line; None where a server printed something else."""
        with suppress(ValueError):
            return jsonrpc_message_adapter.validate_json(line)
        try:  # nested deeply, or with characters that are none
            found = json.loads(line)
            if not isinstance(found, dict) or "jsonrpc" not in found:
                return None
            plain = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
            return jsonrpc_message_adapter.validate_python(plain)
        except (ValueError, RecursionError):
            return refused("a message that cannot be read") if b'"jsonrpc"' in line else None

    async def hear() -> None:
        long = False
        async with heard:
            while True:
                try:
                    line = await stdout.readuntil()
                except (IncompleteReadError, ConnectionError):
                    return
                except LimitOverrunError as error:
                    await stdout.readexactly(error.consumed)
                    long = True
                    continue
                await asyncio.sleep(0)  # lines that are there already must not keep others waiting
                if not line.strip() and not long:
                    continue
                message = refused(f"more than {LONGEST_LINE:,} bytes at once") if long else read(line)
                long = False
                if isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
                    message.error.code = REFUSED  # the server says so itself, and goes on
                listed = getattr(message, "result", None) or {}
                if isinstance(listed.get("tools"), list):
                    listed["tools"] = [_tool(described) for described in listed["tools"]]
                if message is not None:
                    with suppress(anyio.BrokenResourceError):
                        await heard.send(SessionMessage(message))

    async def send() -> None:
        async with sent:
            async for one in sent:
                if isinstance(one.message, JSONRPCRequest):
                    last[0] = one.message.id
                stdin.write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                with suppress(ConnectionError):
                    await stdin.drain()

    async with anyio.create_task_group() as group:
        group.start_soon(hear)
        group.start_soon(send)
        try:
            yield messages, sending
        finally:
            group.cancel_scope.cancel()
    for stream in (messages, sending):
        stream.close()


def _answered(error: BaseException) -> bool:
    """Whether the server itself refused a call, and goes on."""
    from mcp import MCPError
    from mcp.types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.error.code != CONNECTION_CLOSED


def _reason(error: BaseException, timeout: float) -> str:
    """Why a server gave nothing, in one line."""
    from mcp import MCPError

    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"the server did not answer within {timeout:g} seconds and was ended"
    if isinstance(error, MCPError) and _answered(error):
        return one_line(without_keys(error.error.message))[:LONGEST_DESCRIPTION]
    if isinstance(error, OSError):
        return f"the server does not start ({error.strerror or error})"
    if isinstance(error, MCPError):
        return "the server has ended"
    said = str(error)
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"the server does not speak MCP ({one_line(said)[:200]})"


WRONG = {"type": "object", "$comment": "this tool is described wrongly"}
"""Stands where a schema is none: one bad entry must not spoil the list of all tools."""


def _tool(described: Any) -> Any:
    """A tool as its server describes it; one that is described wrongly has a schema that is left out by its name."""
    from mcp import types

    with suppress(ValidationError):
        if types.Tool.model_validate(described).input_schema.get("type") == "object":
            return described
    name = described.get("name") if isinstance(described, dict) else None
    return {"name": name if isinstance(name, str) else "?", "inputSchema": WRONG}


def _offer(listed: Sequence[Any], taken: set[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The tools that a model is told of, under names that any model takes, and why others are left out."""
    offered: list[dict[str, Any]] = []
    left_out: list[str] = []
    size = 0
    for tool in listed:
        shown = one_line(without_keys(str(tool.name)))[:LONGEST_NAME]
        schema = orjson.dumps(tool.input_schema) if _is_schema(tool.input_schema) else b""
        if schema.decode() != without_keys(schema.decode()) or tool.name != without_keys(tool.name):
            left_out.append(f"{shown}: its name or schema holds a key of the environment")
            continue
        if not schema or len(schema) > LONGEST_SCHEMA or len(tool.name) > LONGEST_SCHEMA:
            left_out.append(f"{shown}: its schema is none of an object, or has more than {LONGEST_SCHEMA:,} bytes")
            continue
        name = _free_name(tool.name, taken)
        told = escaped(" ".join(without_keys(tool.description or "").split()))[:LONGEST_DESCRIPTION]
        size += len(schema) + len(name) + len(told)
        if len(offered) == MOST_TOOLS or size > LONGEST_OFFER:
            left_out.append(f"{shown} and all after it: more than {MOST_TOOLS} tools or {LONGEST_OFFER:,} characters")
            break
        taken.add(name)
        offered.append({"name": name, "tool": tool.name, "description": told, "schema": orjson.loads(schema)})
    return offered, left_out


def _is_schema(schema: Any) -> bool:
    try:
        return isinstance(schema, dict) and schema != WRONG and bool(orjson.dumps(schema))
    except TypeError:  # too deep, or texts that are none
        return False


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name of a tool as models take it, unlike all others.

    >>> _free_name("roll dice!", ()), _free_name("calculate", {"calculate"}), _free_name("../../x", ())
    ('roll_dice_', 'calculate_2', '______x')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[: LONGEST_NAME - 4] or "tool"
    number, free = 1, plain
    while free in taken:
        number += 1
        free = f"{plain}_{number}"
    return free


def _bounded(content: Sequence[Any]) -> str:
    """What a call gave back as text: of anything else the kind and the size, and of long texts the beginning."""
    parts = []
    for block in content:
        if block is None or isinstance(block, dict | list | str | int | float):
            parts.append("" if block is None else orjson.dumps(block, default=str).decode())
        elif getattr(block, "type", None) == "text":
            parts.append(block.text)
        else:
            kind = one_line(str(getattr(block, "mime_type", None) or getattr(block, "type", "")))[:60]
            parts.append(f"[{kind}: {len(getattr(block, 'data', '') or '')} characters, left out]")
    text = without_keys("\n".join(parts).encode(errors="replace").decode().replace("\0", "\ufffd"))
    if len(text) > LONGEST_RESULT:
        note = f"\n[cut: {len(text):,} characters]"
        text = text[: LONGEST_RESULT - len(note)] + note
    return text
