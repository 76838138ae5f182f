"""Recruiting sources: how link parameters identify a person, and how they are verified."""

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import StudyError
from ostrom.ground.files import read_plain
from ostrom.people.schema import Source
from ostrom.web.tokens import sign, verified

_PLAIN = re.compile(r"[A-Za-z0-9_.:@-]{1,128}")
PARAMETERS = {
    "prolific": ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "prolific_token"),
    "mturk": ("workerId", "assignmentId", "hitId"),
    "sona": ("sona_id",),
    "link": ("link",),
    "lab": ("seat",),
}
"""The parameters in each source's links."""
QUERIES = {
    "prolific": "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
    "mturk": "workerId=&assignmentId=",
    "sona": "sona_id=%SURVEY_CODE%",
}
"""The query string of a platform's link; the platform fills in the values."""
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""The prefix of a SHA-256 digest in an RSA signature (PKCS #1, version 1.5)."""
CLOCK = 60
"""The tolerated clock difference, in seconds."""


@dataclass(frozen=True, slots=True)
class Invited:
    """A person's identity by a link. ``session`` must match if they return without their cookie."""

    external: str
    session: str


class LinkReader:
    """Reads the link parameters of one source."""

    def __init__(self, source: Source, key: bytes, folder: Path, origin: str | None = None) -> None:
        self.source, self._key, self._host = source, key, (origin or "").rpartition("//")[2]
        self._keys = _key_set(folder / source.keys) if source.verify and source.keys else {}

    def parameters(self, query: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return the parameters that are passed on to the form that starts the visit."""
        return [(name, query[name]) for name in PARAMETERS[self.source.name] if name in query]

    def invited(self, query: Mapping[str, str]) -> Invited | None:
        """Return the person's identity; None if parameters are missing or forged."""
        match self.source.name:
            case "prolific":
                return self._prolific(query)
            case "mturk":
                if query.get("assignmentId") == "ASSIGNMENT_ID_NOT_AVAILABLE":
                    return None  # the task is only previewed, not accepted
                return _both(query.get("workerId"), query.get("assignmentId"))
            case "sona":
                return _both(query.get("sona_id"), "")
            case "link":
                return self._placed(verified(self._key, "link", query.get("link", "")), query.get("link", ""))
            case "lab":
                return self._placed(query.get("seat"), "")

    def _placed(self, number: str | None, session: str) -> Invited | None:
        """Return the identity of a numbered place of the study."""
        is_number = number is not None and number.isascii() and number.isdigit() and len(number) < 7
        place = int(number) if is_number and number is not None else 0
        return Invited(str(place), session) if 1 <= place <= (self.source.places or 0) else None

    def links(self, base: str) -> list[str]:
        """Return the links for people, if the source has its own."""
        places = range(1, (self.source.places or 0) + 1)
        match self.source.name:
            case "link":
                return [f"{base}/?link={sign(self._key, 'link', str(n))}" for n in places]
            case "lab":
                return [f"{base}/?seat={n}" for n in places]
        return [f"{base}/?{QUERIES[self.source.name]}"]

    def _prolific(self, query: Mapping[str, str]) -> Invited | None:
        if not self.source.verify:
            return _both(query.get("PROLIFIC_PID"), query.get("SESSION_ID"))
        claims = verified_claims(query.get("prolific_token", ""), self._keys, time.time())
        if claims is None or (self._host and _audience(claims) != self._host):
            return None
        section = claims.get("prolific")
        fields = {str(name).lower(): value for name, value in section.items()} if isinstance(section, Mapping) else {}
        invited = _both(fields.get("prolific_pid") or fields.get("participant_id"), fields.get("session_id"))
        return invited if invited and query.get("PROLIFIC_PID") in (None, invited.external) else None


def _audience(claims: Mapping[str, Any]) -> str:
    audience = claims.get("aud")
    return str(audience).rpartition("//")[2].rstrip("/") if isinstance(audience, str) else ""


def _both(external: Any, session: Any) -> Invited | None:
    has_name = isinstance(external, str) and _PLAIN.fullmatch(external)
    has_session = session == "" or (isinstance(session, str) and _PLAIN.fullmatch(session))
    return Invited(external, session) if has_name and has_session else None


def verified_claims(token: str, keys: Mapping[str, tuple[int, int]], now: float) -> dict[str, Any] | None:
    """Return the claims of a signed token (JWT, RS256); None if signature or time is invalid."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > 8000 or not token.isascii():
        return None
    try:
        head, claims, signature = (orjson.loads(_bytes(parts[0])), orjson.loads(_bytes(parts[1])), _bytes(parts[2]))
    except ValueError:
        return None
    key = keys.get(str(head.get("kid"))) if isinstance(head, dict) and head.get("alg") == "RS256" else None
    if key is None or not isinstance(claims, dict):
        return None
    expires, begins = claims.get("exp"), claims.get("nbf", 0)
    is_valid = (
        _rsa_fits(f"{parts[0]}.{parts[1]}".encode(), signature, *key)
        and isinstance(expires, int | float)
        and isinstance(begins, int | float)
        and begins - CLOCK <= now <= expires + CLOCK
    )
    return claims if is_valid else None


def _rsa_fits(message: bytes, signature: bytes, modulus: int, exponent: int) -> bool:
    """Return whether an RSA signature is valid; the padding is built and compared as a whole."""
    size = (modulus.bit_length() + 7) // 8
    if len(signature) != size or size < 256:
        return False
    opened = pow(int.from_bytes(signature, "big"), exponent, modulus).to_bytes(size, "big")
    expected = _SHA256 + hashlib.sha256(message).digest()
    return hmac.compare_digest(opened, b"\0\1" + b"\xff" * (size - len(expected) - 3) + b"\0" + expected)


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


MOST_KEYS = 1 << 20
"""The largest JWK set, in bytes."""


def _key_set(path: Path) -> dict[str, tuple[int, int]]:
    """The RSA keys of a JWK set, by their names."""
    try:
        data = orjson.loads(read_plain(path.resolve(), MOST_KEYS))
        keys = {
            str(key["kid"]): (int.from_bytes(_bytes(key["n"]), "big"), int.from_bytes(_bytes(key["e"]), "big"))
            for key in data["keys"]
            if key.get("kty") == "RSA"
        }
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=str(path), key="people.source.keys") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StudyError("is no JWK set (JSON with a list 'keys')", file=str(path), key="people.source.keys") from None
    if not keys:
        raise StudyError("holds no RSA key", file=str(path), key="people.source.keys")
    return keys
