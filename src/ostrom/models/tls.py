"""TLS: which certificates are trusted, and why a handshake failed, in words."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from ostrom.ground.errors import UsageError

CLOSED = "it closed the connection during the TLS handshake"
_TRUST = "SSL_CERT_FILE names a file of further certificates to trust"
_UNKNOWN = f"its certificate was issued by an authority that this machine does not know ({_TRUST})"
# The codes of X509_V_ERR_* in OpenSSL; they have not changed since they were introduced.
_CERTIFICATE = {
    2: _UNKNOWN,
    9: "its certificate is not valid yet (or the clock of this machine is wrong)",
    10: "its certificate has expired (or the clock of this machine is wrong)",
    18: f"its certificate is self-signed ({_TRUST})",
    19: f"its certificate chain ends in a self-signed certificate that this machine does not trust ({_TRUST})",
    20: _UNKNOWN,
    21: _UNKNOWN,
    23: "its certificate was revoked",
}
_OTHER_HOST = (62, 64)
_NO_TLS = "it does not speak TLS at this port (is its address http:// instead of https://?)"
_VERSION = "it shares no version of TLS with this machine"
_CLIENT = "it demands a client certificate, which is not supported"
_HANDSHAKE = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "UNSUPPORTED_PROTOCOL": _VERSION,
    "TLSV1_ALERT_PROTOCOL_VERSION": _VERSION,
    "NO_PROTOCOLS_AVAILABLE": _VERSION,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _CLIENT,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "it shares no cipher with this machine, or demands a client certificate",
    "TLSV1_UNRECOGNIZED_NAME": "it does not serve this host name",
}


def client_context() -> ssl.SSLContext:
    """The system's certificates, or those that SSL_CERT_FILE and SSL_CERT_DIR name."""
    return ssl.create_default_context()


def check_trust() -> None:
    """Refuse a missing certificate file: OpenSSL would silently trust no server."""
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file and not Path(file).is_file():
        raise UsageError(f"SSL_CERT_FILE: there is no file {file!r}")
    if folders and not any(Path(folder).is_dir() for folder in folders.split(os.pathsep)):
        raise UsageError(f"SSL_CERT_DIR: there is no folder {folders!r}")


def reason(error: ssl.SSLError) -> str:
    """Why TLS failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_HOST:
            return f"its certificate is for another host ({error.verify_message.rstrip('.')})"
        return _CERTIFICATE.get(error.verify_code, f"its certificate was refused ({error.verify_message})")
    if isinstance(error, ssl.SSLEOFError):
        return CLOSED
    name = error.reason or ""
    return _HANDSHAKE.get(name, f"TLS failed: {name.replace('_', ' ').lower() or error}")
