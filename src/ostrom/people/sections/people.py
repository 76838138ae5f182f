"""The section ``people`` of a study file."""

from ostrom.people.schema import People

SECTION = People
