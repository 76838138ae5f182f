"""Replies of the test server: deterministic answers in the form that the prompt or request needs.

Words stand for tokens.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

_BRACKETED = re.compile(r"\[([^\[\]\n]{1,60})\]")
_QUOTED = re.compile(r'"([^"\n]{1,60})"')
_PLAIN = re.compile(r"(?:nothing else|nichts anderem|nada más|任何其他内容|ولا شيء غيره)(?:: |：)(.+?)[.。]?\s*$", re.S)
_BETWEEN = re.compile(r" or | oder | o | أو | 或 |, ")
_NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
# Lists and ranges in every language of the shipped prompts; other words of records are English.
_ONE_OF = re.compile(
    r'(?:one of|eines von|que es|وقيمته|值为) ((?:"[^"\n]{1,200}"(?:, | or | oder | o | أو |، |、| 或 )?)+)'
)
_FROM_TO = re.compile(rf"(?:from|von|de|من|从) {_NUMBER}(?: \([^)]*\))? (?:to|bis|a|إلى|到) {_NUMBER}")
_THIS_OR_THAT = re.compile(r"\b([0-9]+) if you .*?\b([0-9]+) if you")
_JOINT = re.compile(r"[\s,:]*(?:and )?")
_SUM = re.compile(r"(?:add up to|ergeben zusammen|suman|之和为|ومجموع القيم) 100[.。](.*)", re.S)
_EXAMPLE = re.compile(r'\{"[^{}]*\}')
_STATE = re.compile(r"_[123]_")
_LISTED = re.compile(r'^- "([^"\n]+)" \(', re.M)
_BLANKS = re.compile(r'\{\s*"[^{}]*"<[^{}]*\}\s*$')
_STUB = re.compile(r"^A: (\w+)\s*$", re.M)
_OFFERED = re.compile(r"^- (\w+): ", re.M)
_GRAMMAR = re.compile(r'"((?:[^"\\]|\\.)*)"')

STORY = (
    "The bridge over the gorge was older than both villages, and each spring the river took a little more of its "
    "northern pier. Mara kept the accounts of one village, Ilan those of the other, and both knew what the mason "
    "would ask. They met on the bank at dusk, walked the planks without a word, and looked at the water. Whatever "
    "they decided that night would be read aloud at home the next morning."
)
"""The reply to a request for a story, of an allowed length."""


def answer(body: dict[str, Any]) -> str:
    """Return the reply to a chat body: by the constraint, else by the form named in the last paragraph.

    >>> answer({"messages": [{"role": "user", "content": "Rules.\\n\\nValid answers: [A0] or [A1]."}]})
    '[A0]'
    >>> asked = 'One JSON object. It has one key, "message": your message, a text of at most 9 characters.'
    >>> answer({"messages": [{"role": "user", "content": asked}]})
    '{"message":"Noted."}'
    """
    prompt = prompt_of(body)
    draw = zlib.crc32(orjson.dumps(body.get("seed", 0)) + prompt.encode())
    if options := _constrained(body):
        return options[draw % len(options)]
    if (schema := schema_of(body)) is not None:
        return orjson.dumps(_fitting(schema, body, draw)).decode()
    if blanks := _BLANKS.search(prompt):
        return _filled(blanks[0], "\n".join(text_of(m.get("content")) for m in body["messages"]), draw)
    last = prompt.rstrip().rpartition("\n\n")[2]
    stub = _STUB.search(prompt, prompt.rstrip().rfind("\n") + 1)  # the beginning of the answer
    if stub and (labels := re.findall(rf"\b{stub[1]} ([A-Z0-9]\w*)", prompt)):
        return _one_of(labels, draw)
    options = list(dict.fromkeys(_BRACKETED.findall(last) or _BRACKETED.findall(prompt)))
    options = options[0].split(" or ") if len(options) == 1 else options
    if "JSON" in last:
        return _negotiated(last, draw) or _object(last, prompt, draw)
    plain = _PLAIN.search(last)
    if plain and not _BRACKETED.search(last):
        options = _BETWEEN.split(plain[1])
        return options[draw % len(options)]
    if not options:
        return "Noted."
    label = f"[{options[draw % len(options)]}]"
    return f"I weigh what each of us would gain.\n{label}" if "First think" in last else label


def _negotiated(last: str, draw: int) -> str | None:
    """Return an empty offer, or a reply to one; None if neither is asked for."""
    if '"payments": a list' in last:
        reply = {
            "message": "Noted.",
            "intend": [],
            "actions": {player: [] for player in dict.fromkeys(re.findall(r'"(player_[0-9]+)"', last))},
            "payments": [],
        }
        return orjson.dumps(reply).decode()
    if '"accept"' in last and '"intend"' in last:
        return orjson.dumps({"accept": draw % 2 == 0, "message": "Noted.", "intend": []}).decode()
    return None


def prompt_of(body: dict[str, Any]) -> str:
    """The last user message, whatever shape its content has."""
    if "prompt" in body:
        return str(body["prompt"])
    asked = (
        text_of(of.get("content"))
        for of in reversed(body.get("messages") or [])
        if of.get("role") == "user" and not _is_result(of)
    )
    return next(asked, "")


def _is_result(message: dict[str, Any]) -> bool:
    """Return whether a message holds tool results, in either API."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message.get("role") == "tool" or any(block.get("type") == "tool_result" for block in blocks)


