"""The tool definitions of 18 real MCP servers, and how many tokens a text takes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from pydantic_ai.tools import ToolDefinition

FOLDER = Path(__file__).parents[3] / 'shared' / 'data' / 'mcp-tools'
over_shared_data = pytest.mark.skipif(not FOLDER.is_dir(), reason='the data of the MCP servers is not here')


def tools_of(*servers: str) -> tuple[list[ToolDefinition], dict[str, str]]:
    """The tools of some servers, or of all, and which server each is of."""
    tools: list[ToolDefinition] = []
    groups: dict[str, str] = {}
    for path in sorted(FOLDER.glob('*.json')):
        if servers and path.stem not in servers:
            continue
        for tool in json.loads(path.read_text('utf-8')):
            tools.append(
                ToolDefinition(
                    name=tool['name'],
                    description=tool.get('description'),
                    parameters_json_schema=tool['inputSchema'],
                    return_schema=tool.get('outputSchema'),
                )
            )
            groups[tool['name']] = path.stem
    return tools, groups


def as_json(tools: list[ToolDefinition]) -> str:
    """Names, descriptions and parameters as a provider gets them, in the shortest JSON."""
    parts = [
        {'name': tool.name, 'description': tool.description, 'parameters': tool.parameters_json_schema}
        for tool in tools
    ]
    return '\n'.join(json.dumps(part, ensure_ascii=False, separators=(',', ':')) for part in parts)


def count_tokens(text: str) -> int:
    """Tokens in the `o200k_base` encoding."""
    return len(_encode()(text))


@cache
def _encode() -> Callable[[str], list[int]]:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)  # of importlib.resources, in bpe-openai 0.1.4
        from bpe_openai import get_encoding  # pyright: ignore[reportMissingTypeStubs]
    return get_encoding('o200k_base').encode_ordinary
