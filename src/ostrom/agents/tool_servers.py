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
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import orjson

from ostrom.agents.base import DecisionContext
from ostrom.agents.commands import LONGEST_LINE, Program, checked, start, without_keys, written
from ostrom.agents.tools import LONGEST_RESULT, Functions, Scene, Tool, ToolFailed
from ostrom.answers import Answer
from ostrom.ground.errors import InvalidAnswers, UsageError
from ostrom.ground.parameters import Gt, Le
from ostrom.ground.terminal import escaped, one_line
from ostrom.ground.version import __version__
from ostrom.models.base import ToolSpec

MOST_TOOLS, LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_SCHEMA, LONGEST_OFFER = 64, 64, 1000, 8000, 40_000
MOST_PAGES = 20
PROTOCOL = "2025-06-18"
"""The MCP version in use."""
OWN_NAMES = frozenset({"calculate", "expected_payoffs", "write_note", "read_notes", "look_back"})
"""Function names of built-in tools, which no server can replace."""
TOOL_LIST = "tool_list"
"""The kind of row that records a server's tools."""
logger = logging.getLogger("ostrom.tools")


class ToolServer(Tool):
    """The tools that a program of the study offers."""

    name: ClassVar[str] = "mcp"
    unknown: ClassVar[int] = LONGEST_OFFER + 100 * MOST_TOOLS  # the JSON that a client writes around each

    def __init__(self, command: Any, timeout: Annotated[float, Gt(0), Le(3600)] = 30.0) -> None:
        self.command, self.timeout = checked(command), float(timeout)
        digest = hashlib.blake2b(orjson.dumps(self.command), digest_size=4).hexdigest()
        self._part = f"{TOOL_LIST}.{digest}"
        self._offer: Sequence[dict[str, Any]] = ()
        self._connection: ServerSession | None = None

    async def prepare(self, context: DecisionContext, used_names: Collection[str]) -> None:
        """Fetch the server's tools; within a match they are fixed from the player's first decision on."""
        context.at_end(self.close)
        if not self._offer:
            earlier = context.earlier_answers(self._part)
            offer = earlier[0] if earlier else await context.answer_once(self._part, partial(self._listed, used_names))
            self._offer = offer.value["tools"]

    def functions(self, scene: Scene) -> Functions:  # noqa: ARG002
        """Return the specification of each offered tool, and the function that calls it."""
        return [
            (ToolSpec(tool["name"], tool["description"], tool["schema"]), partial(self._call, tool["tool"]))
            for tool in self._offer
        ]

    async def close(self) -> str:
        """End the process; return the end of its stderr."""
        connection, self._connection = self._connection, None
        return "" if connection is None else await connection.close()

    async def _listed(self, used_names: Collection[str]) -> Answer:
        """Return the server's tools for the journal; without them the match is not played."""
        try:
            async with asyncio.timeout(self.timeout):
                listed = await self._connected().tools()
        except UsageError:
            raise
        except Exception as error:
            raise InvalidAnswers(
                f"agent.tools: {written(self.command)}: {_reason(error, self.timeout)}{await self.close()}"
            ) from None
        offered, left_out = _offer(listed, {*used_names, *OWN_NAMES})
        if left_out and not offered:
            raise InvalidAnswers(f"agent.tools: {written(self.command)}: none of its tools can be used ({left_out[0]})")
        return Answer({"server": written(self.command), "tools": offered, "left_out": left_out})

    async def _call(self, tool: str, /, **arguments: Any) -> str:
        try:
            async with asyncio.timeout(self.timeout):
                content, failed = await self._connected().call(tool, arguments)
        except UsageError:
            raise
        except Exception as error:
            reason = _reason(error, self.timeout)
            if not isinstance(error, ServerRefused):  # it may hang or have ended: the next call restarts it
                logger.warning("%s: %s%s", written(self.command), reason, await self.close())
            raise ToolFailed(reason) from None
        if failed:
            raise ToolFailed(_bounded(content) or "the tool says no more")
        return _bounded(content)

    def _connected(self) -> ServerSession:
        if self._connection is None:
            self._connection = ServerSession(self.command)
        return self._connection


class ServerRefused(Exception):
    """Raised when the server refuses a request or writes an unreadable answer; the server keeps running."""


class ServerEnded(Exception):
    """Raised when the server has closed its output."""


