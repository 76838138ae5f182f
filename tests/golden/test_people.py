"""Pages of participants and of the researcher, in the order in which somebody meets them."""

import re
from pathlib import Path
from typing import Any

from tests.golden.conftest import Golden
from tests.golden.normalise import normalised
from tests.golden.render import outline
from tests.people.served import Visitor, served, small_study

SURVEY: dict[str, Any] = {
    "visit": [
        {"consent": "consent.md"},
        {"match": 1},
        {"ask": {"name": "guess", "text": "A person?", "options": ["person", "artificial"]}},
        {"debrief": "debrief.md"},
    ],
    "time": {"decision": 600, "missed": "mark", "missed_at_most": 2},
}


def drawn(visitor: Visitor, home: Path) -> str:
    """The page that somebody sees, without what is drawn for each: codes and links."""
    text = normalised(outline(visitor.page), home)
    text = re.sub(r"(?<=value=)[0-9A-Za-z_.-]{20,}", "TOKEN", text)
    text = re.sub(r"(?<=link=)[0-9A-Za-z_.-]{8,}", "TOKEN", text)
    return f"{visitor.status}\n{text}"


def test_visit(tmp_path: Path, golden: Golden) -> None:
    with served(tmp_path, small_study(**SURVEY), env={"OSTROM_ADMIN_PASSWORD": "golden-password"}) as server:
        pages: list[str] = []
        visitor = server.visitor()

        def keep(title: str, who: Visitor = visitor) -> None:
            pages.append(f"######## {title}: {drawn(who, tmp_path)}")

        visitor.request("GET", "/")
        keep("without a link")
        visitor.request("GET", server.link(1).partition(str(server.port))[2])
        keep("start")
        visitor.request("POST", "/join", visitor.hidden())
        keep("consent")
        for step in ("agree", "J", "F", "J"):
            visitor.answer(step)
            keep(f"after {step}")
        visitor.answer(guess="9")
        keep("after a wrong guess")
        visitor.answer(guess="0")
        keep("after a guess")
        visitor.answer("continue")
        keep("at the end")
        visitor.request("GET", "/leave")
        keep("leave")
        visitor.request("GET", "/nothing")
        keep("unknown page")
        visitor.request("POST", "/answer", {"nonsense": "1"})
        keep("nonsense")
        admin = Visitor(server.admin_port)
        admin.request("GET", "/")
        keep("admin without a password", admin)
        admin.request("POST", "/login", {"password": "wrong"})
        keep("admin with a wrong password", admin)
        admin.request("POST", "/login", {"password": "golden-password"})
        admin.request("GET", "/")
        keep("admin", admin)
        admin.request("POST", "/unblind", admin_form(admin, "/unblind"))
        keep("admin unblinded", admin)
        admin.request("POST", "/close", admin_form(admin, "/close"))
        keep("admin closed", admin)
        admin.close()
        server.visitor().request("GET", "/")
        golden("\n".join(pages))


def admin_form(admin: Visitor, action: str) -> dict[str, str]:
    """The hidden fields of the form that is sent there."""
    form = re.search(rf'<form[^>]*action="{action}".*?</form>', admin.page, re.DOTALL)
    fields = re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', form[0] if form else "")
    return dict(fields)
