"""The dataset folder: what the datasets package and mlcroissant load from it."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.features.exporting.conftest import Foreign

import ostrom
from ostrom.ground.errors import UsageError

LOAD = """
import json
from datasets import load_dataset
folder, cache = {folder!r}, {cache!r}
tables = {{name: load_dataset(folder, name, cache_dir=cache)["train"] for name in ("matches", "calls")}}
tables["decisions"] = load_dataset(folder, cache_dir=cache)["train"]
print(json.dumps({{name: [table.num_rows, table.column_names] for name, table in tables.items()}}))
"""
CROISSANT = """
import json, mlcroissant
data = mlcroissant.Dataset(jsonld={path!r})
rows = list(data.records("decisions"))
print(json.dumps([len(rows), sorted({{r["decisions/action"].decode() for r in rows}})]))
"""


def test_datasets_loads_all_tables(played: ostrom.Run, tmp_path: Path, foreign: Foreign) -> None:
    played.export(format="hf", out=tmp_path / "set")
    seen = json.loads(foreign("datasets", LOAD.format(folder=str(tmp_path / "set"), cache=str(tmp_path / "c"))))
    assert seen["decisions"] == [played.decisions.height, played.decisions.columns]
    assert seen["matches"][0] == played.matches.height
    assert not {"reply", "reasoning", "prompt"} & set(seen["calls"][1])


def test_croissant_metadata_leads_to_the_rows(played: ostrom.Run, tmp_path: Path, foreign: Foreign) -> None:
    made = played.export(format="hf", out=tmp_path)
    count, actions = json.loads(foreign("mlcroissant", CROISSANT.format(path=str(made["croissant"]))))
    assert count == played.decisions.height
    assert actions == sorted(played.decisions["action"].drop_nulls().unique().to_list())


def test_texts_only_where_asked_for(played: ostrom.Run, tmp_path: Path) -> None:
    made = played.export(format="hf", out=tmp_path, texts=True, licence="cc-by-4.0")
    calls = pl.read_parquet(made["calls"])
    assert json.loads(calls["prompt"][0])[-1]["role"] == "user" and calls["reasoning"][0] == "They may defect."
    card = made["card"].read_text()
    assert "license: cc-by-4.0" in card and "in the table calls" in card
    assert "# A &lt;duel> \\| with markup" in card  # no markup of a stranger's study
    played.export(format="hf", out=tmp_path)
    assert "prompt" not in pl.read_parquet(made["calls"]).columns and "left out" in made["card"].read_text()


def test_what_is_shared_holds_no_word_of_a_prompt_or_reply(played: ostrom.Run, tmp_path: Path) -> None:
    stale = tmp_path / "data" / "visits.parquet"  # of an export with people
    stale.parent.mkdir()
    stale.write_bytes(b"They may defect")
    made = played.export(format="hf", out=tmp_path)
    assert not stale.exists()
    columns = pl.read_parquet(made["calls"]).columns
    assert not {"prompt", "reply", "reasoning", "logprobs"} & set(columns) and "tokens_out" in columns
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        text = str(pl.read_parquet(file).to_dicts()) if file.suffix == ".parquet" else file.read_text()
        assert "They may defect" not in text, file
    assert "They may defect" in str(
        pl.read_parquet(played.export(format="hf", out=tmp_path, texts=True)["calls"]).to_dicts()
    )


def test_a_licence_is_one_line(played: ostrom.Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be one short name"):
        played.export(format="hf", out=tmp_path, licence="mit\nevil: true")
