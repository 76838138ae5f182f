"""Built-in tools that a model may call before it answers: exact arithmetic, a notebook, a look at the past.

A built-in tool is a pure function of what its player may know and of the tool calls of that player before in the match;
tools of an MCP server are in ``tool_servers``. Calls and results are questions within a decision: journaled, and never
asked for again.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any, ClassVar, TypeAlias

from ostrom.agents.base import DecisionContext
from ostrom.games.parameters import shown
from ostrom.ground.registry import Registry
from ostrom.mechanisms.base import closed_object, seat_key
from ostrom.mechanisms.protocol import Round, View
from ostrom.models.asking import arguments_of
from ostrom.models.base import ToolSpec

LONGEST_RESULT = 4000
LONGEST_NOTE = 2000
LONGEST_EXPRESSION, MOST_DIGITS, MOST_POWER = 500, 400, 200
MOST_ROUNDS = 100


class ToolFailed(ValueError):
    """Raised for a tool call that fails; the model reads the reason."""


@dataclass(frozen=True)
class Scene:
    """What a tool may know: what its player sees, how its options are called, and earlier calls of the player."""

    view: View
    labels: Mapping[str, str]
    earlier: Sequence[Mapping[str, Any]] = ()

    @property
    def options(self) -> list[str]:
        """Return the labels of the player's options, in the order of the game; empty if not shown."""
        names = () if not self.view.game.has_table else self.view.game.actions[self.view.seat]
        return [self.labels[name] for name in names if name in self.labels]

    @property
    def alike(self) -> bool:
        """Return whether all seats have equally many actions, so that one seat's labels name those of all."""
        return len({len(names) for names in self.view.game.actions}) == 1


Functions: TypeAlias = list[tuple[ToolSpec, Callable[..., str | Awaitable[str]]]]
"""The specification of each function for the model, and its implementation."""


class Tool(ABC):
    """What a study names in ``agent.tools``: one function or several."""

    name: ClassVar[str]
    unknown: ClassVar[int] = 0
    """The most characters of specifications that are unknown before play."""

    async def prepare(self, context: DecisionContext, used_names: Collection[str]) -> None:  # noqa: B027
        """Prepare the functions; ``used_names`` are those of other tools."""

    @abstractmethod
    def functions(self, scene: Scene) -> Functions:
        """The functions that the model is offered, and what each of them does."""


class Calculator(Tool):
    """Exact arithmetic, and what a profile of actions pays on average."""

    name: ClassVar[str] = "calculator"

    def functions(self, scene: Scene) -> Functions:
        """Return arithmetic, and expected payoffs if the options are shown and all seats have equally many actions."""
        text = {"type": "string", "description": "numbers, + - * / ** and parentheses"}
        calculate = ToolSpec(
            "calculate", "Compute an arithmetic expression exactly.", closed_object({"expression": text})
        )
        offered: Functions = [(calculate, calculated)]
        game = scene.view.game
        if scene.options and scene.alike:
            labels = ", ".join(scene.options)
            chances = {"type": "object", "description": f"percentages of {labels} that add up to 100"}
            expected = ToolSpec(
                "expected_payoffs",
                "Compute what each player receives on average if the players choose with these percentages. "
                f"You are {seat_key(scene.view.seat)}.",
                closed_object({seat_key(seat): chances for seat in range(game.seats)}),
            )
            offered.append((expected, lambda **beliefs: _expected(scene, beliefs)))
        return offered


class Notebook(Tool):
    """A private notebook that lasts for the match."""

    name: ClassVar[str] = "notes"

    def functions(self, scene: Scene) -> Functions:
        """Return the functions that write a note and read all notes."""
        notes = [
            str((arguments_of(call["arguments"]) or {}).get("text", ""))
            for call in scene.earlier
            if call["tool"] == "write_note" and not call["failed"]
        ]
        text = {"type": "string", "description": f"at most {LONGEST_NOTE} characters"}

        def write(text: Any) -> str:
            if not isinstance(text, str) or len(text) > LONGEST_NOTE:
                raise ToolFailed(f"a note is a text of at most {LONGEST_NOTE} characters")
            return f"kept as note {len(notes) + 1}"

        def read() -> str:
            return "\n".join(f"{n}. {note}" for n, note in enumerate(notes, 1)) or "there are no notes"

        keep = "Keep a private note for the rest of the match."
        return [
            (ToolSpec("write_note", keep, closed_object({"text": text})), write),
            (ToolSpec("read_notes", "Read all notes that you have kept.", closed_object({})), read),
        ]


class LookBack(Tool):
    """A look at any round that the player has seen, whatever its memory shows."""

    name: ClassVar[str] = "past"

    def functions(self, scene: Scene) -> Functions:
        """Return the function that shows the rounds from one number to another."""
        number = {"type": "integer", "minimum": 1}
        spec = ToolSpec(
            "look_back",
            f"See what was done and received in earlier rounds, at most {MOST_ROUNDS} at a time.",
            closed_object({"first": number, "last": number}),
        )
        return [(spec, lambda first, last: _looked_back(scene, first, last))]


