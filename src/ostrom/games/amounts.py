"""A set of amounts: the numbers from low to high in equal steps, never enumerated.

Actions stay indices, as everywhere: amount number i is low + i x step. The numbers are kept as whole multiples of a
power of ten, so names and values are exact, whatever the step.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, overload

from ostrom.ground.errors import GameError

MOST_DECIMALS = 9
MOST_AMOUNTS = 10**9
"""The most amounts of a set; a larger number is taken for a typing error."""
IDLE = "no_move"
"""The action of a seat without a decision in a round."""

Value = int | float | str
"""A move: an amount, or the name of an option."""


class Amounts(Sequence[str]):
    """The amounts from ``low`` to ``high`` in steps of ``step``, as a sequence of their names.

    ``few`` are the amounts among which a mixed strategy may be asked for. ``also`` are named options that follow the
    amounts, for a seat that does more than name an amount.

    >>> shares = Amounts(0, 1, 0.25)
    >>> len(shares), shares[1], shares.value(1), shares.index("0.75"), 0.3 in shares
    (5, '0.25', 0.25, 3, False)
    >>> Amounts(0, 100)
    Amounts(0, 100, 1)
    """

    __slots__ = ("_first", "_last", "_step", "also", "decimals", "few", "high", "levels", "low", "step")

    def __init__(
        self, low: float, high: float, step: float = 1, few: Iterable[float] = (), also: Sequence[str] = ()
    ) -> None:
        numbers = [_decimal(name, x) for name, x in (("low", low), ("high", high), ("step", step))]
        self.decimals = max(0, *(-int(n.normalize().as_tuple().exponent) for n in numbers))
        """How many decimals an amount may have."""
        if self.decimals > MOST_DECIMALS:
            raise GameError(f"amounts have at most {MOST_DECIMALS} decimals (found step {step!r})")
        self._first, self._last, self._step = (int(n.scaleb(self.decimals)) for n in numbers)
        if self._step <= 0 or self._last < self._first or (self._last - self._first) % self._step:
            raise GameError(
                "amounts need a step above 0 that leads from low to high "
                f"(found low {low!r}, high {high!r}, step {step!r})"
            )
        self.levels = (self._last - self._first) // self._step + 1
        """The number of amounts, without named options."""
        if self.levels > MOST_AMOUNTS:
            raise GameError(f"{self.levels} amounts are more than {MOST_AMOUNTS}")
        self.low, self.high, self.step = (self._plain(n) for n in (self._first, self._last, self._step))
        self.also = tuple(also)
        self.few = tuple(self.value(self.place(x)) for x in few)

    def value(self, index: int) -> int | float:
        """The amount at an index."""
        if not 0 <= index < self.levels:
            raise IndexError("no such amount")
        return self._plain(self._first + index * self._step)

    def has(self, amount: float) -> bool:
        """Whether an amount is in the set."""
        return self._at(amount) is not None

    def place(self, amount: float) -> int:
        """Return the index of an amount; one outside the set is refused."""
        at = self._at(amount)
        if at is None:
            raise GameError(f"{amount!r} is not an amount from {self.low} to {self.high} in steps of {self.step}")
        return at

    def nearest(self, amount: float) -> int | float:
        """Return the amount nearest to a number, the lower one of two.

        >>> Amounts(0, 10, 2).nearest(5), Amounts(0, 10).nearest(-3)
        (4, 0)
        """
        steps, rest = divmod(Decimal(repr(float(amount))).scaleb(self.decimals) - self._first, self._step)
        return self.value(min(max(int(steps) + (2 * rest > self._step), 0), self.levels - 1))

    def _at(self, amount: object) -> int | None:
        if isinstance(amount, bool) or not isinstance(amount, int | float | str):
            return None
        try:
            scaled = Decimal(amount if isinstance(amount, str) else repr(amount)).scaleb(self.decimals)
            steps, rest = divmod(scaled - self._first, self._step)
        except (InvalidOperation, ValueError):
            return None
        if rest or not 0 <= steps < self.levels:
            return None
        at = int(steps)
        return at if not isinstance(amount, str) or amount == str(self.value(at)) else None

    def _plain(self, scaled: int) -> int | float:
        if not self.decimals:
            return scaled
        amount = float(Decimal(scaled).scaleb(-self.decimals))
        return int(amount) if amount.is_integer() else amount

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if index < 0:
            index += len(self)
        return self.also[index - self.levels] if index >= self.levels else str(self.value(index))

    def __len__(self) -> int:
        return self.levels + len(self.also)

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return name in self.also or self._at(name) is not None

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:  # noqa: ARG002
        """The index of an amount or of a named option."""
        if value in self.also:
            return self.levels + self.also.index(value)
        at = self._at(value)
        if at is None:
            raise ValueError(f"{value!r} is not in {self!r}")
        return at

    def __repr__(self) -> str:
        more = "".join(f", {name}={part!r}" for name in ("few", "also") if (part := getattr(self, name)))
        return f"Amounts({self.low}, {self.high}, {self.step}{more})"

    def _key(self) -> tuple[Any, ...]:
        return (self.low, self.high, self.step, self.few, self.also)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amounts) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


Options = tuple[str, ...] | Amounts
"""The options of a seat: names, or amounts."""


def _decimal(name: str, number: object) -> Decimal:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise GameError(f"amounts: {name} must be a number (found {number!r})")
    exact = Decimal(repr(number))
    if not exact.is_finite():
        raise GameError(f"amounts: {name} must be a finite number (found {number!r})")
    return exact