def _wanted_call(body: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the tool call before the first answer; None if one was made or no tool is offered."""
    tools = body.get("tools") or []
    if not tools or any(_is_result(message) for message in body["messages"]):
        return None
    draw = zlib.crc32(prompt_of(body).encode())
    tool = tools[draw % len(tools)]
    tool = tool.get("function", tool)
    schema = tool.get("parameters") or tool.get("input_schema") or {}
    arguments = {"expression": "3 + 4 / 2"} if tool["name"] == "calculate" else instance(schema, draw)
    return tool["name"], arguments if isinstance(arguments, dict) else {}


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON schema that a request demands of the reply, in the format of either API; None without one."""
    places = (body.get("response_format"), (body.get("output_config") or {}).get("format"))
    stated = (of for of in places if isinstance(of, dict) and of.get("type") == "json_schema")
    return next(((of.get("json_schema") or of)["schema"] for of in stated), None)


def instance(schema: dict[str, Any], draw: int) -> Any:
    """Return a value of a plain JSON schema (enum, bounds, properties, items).

    >>> instance({"type": "object", "properties": {"x": {"type": "integer", "minimum": 3}}}, 0)
    {'x': 3}
    """
    if options := [schema["const"]] if "const" in schema else schema.get("enum"):
        return options[draw % len(options)]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        return {
            name: instance(part, draw // (n + 1)) for n, (name, part) in enumerate(schema.get("properties", {}).items())
        }
    if kind == "array":
        return [instance(schema.get("items", {}), draw + n) for n in range(schema.get("minItems", 1))]
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        return low + draw % (int(schema.get("maximum", low + 10) - low) + 1)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    text = "Noted." if least <= 6 else STORY
    return {"boolean": draw % 2 == 0, "null": None}.get(str(kind), text[:most])


def _fitting(schema: dict[str, Any], body: dict[str, Any], draw: int) -> Any:
    """Return a value of a schema that also meets rules beyond it: percentages sum to 100, amounts have steps."""
    parts = schema.get("properties", {})
    name = ((body.get("response_format") or {}).get("json_schema") or {}).get("name")
    most = (
        {key: part.get("maximum", 100) for key, part in parts.items()}
        if all(part.get("type") == "integer" and part.get("minimum") == 0 for part in parts.values())
        else {}
    )
    if name == "mixture" or (name is None and len(most) > 1 and max(most.values()) <= 100 <= sum(most.values())):
        return _mixture(list(parts), draw, most)
    if list(parts) == ["amount"]:
        bounds = parts["amount"]
        return {"amount": (bounds["minimum"], bounds["maximum"])[draw % 2]}
    return instance(schema, draw)


def _constrained(body: dict[str, Any]) -> Sequence[str]:
    choices = (body.get("structured_outputs") or {}).get("choice") or body.get("guided_choice")
    if choices:
        return list(choices)
    # Only grammars that list plain texts: root ::= "a" | "b".
    return [re.sub(r"\\(.)", r"\1", text) for text in _GRAMMAR.findall(body.get("grammar") or "")]


def _object(question: str, prompt: str, draw: int) -> str:
    """Return the JSON object of an instruction: its example, percentages, or a value for every named key.

    >>> _object('One JSON object. Keys: "action", a whole number from 0 to 10, and "why", a text.', "", 1)
    '{"action":10,"why":"Noted."}'
    >>> _object('A JSON object. Keys: "a", "b"; each value is true if you accept.', "", 2)
    '{"a":true,"b":false}'
    """
    if example := _EXAMPLE.search(question):
        return example[0]
    if bounds := _SUM.search(question):
        keys = list(dict.fromkeys(_QUOTED.findall(question[: bounds.start()])))
        caps = {key: re.search(re.escape(key) + r"\D{1,20}?([0-9]+)", bounds[1]) for key in keys}
        return orjson.dumps(_mixture(keys, draw, {key: int(cap[1]) for key, cap in caps.items() if cap})).decode()
    return orjson.dumps(
        {
            key: values[draw // n % len(values)]
            for n, (key, values) in enumerate(_keys(question, _LISTED.findall(prompt)).items(), 1)
        }
    ).decode()


def _filled(blanks: str, dialogue: str, draw: int) -> str:
    """Return a JSON object with its blanks filled in: capitals by a listed option, others by a text.

    >>> _filled('{"action": "<KEY>", "why": "<short>"}', "Choose:\\n- STAY: wait\\n- GO: leave", 1)
    '{"action":"GO","why":"Noted."}'
    """
    option = _one_of(_OFFERED.findall(dialogue), draw)
    return orjson.dumps(
        {key: option if str(blank).isupper() else "Noted." for key, blank in orjson.loads(blanks).items()}
    ).decode()


def _one_of(options: Sequence[str], draw: int) -> str:
    different = list(dict.fromkeys(options)) or ["Noted."]
    return different[draw % len(different)]


def _keys(question: str, listed: Sequence[str]) -> dict[str, list[Any]]:
    """Return the keys that an instruction names, each with some allowed values.

    Keys in a row share the values that are named after the last of them; if none are named there, those that are named
    before the first key.
    """
    lists = [names.span(1) for names in _ONE_OF.finditer(question)]
    quoted = [
        key
        for key in _QUOTED.finditer(question)
        if not any(start <= key.start() < end for start, end in lists)
        and not question.endswith(" take ", 0, key.start())  # the name of an option, not a key
    ]
    ends = [key.start() for key in quoted[1:]] + [len(question)]
    values: list[Any] = []
    samples: dict[str, list[Any]] = {}
    for key, end in zip(reversed(quoted), reversed(ends), strict=True):
        clause = question[key.end() : end]
        if not _JOINT.fullmatch(clause):
            values = _values(clause, listed) or _values(question[: quoted[0].start()], listed)
        samples.setdefault(key[1], values or [STORY if key[1] == "narrative" else "Noted."])
    names = (key[1].replace("_n_", f"_{n}_") for key in quoted for n in (1, 2, 3))
    return {name: samples.get(name) or samples[_STATE.sub("_n_", name)] for name in names}


def _values(clause: str, listed: Sequence[str]) -> list[Any]:
    """Return some values that a clause allows; empty if it asks for a text."""
    if names := _ONE_OF.search(clause):
        return _QUOTED.findall(names[1])
    if "true if" in clause:
        return [True, False]
    if " the list of " in clause:
        return [[name] for name in listed] or [[]]
    if bounds := _FROM_TO.search(clause) or _THIS_OR_THAT.search(clause):
        return [orjson.loads(bounds[1]), orjson.loads(bounds[2])]
    return []


def _mixture(keys: Sequence[str], draw: int, caps: Mapping[str, int]) -> dict[str, int]:
    """Whole percentages under their caps that sum to 100.

    >>> _mixture(["a", "b"], 7, {}), _mixture(["a", "b"], 7, {"b": 30})
    ({'a': 43, 'b': 57}, {'a': 70, 'b': 30})
    """
    shares = [100 // len(keys)] * len(keys)
    shares[0] -= draw % (shares[0] + 1)
    shares[-1] += 100 - sum(shares)
    shares = [min(share, caps.get(key, 100)) for key, share in zip(keys, shares, strict=True)]
    for n, key in enumerate(keys):
        shares[n] += min(caps.get(key, 100) - shares[n], 100 - sum(shares))
    return dict(zip(keys, shares, strict=True))


def openai_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """Return a chat completion in OpenAI's format; words stand for tokens."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    if (call := _wanted_call(body)) is not None:
        function = {"name": call[0], "arguments": orjson.dumps(call[1]).decode()}
        choice["message"] = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        }
        choice["finish_reason"] = "tool_calls"
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [_first_token(text, int(body.get("top_logprobs") or 0))]}
    words = sum(str(message.get("content")).count(" ") + 1 for message in body.get("messages") or [])
    written = text.count(" ") + 1 if text else 0
    return {
        "id": f"chatcmpl-{zlib.crc32(text.encode()):08x}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [choice],
        "usage": {"prompt_tokens": words, "completion_tokens": written, "total_tokens": words + written},
    }


def completion_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """Return a text completion in OpenAI's older format."""
    choice: dict[str, Any] = {"index": 0, "text": text, "finish_reason": finish}
    if body.get("logprobs"):
        entries = _first_token(text, int(body["logprobs"]))["top_logprobs"]
        choice["logprobs"] = {"top_logprobs": [{entry["token"]: entry["logprob"] for entry in entries}]}
    words, written = str(body["prompt"]).count(" ") + 1, text.count(" ") + 1 if text else 0
    return {
        "id": f"cmpl-{zlib.crc32(text.encode()):08x}",
        "object": "text_completion",
        "model": body.get("model"),
        "choices": [choice],
        "usage": {"prompt_tokens": words, "completion_tokens": written, "total_tokens": words + written},
    }


def anthropic_document(body: dict[str, Any], text: str, finish: str = "stop") -> dict[str, Any]:
    """Return a message in Anthropic's format."""
    words = sum(text_of(message.get("content")).count(" ") + 1 for message in body.get("messages") or [])
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
    stop = "max_tokens" if finish == "length" else "end_turn"
    if (call := _wanted_call(body)) is not None:
        blocks, stop = [{"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}], "tool_use"
    return {
        "id": f"msg_{zlib.crc32(text.encode()):08x}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": blocks,
        "stop_reason": stop,
        "usage": {"input_tokens": words, "output_tokens": text.count(" ") + 1 if text else 0},
    }


def _first_token(text: str, top: int) -> dict[str, Any]:
    token = text.split(" ")[0]
    others = [{"token": f"~{n}", "logprob": -2.0 - n} for n in range(1, top)]
    return {"token": token, "logprob": -0.2, "top_logprobs": [{"token": token, "logprob": -0.2}, *others][:top]}


def text_of(content: Any) -> str:
    """The text of a message, whatever shape its content has."""
    return "".join(str(part.get("text", "")) for part in content) if isinstance(content, list) else str(content)
