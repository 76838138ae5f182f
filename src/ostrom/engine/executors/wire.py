"""The messages between the driver of a run and the workers of a cluster: plain data, never an API key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.engine.entries import CallRecord, Journaled, Place
from ostrom.engine.executors.local import UnitEnd
from ostrom.engine.gate import Gate, Stopped
from ostrom.engine.match import ReplayDiffers, Replies
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground import errors
from ostrom.ground.errors import OstromError
from ostrom.models.base import Model
from ostrom.models.pending_call import NO_SIZE, CallSize

AnswerEntry = tuple[int, int, int, str, Answer, int, str | None]
"""Unit, step, player, part, the answer, the complaints before it, and what was asked."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Everything a worker needs before it can play units of a run."""

    version: str
    prompts: Mapping[str, str]
    """Hashes of the prompt files that the plan uses: a worker with other ones is refused."""
    files: Mapping[str, Mapping[str, bytes]]
    """The folder of prompts that the user gave (under no name) and the prompt sets, file by file."""
    models: Mapping[str, Mapping[str, Any]]
    """The models and their settings; their keys are in the environment of the worker."""
    grants: Sequence[tuple[str, tuple[str, str, int | None]]]
    """Which keys the person allowed to go where."""
    open_models: Callable[[str, Mapping[str, Any]], Model] | None
    retries: int
    policy: str
    refused: str
    options: PlayOptions
    """How calls are made and counted."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A model as it was opened on a worker."""

    connections: int
    ceiling: int | None
    """How many calls the client itself serves at a time, where it runs inside the worker."""
    description: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """A unit handed to a worker, with what the journal already knows of it."""

    unit: Unit
    facts: Sequence[Mapping[str, Any]] | None
    known: dict[Place, Journaled]
    replies: Replies


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as class name and text: exceptions with other parameters than a text cannot be sent."""

    kind: str
    text: str

    @classmethod
    def of(cls, error: OstromError) -> Failure:
        """The class name and the text of an error."""
        return cls(type(error).__name__, str(error))

    def error(self) -> OstromError:
        """Rebuild the error, of the same class and with the same text.

        >>> Failure.of(errors.StudyError("is wrong", file="s.yaml")).error()
        StudyError('s.yaml: is wrong')
        """
        known: dict[str, type[OstromError]] = {
            "SkipMatch": SkipMatch,
            "Stopped": Stopped,
            "ReplayDiffers": ReplayDiffers,
            **vars(errors),
        }
        kind = known.get(self.kind, OstromError)
        made = kind.__new__(kind)
        Exception.__init__(made, self.text)
        return made


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended: the outcome method of the gate and its arguments."""

    model: str
    how: Literal["succeeded", "failed", "refused", "abandoned"]
    what: tuple[Any, ...] = ()
    size: CallSize = NO_SIZE
    more: Mapping[str, Any] = field(default_factory=dict)

    def apply_to(self, gate: Gate) -> None:
        """Report the outcome to a gate and release the slot."""
        getattr(gate, self.how)(self.model, *self.what, size=self.size, **self.more)
        gate.release(self.model)


@dataclass(frozen=True, slots=True)
class UnitReport:
    """How a unit ended on a worker."""

    end: UnitEnd
    """Its end without the error, which does not travel."""
    failure: Failure | None
    stray: int
    """Replies that could not be read and that no journaled answer accounts for."""

    @property
    def ended(self) -> UnitEnd:
        """The ending as executors state it."""
        return self.end if self.failure is None else replace(self.end, error=self.failure.error())


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries for the journal, in order, that became durable together."""

    number: int
    entries: list[AnswerEntry | CallRecord]


def prompt_files(library: Library) -> dict[str, dict[str, bytes]]:
    """The user's own prompt files by prompt set, those for all agents under no name."""
    given = {} if library.folder is None else {"": library.own_files}
    return given | {name: chosen.own_files for name, chosen in library.sets.items()}


def count_entry(tally: Tally, entry: AnswerEntry | CallRecord) -> None:
    """Count journaled entries, so that the numbers of a run agree with its journal after workers are lost."""
    if not isinstance(entry, CallRecord):
        _, _, _, part, answer, complaints, _ = entry
        tally.decisions += not part
        tally.invalid += complaints
        tally.policies += answer.reading in ("policy", "refused")
    elif entry.source == "cache":
        tally.cached += 1
    else:
        tally.calls += 1
        tally.trouble = entry.error
        if entry.reply is None:
            tally.retries += 1
            return
        tally.refused += entry.reply.finish == "filter"
        tally.count_reply(entry.reply.usage, entry.usd)