class ServerSession:
    """A server process and the conversation with it, JSON-RPC in lines: one request at a time."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._program: Program | None = None
        self._number = 0

    async def tools(self) -> list[Any]:
        """The tools that the server lists."""
        tools, cursor = list[Any](), None
        for _ in range(MOST_PAGES):
            page = await self._request("tools/list", {} if cursor is None else {"cursor": cursor})
            if not isinstance(page.get("tools"), list):
                raise ValueError("tools/list: tools is no list")
            tools += map(_tool, page["tools"])
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or len(tools) > MOST_TOOLS:
                break
        return tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> tuple[list[str], bool]:
        """Return the texts of a tool result, and whether the server reports a failure."""
        result = await self._request("tools/call", {"name": tool, "arguments": arguments})
        blocks, structured = result.get("content") or [], result.get("structuredContent")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise ValueError("tools/call: content is no list of blocks")
        if not blocks and structured is not None:
            return [json.dumps(structured, ensure_ascii=False, separators=(",", ":"))], bool(result.get("isError"))
        return [_text(block) for block in blocks], bool(result.get("isError"))

    async def close(self) -> str:
        """End the process; return the end of its stderr."""
        if self._program is None:
            return ""
        await self._program.end()
        return await self._program.last_words()

    async def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a request; other messages are answered or ignored."""
        if self._program is None:
            self._program = await start(self._command)
            us = {"name": "ostrom", "version": __version__}
            try:
                await self._request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": us})
            except ServerRefused as error:
                raise ValueError(str(error)) from None
            self._send({"method": "notifications/initialized"})
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = await self._message()
            if "method" in message and "id" in message:
                unknown = {"error": {"code": -32601, "message": "no such method"}}
                self._send({"id": message["id"], **({"result": {}} if message["method"] == "ping" else unknown)})
            elif "method" not in message and message.get("id") == self._number:
                if (refusal := message.get("error")) is not None:
                    raise ServerRefused(str(refusal.get("message")) if isinstance(refusal, dict) else "it says no more")
                if not isinstance(message.get("result"), dict):
                    raise ValueError(f"{method}: result is no object")
                return dict(message["result"])

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._program is not None
        self._program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _message(self) -> dict[str, Any]:
        """The next message that the server writes."""
        assert self._program is not None
        stdout, long = self._program.stdout, False
        while True:
            try:
                line = await stdout.readuntil()
            except (IncompleteReadError, ConnectionError):
                raise ServerEnded from None
            except LimitOverrunError as error:
                await stdout.readexactly(error.consumed)
                long = True
                continue
            if long:
                raise ServerRefused(f"the server wrote more than {LONGEST_LINE:,} bytes at once")
            await asyncio.sleep(0)  # buffered lines must not keep others waiting
            try:
                message = json.loads(line) if line.strip() else None
                if isinstance(message, dict) and "jsonrpc" in message:  # invalid characters are replaced
                    plain: dict[str, Any] = json.loads(json.dumps(message, ensure_ascii=False).encode(errors="replace"))
                    return plain
            except (ValueError, RecursionError):
                if b'"jsonrpc"' in line:
                    raise ServerRefused("the server wrote a message that cannot be read") from None


def _reason(error: BaseException, timeout: float) -> str:
    """Explain in one line why a server gave no result."""
    match error:
        case TimeoutError():
            return f"the server did not answer within {timeout:g} seconds and was ended"
        case ServerRefused():
            return one_line(without_keys(str(error)))[:LONGEST_DESCRIPTION]
        case OSError():
            return f"the server does not start ({error.strerror or error})"
        case ServerEnded():
            return "the server has ended"
    return f"the server does not speak MCP ({one_line(str(error))[:200]})"


WRONG = {"type": "object", "$comment": "this tool is described wrongly"}
"""The replacement of an invalid schema: one bad entry must not spoil the list of tools."""


def _tool(described: Any) -> dict[str, Any]:
    """Return a tool as its server describes it; an invalid one gets the replacement schema."""
    tool = described if isinstance(described, dict) else {}
    name, schema, about = tool.get("name"), tool.get("inputSchema"), tool.get("description")
    fits = isinstance(schema, dict) and schema.get("type") == "object"
    return {
        "name": name if isinstance(name, str) else "?",
        "schema": schema if fits and isinstance(name, str) and isinstance(about, str | None) else WRONG,
        "description": about if isinstance(about, str) else "",
    }


def _text(block: Mapping[str, Any]) -> str:
    """Return a block of a result as text; for other content its kind and size."""
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    kind = one_line(str(block.get("mimeType") or block.get("type") or ""))[:60]
    return f"[{kind}: {len(str(block.get('data') or ''))} characters, left out]"


def _offer(listed: Sequence[Any], used_names: set[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the tools for a model under allowed names, and why others are left out."""
    offered: list[dict[str, Any]] = []
    left_out: list[str] = []
    size = 0
    for tool in listed:
        label = one_line(without_keys(tool["name"]))[:LONGEST_NAME]
        schema = orjson.dumps(tool["schema"]) if _is_schema(tool["schema"]) else b""
        if schema.decode() != without_keys(schema.decode()) or tool["name"] != without_keys(tool["name"]):
            left_out.append(f"{label}: its name or schema holds a key of the environment")
            continue
        if not schema or len(schema) > LONGEST_SCHEMA or len(tool["name"]) > LONGEST_SCHEMA:
            left_out.append(f"{label}: its schema is none of an object, or has more than {LONGEST_SCHEMA:,} bytes")
            continue
        name = _free_name(tool["name"], used_names)
        description = escaped(" ".join(without_keys(tool["description"]).split()))[:LONGEST_DESCRIPTION]
        size += len(schema) + len(name) + len(description)
        if len(offered) == MOST_TOOLS or size > LONGEST_OFFER:
            left_out.append(f"{label} and all after it: more than {MOST_TOOLS} tools or {LONGEST_OFFER:,} characters")
            break
        used_names.add(name)
        offered.append({"name": name, "tool": tool["name"], "description": description, "schema": orjson.loads(schema)})
    return offered, left_out


def _is_schema(schema: Any) -> bool:
    try:
        return isinstance(schema, dict) and schema != WRONG and bool(orjson.dumps(schema))
    except TypeError:  # too deep, or invalid texts
        return False


def _free_name(name: str, used_names: Collection[str]) -> str:
    """Return a tool's name in the form that models accept, unlike all others.

    >>> _free_name("roll dice!", ()), _free_name("calculate", {"calculate"}), _free_name("../../x", ())
    ('roll_dice_', 'calculate_2', '______x')
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[: LONGEST_NAME - 4] or "tool"
    number, free = 1, plain
    while free in used_names:
        number += 1
        free = f"{plain}_{number}"
    return free


def _bounded(texts: Sequence[str]) -> str:
    """Return a tool result as one text, truncated if long."""
    text = without_keys("\n".join(texts).replace("\0", "\ufffd"))
    if len(text) > LONGEST_RESULT:
        note = f"\n[cut: {len(text):,} characters]"
        text = text[: LONGEST_RESULT - len(note)] + note
    return text
