"""OpenAI's own service, or whatever server OPENAI_BASE_URL names."""

from __future__ import annotations

from functools import partial

from ostrom.models.openai_client import open_service

PROVIDER = partial(open_service, "openai")
