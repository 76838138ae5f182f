"""Motives, judged corpora, shares of decisions by motive, and the agreement of judges."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.counts import ChiSquare, Kappa, chi_square, cohens_kappa
from ostrom.analysis.statistics.result import holm
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.ground.errors import RunError, StudyError, UnknownName
from ostrom.ground.files import read_plain, read_text_file, refuse_link, require_regular_file
from ostrom.ground.values import grouped
from ostrom.ground.words import join_words
from ostrom.ground.yaml import in_words, read_yaml

SHIPPED = "motives.yaml"


@dataclass(frozen=True, slots=True)
class Motive:
    """One motive: its key in answers and tables, its title, and the definition that the judge reads."""

    name: str
    title: str
    definition: str


def load_motives(path: Path | None = None) -> tuple[Motive, ...]:
    """Load the shipped motives, or those of a file.

    >>> [motive.name for motive in load_motives()][:3]
    ['own_utility', 'equilibrium', 'social_welfare']
    """
    if path is None:
        name, text = SHIPPED, files("ostrom.features.judging").joinpath(SHIPPED).read_text("utf-8")
    else:
        name, text = str(path), read_text_file(path)
    data = read_yaml(text, name)
    listed = data.get("motives") if isinstance(data, dict) else None
    if not isinstance(listed, dict) or not listed:
        raise StudyError(
            f"must map names to {{title, definition}} (found {in_words(listed)})", file=name, key="motives"
        )
    return tuple(_motive(key, entry, name) for key, entry in listed.items())


def _motive(key: Any, entry: Any, file: str) -> Motive:
    where = f"motives.{key}"
    if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", key):
        raise StudyError("a motive's name is made of small letters, digits and _", file=file, key=where)
    if not isinstance(entry, dict) or set(entry) != {"title", "definition"}:
        content = sorted(map(str, entry)) if isinstance(entry, dict) else entry
        raise StudyError("needs a title and a definition, nothing else", file=file, key=where, actual=content)
    for part, text in entry.items():
        if not isinstance(text, str) or not text.strip():
            raise StudyError("must be a text", file=file, key=f"{where}.{part}", actual=text)
    return Motive(key, " ".join(entry["title"].split()), " ".join(entry["definition"].split()))


JUDGED = "judged.parquet"


def motive_column(name: str) -> str:
    """Return the name of the column that says whether a motive was assigned."""
    return f"motive_{name}"


@dataclass(frozen=True)
class JudgedCorpus:
    """A judged corpus: its judges, its motives, and one row for each decision and judge."""

    name: str
    judges: tuple[str, ...]
    motives: tuple[Motive, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def titles(self) -> dict[str, str]:
        """Return the titles of the motives, by name."""
        return {motive.name: motive.title for motive in self.motives}

    def judged(self, judge: str | None = None) -> list[Mapping[str, Any]]:
        """Return the rows with labels, by one judge or by all."""
        return [row for row in self.rows if row["judged"] == "done" and (judge is None or row["judge"] == judge)]

    @property
    def failed(self) -> int:
        """Return the number of judgements without labels."""
        return sum(row["judged"] != "done" for row in self.rows)

    @property
    def self_judged(self) -> int:
        """Return the number of judgements in which a model judged itself."""
        return sum(bool(row["self_judged"]) for row in self.judged())


def corpus_notes(corpus: JudgedCorpus) -> list[str]:
    """Notes for readers of a corpus: its size, judgements without labels, self-judgements."""
    judged = corpus.judged()
    notes = {
        f"{len(judged)} judgements by {join_words(corpus.judges)}.": True,
        f"{corpus.failed} judgements have no labels; judging again asks for them.": corpus.failed,
        f"{corpus.self_judged} of {len(judged)} judgements are by the model that played.": corpus.self_judged,
    }
    return [f"{corpus.name}: {note}" for note, applies in notes.items() if applies]


def corpus_of(study: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> JudgedCorpus:
    """Build a corpus from its manifest and its rows."""
    return JudgedCorpus(
        str(study["name"]),
        tuple(judge["name"] for judge in study["judges"]),
        tuple(Motive(**motive) for motive in study["motives"]),
        tuple(rows),
    )


def judged_corpora(run: Path) -> list[JudgedCorpus]:
    """Return the judged corpora in the folder of a run, by name."""
    return [read_judged(path.parent) for path in sorted(run.glob(f"judge-*/{JUDGED}"))]


def read_judged(folder: Path) -> JudgedCorpus:
    """Read one judged corpus from its folder."""
    from ostrom.data.tables import import_polars

    polars = import_polars()
    try:
        study = orjson.loads(read_plain(refuse_link(folder) / "run.json"))["study"]
        return corpus_of(study, polars.read_parquet(require_regular_file(folder / JUDGED)).to_dicts())
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, polars.exceptions.PolarsError) as error:
        raise RunError(f"{folder}: is no judged corpus that can be read: {error}") from None


FACTORS = ("mechanism", "model", "game")
NONE = "none"
"""The label for decisions without any motive."""


@dataclass(frozen=True, slots=True)
class MotiveShare:
    """The share of decisions in one group to which one judge assigned a motive."""

    judge: str
    factor: str
    level: str
    motive: str
    times: int
    decisions: int
    estimate: Estimate
    """The share of decisions, with an interval clustered by match."""

    @property
    def share(self) -> float:
        """The share of the group's decisions in which the judge found the motive."""
        return self.times / self.decisions

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        interval = self.estimate
        return {
            **{name: getattr(self, name) for name in self.__slots__ if name != "estimate"}, "share": self.share,
            "low": interval.low, "high": interval.high, "matches": interval.n, "method": interval.method,
            "note": interval.note or None,
        }  # fmt: skip


