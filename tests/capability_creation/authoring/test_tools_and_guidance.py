"""CC-1: the tools, what the model reads of them, and the guidance."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import LocalWorkspace
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.models.test import TestModel
from tests.support import ScriptedModel

from pydantic_ai_harness import CapabilityCreation
from pydantic_ai_harness.capability_creation import prompt

from .support import FINE, agent_of, agent_with, author, authored, call, run_call, run_calls, tool_returns

TOOLS = ['author_capability', 'list_authored_capabilities', 'disable_authored_capability']
BROKEN = 'raise ValueError("broken on purpose")\n'
FAILS_IN_RUNS = authored('async def before_run(self, ctx):\n    raise ValueError("in the run")')


async def offered(creation: CapabilityCreation[None], *turns: Any) -> ScriptedModel:
    """What an agent offers to its model over a run."""
    script = ScriptedModel(turns)
    await agent_of(script, creation, instructions='Mine.').run('go')
    return script


# -- the tools ---------------------------------------------------------------------------------------------------


async def test_cc1_the_agent_has_the_three_tools(creation: CapabilityCreation[None]) -> None:
    """All three are offered, by name, and no other."""
    assert (await offered(creation)).tool_names() == TOOLS


async def test_cc1_the_tools_say_what_they_do_and_take(creation: CapabilityCreation[None]) -> None:
    """Each tool is described, with its parameters, which are all required and closed."""
    script = await offered(creation)
    wanted = {'author_capability': ['name', 'code'], 'disable_authored_capability': ['name'], TOOLS[1]: []}
    for name, parameters in wanted.items():
        tool = script.tool(name)
        assert len(tool.description) > 20
        schema = tool.parameters_json_schema
        assert list(schema['properties']) == parameters
        assert schema.get('required', []) == parameters
        assert schema['additionalProperties'] is False


async def test_cc1_the_parameters_of_author_capability_are_described(creation: CapabilityCreation[None]) -> None:
    """Name and code say what they have to be."""
    properties = (await offered(creation)).tool('author_capability').parameters_json_schema['properties']
    assert '64 lower-case letters' in properties['name']['description']
    assert 'exactly one subclass' in properties['code']['description']


async def test_cc1_the_program_argument_is_marked(creation: CapabilityCreation[None]) -> None:
    """Its metadata says that `code` is a Python program, and the tools without one say nothing of the kind."""
    script = await offered(creation)
    assert (
        script.tool('author_capability').metadata.items()
        >= {
            'code_arg_name': 'code',
            'code_arg_language': 'python',
        }.items()
    )
    assert 'code_arg_name' not in (script.tool('list_authored_capabilities').metadata or {})


# -- guidance ----------------------------------------------------------------------------------------------------


async def test_cc1_default_guidance_is_in_the_instructions(creation: CapabilityCreation[None]) -> None:
    """The default text names every tool and stands beside the user's instructions."""
    instructions = (await offered(creation)).infos[0].instructions or ''
    assert 'Mine.' in instructions
    assert prompt.GUIDANCE in instructions
    assert all(name in instructions for name in TOOLS)
    assert 'later run' in instructions


async def test_cc1_own_guidance_replaces_the_default(tmp_path: Path) -> None:
    """A string of the user's is all that is said of authoring."""
    script = await offered(CapabilityCreation[None](tmp_path, guidance='Author with care.'))
    assert script.infos[0].instructions == 'Mine.\n\nAuthor with care.'


async def test_cc1_empty_guidance_says_nothing(tmp_path: Path) -> None:
    """With `''` the instructions are the user's alone, and the tools stay."""
    script = await offered(CapabilityCreation[None](tmp_path, guidance=''))
    assert script.infos[0].instructions == 'Mine.'
    assert script.tool_names() == TOOLS


@pytest.mark.parametrize('guidance', [None, 'Author with care.', ''])
async def test_cc1_guidance_is_cache_stable(tmp_path: Path, guidance: str | None) -> None:
    """Instructions and tools are the same in every request of a run, and in runs after something was authored."""
    creation = CapabilityCreation[None](tmp_path, guidance=guidance)
    turns = [[author(FINE, 'first')], [author(BROKEN, 'second')], [call('list_authored_capabilities')]]
    first = await offered(creation, *turns, [call('disable_authored_capability', name='first')])
    later = await offered(creation, *turns)
    fresh = await offered(CapabilityCreation[None](tmp_path, guidance=guidance))
    infos = [*first.infos, *later.infos, *fresh.infos]
    assert len(infos) == 5 + 4 + 1
    assert len({info.instructions for info in infos}) == 1
    assert len({repr(info.function_tools) for info in infos}) == 1


