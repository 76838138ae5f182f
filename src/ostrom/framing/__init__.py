"""Framing: converts a view to words by filling in prompt files."""

from ostrom.framing.config import Framing
from ostrom.framing.library import Library
from ostrom.framing.prompt_renderer import Prompt, PromptRenderer

__all__ = ["Framing", "Library", "Prompt", "PromptRenderer"]
