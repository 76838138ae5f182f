"""Grammars in the notation of llama.cpp (GBNF)."""

from __future__ import annotations

from collections.abc import Iterable

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def choice_grammar(choices: Iterable[str]) -> str:
    r"""A grammar whose only texts are the choices.

    >>> choice_grammar(["[A0]", 'say "no"'])
    'root ::= "[A0]" | "say \\"no\\""'
    """
    return "root ::= " + " | ".join(f'"{_escaped(choice)}"' for choice in choices)


def _escaped(text: str) -> str:
    return "".join(
        _ESCAPES.get(c) or (c if c.isprintable() else f"\\x{ord(c):02X}" if ord(c) < 256 else c) for c in text
    )
