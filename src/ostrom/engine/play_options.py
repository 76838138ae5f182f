"""The options of play, declared once for the command line, Python, the executors and `resume`.

Nothing here changes what is played. An option with a declaration is one of the command line (``--max-connections``) and
of ``ostrom.play`` (``max_connections=``), with the same default and the same bounds; the others are for Python alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.engine.plan import Budget

EXECUTORS = ("local", "ray")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of an option: type, help text and whether it is recorded."""

    kind: Any
    """The type of its value on the command line: int, float, str, bool, Path or list[str]."""
    help: str
    least: int | None = None
    flag: str | None = None
    """The spelling of the option, if it is not ``--name``."""
    metavar: str | None = None
    recorded: bool = False
    """Whether the option is stored with a run and used on resume."""
    foreign: bool = False
    """Whether the option points outside the run folder: if recorded, it must still be given again on resume."""


def _as(kind: Any, help: str, **more: Any) -> dict[str, Declaration]:
    return {"declaration": Declaration(kind, help, **more)}


@dataclass(frozen=True)
class PlayOptions:
    """The options of play: limits, budget, prices, cache, executor and retries.

    >>> PlayOptions(max_connections=8, budget_usd=5).stated()
    {'budget_usd': 5, 'max_connections': 8}
    """

    limit: int | None = field(default=None, metadata=_as(int, "Play at most so many matches now.", least=0))
    budget_usd: float | None = field(default=None, metadata=_as(float, "Spend at most so many US dollars.", least=0))
    budget_calls: int | None = field(default=None, metadata=_as(int, "Make at most so many calls.", least=0))
    budget_tokens: int | None = field(default=None, metadata=_as(int, "Use at most so many tokens.", least=0))
    max_connections: int | None = field(
        default=None, metadata=_as(int, "At most so many calls in flight per model.", least=1, recorded=True)
    )
    prompts: Path | None = field(default=None, metadata=_as(Path, "A folder whose files replace prompts."))
    prices: Path | Mapping[str, Any] | None = field(
        default=None, metadata=_as(Path, "A YAML file with prices per million tokens.", recorded=True, foreign=True)
    )
    cache: Path | None = field(
        default=None,
        metadata=_as(Path, "Share replies with other runs through this file.", recorded=True, foreign=True),
    )
    executor: str = field(
        default="local",
        metadata=_as(str, "Where matches are played: local (this process) or ray (a cluster).", recorded=True),
    )
    ray_address: str | None = field(
        default=None,
        metadata=_as(
            str, "The Ray cluster, host:port or auto (default: one made on this machine).", recorded=True, foreign=True
        ),
    )
    workers: int | None = field(
        default=None, metadata=_as(int, "How many Ray workers (default: one per processor).", least=1, recorded=True)
    )
    batch: bool | None = field(
        default=None,
        metadata=_as(
            bool,
            "Ask through the batch endpoints of the models: slower, at a lower price.",
            flag="--batch/--no-batch",
            recorded=True,
        ),
    )
    batch_waves: int | None = field(
        default=None, metadata=_as(int, "With --batch: wait for at most so many batches, one after another.", least=1)
    )
    allow_key: Sequence[str] | None = field(
        default=None,
        metadata=_as(
            list[str],
            "Let the key in this environment variable be sent to this server. May be given several times.",
            metavar="VARIABLE=HOST",
        ),
    )
    allow_command: Sequence[str] | None = field(
        default=None,
        metadata=_as(
            list[str], "Let this command, which the study names, be run. May be given several times.", metavar="COMMAND"
        ),
    )
    shard: str | None = field(
        default=None,
        metadata=_as(
            str,
            "Play one of several equal parts of the study, such as 3/64, into a folder of its own; `ostrom join` "
            "makes one run of all. The budget is divided, too.",
            metavar="NUMBER/OF",
        ),
    )
    registered: Path | None = field(
        default=None,
        metadata=_as(
            Path, "Bind the run to this registration: every output then says what is confirmatory and what deviates."
        ),
    )
    start_connections: int | None = None
    """The initial number of calls in flight; by default what the client suggests."""
    arrays: bool = True
    """Whether scripted matches are played as arrays where possible; the results are the same."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    polling: PollingPolicy = field(default_factory=PollingPolicy)
    """How often batches are polled."""
    worker_matches: int = 256
    """The most matches in play on one Ray worker."""
    ask_again: bool = False
    """Whether a unit that failed is asked again; else its unreadable replies are read again from the journal."""
    close: bool = False
    """Whether units that have not ended are skipped instead of played, for good."""

    def __post_init__(self) -> None:
        for name, declaration in DECLARED.items():
            value = getattr(self, name)
            if declaration.kind is Path and isinstance(value, str):
                object.__setattr__(self, name, Path(value))
            elif value is not None and (least := declaration.least) is not None:
                integer = declaration.kind is int
                if isinstance(value, bool) or not isinstance(value, int if integer else int | float):
                    raise UsageError(f"{name}: must be a {'whole ' if integer else ''}number (found {value!r})")
                if value < least:
                    raise UsageError(f"{name}: must be at least {least} (found {value!r})")

    def check(self) -> None:
        """Refuse options that contradict each other, recorded and new ones together."""
        if self.executor not in EXECUTORS:
            raise UsageError(f"--executor {self.executor}: there is no such executor (allowed: local, ray)")
        if self.executor == "local" and not (self.ray_address is None and self.workers is None):
            raise UsageError(
                f"{'--workers' if self.ray_address is None else '--ray-address'}: needs --executor ray, "
                "for the local executor has one process"
            )
        if self.batch_waves is not None and not self.batch:
            raise UsageError("--batch-waves: needs --batch")

    @cached_property
    def rates(self) -> Mapping[str, Any] | None:
        """Return the prices as a table; None means the published ones."""
        if self.prices is None or isinstance(self.prices, Mapping):
            return self.prices
        from ostrom.models.prices import load_prices

        return load_prices(self.prices)

    @property
    def budget(self) -> Budget:
        """Return the budget."""
        from ostrom.engine.plan import Budget

        return Budget(self.budget_calls, self.budget_tokens, self.budget_usd)

    @property
    def bounds(self) -> dict[str, float]:
        """Return the stated limits of the budget, by their names in study files."""
        bounds = ("usd", self.budget_usd), ("calls", self.budget_calls), ("tokens", self.budget_tokens)
        return {name: bound for name, bound in bounds if bound is not None}

    @property
    def on_cluster(self) -> bool:
        """Whether matches are played by the workers of a Ray cluster."""
        return self.executor == "ray"

    def stated(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        usual = PlayOptions()
        names = (f.name for f in fields(self) if getattr(self, f.name) != getattr(usual, f.name))
        return {name: getattr(self, name) for name in names}

    def for_workers(self) -> PlayOptions:
        """Return the options for the workers of a cluster: retries, the table of prices and the cache."""
        return replace(PlayOptions(retry=self.retry), prices=self.rates, cache=self.cache)


DECLARED: dict[str, Declaration] = {
    f.name: f.metadata["declaration"] for f in fields(PlayOptions) if "declaration" in f.metadata
}
"""The options of the command line, in order of declaration."""
