"""Framing: how a view becomes words. Prompts are text files; this room fills them in."""

from ostrom.framing.config import Framing
from ostrom.framing.library import Library
from ostrom.framing.page import Prompt
from ostrom.framing.voice import Voice

__all__ = ["Framing", "Library", "Prompt", "Voice"]
