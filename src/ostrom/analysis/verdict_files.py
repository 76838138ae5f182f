"""Verdicts as files for other programs: JUnit XML for a build, Markdown for a pull request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from ostrom.analysis.registered import RegistrationStatus
from ostrom.ground.errors import UsageError
from ostrom.ground.files import write_atomically
from ostrom.ground.terminal import escaped

Answer = Literal["pass", "fail", "undecided"]
CODES = {"pass": 0, "fail": 1, "undecided": 3}
"""Exit codes of commands with a verdict."""


def joint_answer(answers: Sequence[Answer]) -> Answer:
    """Return fail if one fails, else undecided if one is undecided or there is none, else pass."""
    return "fail" if "fail" in answers else "undecided" if "undecided" in answers or not answers else "pass"


@dataclass(frozen=True)
class VerdictLine:
    """One verdict in words."""

    name: str
    statement: str
    matches: str
    """The matches that it covers; empty for all."""
    answer: Answer
    verdict: str
    estimate: str
    reason: str


@dataclass(frozen=True)
class VerdictFile:
    """All verdicts of one command."""

    command: str
    """The command's name, which is the class of every test case."""
    what: str
    """A noun for what is judged."""
    run: str
    heading: str
    decision: str
    control: str
    lines: Sequence[VerdictLine]
    registered: RegistrationStatus

    def markdown(self) -> bytes:
        """Return a Markdown table for a pull request; foreign names are code, so that they are no links or mentions."""
        rows = [f"| {self.what} | statement | matches | verdict | estimate | why |", "|---" * 6 + "|"]
        for one in self.lines:
            texts = (one.name, one.statement, one.matches or "all matches", one.estimate, one.reason)
            name, statement, matches, estimate, why = map(as_code, texts)
            rows.append(f"| {name} | {statement} | {matches} | {one.verdict} | {estimate} | {why} |")
        head = f"### {as_code(self.run)}: {self.heading}\n\n{as_code(self.decision)}"
        bound = [
            f"{as_code(one.heading)} These {self.what}s are {self.registered.label}." for one in self.registered.bound
        ]
        return "\n\n".join([head, *bound, "\n".join(rows), f"{self.control}.\n"]).encode()

    def junit(self) -> bytes:
        """Return JUnit XML: a fail is a failure, undecided is an error, so that no reader takes it for passed."""
        answers = [one.answer for one in self.lines]
        counts = {
            "name": escaped(f"ostrom {self.command} {self.run}"),
            "tests": str(len(answers)),
            "failures": str(answers.count("fail")),
            "errors": str(answers.count("undecided")),
        }
        suites = ET.Element("testsuites", counts)
        suite = ET.SubElement(suites, "testsuite", counts)
        if self.registered.bound:
            properties = ET.SubElement(suite, "properties")
            ET.SubElement(properties, "property", {"name": "label", "value": self.registered.label})
            for bound in self.registered.bound:
                ET.SubElement(properties, "property", {"name": "registered", "value": escaped(bound.heading)})
        for one in self.lines:
            case = ET.SubElement(suite, "testcase", {"classname": f"ostrom.{self.command}", "name": escaped(one.name)})
            parts = (
                one.statement,
                one.matches,
                one.estimate,
                (one.verdict if one.verdict != one.answer else ""),
                one.reason,
            )
            text = escaped("; ".join(part for part in parts if part))
            kind = {"fail": "failure", "undecided": "error"}.get(one.answer)
            about = {} if kind is None else {"type": one.answer, "message": text}
            # Some readers show the attribute, others the text.
            ET.SubElement(case, kind or "system-out", about).text = text
        ET.indent(suites)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'.encode()

    def write(self, junit: Path | None, markdown: Path | None) -> None:
        """Write the files that the user named."""
        for path, data in ((junit, self.junit), (markdown, self.markdown)):
            if path is not None:
                try:
                    write_atomically(path, data())
                except OSError as error:
                    raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None


def check_folders(*paths: Path | None) -> None:
    """Refuse files whose folder does not exist, before anything is computed."""
    for path in filter(None, paths):
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}")


def as_code(text: str) -> str:
    """Return a text as inline code that it cannot end; empty if there is none.

    >>> print(as_code("a|b `x`\\n@someone"))
    `a\\|b 'x' @someone`
    """
    plain = " ".join(escaped(text).replace("`", "'").replace("\\", "\\\\").replace("|", "\\|").split())
    return f"`{plain}`" if plain else ""
