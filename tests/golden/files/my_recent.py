def recent(rounds):
    return rounds[-1:]