# -- what the model reads ----------------------------------------------------------------------------------------


async def test_cc1_success_says_what_was_kept_and_from_when(creation: CapabilityCreation[None]) -> None:
    """The name, version and class are said, and that it takes effect later."""
    first, second = await run_calls(creation, author(FINE), author(FINE + '# more\n'))
    assert first.outcome == second.outcome == 'success'
    assert first.content == (
        "'subject' passed its checks and is saved as version 1 (Authored).\n"
        'It takes effect in a later run, not in this one.'
    )
    assert 'version 2 (Authored)' in str(second.content)


async def test_cc5_refusal_without_a_working_version(creation: CapabilityCreation[None]) -> None:
    """It says that the file is kept and not loaded, with the error."""
    part = await run_call(creation, author(BROKEN))
    text = str(part.content)
    assert text.startswith('The code was refused. It is kept as subject.py and not loaded.')
    assert 'ValueError: broken on purpose' in text
    assert 'send it again under the same name' in text


async def test_cc5_refusal_beside_a_working_version(creation: CapabilityCreation[None]) -> None:
    """It says that the working version stays, and where the new code is."""
    _, part = await run_calls(creation, author(FINE), author(BROKEN))
    text = str(part.content)
    assert "'subject' stays as it was (version 1, active)" in text
    assert 'kept as subject.rejected.py' in text
    assert 'ValueError: broken on purpose' in text


async def test_cc5_refusal_beside_a_disabled_version(creation: CapabilityCreation[None]) -> None:
    """A version that is switched off is not called active."""
    disable = call('disable_authored_capability', name='subject')
    *_, part = await run_calls(creation, author(FINE), disable, author(BROKEN))
    assert "'subject' stays as it was (version 1, disabled)" in str(part.content)


async def test_cc5_refusal_after_a_refusal(creation: CapabilityCreation[None]) -> None:
    """Code that failed before is no working version."""
    _, part = await run_calls(creation, author(BROKEN), author('x = (\n'))
    assert 'It is kept as subject.py and not loaded.' in str(part.content)
    assert 'SyntaxError' in str(part.content)


@pytest.mark.parametrize('name', ['', 'Upper', '1st', 'a-b', 'a.b', '../up', 'a/b', 'a' * 65, 'é', 'a\n', 'a\0'])
async def test_cc4_a_bad_name_is_a_retry(creation: CapabilityCreation[None], name: str) -> None:
    """The model reads the rule, may try again, and nothing was written or run."""
    part, again = await run_calls(creation, author(BROKEN, name), author(FINE, 'good'))
    assert (part.outcome, again.outcome) == ('retried', 'success')
    assert 'lower-case letters, digits and underscores' in str(part.content)
    assert [entry.name for entry in creation.store.list_all()] == ['good']


async def test_cc4_bad_names_for_ever_end_the_run(creation: CapabilityCreation[None]) -> None:
    """Retries are bounded, like those of any tool."""
    with pytest.raises(UnexpectedModelBehavior):
        await run_calls(creation, *[author(FINE, 'Bad') for _ in range(5)])


async def test_cc1_disabling_says_from_when(creation: CapabilityCreation[None]) -> None:
    """The capability is not loaded any more, which the model is told."""
    _, part = await run_calls(creation, author(FINE), call('disable_authored_capability', name='subject'))
    assert "'subject' is disabled" in str(part.content)
    assert 'next run' in str(part.content)
    assert creation.store.load_active() == []


@pytest.mark.parametrize(('known', 'text'), [([], 'none yet'), (['one', 'two'], 'There are: one, two.')])
async def test_cc1_disabling_an_unknown_name_is_a_retry(
    creation: CapabilityCreation[None], known: list[str], text: str
) -> None:
    """The model reads which names there are."""
    for name in known:
        creation.store.write(name, FINE)
    part = await run_call(creation, call('disable_authored_capability', name='three'))
    assert part.outcome == 'retried'
    assert "No capability is named 'three'" in str(part.content)
    assert text in str(part.content)


