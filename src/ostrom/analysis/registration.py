"""A registration: what will be played and tested, and how results will be judged, stated before play.

The file is read as YAML and hashed by its content, so that comments and line breaks change nothing and every value
does. A run that is bound to a registration keeps it whole in its manifest (``registered``), and its journal keeps the
hash: neither goes with another registration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, model_validator

from ostrom.analysis.estimate import Query
from ostrom.data.manifests import renamed
from ostrom.engine.folder import differences
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import in_words, read_yaml

MOST_BYTES = 4 << 20
MOST_CONTRASTS = 50
ELIGIBLE = "{eligible}"
"""The placeholder for the model in a study registered with a rule for models."""
TIME = "%Y-%m-%dT%H:%M:%SZ"
SIGNS = {"<": "less", ">": "greater", "!=": "different"}
STATED = re.compile(
    r"(?P<measure>\S.*?):\s+(?P<factor>[^\s=]+)\s*[=\s]\s*(?P<levels>.+?)\s*(?P<sign><|>|!=)\s*"
    r"(?P<bound>[-+.\w]+)(?:\s+where\s+(?P<where>.+))?"
)
GRAMMAR = '"MEASURE: FACTOR A - B < 0" (or > 0, != 0; then perhaps: where COLUMN=LEVEL[,LEVEL] and ...)'


class RegisteredContrast(Declared):
    """A difference between two levels of a factor, with its expected direction."""

    measure: str = Field(min_length=1, max_length=200)
    contrast: str = Field(min_length=3, max_length=400)
    where: dict[str, list[str]]
    direction: Literal["less", "greater", "different"]
    smallest: float | None = Field(gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _two_levels(self) -> RegisteredContrast:
        factor, _, levels = self.contrast.partition("=")
        if not factor.strip() or "-" not in levels or "*" in levels:
            raise ValueError(f"contrast must be FACTOR=A-B (found {self.contrast!r})")
        return self

    @cached_property
    def query(self) -> Query:
        """Return the query to a run."""
        return Query(
            measure=self.measure, contrast=self.contrast, where={**self.where}, agents=("all",), mean_over_agents=True
        )

    @property
    def words(self) -> str:
        """The statement: ``cooperation, history_length: 80 - 2 < 0``."""
        sign = next(sign for sign, name in SIGNS.items() if name == self.direction)
        where = f", where {self.query.matches}" if self.where else ""
        return f"{self.measure}, {self.query.pair[0]}: {self.query.pair[1]} {sign} 0{where}"


def read_contrast(text: str, option: str, smallest: float | None) -> RegisteredContrast:
    """Parse a contrast of the command line.

    >>> read_contrast("cooperation: k 80 - 2 < 0", "--primary", 0.05).contrast
    'k=80 - 2'
    """
    match = STATED.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option}: must be {GRAMMAR} (found {text!r})")
    if match["bound"] not in ("0", "0.0"):
        raise UsageError(
            f"{option}: must compare with 0 (found {match['bound']}); the least difference that matters: --smallest"
        )
    where: dict[str, list[str]] = {}
    for part in re.split(r"\s+and\s+", match["where"]) if match["where"] else ():
        column, equals, levels = part.partition("=")
        if not equals or not column.strip() or not levels.strip() or column.strip() in where:
            raise UsageError(f"{option}: where: must be COLUMN=LEVEL[,LEVEL], a column once (found {part!r})")
        where[column.strip()] = [level.strip() for level in levels.split(",")]
    content = {
        "measure": match["measure"].strip(), "contrast": f"{match['factor']}={match['levels']}", "where": where,
        "direction": SIGNS[match["sign"]], "smallest": smallest,
    }  # fmt: skip
    return validate(RegisteredContrast, content, option)


class StudyStatement(Declared):
    """How the study was named on the command line; `ostrom run --registered` uses the same."""

    study: str
    preset: str | None
    set: tuple[str, ...]
    models: tuple[str, ...]
    seeds: int | None


class SampleSize(Declared):
    """The sample size, and its power."""

    seed: int = Field(ge=0)
    """The first seed."""
    seeds: int = Field(ge=1)
    """The number of seeds; with a stopping rule the largest."""
    stop: str | None
    """The stopping rule in words; the study has it in full."""
    interval: Literal["fixed", "anytime"]
    """``anytime``: bounds valid under repeated looks, which a stopping rule needs."""
    power: tuple[dict[str, Any], ...]
    """The result of `ostrom power` for every primary contrast, with its assumptions."""
    note: str
    """The reason why there is no power analysis, if so."""


class Versions(Declared):
    """The version of Ostrom that plays and analyses the study."""

    ostrom: str


class Registration(Declared):
    """The content of a registration; no field has a default, so that nothing is registered silently."""

    registration: Literal[1] = Field(description="the version of this format")
    kind: Literal["confirmatory", "exploratory"]
    created: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    primary: tuple[RegisteredContrast, ...] = Field(min_length=1, max_length=MOST_CONTRASTS)
    secondary: tuple[RegisteredContrast, ...] = Field(max_length=MOST_CONTRASTS)
    level: float = Field(ge=0.8, lt=1)
    multiplicity: str
    decisions: dict[str, str]
    sample: SampleSize
    models: tuple[str, ...]
    eligible: str | None
    exclusions: dict[str, str]
    stated: StudyStatement
    versions: Versions
    prompts: dict[str, str]
    study: dict[str, Any]
    earlier: tuple[str, ...]
    """Runs of this study that were in the folder of runs at registration."""
    played: dict[str, Any] | None
    """The run for which an exploratory registration was made."""
    hash: str = Field(pattern=r"^[0-9a-f]{64}$")

    @property
    def content_hash(self) -> str:
        """SHA-256 of everything but the hash, as JSON in the order of the fields."""
        return sha256(orjson.dumps(self.model_dump(mode="json", exclude={"hash"}))).hexdigest()

    @property
    def hashes(self) -> dict[str, str]:
        """Short hashes of the study and of its prompts, for a page."""
        return {
            name: sha256(orjson.dumps(part)).hexdigest()[:16]
            for name, part in (("study", self.study), ("prompts", self.prompts))
        }

    @property
    def time(self) -> float:
        """Return the registration time by the clock of its machine, in seconds since 1970."""
        return seconds(self.created)

    def level_of(self, role: str) -> float:
        """Return the level of each interval, so that all primary contrasts together have the registered level."""
        return 1 - (1 - self.level) / (len(self.primary) if role == "primary" else 1)


def now() -> str:
    """The current time in UTC, in the format of registrations and manifests."""
    return datetime.now(UTC).strftime(TIME)


def seconds(time: str) -> float:
    """Parse a time into seconds since 1970.

    >>> seconds("1970-01-01T00:01:00Z")
    60.0
    """
    return datetime.strptime(time, TIME).replace(tzinfo=UTC).timestamp()


def registration_of(content: Any, file: str, key: str = "") -> Registration:
    """Build a registration from plain data; refused if its hash does not match."""
    if not isinstance(content, dict):
        raise StudyError(f"must be a registration, a mapping (found {in_words(content)})", file=file, key=key or None)
    registration = validate(Registration, content, file, key)
    try:
        _ = registration.time
    except ValueError:
        raise StudyError(
            "must be a time such as 2026-11-17T09:00:00Z", file=file, key="created", actual=registration.created
        ) from None
    if registration.content_hash != registration.hash:
        raise StudyError(
            f"was changed after it was registered: its content has the hash {registration.content_hash[:16]}..., it "
            f"states {registration.hash[:16]}... (put back the file that was published)",
            file=file,
        )
    return registration


def read_registration(path: str | Path) -> Registration:
    """Read a registration from a file, which may come from a stranger."""
    try:
        size = Path(path).stat().st_size
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    if size > MOST_BYTES:
        raise StudyError(f"has {size:,} bytes; a registration has at most {MOST_BYTES:,}", file=str(path))
    return registration_of(read_yaml(read_text_file(path), str(path)), str(path))


def check_for_new_run(registration: Registration, file: str) -> None:
    """Refuse to bind a run to a registration of a played run, or dated in the future."""
    if registration.kind != "confirmatory":
        run = (registration.played or {}).get("run")
        raise UsageError(f"{file}: is exploratory: it was made for the run {run}, which had been played")
    if registration.time > seconds(now()):
        raise UsageError(
            f"{file}: is dated {registration.created}, and the clock of this machine says {now()}: a registration is "
            "made before its run (check the clock)"
        )


def same_but_model(study: dict[str, Any], models: tuple[str, ...]) -> dict[str, Any]:
    """Return a study with its only model replaced by ``{eligible}``; unchanged with several models."""
    return without_model(study, models[0]) if len(models) == 1 else study


def changed_prompts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the prompt files that changed, one line each."""
    return [f"{line.partition(':')[0]} is another text" for line in differences(dict(old), dict(new))]


def without_model(study: Any, model: str) -> Any:
    """Return plain data with a model's name replaced by ``{eligible}``, in keys and texts."""
    return renamed(study, {model: ELIGIBLE})
