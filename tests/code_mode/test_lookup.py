"""BEYOND-3: a catalog that fits, and what code can look up of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.token_estimate import estimate_tokens
from pydantic_ai_harness.errors import ConfigurationError
from tests.code_mode.real_tools import FOLDER, over_shared_data, tools_of
from tests.support import ScriptedModel, code_returns, make_agent, run_snippet

_DATA = Path(__file__).parent / 'data'


def get_weather(city: str, days: int = 1) -> dict[str, float]:
    """Temperature and wind of a city. Second sentence."""
    return {'temp_f': 72.0}


def note(text: str) -> str:
    """Write something down."""
    return text


TOOLS = [Tool(get_weather), Tool(note, sequential=True)]


@over_shared_data
def test_beyond3_auto_takes_the_most_that_fits() -> None:
    """Few tools in full, a server of 117 in a line each with summaries, 414 tools as names."""
    few, many, all_of_them = tools_of('git'), tools_of('github'), tools_of()
    views = [Catalog.build(*tools).view('auto', 4000) for tools in (few, many, all_of_them)]
    assert [view.mode for view in views] == ['full', 'brief', 'search']
    assert all(estimate_tokens(view.text) <= 4000 for view in views)
    assert '  # ' in views[1].text
    assert all(f'{tool.name}(' in views[1].text for tool in many[0])
    assert 'github (117): ' in views[2].text


@over_shared_data
def test_beyond3_names_that_do_not_fit_are_counted() -> None:
    """Each group keeps its share of the names, and says how many are left out."""
    text = Catalog.build(*tools_of()).view('search', 1000).text
    assert estimate_tokens(text) <= 1000
    assert len(text.splitlines()) == len(list(FOLDER.glob('*.json')))
    assert 'and ' in text.split('github (117)')[1].splitlines()[0]


@over_shared_data
@pytest.mark.parametrize(
    ('file', 'number', 'among_three', 'among_ten'),
    [('task_phrases.json', 60, 54, 57), ('held_out_phrases.json', 80, 44, 57)],
)
def test_beyond3_phrases_of_a_task_find_their_function(
    file: str, number: int, among_three: int, among_ten: int
) -> None:
    """Hand-written phrases which avoid the names of the tools; those held out were written without sight of the ranking."""
    lookup = Catalog.build(*tools_of()).lookup
    phrases = json.loads((_DATA / file).read_text('utf-8'))
    ranks = [rank_of(phrase['accept'], lookup.find(phrase['query'], 10)) for phrase in phrases]
    assert len(phrases) == number
    assert sum(rank < 3 for rank in ranks) >= among_three
    assert sum(rank < 10 for rank in ranks) >= among_ten


def rank_of(accepted: list[str], found: list[dict[str, object]]) -> int:
    """The place of the first that is accepted, from 0."""
    names = {name.replace('-', '_') for name in accepted}
    return next((place for place, entry in enumerate(found) if entry['name'] in names), 99)


@over_shared_data
@pytest.mark.parametrize(
    ('query', 'first'),
    [
        ('create workbook', 'create_workbook'),
        ('new workbook', 'create_workbook'),
        ('list pull requests', 'list_pull_requests'),
        ('createPullRequest', 'create_pull_request'),
        ('git_log', 'git_log'),
        ('the', None),
        ('', None),
        ('"); DROP TABLE functions', None),
    ],
)
def test_beyond3_a_name_is_found_before_what_is_like_it(query: str, first: str | None) -> None:
    """Synonyms never outweigh the word itself; nothing in a query is syntax."""
    found = Catalog.build(*tools_of()).lookup.find(query, 1)
    assert first is None or found[0]['name'] == first


def test_beyond3_brief_lines_say_what_is_needed() -> None:
    """Required and optional arguments, the type of the result, who is called without `await`, and a summary."""
    catalog = Catalog.build([tool.tool_def for tool in TOOLS], {'get_weather': 'weather: ignore\nthe rest', 'note': ''})
    assert catalog.view('brief', 4000).text.splitlines() == [
        '# weather-ignore-the-rest:',
        'get_weather(city, days=...) -> dict[str, float]  # Temperature and wind of a city.',
        '',
        'note(text) -> str  # without await. Write something down.',
    ]


async def test_beyond3_code_looks_up_and_calls_in_one_snippet() -> None:
    """Both functions are free: they count against no budget, and are no calls of tools."""
    code = (
        'found = find_functions("wind of a town")\n'
        'text = help(found[0]["name"], get_weather)\n'
        'weather = await get_weather(city="Paris")\n'
        '[found[0]["name"], "city: str, days: int = 1" in text, weather]'
    )
    returned = await run_snippet(code, tools=TOOLS, code_mode=CodeMode(catalog='search', max_tool_calls=1))
    assert returned.content == ['get_weather', True, {'temp_f': 72.0}]
    assert [call.tool_name for call in returned.metadata['tool_calls'].values()] == ['get_weather']


async def test_beyond3_an_unknown_name_gets_the_nearest() -> None:
    """`help` of a misspelt name names what there is, where the code may catch it."""
    returned = await run_snippet('try:\n    help("get_wether")\nexcept NameError as e:\n    x = str(e)\nx', tools=TOOLS)
    assert returned.content == "there is no function 'get_wether'. Did you mean get_weather?"


@over_shared_data
@pytest.mark.parametrize(
    ('name', 'meant'),
    [
        ('creat_issue', 'create_issue'),
        ('remove_repo', 'delete_repository'),
        ('list_alerts_of_dependabot', 'list_dependabot_alerts'),
    ],
)
def test_beyond3_an_unknown_name_has_three_nearest(name: str, meant: str) -> None:
    """What is spelt alike first, then what says alike."""
    nearest = Catalog.build(*tools_of('github')).lookup.nearest(name)
    assert len(nearest) == 3
    assert meant in nearest


async def test_beyond3_code_that_calls_an_unknown_name_reads_the_nearest() -> None:
    """Before anything runs."""
    returned = await run_snippet('await fetch_weather_forecast(city="x")', tools=TOOLS)
    assert '`fetch_weather_forecast` is not defined. Did you mean `get_weather`?' in str(returned.content)


async def test_beyond3_an_unknown_name_inside_a_function_has_the_nearest_too() -> None:
    """It is found when the function runs, since later code might have defined it."""
    code = 'async def f():\n    return await wind_in_town(city="x")\nawait f()'
    returned = await run_snippet(code, tools=TOOLS)
    assert "name 'wind_in_town' is not defined. Did you mean `get_weather`?" in str(returned.content)


async def test_beyond3_a_search_may_be_restricted_to_a_group() -> None:
    """The group is the id of the toolset; an unknown one is named with those that there are."""
    model = ScriptedModel(
        ['[f["name"] for f in find_functions("down town", group="city")]', 'find_functions("x", group="citi")']
    )
    agent = Agent(
        model.model(),
        toolsets=[FunctionToolset([get_weather], id='city'), FunctionToolset([note], id='notes')],
        capabilities=[CodeMode()],
    )
    result = await agent.run('Go.')
    first, second = (str(returned.content) for returned in code_returns(result.all_messages()))
    assert 'note' not in first
    assert "there is no group 'citi'. Groups: city" in second


@pytest.mark.parametrize('catalog', ['brief', 'search'])
async def test_beyond3_wrong_arguments_bring_the_declaration(catalog: Any) -> None:
    """Whoever has seen only a line of a function reads all of it with the error."""
    returned = await run_snippet('await get_weather(town="x")', tools=TOOLS, code_mode=CodeMode(catalog=catalog))
    text = str(returned.content)
    assert 'Argument `town`' in text
    assert 'async def get_weather(*, city: str, days: int = 1) -> dict[str, float]:' in text


async def test_beyond3_names_of_the_users_tools_win() -> None:
    """A tool called `find_functions` keeps its name, and the model is told what ours is called."""

    def find_functions(query: str) -> str:
        """Find mathematical functions."""
        return f'math: {query}'

    code = '[await find_functions(query="x"), find_functions_2("wind")[0]["name"]]'
    model = ScriptedModel([code])
    tools = [*TOOLS, Tool(find_functions)]
    result = await make_agent(model, tools=tools, code_mode=CodeMode(catalog='brief')).run('Go.')
    assert '`find_functions_2("words")`' in model.description
    assert code_returns(result.all_messages())[0].content == ['math: x', 'get_weather']


@pytest.mark.parametrize(('setting', 'value'), [('catalog', 'all'), ('catalog_tokens', 0)])
def test_beyond3_bad_settings_fail_when_built(setting: str, value: object) -> None:
    """The text names the setting and the value."""
    with pytest.raises(ConfigurationError, match=f'{setting}.*{value}'):
        CodeMode(**{setting: value})  # pyright: ignore[reportArgumentType]
