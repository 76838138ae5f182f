"""Studies with people: visits, assignment to cells, lobby, time limits, payments and the register.

``Visit`` is the mechanism of a visit: its steps, pure. ``LiveVisit`` is what a running server keeps of one in memory.
``Host`` leads all visits of a run. ``SeatedPerson`` is the agent that sits for a person in a match and asks the host.
``Inbox`` holds the decisions that wait for people, ``Lobby`` the people who wait for each other. ``Book`` says who sits
where, as the journal has it, and ``Register`` who stands behind a code, apart from the journal.
"""
