"""Every export format: the names of the files, and what is in them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.in_process import caller
from tests.golden.conftest import Golden, place, printed
from tests.golden.normalise import document, folded, normalised

EXPORTS: dict[str, str] = {
    "parquet": "export asked --format parquet --out out",
    "csv": "export asked --format csv --out out",
    "csv-amounts": "export amounts --format csv --out out --safe",
    "csv-tools": "export tools --format csv --out out",
    "csv-people": "export people-pilot --format csv --out out",
    "csv-society": "export society --format csv --out out",
    "csv-turns": "export turns --format csv --out out",
    "csv-joined": "export parts --format csv --out out",
    "csv-registered": "export plan --format csv --out out --json",
    "jsonl": "export tools --format jsonl --out out",
    "jsonl-plain": "export plain --format jsonl --out out --json",
    "inspect": "export talk --format inspect --out out",
    "hf": "export talk --format hf --out out --licence cc-by-4.0",
    "hf-texts": "export tools --format hf --out out --texts",
    "hf-people": "export people-pilot --format hf --out out --visits",
    "otree": "export people-pilot --format otree --out out --visits",
    "otree-amounts": "export amounts --format otree --out out",
    "shared": "export plan --format shared --out out",
    "every-eval": "export talk --format every-eval --out out --texts",
}
MOST = 6_000
"""Characters of one exported file that are kept: its first and its last rows."""


def written(path: Path) -> str:
    """An exported file as text."""
    if path.suffix == ".parquet":
        import duckdb  # not at collection: what is loaded then is never collected

        with duckdb.connect() as connection:
            columns = connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
            rows = connection.execute(f"SELECT * FROM '{path}'").fetchall()
        head = ", ".join(f"{name} {kind}" for name, kind, *_ in columns)
        return "\n".join([head, *(" | ".join("" if cell is None else str(cell) for cell in row) for row in rows)])
    if path.suffix in (".db", ".zip", ".eval", ".tally"):
        return "(binary)"
    text = path.read_text()
    if path.suffix == ".json":
        return document(text)
    if path.suffix == ".jsonl":
        return "".join(document(line) for line in text.splitlines())
    return text


def shortened(text: str) -> str:
    """The beginning and the end of a long text, with whole lines."""
    if len(text) <= MOST:
        return text
    lines = text.splitlines()
    head, tail = list[str](), list[str]()
    while lines and sum(map(len, head)) < MOST * 3 // 4:
        head.append(lines.pop(0))
    while lines and sum(map(len, tail)) < MOST // 4:
        tail.insert(0, lines.pop())
    return "\n".join([*head, f"[{len(lines)} lines]", *tail])


@pytest.mark.parametrize("case", EXPORTS)
def test_export(case: str, new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    command = EXPORTS[case]
    name = command.split()[1]
    home = place(new_home(), [name] if name != "parts" else ["parts", "parts.1-of-2", "parts.2-of-2"])
    done = caller(monkeypatch, home)(*command.split())
    parts = [printed(command, done, home)]
    for path in sorted((home / "out").rglob("*")):
        if path.is_file():
            text = normalised(written(path), home)
            parts.append(f"==== {path.relative_to(home)}\n{folded(shortened(text))}")
    golden("\n".join(parts) + "\n")
