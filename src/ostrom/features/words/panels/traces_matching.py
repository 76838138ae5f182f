"""By which rule words were counted, and what the other rules would have counted."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.features.words.panels._traces_shared import table_or_note
from ostrom.features.words.traces.sensitivity import sensitivity
from ostrom.reports.panel import Drawn, Panel, Table
from ostrom.reports.words import pretty


class TracesMatching(Panel):
    """One row per list of words and matching rule."""

    title = "How words were matched"

    def draw(self, data: RunData) -> Drawn:
        """The table, and a sentence for each list."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        found = sensitivity(data)
        columns = ["words", "match", "used", "traces", "matches", "per_1000_words", "share_of_traces"]
        notes = []
        for name in dict.fromkeys(one.words for one in found):
            of = [one for one in found if one.words == name]
            (used,) = (one for one in of if one.used)
            others = ", ".join(f"{one.matches} as {one.match}" for one in of if not one.used)
            notes.append(
                f"{pretty(name).capitalize()}: {used.matches} matches as {used.match} (the list's rule); {others}."
            )
        caption = (
            "Matches of every list under every rule, over all traces of finished matches: whole words; whole words "
            "and their regular inflections; at word starts; anywhere."
        )
        rows = [[one.words, one.match, "yes" if one.used else "no", *one[3:]] for one in found]
        return Drawn(tables=[Table("traces_matching", columns, rows, caption)], notes=notes)


PANEL = TracesMatching
