"""BEYOND-3: tools whose definitions change, in place too, from user to user and from step to step."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import pytest
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness import CodeMode
from tests.code_mode.real_tools import over_shared_data, tools_of
from tests.support import ScriptedModel, code_returns


def read_report(name: str) -> dict[str, str]:
    """Read a report."""
    return {'name': name}


async def for_the_user(ctx: RunContext[str], tool: ToolDefinition) -> ToolDefinition:
    """Change the schema that all runs share."""
    tool.parameters_json_schema['properties']['name'].update(enum=[f'{ctx.deps}_report'], description=f'Of {ctx.deps}')
    return tool


async def for_the_step(ctx: RunContext[str], tool: ToolDefinition) -> ToolDefinition:
    """Change a description inside the schema."""
    tool.parameters_json_schema['properties']['name']['description'] = f'Read it in step {ctx.run_step}.'
    return tool


def agent_of(model: ScriptedModel, tool: Tool[str], *, dynamic: bool = False) -> Agent[str, str]:
    code_mode = CodeMode[str](dynamic_catalog=dynamic)
    return Agent(model.model(), deps_type=str, tools=[tool], capabilities=[code_mode])


@pytest.mark.parametrize('dynamic', [False, True])
async def test_beyond3_a_user_reads_none_of_another_users_tools(*, dynamic: bool) -> None:
    """What `prepare` changes in place is read anew: declarations, `help`, and what code is checked against."""
    tool = Tool[str](read_report, prepare=for_the_user)
    model = ScriptedModel(['[help("read_report"), (await read_report(name="bo_report"))["name"]]'])
    agent = agent_of(model, tool, dynamic=dynamic)
    for user in ('ada', 'bo', 'ada'):
        model.infos.clear()
        result = await agent.run('Go.', deps=user)
        other = {'ada': 'bo', 'bo': 'ada'}[user]
        read = f'{model.infos[0].instructions}{model.description}'
        assert f"name: Literal['{user}_report']" in read
        assert f'Of {user}' in read
        assert f'{other}_report' not in read
        (returned,) = code_returns(result.all_messages())
        assert ('Of bo' in str(returned.content)) == (user == 'bo')
        assert ('The code was not run' in str(returned.content)) == (user != 'bo')


async def test_beyond3_a_description_that_changes_in_each_step_is_read_anew() -> None:
    """In the description of `run_code` and by `help`."""
    model = ScriptedModel(['help("read_report")', 'help(read_report)'])
    result = await agent_of(model, Tool[str](read_report, prepare=for_the_step)).run('Go.', deps='')
    read = [model.tool('run_code', request).description for request in range(3)]
    helped = [str(returned.content) for returned in code_returns(result.all_messages())]
    assert [f'Read it in step {step}.' in text for step, text in enumerate(read, 1)] == [True] * 3
    assert [f'Read it in step {step}.' in text for step, text in enumerate(helped, 1)] == [True] * 2


async def test_beyond3_a_listed_function_that_has_changed_is_explained_when_it_is_called_wrongly() -> None:
    """With `dynamic_catalog` the instructions keep what they said; `help` and errors have what holds now."""
    model = ScriptedModel(['help("read_report")', 'await read_report(wrong=1)'])
    result = await agent_of(model, Tool[str](read_report, prepare=for_the_step), dynamic=True).run('Go.', deps='')
    helped, refused = (str(returned.content) for returned in code_returns(result.all_messages()))
    assert len({info.instructions for info in model.infos}) == 1
    assert 'Read it in step 1.' in helped
    assert 'Read it in step 2.' in refused


@pytest.mark.parametrize('extra', ['', '\ud800'], ids=['text', 'half a surrogate pair'])
def test_beyond3_a_definition_that_is_changed_itself_is_read_anew(extra: str) -> None:
    """Also where the toolset gives the same object again; what was built before keeps what it said."""
    code_mode, tool = CodeMode[None](), ToolDefinition(name='act', description=f'Ada{extra}')
    first = code_mode.catalog_of([tool], {}, [])
    tool.description = f'Bo{extra}'
    second = code_mode.catalog_of([tool], {}, [])
    assert code_mode.catalog_of([tool], {}, []) is second
    assert ['Ada' in catalog.shown for catalog in (first, second)] == [True, False]


@over_shared_data
def test_beyond3_tools_that_did_not_change_are_read_once() -> None:
    """Equal definitions have one catalog, whichever objects hold them."""
    code_mode = CodeMode[None]()
    catalogs = {id(code_mode.catalog_of(*tools_of(), [])) for _ in range(3)}
    assert len(catalogs) == 1