async def test_cc1_list_is_empty_at_first(creation: CapabilityCreation[None]) -> None:
    """Without anything authored there is an empty list, and no directory is made for it."""
    part = await run_call(creation, call('list_authored_capabilities'))
    assert part.content == []
    assert not creation.store.directory.exists()


async def test_cc1_list_shows_each_state(creation: CapabilityCreation[None]) -> None:
    """Active, refused and disabled ones are listed in order of their first writing."""
    creation.store.write('works', FINE)
    creation.store.write('refused', BROKEN)
    creation.store.write('off', FINE)
    creation.store.disable('off')
    creation.store.write('works', FINE + '\n')
    listed: Any = (await run_call(creation, call('list_authored_capabilities'))).content
    assert [(each['name'], each['status'], each['version'], each['class_name']) for each in listed] == [
        ('works', 'active', 2, 'Authored'),
        ('refused', 'active', None, ''),
        ('off', 'disabled', 1, 'Authored'),
    ]
    assert 'broken on purpose' in listed[1]['last_error']
    assert listed[0]['last_error'] is None
    assert listed[0]['notes'] == []


async def test_beyond4_list_shows_the_last_failure_with_its_own_lines(creation: CapabilityCreation[None]) -> None:
    """What failed in a run is said with hook, error and the line of the capability's code."""
    creation.store.write('subject', FAILS_IN_RUNS)
    for _ in range(2):
        agent = agent_of(ScriptedModel([]), creation, *creation.store.load_active())
        await agent.run('go')
    listed: Any = (await run_call(creation, call('list_authored_capabilities'))).content
    assert listed[0]['failing_runs'] == 2
    assert listed[0]['last_failure'] == (
        'before_run: ValueError: in the run\nline 4, in before_run:\n    raise ValueError("in the run")'
    )


async def test_beyond4_list_shows_quarantine(tmp_path: Path) -> None:
    """A capability that has failed too often is shown as quarantined in the very run that did it."""
    creation = CapabilityCreation[None](tmp_path, max_failures=1)
    creation.store.write('subject', FAILS_IN_RUNS)
    agent = agent_of(ScriptedModel([[call('list_authored_capabilities')]]), creation, *creation.store.load_active())
    listed: Any = tool_returns((await agent.run('go')).all_messages())[0].content
    assert listed[0]['status'] == 'quarantined'


async def test_cc7_list_notes_edited_files(creation: CapabilityCreation[None]) -> None:
    """A file that was changed by hand is noted, and no longer after it was authored again."""
    creation.store.write('subject', FINE)
    (creation.store.directory / 'subject.py').write_text(FINE + '# by hand\n')
    listing = call('list_authored_capabilities')
    before, _, after = await run_calls(creation, listing, author(FINE), listing)
    edited: Any = before.content
    mended: Any = after.content
    assert 'edited by hand' in edited[0]['notes'][0]
    assert mended[0]['notes'] == []


async def test_cc1_list_keeps_the_hint(creation: CapabilityCreation[None]) -> None:
    """What was hinted at when it was written is still there to read."""
    creation.store.write('subject', authored('pass'))
    listed: Any = (await run_call(creation, call('list_authored_capabilities'))).content
    assert 'overrides no hook' in listed[0]['notes'][0]


@pytest.mark.parametrize('each', [author(FINE), call('disable_authored_capability', name='subject')])
async def test_cc6_an_unreadable_manifest_ends_authoring(creation: CapabilityCreation[None], each: Any) -> None:
    """Authoring and disabling raise rather than replace it, and nothing of the code runs; listing shows nothing."""
    creation.store.directory.mkdir()
    manifest = creation.store.directory / 'manifest.json'
    manifest.write_text('{')
    with pytest.raises(UserError, match='cannot be read'):
        await run_calls(creation, each)
    assert manifest.read_text() == '{'
    assert (await run_call(creation, call('list_authored_capabilities'))).content == []


async def test_cc1_two_calls_at_once_are_both_kept(creation: CapabilityCreation[None]) -> None:
    """Calls of one response run together and do not lose each other's entries."""
    script = ScriptedModel([[author(FINE, f'number_{n}') for n in range(10)]])
    result = await agent_of(script, creation).run('go')
    assert [part.outcome for part in tool_returns(result.all_messages())] == ['success'] * 10
    assert {entry.name for entry in creation.store.list_all()} == {f'number_{n}' for n in range(10)}
    assert len(creation.store.load_active()) == 10