def motive_maps(corpora: Iterable[JudgedCorpus], by: str | Sequence[str] = FACTORS) -> Iterator[dict[str, Any]]:
    """Yield a map per corpus and factor with several levels; if no factor has several, one along the first factor.

    It has the shares of motives, the judged decisions by level, and the tests of whether motives depend on the factor.
    """
    factors = (by,) if isinstance(by, str) else tuple(by)
    for corpus in corpora:
        if not corpus.judged(corpus.judges[0]):
            continue
        for factor in [f for f in factors if len({row.get(f) for row in corpus.judged()}) > 1] or factors[:1]:
            shares = motive_shares(corpus, factor)
            yield {
                "factor": factor,
                "titles": {**corpus.titles, NONE: "(none of them)"},
                "shares": shares,
                "decisions": {share.level: share.decisions for share in shares},
                "tests": dependences(corpus, factor),
            }


def motive_shares(corpus: JudgedCorpus, factor: str, judge: str | None = None) -> list[MotiveShare]:
    """Return the share of every motive, and of no motive, at every level of a factor; by default of the first judge."""
    who = _judge(corpus, judge)
    return [
        _share(who, factor, level, rows, name)
        for level, rows in _levels(corpus, factor, who).items()
        for name in [*(motive.name for motive in corpus.motives), NONE]
    ]


def dependences(corpus: JudgedCorpus, factor: str, judge: str | None = None) -> list[dict[str, Any]]:
    """Test for each motive whether it depends on a factor: chi-square, Cramer's V, or ``why`` there is no test.

    ``p_holm`` is corrected over the motives that could be tested.
    """
    who = _judge(corpus, judge)
    levels = _levels(corpus, factor, who)
    names = [*(motive.name for motive in corpus.motives), NONE]
    tests: list[tuple[str, ChiSquare | None, str | None]] = []
    for name in names:
        counts = [[sum(_shows(row, name) for row in rows), len(rows)] for rows in levels.values()]
        table = [[times, total - times] for times, total in counts]
        try:
            tests.append((name, chi_square(table, unit="decision"), None))
        except StatisticsError as error:
            times, total = sum(t for t, _ in counts), sum(n for _, n in counts)
            why = "never labelled" if not times else "always labelled" if times == total else str(error)
            tests.append((name, None, f"only one {factor}" if len(levels) < 2 else why))
    tested = [test.p for _, test, _ in tests if test is not None]
    adjusted = iter(holm(tested) if tested else ())
    return [
        {
            "judge": who,
            "factor": factor,
            "motive": name,
            "chi_square": test and test.statistic,
            "df": test and test.df,
            "p": test and test.p,
            "p_holm": next(adjusted) if test is not None else None,
            "cramers_v": test and test.cramers_v,
            "cramers_v_corrected": test and test.cramers_v_corrected,
            "n": test and test.n,
            "small_expected": test and test.small_expected,
            "why": why,
        }
        for name, test, why in tests
    ]


