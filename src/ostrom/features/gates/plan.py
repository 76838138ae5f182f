"""Gates as files: read them, and write what was judged as JUnit XML and as Markdown for a pull request."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from ostrom.features.gates.gates import GateFile, Judged, Judgement
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.files import read_text_file, write_whole
from ostrom.ground.terminal import escaped
from ostrom.ground.validation import validate
from ostrom.ground.yaml import in_words, read_yaml


def read_gates(path: str | Path) -> GateFile:
    """The gates in a YAML file."""
    data = read_yaml(read_text_file(path), str(path))
    if not isinstance(data, dict):
        raise StudyError(f"must be a mapping with the key gates (found {in_words(data)})", file=str(path))
    return validate(GateFile, data, str(path))


def found_text(one: Judged) -> str:
    """The estimate in one line."""
    return "no estimate" if one.estimate is None else one.estimate.text(3)


def heading(verdict: Judgement) -> str:
    """All gates in one line: ``fail: 1 of 3 gates failed, 1 undecided``."""
    many = len(verdict.judged)
    counts = [f"{verdict.count('pass')} of {many} passed"]
    others = ((verdict.count("fail"), "failed"), (verdict.count("undecided"), "undecided"))
    counts += [f"{n} {words}" for n, words in others if n]
    return f"{verdict.answer}: {', '.join(counts)}"


def markdown(verdict: Judgement, run: str) -> str:
    """A table for a pull request. Names of others are code, in which nobody is mentioned and nothing is a link."""
    lines = ["| gate | statement | matches | verdict | estimate | why |", "|---" * 6 + "|"]
    for one in verdict.judged:
        texts = (one.name, one.gate.statement, one.gate.matches or "all matches", found_text(one), one.reason)
        name, statement, matches, found, why = map(as_code, texts)
        lines.append(f"| {name} | {statement} | {matches} | {one.answer} | {found} | {why} |")
    return f"### {as_code(run)}: {heading(verdict)}\n\n" + "\n".join(lines) + f"\n\n{verdict.control}.\n"


def as_code(text: str) -> str:
    """A text in one line of code that no text can end; empty where there is none.

    >>> print(as_code("a|b `x`\\n@someone"))
    `a\\|b 'x' @someone`
    """
    plain = " ".join(escaped(text).replace("`", "'").replace("\\", "\\\\").replace("|", "\\|").split())
    return f"`{plain}`" if plain else ""


def junit(verdict: Judgement, run: str) -> bytes:
    """JUnit XML: a failed gate is a failure, an undecided one an error, so that no reader takes it for passed."""
    counts = {
        "name": escaped(f"ostrom gate {run}"),
        "tests": str(len(verdict.judged)),
        "failures": str(verdict.count("fail")),
        "errors": str(verdict.count("undecided")),
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts)
    for one in verdict.judged:
        case = ET.SubElement(suite, "testcase", {"classname": "ostrom.gate", "name": escaped(one.name)})
        parts = (one.gate.statement, one.gate.matches, found_text(one), one.reason)
        said = escaped("; ".join(part for part in parts if part))
        kind = {"fail": "failure", "undecided": "error"}.get(one.answer)
        about = {} if kind is None else {"type": one.answer, "message": said}
        # Some readers show the attribute, others the text.
        ET.SubElement(case, kind or "system-out", about).text = said
    ET.indent(suites)
    text: str = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def write(path: Path, data: bytes) -> None:
    """Write a file that the user named."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