async def test_cc1_a_stand_in_that_calls_everything_ends_well(creation: CapabilityCreation[None]) -> None:
    """Made-up arguments, as a careless model sends them, end no run."""
    model = TestModel(call_tools=['author_capability', 'list_authored_capabilities'])
    result = await agent_with(model, LocalWorkspace[None]('.'), creation).run('go')
    assert [part.tool_name for part in tool_returns(result.all_messages())] == TOOLS[:2]
    assert [entry.name for entry in creation.store.list_all()] == ['a']


# -- the guidance teaches ----------------------------------------------------------------------------------------

SNIPPETS = [match[1] for match in re.finditer(r'```python\n(.*?)```', prompt.GUIDANCE, flags=re.DOTALL)]


def name_of(code: str) -> str:
    """A name for a snippet: its class's, in lower case."""
    match = re.search(r'class (\w+)\(', code)
    assert match is not None
    return match[1].lower()


def test_cc1_guidance_is_short_and_has_snippets() -> None:
    """A guard and a tool are shown, within the size that a cached prefix may well have."""
    assert [name_of(code) for code in SNIPPETS] == ['noforcepush', 'wordcount']
    assert len(prompt.GUIDANCE) < 2500


@pytest.mark.parametrize('isolate', [False, True])
async def test_cc1_every_snippet_of_the_guidance_works(
    creation: CapabilityCreation[None], isolated: CapabilityCreation[None], *, isolate: bool
) -> None:
    """Authored by a run and loaded for the next one, its guard stops a call and its tool answers."""
    place = isolated if isolate else creation
    parts = await run_calls(place, *[author(code, name_of(code)) for code in SNIPPETS])
    assert [part.outcome for part in parts] == ['success', 'success']
    assert not any('Note:' in str(part.content) for part in parts)
    names = {name_of(code) for code in SNIPPETS}
    assert {entry.name for entry in place.store.list_all() if entry.last_error is None} >= names

    commands: list[str] = []

    def run_command(command: str) -> str:
        commands.append(command)
        return 'pushed'

    script = ScriptedModel(
        [
            [call('run_command', command='git push --force')],
            [call('run_command', command='git push')],
            [call('word_count', text='one two three')],
        ]
    )
    for name in [entry.name for entry in place.store.list_all() if entry.name not in names]:
        place.store.disable(name)  # left by other tests
    agent = agent_of(script, place, *place.store.load_active(), tools=[run_command])
    forced, pushed, counted = tool_returns((await agent.run('go')).all_messages())
    assert forced.outcome == 'retried'
    assert 'Force pushes are not allowed here.' in str(forced.content)
    assert (pushed.content, counted.content) == ('pushed', 3)
    assert commands == ['git push']
    assert 'Use word_count before you state a length.' in (script.infos[0].instructions or '')
    assert script.tool('word_count').description == 'Count the words of a text.'


async def test_cc1_the_hooks_that_the_guidance_lists_can_be_written_so(creation: CapabilityCreation[None]) -> None:
    """Every other hook in the text passes its checks when it is written as the text has it, and is run."""
    listed = re.findall(r'`(\w+\(self, ctx[^`]*\))`', prompt.GUIDANCE)
    assert {header.partition('(')[0] for header in listed} == {
        'before_run',
        'after_tool_execute',
        'before_model_request',
    }
    for header in listed:
        given_back = {'after_tool_execute': 'result', 'before_model_request': 'request_context'}
        name = header.partition('(')[0]
        body = f'async def {header}:\n    CALLS.append({name!r})\n    return {given_back.get(name)}'
        code = authored(body, before='import builtins\nCALLS = builtins.__dict__.setdefault("calls_of_guidance", [])\n')
        part = await run_call(creation, author(code, name))
        assert part.outcome == 'success'
        assert 'Note:' not in str(part.content)
    import builtins

    calls: list[str] = []
    builtins.__dict__['calls_of_guidance'] = calls
    try:
        script = ScriptedModel([[call('list_authored_capabilities')]])
        await agent_of(script, creation, *creation.store.load_active()).run('go')
    finally:
        del builtins.__dict__['calls_of_guidance']
    assert sorted(calls) == ['after_tool_execute', 'before_model_request', 'before_model_request', 'before_run']
