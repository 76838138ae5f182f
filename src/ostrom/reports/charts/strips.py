"""Single matches as strips of actions: ``{chart: strips, matches: 6}``."""

from ostrom.reports.panels.strips import Strips

CHART = Strips
