"""Files that are written whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostrom.ground import files
from ostrom.ground.files import write_whole


def test_a_draft_that_somebody_else_has_made_meanwhile_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, draft = tmp_path / "other", tmp_path / ".table.tmp"
    other.write_text("theirs")
    draft.hardlink_to(other)
    monkeypatch.setattr(files, "draft_of", lambda _: draft)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "table", b"ours")
    assert other.read_text() == "theirs"
