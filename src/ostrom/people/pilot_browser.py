"""Simulated participants in a real browser: the same visits, through the pages that people see."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ostrom.engine.folder import Folder
from ostrom.ground.errors import RunError, UsageError
from ostrom.people.live_visit import LiveVisit, Open
from ostrom.people.pilot import Crowd, PilotHost, answer_to, participant
from ostrom.people.server import listening, serve_people
from ostrom.people.sources import LinkReader

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
AT_ONCE = 4
"""Pages that are open at the same time."""
PATIENCE = 60.0
"""Seconds that a page may take to change."""


async def browse(host: PilotHost, folder: Folder, crowd: Crowd, moments: int, study: Path) -> None:
    """Serve the study on this machine and simulate all visits in a browser; returns when all have ended."""
    host.crowd, host.participants, host.thoughts = crowd, {}, {}
    with listening("127.0.0.1", 0, 0, None) as where:
        serving = asyncio.create_task(serve_people(host, folder, where, study, lambda _: None))
        try:
            async with _browser() as browser:
                links = LinkReader(host.people.source, host.register.key, study).links(where.base)
                if len(links) < crowd.people:
                    raise UsageError(
                        f"--people {crowd.people}: the source {host.people.source.name} has links for {len(links)}; "
                        "use source link or lab with more places"
                    )
                room, joining = asyncio.Semaphore(AT_ONCE), asyncio.Lock()
                await asyncio.gather(
                    *(
                        _visit(host, browser, link, number, moments, room, joining)
                        for number, link in enumerate(links[: crowd.people], 1)
                    )
                )
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


@asynccontextmanager
async def _browser() -> AsyncIterator[Any]:
    """Chromium of this machine; OSTROM_BROWSER names another program."""
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        raise UsageError("--browser needs Playwright: pip install 'ostrom[browser]'") from None
    wanted = os.environ.get("OSTROM_BROWSER", "any")
    names = BROWSERS if wanted == "any" else (wanted,)
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        raise UsageError(f"--browser: no browser found (looked for {', '.join(names)})")
    # Chromium's sandbox refuses to start as root, as in most containers.
    sandbox = [] if hasattr(os, "geteuid") and os.geteuid() else ["--no-sandbox"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=sandbox)
        try:
            yield browser
        finally:
            await browser.close()


async def _visit(
    host: PilotHost,
    browser: Any,
    link: str,
    number: int,
    moments: int,
    room: asyncio.Semaphore,
    joining: asyncio.Lock,
) -> None:
    async with room:
        context = await browser.new_context()
        try:
            page = await context.new_page()
            page.set_default_timeout(PATIENCE * 1000)
            async with joining:
                before = set(host.live_visits)
                await page.goto(link)
                await page.locator("form[action='/join'] button").click()
                await page.wait_for_selector("form[action='/answer'], main[data-live]")
                (new,) = set(host.live_visits) - before
            live = host.live_visits[new]
            host.participants[new] = participant(host.crowd, number, moments)
            await _through(host, page, live)
        finally:
            await context.close()


async def _through(host: PilotHost, page: Any, live: LiveVisit) -> None:
    """Answer page after page until the visit is over."""
    while live.end is None:
        since = live.version
        entry = host.now_at(live)
        if entry is None:
            await live.news(since, PATIENCE)
            continue
        try:
            await page.wait_for_selector(f"input[name='place'][value='{entry.place}']", state="attached")
        except Exception as error:  # Playwright has its own kinds of errors
            raise RunError(f"the page does not show question {entry.place}: {type(error).__name__}") from None
        if await host.gone(live):
            continue
        await _answer(host, page, live, entry)
        while live.end is None and host.now_at(live) is entry:
            await live.news(live.version, PATIENCE)


async def _answer(host: PilotHost, page: Any, live: LiveVisit, entry: Open) -> None:
    """Fill in one page as a person would, and send it."""
    assert host.thoughts is not None
    form = page.locator("form[action='/answer']")
    if entry.prompt is not None:
        value = host.thoughts.pop((entry.unit, entry.player))
        if isinstance(value, str) and value in entry.prompt.labels:
            await form.get_by_role("button", name=entry.prompt.labels[value], exact=True).click()
            return
        raise UsageError(
            "--browser: participants choose between options; leave --browser out for other forms"
        )
    rng = host.participants[live.visit].chance.at(entry.step, 0, "page")
    value, personal = answer_to(host, entry, rng)
    sheet = host.sheet(entry.decision, host.people.languages[0])
    if sheet is None:
        await form.locator("button").first.click()
        return
    said = {**value, **dict(personal)}
    for name, question in sheet.named():
        if name not in said:
            continue
        if question.options:
            await form.locator(f"input[name='{name}'][value='{question.options.index(said[name])}']").check()
        else:
            await form.locator(f"[name='{name}']").fill(str(said[name]))
    await form.locator(".buttons button").last.click()
