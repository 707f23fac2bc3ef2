"""Waits for what threads do, without the way through the event loop where it takes but a moment."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar('T')

# Most turns of a snippet and most checks are over by then. Going back to the event loop, and being woken up by it,
# takes longer than that on an idle machine; a loop that stands still for half a millisecond is not noticed.
_IN_PLACE_SECS = 0.0005


async def result_of(future: Future[T]) -> T:
    """The future's result; the event loop stands still for half a millisecond at most."""
    try:
        return future.result(_IN_PLACE_SECS)
    except TimeoutError:
        return await asyncio.wrap_future(future)