tools: Registry[Tool] = Registry(
    "tool",
    "ostrom.agents.tools",
    "TOOL",
    "ostrom.tools",
    code="ostrom.ground.python_files",
    table={
        "calculator": "ostrom.agents.tools:Calculator",
        "notes": "ostrom.agents.tools:Notebook",
        "past": "ostrom.agents.tools:LookBack",
        "mcp": "ostrom.agents.tool_servers:ToolServer",
    },
)


async def offered(boxes: Sequence[Tool], scene: Scene, context: DecisionContext) -> tuple[ToolSpec, ...]:
    """Return the specifications of all functions, with unique names."""
    for box in boxes:
        await box.prepare(
            context, [spec.name for other in boxes if other is not box for spec, _ in other.functions(scene)]
        )
    return tuple(spec for box in boxes for spec, _ in box.functions(scene))


async def used(boxes: Sequence[Tool], scene: Scene, name: str, arguments: str) -> tuple[str, bool]:
    """Return the result of a call, and whether it failed; model input never ends a match."""
    functions = {spec.name: run for box in boxes for spec, run in box.functions(scene)}
    values = arguments_of(arguments)
    try:
        if name not in functions:
            raise ToolFailed(f"there is no tool {name[:60]!r} (there are: {', '.join(functions)})")
        if values is None:
            raise ToolFailed("the arguments are not a JSON object")
        result = functions[name](**values)
        return (result if isinstance(result, str) else await result)[:LONGEST_RESULT], False
    except ToolFailed as failure:
        return f"error: {failure}", True
    except TypeError:
        return f"error: {name[:60]} has other arguments", True


def calculated(expression: Any) -> str:
    """The exact value of an expression.

    >>> calculated("(3 + 1/3) * 2"), calculated("2**10")
    ('20/3 (about 6.66666667)', '1024')
    """
    if not isinstance(expression, str) or len(expression) > LONGEST_EXPRESSION:
        raise ToolFailed(f"an expression is a text of at most {LONGEST_EXPRESSION} characters")
    try:
        number = _value(ast.parse(expression.strip().replace("^", "**"), mode="eval").body)
    except ZeroDivisionError:
        raise ToolFailed("a division by 0") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise (error if isinstance(error, ToolFailed) else ToolFailed("this is no arithmetic expression")) from None
    return str(number.numerator) if number.denominator == 1 else f"{number} (about {float(number):.9g})"


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=bool()):
            raise ToolFailed("only numbers are allowed")
        case ast.Constant(value=int() | float() as number):
            return _small(Fraction(str(number)))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return _value(inner)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _value(left), _value(right)
            if power.denominator != 1 or abs(power) > MOST_POWER:
                raise ToolFailed(f"a power is a whole number of at most {MOST_POWER}")
            if max(len(str(base.numerator)), len(str(base.denominator))) * abs(power) > MOST_DIGITS:
                raise ToolFailed(f"a number has more than {MOST_DIGITS} digits")
            return base ** int(power)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            compute = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}[type(op)]
            return _small(compute(_value(left), _value(right)))
    raise ToolFailed("only numbers, + - * / ** and parentheses are allowed")


def _small(number: Fraction) -> Fraction:
    if max(abs(number.numerator), number.denominator).bit_length() > 4 * MOST_DIGITS:
        raise ToolFailed(f"a number has more than {MOST_DIGITS} digits")
    return number


def _expected(scene: Scene, beliefs: Mapping[str, Any]) -> str:
    game, options = scene.view.game, scene.options
    mixtures = []
    for seat in range(game.seats):
        stated = beliefs.get(seat_key(seat))
        stated = {stated: 100} if isinstance(stated, str) else stated
        numbers = isinstance(stated, dict) and all(
            isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 100
            for share in stated.values()
        )
        if not isinstance(stated, dict) or not numbers or not set(stated) <= set(options):
            raise ToolFailed(f"{seat_key(seat)} needs percentages of {', '.join(options)}")
        shares = [Fraction(str(stated.get(option, 0))) for option in options]
        if sum(shares) != 100:
            raise ToolFailed(
                f"the percentages of {seat_key(seat)} add up to {shown(float(sum(shares)))} and not to 100"
            )
        mixtures.append([float(share / 100) for share in shares])
    return ", ".join(
        f"{seat_key(seat)}: {shown(round(value, 9))}" for seat, value in enumerate(game.expected(mixtures))
    )


def _looked_back(scene: Scene, first: Any, last: Any) -> str:
    view = scene.view
    if not all(type(number) is int for number in (first, last)) or not 1 <= first <= last:
        raise ToolFailed("first and last are whole numbers from 1 on, first not above last")
    if last - first >= MOST_ROUNDS:
        raise ToolFailed(f"at most {MOST_ROUNDS} rounds at a time")
    lines = [
        f"round {played.number}: {', '.join(_moves(scene, played))}"
        for played in view.history
        if first <= played.number <= last and not played.void
    ]
    return "\n".join(lines) or "no such round has been played"


def _moves(scene: Scene, played: Round) -> Iterator[str]:
    for seat, (place, paid) in enumerate(zip(played.actions, played.payoffs, strict=True)):
        who = "you" if seat == scene.view.seat else seat_key(seat)
        yield f"{who} {_label(scene, seat, place)} ({shown(round(paid, 9))})"


def _label(scene: Scene, seat: int, place: int) -> str:
    options = scene.options
    return options[place] if options and scene.alike else str(scene.view.game.actions[seat][place])
