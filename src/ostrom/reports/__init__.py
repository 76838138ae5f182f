"""Reports: one offline page about a run, with its figures and tables as files beside it.

A panel is an entry of ``panels.yaml`` (``ostrom.reports.declared``) or an entry point of the group
``ostrom.panels``; the registry is ``ostrom.reports.declared.panels``. A study names the panels it wants and their
parameters under ``report.panels``.
"""
