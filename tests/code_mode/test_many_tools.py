"""BEYOND-3: what a catalog costs when there are very many tools, or what they say is very long."""

from __future__ import annotations

import time
from typing import Any, Literal

import pytest
from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.code_mode.catalog import Catalog

_TEXT: dict[str, Any] = {'type': 'string'}


def tool_of(
    name: str, properties: dict[str, Any], returns: dict[str, Any] | None = None, description: str = 'Do it.'
) -> ToolDefinition:
    schema = {'type': 'object', 'properties': properties}
    return ToolDefinition(
        name=name, description=description, parameters_json_schema=schema, return_schema=returns and dict(returns)
    )


def thousands(number: int = 2_000) -> list[ToolDefinition]:
    """Arguments of one name that are described differently, results of one title that hold different things."""
    return [
        tool_of(
            f'tool_{one}',
            {'value': {**_TEXT, 'description': f'Value of {one // 2}'}, 'page': {'type': 'integer', 'default': one}},
            {'type': 'object', 'title': 'Result', 'properties': {f'field_{one // 2}': _TEXT, 'name': _TEXT}},
        )
        for one in range(number)
    ]


@pytest.mark.parametrize('form', ['full', 'brief', 'search', 'auto'])
def test_beyond3_thousands_of_tools_take_no_time(form: Literal['full', 'brief', 'search', 'auto']) -> None:
    """The time grows with the number of tools, not with its square: below a second on an idle machine."""
    tools = thousands()
    started = time.perf_counter()
    catalog = Catalog.build(tools)
    assert catalog.view(form, 4000).text
    assert time.perf_counter() - started < 4
    assert len(catalog.definitions.shown) == 1_000
