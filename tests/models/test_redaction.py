"""No key, and no long part of one, is stored or shown, whatever a server does with it."""

import base64
import html
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.ground.errors import ModelError
from ostrom.models import Reply
from ostrom.models.redaction import Redactor, redact
from ostrom.testing.server import LoopbackServer

from .conftest import Ask

KEY = "tok/Z9+wQ4r8Lm2=Xc7Vb1-Nn6_Aa3Ss5Dd0Ff"
REDACTOR = Redactor([KEY])
WRITTEN = {
    "as it is": KEY,
    "less its end": KEY[:-2],
    "less its beginning": KEY[2:],
    "its first half": KEY[: len(KEY) // 2],
    "its middle": KEY[10:27],
    "in capitals": KEY.upper(),
    "percent-encoded": quote(KEY, safe=""),
    "every character percent-encoded": "".join(f"%{ord(c):02X}" for c in KEY),
    "JSON": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "JSON escapes": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "HTML": html.escape(KEY),
    "HTML numbers": "".join(f"&#{ord(c)};" for c in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {KEY}".encode()).decode(),
    "base64 of a name and it": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "hexadecimal": KEY.encode().hex(),
    "on two lines": f"{KEY[:20]}\n  {KEY[20:]}",
    "in groups of Unicode": "\u00a0".join(KEY[i : i + 4] for i in range(0, len(KEY), 4)),
    "with letters of no width": "\u200b".join(KEY),
    "with soft hyphens": "\u00ad".join(KEY),
    "in the other case": KEY.swapcase(),
    "after Bearer": f"Bearer {KEY}",
    "in a URL": f"?k={quote(KEY, safe='')}",
    "in groups": " ".join(KEY[i : i + 4] for i in range(0, len(KEY), 4)),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_key_is_found_however_it_is_written(how: str) -> None:
    found = REDACTOR.clean(f"<{WRITTEN[how]}> the end")
    assert "[key]" in found and found.startswith("<") and found.endswith("> the end") and len(found) < 35, found


@pytest.mark.parametrize(
    "text", ["", "tok/Z9", "cooperate", "50% to A, 50% to B", "\\(x\\) & \\frac{1}{2}", "100%25", "a" * 5000, KEY[:15]]
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert REDACTOR.clean(text) is text


@given(st.text(max_size=60), st.integers(0, len(KEY) - 16), st.integers(16, len(KEY)), st.text(max_size=60))
def test_sixteen_characters_in_a_row_never_survive(before: str, start: int, length: int, after: str) -> None:
    part = KEY[start : start + length]
    clean = REDACTOR.clean(f"{before}{part}{after}")
    assert "[key]" in clean and part not in clean
    assert not any(KEY[i : i + 16] in clean for i in range(len(KEY) - 15))


@pytest.mark.parametrize("before", ["\\", "%", "&#x", "\\u00"])
@pytest.mark.parametrize("start", range(len(KEY) - 15))
def test_a_part_that_reads_on_from_an_escape_is_hidden(before: str, start: int) -> None:
    clean = REDACTOR.clean(f"{before}{KEY[start : start + 16]}")
    assert clean.endswith("[key]") and before.startswith(clean.removesuffix("[key]"))


def test_a_short_key_is_no_secret_in_a_reply_and_hidden_in_an_error() -> None:
    assert Redactor(["EMPTY"]).clean("The set is EMPTY.") == "The set is EMPTY."
    assert redact("wrong key EMPTY", ["EMPTY"]) == "wrong key [key]"
    assert Redactor(["opensesame"]).clean("opensesa, opensesam") == "[key], [key]"
    assert Redactor(["opensesame"]).clean("opens") == "opens"


def test_every_text_of_a_reply_is_cleaned() -> None:
    reply = Reply(KEY, KEY, "raw", model=f"m-{KEY}", id=KEY, logprobs={KEY: -1.0}, facts={"refusal": KEY, "n": 3})
    clean = REDACTOR.clean_reply(reply)
    assert KEY not in repr(clean)
    assert clean.facts == {"refusal": "[key]", "n": 3, "redacted": True} and clean.model == "m-[key]"
    plain = Reply("A", facts={"fingerprint": "fp"})
    assert REDACTOR.clean_reply(plain) is plain


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_server_that_echoes_the_key_in_its_reply(wire: str, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", KEY)
    with LoopbackServer(lambda _: f"<think>{KEY[:-2]}</think>Your key is {KEY}. [A0]") as server:
        base = server.url if wire == "openai" else server.origin
        reply = ask(f"{wire}/m", base_url=base)
    assert KEY[:16] not in repr(reply) and "[key]" in reply.text and reply.facts["redacted"] is True


@pytest.mark.parametrize("how", WRITTEN)
def test_an_error_shows_no_key(how: str) -> None:
    from ostrom.models.failures import from_status

    told: Any = {"error": {"message": "x" * 290 + WRITTEN[how] + "y" * 300}}
    for body in (json.dumps(told).encode(), b"no json " + WRITTEN[how].encode()):
        error = from_status(401, {}, body, who="m", secrets=(KEY,))
        assert isinstance(error, ModelError)
        assert not any(WRITTEN[how][i : i + 16] in str(error) for i in range(len(WRITTEN[how]) - 15))
