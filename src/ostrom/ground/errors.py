"""All errors that a user can meet. Messages are one line and say what to do next.

OstromError
├── UsageError                wrong use: exit code 2
│   ├── StudyError            a study, scenario, mapping or lexicon file is wrong
│   ├── GameError             a game is not well formed
│   ├── ParameterError        a parameter of a part is not what its annotation allows
│   └── UnknownName           a name that no registry knows
├── ModelError                a model call failed (``retryable`` says whether to try again)
│   ├── RateLimited           429, with the server's wish for patience
│   ├── ServerFailed          5xx or an error inside a 200
│   ├── TimedOut              no complete reply in time
│   ├── ConnectionFailed      nobody there, or the line broke
│   ├── MalformedReply        a reply that is not what the wire format promises
│   ├── AccessRefused         wrong or missing key
│   ├── RequestRefused        the server understood and declined (400, 404, 422)
│   │   └── ContextExceeded   the prompt is longer than the model can read
│   └── ContentRefused        a filter or the model declined what the prompt is about
├── ModelGivenUp              a model that cannot be used: its matches are not played, others are
├── RunError                  the run folder or its journal cannot be used
├── BudgetSpent               the budget of the run is used up
└── InvalidAnswers            a match failed because a player never gave a valid answer
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known name that was most likely meant; None if there is none.

    >>> nearest("rouns", ["rounds", "noise"]), nearest("Skip_Match", ["fail", "skip-match"]), nearest("x", ["y"])
    ('rounds', 'skip-match', None)
    """
    plain = {_plain(other): other for other in map(str, candidates)}
    near = get_close_matches(_plain(name), plain, n=1)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def unknown_key(name: str, candidates: Iterable[str], of: str = "") -> str:
    """Return the error text for an unknown key.

    >>> unknown_key("rouns", ["rounds", "noise"], "mechanism repetition")
    "unknown key 'rouns' of mechanism repetition, did you mean 'rounds'?"
    """
    near = nearest(name, candidates)
    return f"unknown key {name!r}" + (f" of {of}" if of else "") + (f", did you mean {near!r}?" if near else "")


class OstromError(Exception):
    """Root of all errors shown to a user as one line."""

    exit_code = 1


class UsageError(OstromError):
    """Raised when the command or a file was used wrongly."""

    exit_code = 2


class StudyError(UsageError):
    """Raised for an error in a user's file: names file, key, actual and allowed values.

    >>> str(StudyError("must be at least 1", file="s.yaml", key="mechanism.rounds", actual=0))
    's.yaml: mechanism.rounds: must be at least 1 (found 0)'
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        key: str | None = None,
        actual: object = None,
        allowed: Iterable[str] | None = None,
    ) -> None:
        self.problem, self.file, self.key = problem, file, key
        self.notes = []
        if actual is not None:
            self.notes.append(f"found {short_repr(actual)}")
        if allowed is not None:
            self.notes.append("allowed: " + ", ".join(allowed))
        super().__init__(self._line())

    def _line(self) -> str:
        text = ": ".join(part for part in (self.file, self.key, self.problem) if part)
        return " ".join((f"{text} ({'; '.join(self.notes)})" if self.notes else text).split())

    def moved(self, key: str) -> StudyError:
        """Set another key as the place of this error, and return it.

        >>> str(StudyError("is missing", file="s.yaml", key="agent.memory").moved("types.a.memory"))
        's.yaml: types.a.memory: is missing'
        """
        self.key = key
        self.args = (self._line(),)
        return self


def short_repr(actual: object) -> str:
    """The ``repr`` of a value, cut to fit into one line of a message."""
    try:
        text = repr(actual)
    except (RecursionError, ValueError):  # ValueError: Python refuses to write integers of thousands of digits
        return f"a {type(actual).__name__} too large to show"
    return text if len(text) <= 300 else text[:297] + "..."


class GameError(UsageError):
    """A game is not well formed."""


class ParameterError(UsageError, ValueError):
    """A parameter of a part is not what its annotation allows."""


class UnknownName(UsageError):
    """Raised for a name that no registry has, with the nearest existing names.

    >>> str(UnknownName("strategy", "tit_for_tatt", ["tit_for_tat", "grim"]))
    "unknown strategy 'tit_for_tatt' (did you mean tit_for_tat? known: grim, tit_for_tat)"
    >>> str(UnknownName("measure", "coop", ["cooperation", "score"]))
    "unknown measure 'coop' (did you mean cooperation? known: cooperation, score)"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], more: str = "") -> None:
        names = sorted(map(str, known))  # keys of a YAML file may be numbers
        plain = {_plain(other): other for other in names}
        start = [other for key, other in plain.items() if len(name) > 2 and key.startswith(_plain(name))]
        near = start[:3] or [plain[close] for close in get_close_matches(_plain(name), plain, n=2)]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        listed = ", ".join(names) if len(names) <= 40 else f"{len(names)} names, see `ostrom list`"
        self.file: str | None = None
        self.key: str | None = None
        self.problem = f"unknown {kind} {name!r}{more} ({hint}known: {listed})"
        super().__init__(self.problem)

    @classmethod
    def refuse(cls, kind: str, names: Iterable[str], known: Collection[str]) -> None:
        """Raise the error for the first name that is not known."""
        for name in names:
            if name not in known:
                raise cls(kind, name, known)

    def with_place(self, file: str | None, key: str | None) -> UnknownName:
        """Set the file and key of the name, and return this error.

        >>> str(UnknownName("game", "chess", ["go"]).with_place("s.yaml", "game"))
        "s.yaml: game: unknown game 'chess' (known: go)"
        """
        self.file, self.key = file, key
        self.args = (": ".join(part for part in (file, key, self.problem) if part),)
        return self

    def moved(self, key: str) -> UnknownName:
        """Set another key as the place of this error, and return it."""
        return self.with_place(self.file, key)


class ModelError(OstromError):
    """A call to a model failed."""

    retryable = False

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class RateLimited(ModelError):
    """The server asks to wait (429)."""

    retryable = True


class ServerFailed(ModelError):
    """The server failed (5xx, or an error object inside a 200)."""

    retryable = True


class TimedOut(ModelError):
    """No complete reply arrived in time."""

    retryable = True


class ConnectionFailed(ModelError):
    """The server could not be reached or the connection broke."""

    retryable = True


class CertificateRefused(ModelError):
    """The server's certificate is not trusted; retrying does not help."""


class MalformedReply(ModelError):
    """The reply violates the protocol."""

    retryable = True


class AccessRefused(ModelError):
    """Wrong or missing key (401, 403)."""


class RequestRefused(ModelError):
    """The server understood the request and declined it."""


class ContextExceeded(RequestRefused):
    """The prompt is longer than the model's context: this match cannot continue, others can."""


class ContentRefused(ModelError):
    """A content filter or the model itself declined to answer: the study's policy ``refused`` decides."""


class ModelGivenUp(OstromError):
    """No more calls are made to an unusable model; matches of other models continue."""


class RunError(OstromError):
    """The run folder or its journal cannot be used."""


class BudgetSpent(OstromError):
    """The budget of the run is spent; raise it and run again to continue."""


class InvalidAnswers(OstromError):
    """A player never gave a valid answer and the study's policy is to fail."""
