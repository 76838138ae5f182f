"""Grammars in the notations of llama.cpp: choices, and JSON that fits a schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


def choice_grammar(choices: Iterable[str]) -> str:
    r"""A grammar whose only texts are the choices.

    >>> choice_grammar(["[A0]", 'say "no"'])
    'root ::= "[A0]" | "say \\"no\\""'
    """
    return "root ::= " + " | ".join(f'"{_escaped(choice)}"' for choice in choices)


def schema_grammar(schema: Mapping[str, Any]) -> str:
    """A grammar of the JSON texts that fit a schema, made by the runtime itself.

    White space is fixed: a small model that may write as much of it as it likes spends its tokens on it.
    """
    from xllamacpp import json_schema_to_grammar

    return str(json_schema_to_grammar(json.dumps({**schema, "x-guidance": _SPACING})))


def _escaped(text: str) -> str:
    return "".join(
        _ESCAPES.get(c) or (c if c.isprintable() else f"\\x{ord(c):02X}" if ord(c) < 256 else c) for c in text
    )
