"""The 144 strict ordinal 2x2 games, all or chosen ones, as games."""

from collections.abc import Iterator, Sequence

from ostrom.games.ordinal import FAMILIES, ordinal_games
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.studies.sources import Entry


def build(
    families: str | Sequence[str] = "all",
    numbers: int | str | Sequence[int | str] | None = None,
    each: int | None = None,
) -> list[Entry]:
    """All 144 games in order, or those of some ``families`` and ``numbers``; ``each`` keeps so many a family.

    ``families`` is ``all``, ``published`` (all but the tragic ones, as Akata et al. 2025 report) or a list;
    ``numbers`` is a list of numbers and ranges such as ``1-12``.

    >>> [entry.label for entry in build("tragic")][:2], len(build("published"))
    (['ordinal_2x2:42', 'ordinal_2x2:43'], 136)
    >>> [entry.label for entry in build(numbers=["65-67", 78])]
    ['ordinal_2x2:65', 'ordinal_2x2:66', 'ordinal_2x2:67', 'ordinal_2x2:78']
    """
    wanted = _families(families)
    listed = None if numbers is None else set(_numbers(numbers))
    if each is not None and (not isinstance(each, int) or isinstance(each, bool) or each < 1):
        raise StudyError("source ordinal_2x2: each must be a whole number of at least 1", actual=each)
    counts: dict[str, int] = {}
    entries = []
    for game in ordinal_games():
        if game.family not in wanted or (listed is not None and game.number not in listed):
            continue
        counts[game.family] = counts.get(game.family, 0) + 1
        if each is None or counts[game.family] <= each:
            name = f"ordinal_2x2:{game.number}"
            entries.append(Entry(name, name, {"family": game.family, "game_name": game.name}))
    if not entries:
        raise StudyError("source ordinal_2x2: no game has these families and numbers", actual=numbers)
    return entries


def _families(selection: str | Sequence[str]) -> set[str]:
    if selection in ("all", "published"):
        return set(FAMILIES) - ({"tragic"} if selection == "published" else set())
    names = [selection] if isinstance(selection, str) else list(selection)
    for name in names:
        if name not in FAMILIES:
            raise UnknownName("family of ordinal games", str(name), (*FAMILIES, "all", "published"))
    return set(names)


def _numbers(selection: int | str | Sequence[int | str]) -> Iterator[int]:
    for item in [selection] if isinstance(selection, int | str) else selection:
        first, dash, last = str(item).partition("-")
        if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
            raise StudyError("source ordinal_2x2: write a number or a range such as 1-12", actual=item)
        low, high = int(first), int(last) if dash else int(first)
        if not 1 <= low <= high <= 144:
            raise StudyError("source ordinal_2x2: games are numbered from 1 to 144", actual=item)
        yield from range(low, high + 1)


SOURCE = build
