"""Prices of calls: by the user's table, else by genai-prices, else unknown (never zero)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.models.base import Usage
from ostrom.models.services import is_local

MILLION = 1_000_000
# Providers on the user's machine: a call costs nothing.
FREE = frozenset({"embedded", "scripted", "vllm", "transformers", "llama-server"})
BATCH_SHARES = {"openai": 0.5, "anthropic": 0.5, "groq": 0.5}
"""Published price shares of batches (platform.openai.com, docs.claude.com, console.groq.com/docs/batch)."""
# Services that have another name at genai-prices.
_THEIR_NAMES = {"moonshot": "moonshotai", "xai": "x-ai"}


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens. Without rates of their own, cached and kept tokens have the rate of input."""

    input: float
    output: float
    cached: float | None = None
    batch: float | None = None
    """The price of a batched call as a share; None for the service's published share."""
    kept: float | None = None
    """The rate of prompt tokens that the server writes into its cache."""

    def cost(self, usage: Usage) -> float | None:
        """The price of one call, or None if its tokens are not known.

        >>> Rates(input=1.0, output=2.0, cached=0.5).cost(Usage(input=1_000_000, output=1, cached=400_000))
        0.800002
        """
        if usage.input is None or usage.output is None:
            return None if self != NOTHING else 0.0
        cached = min(usage.cached or 0, usage.input)
        stored = min(usage.kept or 0, usage.input - cached)
        cheap = self.input if self.cached is None else self.cached
        dear = self.input if self.kept is None else self.kept
        fresh = usage.input - cached - stored
        return (fresh * self.input + cached * cheap + stored * dear + usage.output * self.output) / MILLION


NOTHING = Rates(0.0, 0.0, 0.0)
Table = Mapping[str, "Rates | Mapping[str, Any]"]


def price_of(model: str, usage: Usage, table: Table | None = None, *, batch: bool = False) -> float | None:
    """Return US dollars for one call, or for one in a batch (the usual price if its service states no other).

    None where no price is known.

    >>> price_of("embedded/smollm2-135m", Usage(input=10, output=5))
    0.0
    >>> price_of("openai/unheard-of", Usage(input=10, output=5)) is None
    True
    >>> price_of("lab/own", Usage(input=10, output=5), {"lab/own": {"input": 1, "output": 2}})
    2e-05
    """
    rates = rates_of(model, table)
    usd = _tiered(model, usage) if rates is None else rates.cost(usage)
    share = batch_share(model, rates) if batch else None
    return usd if usd is None or share is None else usd * share


def price_of_calls(
    model: str, calls: float, tokens_in: float, tokens_out: float, table: Table | None = None
) -> float | None:
    """Return US dollars for calls of this many (mean) tokens each; None if no price is known.

    >>> price_of_calls("lab/own", 10, 1.5, 0.5, {"lab/own": {"input": 1, "output": 2}})
    2.5e-05
    """
    rates = rates_of(model, table)
    if rates is not None:
        return calls * (tokens_in * rates.input + tokens_out * rates.output) / MILLION
    size = max(1, round(tokens_in))
    prompt, with_reply = (_tiered(model, Usage(size, out)) for out in (0, MILLION))
    if prompt is None or with_reply is None:
        return None
    return calls * (prompt * tokens_in / size + (with_reply - prompt) * tokens_out / MILLION)


def batch_share(model: str, rates: Rates | None = None) -> float | None:
    """Return the price of a batched call as a share; None if unknown.

    >>> batch_share("openai/gpt-4o-mini"), batch_share("lab/own"), batch_share("lab/own", Rates(1, 2, batch=0.8))
    (0.5, None, 0.8)
    """
    if rates is not None and (rates.batch is not None or rates == NOTHING):
        return 1.0 if rates.batch is None else rates.batch
    return BATCH_SHARES.get(model.partition("/")[0])


def rates_of(model: str, table: Table | None = None) -> Rates | None:
    """Return the flat rates of a model: the table's, zero for local models, else published ones."""
    if table is not None and model in table:
        entry = table[model]
        return entry if isinstance(entry, Rates) else read_rates(entry, model=model)
    return _table_rates(model)


def read_rates(entry: object, *, model: str, file: str | None = None) -> Rates:
    """One line of a price table: ``{input: 3, output: 15, cached: 0.3, kept: 3.75}``, in USD per million tokens."""
    allowed = ("input", "output", "cached", "kept", "batch")
    if not isinstance(entry, Mapping):
        raise StudyError("a price is a mapping", file=file, key=model, actual=entry, allowed=allowed)
    for key, value in entry.items():
        if key not in allowed:
            raise StudyError("unknown price", file=file, key=model, actual=key, allowed=allowed)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise StudyError("a price is a number of at least 0", file=file, key=f"{model}.{key}", actual=value)
    if not {"input", "output"} <= entry.keys():
        raise StudyError("needs a price for input and for output", file=file, key=model, actual=dict(entry))
    return Rates(**{key: float(value) for key, value in entry.items()})


def load_prices(path: str | Path) -> dict[str, Rates]:
    """A price table from a YAML file: model name to USD per million tokens."""
    from ostrom.ground.files import read_text_file
    from ostrom.ground.yaml import read_yaml

    file = str(path)
    if not isinstance(entries := read_yaml(read_text_file(path), file, numbers=False), dict):
        raise StudyError("must map model names to prices", file=file, actual=entries)
    return {str(model): read_rates(entry, model=str(model), file=file) for model, entry in entries.items()}


@lru_cache(maxsize=1024)
def _table_rates(model: str) -> Rates | None:
    if model.startswith(("http://", "https://")):
        return NOTHING if is_local(model) else None
    if model.partition("/")[0] in FREE:
        return NOTHING
    price = getattr(_published(model, Usage(1, 1)), "model_price", None)
    flat = [getattr(price, f"{name}_mtok", None) for name in ("input", "output", "cache_read", "cache_write")]
    if flat[0] is None or flat[1] is None or not all(rate is None or isinstance(rate, Decimal) for rate in flat):
        return None
    cached, stored = (None if rate is None else float(rate) for rate in flat[2:])
    return Rates(float(flat[0]), float(flat[1]), cached, kept=stored)


def _tiered(model: str, usage: Usage) -> float | None:
    """Return the price of a call under published prices that depend on the length of the prompt."""
    unknown = usage.input is None or usage.output is None or not _has_tiers(model)
    return None if unknown else float(_published(model, usage).total_price)


@lru_cache(maxsize=1024)
def _has_tiers(model: str) -> bool:
    return not model.startswith(("http://", "https://")) and _published(model, Usage(1, 1)) is not None


def _published(model: str, usage: Usage) -> Any:
    """Return the price of one call by genai-prices; None if unknown."""
    try:
        import genai_prices
    except ImportError:
        return None
    provider, _, rest = model.removeprefix("inspect/").partition("/")
    tokens = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached or 0,
        cache_write_tokens=usage.kept or 0,
    )
    try:
        return genai_prices.calc_price(tokens, rest, provider_id=_THEIR_NAMES.get(provider, provider))
    except LookupError:
        return None
