"""Mechanisms by name; any of them may have talk around its decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.ground.registry import Registry
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.talk import talk_of
from ostrom.mechanisms.talking import Talking


class NamedMechanisms(Registry[Mechanism]):
    """Builds ``{name: ..., talk: {...}}`` as the named mechanism with that talk."""

    def build(
        self, spec: str | Mapping[str, Any], *, key: str | None = None, file: str | None = None
    ) -> Mechanism:
        """Build a mechanism; ``talk`` is a key of all that do not have a parameter of that name themselves."""
        if not isinstance(spec, Mapping) or "talk" not in spec or self._own_talk(spec.get("name")):
            return super().build(spec, key=key, file=file)
        rules = super().build({k: v for k, v in spec.items() if k != "talk"}, key=key, file=file)
        if spec["talk"] is None:
            return rules
        try:
            return Talking(rules, talk_of(spec["talk"]))
        except (TypeError, ValueError) as error:
            raise StudyError(str(error), key=f"{key or self.kind}.talk", file=file) from error

    def _own_talk(self, name: Any) -> bool:
        return isinstance(name, str) and name in self and "talk" in self.parameters(name)
