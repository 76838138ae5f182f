"""Framing: how a view becomes words. Prompts are text files; this room fills them in."""

from ostrom.framing.config import Framing
from ostrom.framing.library import Library
from ostrom.framing.prompt import Prompt
from ostrom.framing.prompt_renderer import PromptRenderer

__all__ = ["Framing", "Library", "Prompt", "PromptRenderer"]
