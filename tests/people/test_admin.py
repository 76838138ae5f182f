"""The admin page and who may reach what."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.people.served import Visitor, served, small_study

from ostrom.ground.errors import UsageError
from ostrom.people.server import PASSWORD, listening


@pytest.mark.slow
def test_the_admin_page_needs_its_password_and_is_blind_until_told_otherwise(tmp_path: Path) -> None:
    study = small_study(languages=["en", "de"])
    study["people"]["texts"] |= {"consent.de.md": "# Einwilligung", "debrief.de.md": "# Danke"}
    with served(tmp_path, study, env={PASSWORD: "a long password"}) as server:
        admin, person = Visitor(server.admin_port), server.visitor()
        server.visitors.append(admin)
        person.request("GET", server.link(1).partition(str(server.port))[2], None, Accept_Language="de-AT,de;q=0.9")
        assert "Beginnen" in person.page
        person.request("POST", "/join", {**person.hidden(), "language": "de"})
        assert person.title == "Einwilligung" and 'lang="de"' in person.page
        for path, fields in (("/close", {"closed": "1"}), ("/unblind", {})):
            admin.request("POST", path, {"x": "", **fields})
            assert admin.status == 403
        admin.request("POST", "/login", {"password": "wrong"})
        assert admin.status == 403 and not admin.cookie
        admin.request("POST", "/login", {"password": "a long password"})
        assert "40 finished people are wanted" in admin.page and "mean points" not in admin.page
        admin.request("POST", "/close", {"closed": "1"})
        assert "Recruiting is closed" in admin.page
        late = server.visitor()
        late.request("GET", server.link(2).partition(str(server.port))[2])
        assert "This study is closed" in late.page and "<form" not in late.page
        late.request("POST", "/join", {"link": server.link(2).partition("link=")[2]})
        assert late.status == 403
        assert person.look() and person.title == "Einwilligung"
        admin.request("POST", "/unblind", {"x": ""})
        assert "mean points" in admin.page
        admin.request("GET", "/", None, Host="evil.example")
        assert admin.status == 421
        with closing(sqlite3.connect(server.run / "people.db")) as register:
            server.stop()
            kinds = [kind for (kind,) in register.execute("SELECT kind FROM events")]
    assert kinds == ["closed", "unblinded"]


def test_without_a_password_of_ones_own_the_page_has_a_random_one(tmp_path: Path) -> None:
    with served(tmp_path, small_study(), env={PASSWORD: ""}) as server:
        lines = "".join(server.said)
        password = lines.partition("(password ")[2].partition(",")[0]
        stranger, admin, other = (Visitor(server.admin_port) for _ in range(3))
        server.visitors += [stranger, admin, other]
        stranger.look()
        assert stranger.status == 403 and "link=" not in stranger.page and "finished people" not in stranger.page
        for path in ("/close", "/unblind"):
            stranger.request("POST", path, {"closed": "1"})
            assert stranger.status == 403
        admin.request("POST", "/login", {"password": password})
        assert admin.status == 200 and "40 finished people are wanted" in admin.page and "link=" in admin.page
        link = lines.partition("admin login:")[2].split()[0]
        assert link.startswith(f"http://127.0.0.1:{server.admin_port}/login?once=")
        path = link.partition(str(server.admin_port))[2]
        other.request("GET", path)
        assert other.status == 200 and "40 finished people are wanted" in other.page
        stranger.request("GET", path)
        assert stranger.status == 403 and "This link was used before" in stranger.page
        assert server.process is not None and server.process.stdout is not None
        assert server.process.stdout.readline().startswith("admin login:"), "the next link is printed"


@pytest.mark.slow
def test_links_are_those_of_the_server_that_ran_last(tmp_path: Path) -> None:
    with served(tmp_path, small_study()) as server:
        said = server.ostrom("people", "small", "links").stdout.split()
        assert said[0] == server.link(1) and len(said) == 50
        other = server.ostrom("people", "small", "links", "--public", "https://lab.example/").stdout.split()
        assert other[0].startswith("https://lab.example/?link=")
        server.stop()
        back = server.ostrom("people", "small", "links").stdout.split()
    assert back == said


@pytest.mark.parametrize(
    ("host", "public", "password", "said"),
    [
        ("0.0.0.0", None, None, "--public https://HOST"),
        ("0.0.0.0", "https://lab.example", None, PASSWORD),
        ("127.0.0.1", "https://lab.example", None, f"--public https://lab.example: .* set {PASSWORD}"),
        ("127.0.0.1", "http://lab.example", None, "must be https://HOST"),
        ("127.0.0.1", "https://lab.example/path", None, "must be https://HOST"),
        ("127.0.0.1", None, "short", "at least 12"),
    ],
)
def test_a_server_that_others_reach_needs_https_and_a_password(
    host: str, public: str | None, password: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    if password is not None:
        monkeypatch.setenv(PASSWORD, password)
    with pytest.raises(UsageError, match=said), listening(host, 0, 0, public):
        pass
