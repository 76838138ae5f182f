"""An agent that plays a seat of an Ostrom study: it always takes the first answer that it is offered.

Ostrom starts it for each match (`types: {mine: {mcp: {command: [python, seat_agent.py]}}}`), or you do, with the
address and the token that `ostrom seat STUDY --http` shows, in these two environment variables.
"""

import asyncio
import os
import re

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN = os.environ["OSTROM_SEAT_URL"], os.environ["OSTROM_SEAT_TOKEN"]


async def main() -> None:
    """Look, act, and look again, until the run is over."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=90)
    async with http, Client(streamable_http_client(URL, http_client=http)) as seat:
        while (told := await seat.call_tool("look", {})).structured_content["state"] != "run_over":
            if told.structured_content["state"] == "decide":
                choice = re.findall(r"\[.+?\]", told.content[0].text)[-2]
                await seat.call_tool("act", {"answer": choice})


asyncio.run(main())
