"""What the test server of 0.1 answered: the models that the kept runs were made with go on with the same replies."""

import re
import zlib
from collections.abc import Sequence
from typing import Any

import orjson

_BRACKETED = re.compile(r"\[([^\[\]\n]{1,60})\]")
_QUOTED = re.compile(r'"([^"\n]{1,60})"')
_PLAIN = re.compile(r"nothing else: (.+?)\.?\s*$", re.S)
_TEXT = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\ba text\b')
_ONE_OF = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\bone of ((?:"[^"\n]{1,60}"(?:, | or )?)+)')
_FROM_TO = re.compile(r'"([^"\n]{1,60})"[^"\n]*?\bnumber from (-?[0-9][0-9.]*) to (-?[0-9]+(?:\.[0-9]+)?)')
_GRAMMAR = re.compile(r'"((?:[^"\\]|\\.)*)"')


def answer(body: dict[str, Any]) -> str:
    """The text of the reply to a chat body: constraint first, then the form named in the last paragraph.

    >>> answer({"messages": [{"role": "user", "content": "Rules.\\n\\nValid answers: [A0] or [A1]."}]})
    '[A0]'
    >>> asked = 'One JSON object. It has one key, "message": your message, a text of at most 9 characters.'
    >>> answer({"messages": [{"role": "user", "content": asked}]})
    '{"message":"Noted."}'
    """
    prompt = prompt_of(body)
    draw = zlib.crc32(orjson.dumps(body.get("seed", 0)) + prompt.encode())
    options = _constrained(body)
    if options:
        return options[draw % len(options)]
    schema = schema_of(body)
    if schema is not None:
        return orjson.dumps(instance(schema, draw)).decode()
    last = prompt.rstrip().rpartition("\n\n")[2]
    options = list(dict.fromkeys(_BRACKETED.findall(last))) or list(dict.fromkeys(_BRACKETED.findall(prompt)))
    if "JSON" in last and (texts := _TEXT.findall(last)):
        return _record(texts, last, draw)
    if "JSON" in last:
        return _mixture(list(dict.fromkeys(_QUOTED.findall(last))), draw)
    plain = _PLAIN.search(last)
    if plain and not _BRACKETED.search(last):
        options = re.split(r" or |, ", plain[1])
        return options[draw % len(options)]
    if not options:
        return "Noted."
    label = f"[{options[draw % len(options)]}]"
    return f"I weigh what each of us would gain.\n{label}" if "First think" in last else label


def prompt_of(body: dict[str, Any]) -> str:
    """The last user message, whatever shape its content has."""
    if "prompt" in body:
        return str(body["prompt"])
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema that the request holds the reply to, on either wire."""
    for place in (body.get("response_format"), (body.get("output_config") or {}).get("format")):
        if isinstance(place, dict) and place.get("type") == "json_schema":
            schema: dict[str, Any] = (place.get("json_schema") or place)["schema"]
            return schema
    return None


def instance(schema: dict[str, Any], draw: int) -> Any:
    """Some value that satisfies a plain JSON schema (enum, bounds, properties, items).

    >>> instance({"type": "object", "properties": {"x": {"type": "integer", "minimum": 3}}}, 0)
    {'x': 3}
    """
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][draw % len(schema["enum"])]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        items = schema.get("properties", {}).items()
        return {name: instance(part, draw // (n + 1)) for n, (name, part) in enumerate(items)}
    if kind == "array":
        return [instance(schema.get("items", {}), draw + n) for n in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        high = schema.get("maximum", low + 10)
        return low + draw % (int(high - low) + 1)
    return {"boolean": draw % 2 == 0, "null": None}.get(str(kind), "Noted.")


def _constrained(body: dict[str, Any]) -> Sequence[str]:
    choices = (body.get("structured_outputs") or {}).get("choice") or body.get("guided_choice")
    if choices:
        return list(choices)
    # Only grammars that list plain texts: root ::= "a" | "b".
    return [re.sub(r"\\(.)", r"\1", text) for text in _GRAMMAR.findall(body.get("grammar") or "")]


def _record(texts: Sequence[str], asked: str, draw: int) -> str:
    """An object with a text at each of these keys, and one of the names, or of the bounds, that are told for a key.

    >>> _record(["why"], 'Keys: "action", a whole number from 0 to 10, and "why", a text.', 1)
    '{"action":10,"why":"Noted."}'
    """
    picked: dict[str, list[Any]] = {key: _QUOTED.findall(names) for key, names in _ONE_OF.findall(asked)}
    picked |= {key: [orjson.loads(low), orjson.loads(high)] for key, low, high in _FROM_TO.findall(asked)}
    chosen = {key: values[draw % len(values)] for key, values in picked.items()}
    return orjson.dumps(chosen | dict.fromkeys(texts, "Noted.")).decode()


def _mixture(keys: list[str], draw: int) -> str:
    """Whole percentages that sum to 100."""
    if not keys:
        return "{}"
    shares = [100 // len(keys)] * len(keys)
    shift = draw % (shares[0] + 1)
    shares[0] -= shift
    shares[-1] += 100 - sum(shares)
    return orjson.dumps(dict(zip(keys, shares, strict=True))).decode()


def text_of(content: Any) -> str:
    """The text of a message, whatever shape its content has."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)
