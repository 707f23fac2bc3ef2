"""BEYOND-3: what a catalog costs when there are very many tools, or what they say is very long."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import time
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from pydantic_ai.tools import Tool, ToolDefinition

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.token_estimate import estimate_tokens, fits
from tests.support import run_snippet

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


LONG = 'word ' * 3_000 + 'end'
CHATTY: dict[str, Any] = {
    'type': 'object',
    'description': LONG,
    'properties': {'one': {**_TEXT, 'description': LONG}, 'odd key': {**_TEXT, 'description': LONG}},
}


@pytest.mark.parametrize('max_tokens', [1, 10**9], ids=['dense', 'plain'])
def test_beyond3_long_descriptions_are_cut_wherever_they_stand(max_tokens: int) -> None:
    """Of functions, arguments that are shared or not, and objects that are taken or returned; `help` has them whole."""
    shared = {'owner': {**_TEXT, 'description': LONG}}
    tools = [
        tool_of('chat', {**shared, 'said': CHATTY, 'own': {**_TEXT, 'description': LONG}}, CHATTY, LONG),
        tool_of('talk', shared),
    ]
    catalog = Catalog.build(tools)
    view = catalog.view('full', max_tokens)
    assert view.mode == ('dense' if max_tokens == 1 else 'full')
    cuts = view.text.count('… [cut; all of it is in the help of the function]')
    assert cuts >= 9
    assert len(view.text) < (cuts + 1) * 4_100
    assert catalog.lookup.help('chat').count('word end') == 10
    assert LONG not in catalog.stubs


@pytest.mark.parametrize('code', ['await chat(wrong=1)', 'await chat(**{"said": 1})'])
async def test_beyond3_errors_that_declare_a_function_are_cut_too(code: str) -> None:
    """Whether the check finds the mistake, or the call does."""

    def chat(said: Annotated[str, Field(description=LONG)]) -> str:
        """Chat."""
        return said

    returned = await run_snippet(code, tools=[Tool(chat)], code_mode=CodeMode(catalog='search'))
    assert 'async def chat(*, said: str) -> str:' in str(returned.content)
    assert len(str(returned.content)) < 10_000


WORD = 'a' * 1_000_000


def test_beyond3_a_word_without_end_does_not_fit() -> None:
    """Long words are counted by their letters: as one token for four, about."""
    assert estimate_tokens(WORD) > 200_000
    assert not fits(WORD, 4000)
    assert estimate_tokens('internationalisation') <= 4
    assert Catalog.build([tool_of('act', {WORD: _TEXT})]).view('auto', 4000).mode == 'search'


def test_beyond3_a_literal_without_end_is_not_written_out() -> None:
    """Such a value is declared by its kind, as those of a list that is too long are."""
    catalog = Catalog.build([tool_of('act', {'one': {'enum': [WORD, 'b', None]}, 'two': {'const': WORD}})])
    assert 'one: str | None = None, two: str | None = None' in catalog.shown
    assert len(catalog.shown) + len(catalog.dense) + len(catalog.stubs) < 2_000