def _share(judge: str, factor: str, level: str, rows: Sequence[Mapping[str, Any]], name: str) -> MotiveShare:
    times = sum(_shows(row, name) for row in rows)
    inference = mean_of(
        [float(_shows(row, name)) for row in rows], clusters=[row["match"] for row in rows], bounds=(0.0, 1.0)
    )
    matches = len({row["match"] for row in rows})
    return MotiveShare(judge, factor, level, name, times, len(rows), estimated({}, inference, matches, "match"))


def _shows(row: Mapping[str, Any], name: str) -> bool:
    return row["labelled"] == 0 if name == NONE else bool(row[motive_column(name)])


def _levels(corpus: JudgedCorpus, factor: str, judge: str) -> dict[str, list[Mapping[str, Any]]]:
    rows = corpus.judged(judge)
    if rows and factor not in rows[0]:
        raise UnknownName("column of a judged corpus", factor, rows[0])
    return dict(sorted(grouped((str(row[factor]), row) for row in rows).items()))


def _judge(corpus: JudgedCorpus, judge: str | None) -> str:
    if judge is not None and judge not in corpus.judges:
        raise UnknownName("judge", judge, corpus.judges)
    return judge or corpus.judges[0]


OVERALL = "all motives"


def agreements(corpus: JudgedCorpus) -> list[dict[str, Any]]:
    """Return the agreement per motive, then over all motives and decisions together; empty with a single judge.

    ``first`` and ``second`` count to how many of the decisions that both have judged each judge assigned the motive.
    With more than two passes, only the first two are compared.
    """
    if len(corpus.judges) < 2:
        return []
    pairs = _pairs(corpus)
    ratings = {
        motive.name: [(bool(a[column]), bool(b[column])) for a, b in pairs]
        for motive in corpus.motives
        for column in [motive_column(motive.name)]
    }
    ratings[OVERALL] = [both for of in ratings.values() for both in of]
    return [_agreement(name, [a for a, _ in of], [b for _, b in of], len(pairs)) for name, of in ratings.items()]


def same_sets(corpus: JudgedCorpus) -> float | None:
    """The share of decisions to which both judges gave exactly the same motives."""
    pairs = _pairs(corpus) if len(corpus.judges) > 1 else []
    return sum(a["labels"] == b["labels"] for a, b in pairs) / len(pairs) if pairs else None


def _pairs(corpus: JudgedCorpus) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    def placed(judge: str) -> dict[tuple[int, int, int], Mapping[str, Any]]:
        return {(row["match"], row["step"], row["player"]): row for row in corpus.judged(judge)}

    first, second = (placed(judge) for judge in corpus.judges[:2])
    return [(first[place], second[place]) for place in first if place in second]


def _agreement(name: str, first: list[bool], second: list[bool], decisions: int) -> dict[str, Any]:
    kappa: Kappa | None = None
    why = None
    try:
        kappa = cohens_kappa(first, second, unit="decision")
    except StatisticsError as error:
        why = "never labelled by either" if decisions > 1 and not any([*first, *second]) else str(error)
    return {
        "motive": name,
        "decisions": decisions,
        "first": sum(first),
        "second": sum(second),
        "kappa": kappa and kappa.estimate.value,
        "ci": kappa and [kappa.estimate.low, kappa.estimate.high],
        "agreement": kappa and kappa.agreement,
        "why": why,
    }
