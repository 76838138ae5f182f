"""Visitors who fill in whatever form a page shows, knowing nothing of the study."""

import html
import random
import re
import threading
from collections.abc import Callable

from tests.people.served import Visitor

WORDS = '<b>hello</b> & "you" {{ 7*7 }} ☕'
"""What they write into every text field."""
Log = list[tuple[str, str, str]]
"""Place, heading and page of everything that was answered."""


def filled_in(page: str, chance: random.Random) -> dict[str, str]:
    """Valid answers to the form of a page."""
    found = re.search(r'<form method="post" action="/answer">.*?</form>', page, re.S)
    assert found is not None, page
    form, fields = found[0], dict[str, str]()
    if buttons := re.findall(r'<button[^>]*name="answer" value="([^"]*)"', form):
        fields["answer"] = html.unescape(chance.choice([b for b in buttons if b != "decline"]))
    radios: dict[str, list[str]] = {}
    for name, value in re.findall(r'type="radio" name="([^"]+)"[^>]*value="([^"]*)"', form):
        radios.setdefault(name, []).append(value)
    fields |= {name: chance.choice(values) for name, values in radios.items()}
    rows = re.findall(r"<tr>(?:(?!</tr>).)*<select.*?</tr>", form, re.S)
    for row in rows:
        form = form.replace(row, "")
        fields |= _entry(row, chance) if chance.random() < 0.5 else {}
    left, percent = 100, "(%)" in form
    for tag in re.findall(r'<input type="number"[^>]*>', form):
        name, low, high = (_attribute(tag, key) for key in ("name", "min", "max"))
        if percent:
            share = min(left, int(float(high or 100)))
            left -= share
            fields[name] = str(share)
        else:
            fields[name] = str(chance.randint(int(float(low or 0)), int(float(high or 9))))
    for name in re.findall(r'<textarea name="([^"]+)"', form):
        fields[name] = WORDS
    return fields


def _entry(row: str, chance: random.Random) -> dict[str, str]:
    """One entry of a list: an option of every select, and a number."""
    chosen = {
        name: chance.choice(re.findall(r'<option value="([^"]+)"', options))
        for name, options in re.findall(r'<select name="([^"]+)"(.*?)</select>', row, re.S)
    }
    for tag in re.findall(r'<input type="number"[^>]*>', row):
        chosen[_attribute(tag, "name")] = str(chance.randint(0, int(_attribute(tag, "max"))))
    return chosen


def _attribute(tag: str, key: str) -> str:
    found = re.search(rf'\b{key}="([^"]*)"', tag)
    return found[1] if found else ""


def crawl(
    visitor: Visitor, seed: int, stop: Callable[[Visitor], bool] = lambda _: False, log: Log | None = None
) -> None:
    """Answer page after page until the visit is over or ``stop`` says so."""
    chance = random.Random(seed)
    visitor.settled()
    for _ in range(500):
        if visitor.at.startswith("end") or stop(visitor):
            return
        if log is not None:
            log.append((visitor.at, visitor.title, visitor.page))
        place = visitor.at
        visitor.request("POST", "/answer", {"place": place, **filled_in(visitor.page, chance)})
        assert visitor.status == 200, f"{visitor.status}: {visitor.page}"
        visitor.settled()
    raise AssertionError("the visit does not end")


def crawl_together(*calls: Callable[[], None]) -> None:
    """Let several people go through their visits at the same time; whatever goes wrong for one fails."""
    wrong: list[BaseException] = []

    def guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
