"""Simulated participants in a real browser: the same visits, through the pages that people see."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.engine.folder import Folder
from ostrom.framing import PromptRenderer
from ostrom.mechanisms.protocol import Decision
from ostrom.people.host import SeatedPerson
from ostrom.people.live_visit import LiveVisit, PendingQuestion
from ostrom.people.pilot import Crowd, PilotHost, answer_to, participant
from ostrom.people.server import listening, serve_people
from ostrom.people.sources import LinkReader

AT_ONCE = 4
"""Pages that are open at the same time."""
PATIENCE = 60.0
"""Seconds that a page may take to change."""


class BrowserHost(PilotHost):
    """A host whose participants answer through pages: what each will answer waits here."""

    thoughts: dict[tuple[int, int], Any]
    """By unit and player."""

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """The seat of a simulated person, who answers in the browser."""
        return _AtPages(self, config, renderer, others, agent)


class _AtPages(SeatedPerson):
    """A person's seat; an agent works out the answer, and the browser sends it."""

    host: BrowserHost

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        if decision.view.mechanism != "visit":
            if not hasattr(self, "_mind"):
                self._mind = self._agent(self.host.crowd.config)
            answer = await self._mind.answer(decision, context)
            self.host.thoughts[context.unit, context.player] = answer.value
        return await super().answer(decision, context)


async def browse(
    host: BrowserHost, folder: Folder, crowd: Crowd, moments: int, study: Path, chromium: dict[str, Any]
) -> None:
    """Serve the study on this machine and simulate all visits in a browser; returns when all have ended."""
    from playwright.async_api import async_playwright

    host.crowd, host.participants, host.thoughts = crowd, {}, {}
    with listening("127.0.0.1", 0, 0, None) as where:
        serving = asyncio.create_task(serve_people(host, folder, where, study, lambda _: None))
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(**chromium)
                links = LinkReader(host.people.source, host.register.key, study).links(where.base)
                room, joining = asyncio.Semaphore(AT_ONCE), asyncio.Lock()
                await asyncio.gather(
                    *(
                        _visit(host, browser, link, number, moments, room, joining)
                        for number, link in enumerate(links[: crowd.people], 1)
                    )
                )
                await browser.close()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


async def _visit(
    host: BrowserHost,
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


async def _through(host: BrowserHost, page: Any, live: LiveVisit) -> None:
    """Answer page after page until the visit is over."""
    while live.end is None:
        since = live.version
        entry = host.now_at(live)
        if entry is None:
            await live.news(since, PATIENCE)
            continue
        await page.wait_for_selector(f"input[name='place'][value='{entry.place}']", state="attached")
        if await host.gone(live):
            continue
        await _answer(host, page, live, entry)
        while live.end is None and host.now_at(live) is entry:
            await live.news(live.version, PATIENCE)


async def _answer(host: BrowserHost, page: Any, live: LiveVisit, entry: PendingQuestion) -> None:
    """Fill in one page as a person would, and send it."""
    form = page.locator("form[action='/answer']")
    if entry.prompt is not None:
        value = host.thoughts.pop((entry.unit, entry.player))
        await form.get_by_role("button", name=entry.prompt.labels[value], exact=True).click()
        return
    rng = host.participants[live.visit].chance.generator(entry.step, 0, "page")
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
