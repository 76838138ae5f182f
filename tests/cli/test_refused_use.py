"""Options that contradict each other, lie beyond their bounds or would do nothing: one line, and exit code 2."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.cli.in_process import caller

FIRST = "register s --primary 'cooperation: k 1 - 2 > 0'"
NEED = "needs a second run: ostrom compare NEW OLD"
ONE = "--ask, --cancel, --forget: give one of them"
PAPERS = "coopeval, memory-curse, personas, repeated-games"
UNKNOWN = "unknown study 's' (known: advised, "
START = "(allowed: uniform, random, name=share,name=share with every name once)"
ERASE = "erase: name either the code of a person or --older-than, for example --older-than 90d"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("report r --as x", "--as and --reference need --as-paper"),
        ("report r --reference x", "--as and --reference need --as-paper"),
        ("report r s", "several runs need --as-paper; without it a report is that of one run"),
        (
            "report r --chart strips --as-paper",
            "--chart adds to the report of a run; with --as-paper exhibits.yaml says",
        ),
        ("report r --out x.pdf", "--out needs --chart: it is where the charts are written"),
        ("report r --chart strips --chart scores --out x.pdf", "--out x.pdf: several charts need a folder"),
        ("report r --checklist --chart strips", "--checklist: writes no charts"),
        ("pool a", "pooling needs two runs or more: ostrom pool RUN RUN..."),
        ("pool a b --chart x.gif", "x.gif: must end in .pdf, .svg, .png, .html"),
        ("pool a b --chart x.SVG", "a: there is no such run (there are no runs in runs)"),
        ("compare a b --as x", "two runs are compared with each other: leave --as and --reference out"),
        ("compare a b --reference x", "two runs are compared with each other: leave --as and --reference out"),
        ("compare a b --margin 0", "--margin must be a positive number (found 0)"),
        ("compare a b --margin -1", "--margin must be a positive number (found -1)"),
        ("compare a b --margin inf", "--margin must be a positive number (found inf)"),
        ("compare a b --margin nan", "--margin must be a positive number (found nan)"),
        ("compare a --measure score", f"--measure {NEED}"),
        ("compare a --by agent", f"--by {NEED}"),
        ("compare a --better lower", f"--better {NEED}"),
        ("compare a b --better up", "--better must be higher or lower (found 'up')"),
        ("compare a --where game=x", f"--where {NEED}"),
        ("compare a --margin 1", f"--margin {NEED}"),
        ("gate r --gates g.yaml --junit none/x.xml", "none/x.xml: there is no folder none"),
        ("gate r --gates g.yaml --markdown none/x.md", "none/x.md: there is no folder none"),
        (
            "gate r --gates g.yaml --until-decided --dry-run",
            "--until-decided plays, and --dry-run does not: leave one of them out",
        ),
        ("gate r --gates g.yaml --most-seeds 3", "--most-seeds: needs --until-decided"),
        ("more evolve r --format xls", "--format 'xls' (allowed: csv, parquet)"),
        ("more evolve r --safe", "--safe is for the CSV files in --out"),
        ("more evolve r --out o --safe --format parquet", "--safe is for the CSV files in --out"),
        ("more evolve a b", "give one run, or any number of payoff files and folders, not both"),
        ("more evolve r --discount 0.5", "--discount and --seats are for payoff files; the scores of a run are its"),
        ("more evolve r --seats 2", "--discount and --seats are for payoff files; the scores of a run are its"),
        ("more evolve r --start {", "--start is not JSON: "),
        ("more evolve r --start '{\"a\": true}'", "--start '{\"a\": true}': every share must be a number"),
        ("more evolve r --start a=1,a=2", f"--start 'a=1,a=2' {START}"),
        ("more evolve r --start a", f"--start 'a' {START}"),
        ("more evolve r --start a=x", f"--start 'a=x' {START}"),
        (
            "play public_goods --against grim --seat 4",
            "public_goods has 3 seats: name 2 others with --against, --seat 1 to 3",
        ),
        ("play public_goods --against grim --against grim --against grim", "public_goods has 3 seats: name 2 others"),
        ("replicate", f"name a paper: {PAPERS}"),
        ("replicate coopeval", "give either --model (to play) or --runs (runs that exist)"),
        ("replicate coopeval --model a --runs r", "give either --model (to play) or --runs (runs that exist)"),
        ("replicate coopeval --runs r --dry-run", "--runs plays nothing: leave --dry-run, --preset and --seeds out"),
        ("replicate coopeval --runs r --preset p", "--runs plays nothing: leave --dry-run, --preset and --seeds out"),
        ("replicate coopeval --model scripted/x --model scripted/x", "--model: a model is named twice"),
        ("replicate coopeval --model scripted/x --preset nope", "unknown preset 'nope' (known: paper, small, smoke)"),
        ("power s --within 0", "--within must be more than 0"),
        ("power s --effect 0", "--effect must not be 0: nothing could be found"),
        ("power s --effect 0.2 --within 0.2", "--effect 0.2: must lie within the margin of 0.2"),
        ("power s --effect -0.2 --within 0.2", "--effect -0.2: must lie within the margin of 0.2"),
        ("power s --effect -0.19 --within 0.2", UNKNOWN),
        ("power s --seeds 0", "--seeds must be whole numbers from 1 to 10000, separated by commas (found '0')"),
        ("power s --seeds x", "--seeds must be whole numbers from 1 to 10000, separated by commas (found 'x')"),
        (
            "power s --seeds 1,10001",
            "--seeds must be whole numbers from 1 to 10000, separated by commas (found '1,10001')",
        ),
        ("power s --seeds 1,10000", UNKNOWN),
        ("power mechanisms --model openai/x", "--measure and --contrast are needed: "),
        ("more batches r --ask --cancel", ONE),
        ("more batches r --cancel --forget", ONE),
        ("more batches r --ask --forget", ONE),
        ("register --check f --primary x", "--check: takes a registration and perhaps a run, and no --primary"),
        ("register --check f --seeds 3", "--check: takes a registration and perhaps a run, and no --seeds"),
        ("register s", "--primary is needed: the contrast that the study is about, `MEASURE: FACTOR A - B < 0`"),
        ("register --primary x", "name a study, or with --played a run that was played"),
        ("register s --played r --primary x", "name a study, or with --played a run that was played"),
        ("register s --primary x --out none/r.yaml", "none/r.yaml: there is no folder none"),
        ("register s --primary x --out r.txt", "r.txt: must end in .yaml"),
        ("register s --primary x --out g.yaml", "g.yaml: is there already; a registration is never written over"),
        ("register s --primary x --out h.yaml", "h.html: is there already; a registration is never written over"),
        (f"{FIRST} --level 0.79", "--level must lie between 0.8 and 1 (found 0.79)"),
        (f"{FIRST} --level 1", "--level must lie between 0.8 and 1 (found 1)"),
        (f"{FIRST} --level 0.8", UNKNOWN),
        (f"{FIRST} --smallest 0", "--smallest must be a number above 0 (found 0)"),
        (f"{FIRST} --smallest inf", "--smallest must be a number above 0 (found inf)"),
        (f"{FIRST} --eligible ' '", "--eligible must say in words how the model is picked"),
        (f"{FIRST} --eligible any --model scripted/x", "--model and --eligible exclude each other"),
        (f"{FIRST} --stop '{{width: 0.1}}' --seeds 3", "--seeds and --stop exclude each other"),
        (f"{FIRST} --stop 3", "--stop: must be a mapping such as {width: 0.1, at_most: 50} (found "),
        (
            f"{FIRST.replace(' s ', ' --played r ')} --eligible any",
            "--played: the run says what was played; leave --eligible and --from out",
        ),
        ("more profile --model scripted/a --model scripted/a", "--model: a model is named twice"),
        ("more profile --model scripted/a --against scripted/a", "--model: a model is named twice"),
        ("new x study", "the kind comes first: `ostrom new study x`"),
        ("new x y", "unknown kind 'x'"),
        ("new study a/b", "NAME must be letters, digits, '-', '_' and '.' (found 'a/b')"),
        (f"new study {'a' * 101}", "NAME must be letters, digits, '-', '_' and '.' (found 'aaa"),
        ("new study x --paper p", "--paper is for `ostrom new prompts`; begin with a built-in part with --like"),
        ("new prompts g.yaml", "g.yaml exists already: choose another name"),
        (
            "run repeated-games-people",
            "repeated-games-people: is a study with people; `ostrom serve repeated-games-people`",
        ),
        ("estimate r", "name a run (or several) and then a measure, see `ostrom list measures`"),
        ("people r erase", ERASE),
        ("people r erase c --older-than 5d", ERASE),
        ("people r erase --older-than 5", "--older-than 5: needs a unit: 5d, or h, min, s"),
        ("people r erase --older-than soon", "--older-than soon: "),
        ("view none", "none: is no folder (give the folder of all runs, or a run)"),
    ],
)
def test_wrong_use_is_one_line(words: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("g.yaml", "gates: [{name: a, measure: cooperation, at_least: 0.5}]\n"), ("h.html", "")):
        (tmp_path / name).write_text(text)
    before = sorted(tmp_path.iterdir())
    done = caller(monkeypatch, tmp_path)(*shlex.split(words))
    assert done.code == 2 and done.err.startswith(f"ostrom: {line}"), done
    assert done.err.count("\n") == 1 and done.out == "" and sorted(tmp_path.iterdir()) == before
