"""CC-11, CC-12, CC-13, CC-14, CM-2: authoring beside other capabilities and tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDenied
from pydantic_ai.capabilities import Instrumentation, LocalWorkspace
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel
from tests.support import ScriptedModel, code_returns

from pydantic_ai_harness import CapabilityCreation, CodeMode, GuardrailResult, ToolGuardrail

from .support import FINE, agent_of, agent_with, author, authored, call, run_call, run_calls, tool_returns, writes_pid

# -- CC-11: several of them --------------------------------------------------------------------------------------


def build(*creations: CapabilityCreation[None]) -> Agent[None, Any]:
    """An agent with all of these."""
    return agent_with(TestModel(call_tools=[]), LocalWorkspace[None]('.'), *creations)


@pytest.mark.parametrize(
    'settings', [{}, {'guidance': 'Mine.'}, {'max_failures': None, 'pin': True}, {'isolated_validation': True}]
)
async def test_cc11_the_same_said_twice_is_one(tmp_path: Path, settings: dict[str, Any]) -> None:
    """The tools and the guidance are there once."""
    creations = [CapabilityCreation[None](tmp_path, **settings) for _ in range(3)]
    script = ScriptedModel([])
    await agent_with(script.model(), LocalWorkspace[None]('.'), *creations).run('go')
    assert len(script.tool_names()) == 3
    assert (script.infos[0].instructions or '').count(settings.get('guidance', 'You can extend yourself.')) == 1


@pytest.mark.parametrize(
    'other',
    [
        {'directory': Path('elsewhere')},
        {'guidance': ''},
        {'max_failures': 4},
        {'max_failures': None},
        {'max_versions': 3},
        {'pin': True},
        {'isolated_validation': True},
        {'validation_timeout': None},
        {'validation_timeout': 5},
    ],
)
async def test_cc11_two_that_differ_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    """The error shows both, and what to do; it comes when the agent is built, or when a run adds both."""
    one = CapabilityCreation[None](tmp_path)
    settings: dict[str, Any] = {'directory': tmp_path, **other}
    two = CapabilityCreation[None](**settings)
    with pytest.raises(UserError, match=r"share the id 'capability_creation' and differ.*its own `id`"):
        build(one, two)
    with pytest.raises(UserError, match='differ'):
        await build().run('go', capabilities=[two, one])


def test_cc11_two_relative_directories_differ_when_they_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words from different working directories are not the same configuration."""
    (tmp_path / 'a').mkdir()
    (tmp_path / 'b').mkdir()
    monkeypatch.chdir(tmp_path / 'a')
    one = CapabilityCreation[None](Path('authored'))
    monkeypatch.chdir(tmp_path / 'b')
    two = CapabilityCreation[None](Path('authored'))
    assert one.store.directory != two.store.directory
    with pytest.raises(UserError):
        build(one, two)


def test_cc11_one_directory_in_two_words_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative and an absolute path to one place are the same configuration."""
    monkeypatch.chdir(tmp_path)
    build(CapabilityCreation[None](Path('authored')), CapabilityCreation[None](tmp_path / 'authored'))


def test_cc11_the_directory_is_fixed_when_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the working directory does not move it."""
    monkeypatch.chdir(tmp_path)
    creation = CapabilityCreation[None](Path('authored'))
    monkeypatch.chdir('/')
    creation.store.write('subject', FINE)
    assert (tmp_path / 'authored' / 'subject.py').exists()


# -- CC-12 -------------------------------------------------------------------------------------------------------


def test_cc12_it_is_no_part_of_a_spec() -> None:
    """It has no name there, and a spec that asks for it is refused."""
    assert CapabilityCreation.get_serialization_name() is None
    with pytest.raises(ValueError, match='CapabilityCreation'):
        Agent.from_spec({'model': 'test', 'capabilities': ['CapabilityCreation']})


# -- CC-13: approval ---------------------------------------------------------------------------------------------


def approving(creation: CapabilityCreation[None], code: str) -> Agent[None, Any]:
    """An agent whose authored code waits for a person."""
    guardrail = ToolGuardrail[None](guard=lambda call: GuardrailResult.approve(), tools=['author_capability'])
    script = ScriptedModel([[author(code)]])
    return agent_of(script, creation, guardrail, output_type=[str, DeferredToolRequests])


@pytest.mark.parametrize('isolate', [False, True])
async def test_cc13_authoring_waits_for_a_person(
    creation: CapabilityCreation[None], isolated: CapabilityCreation[None], tmp_path: Path, *, isolate: bool
) -> None:
    """The run ends before any of the code has run; approving resumes, runs and writes it."""
    place, name = (isolated, 'isolated') if isolate else (creation, 'in_process')
    ran = tmp_path / 'ran'
    guardrail = ToolGuardrail[None](guard=lambda call: GuardrailResult.approve(), tools=['author_capability'])
    script = ScriptedModel([[author(writes_pid(ran) + FINE, f'approved_{name}')]])
    agent = agent_of(script, place, guardrail, output_type=[str, DeferredToolRequests])
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    (request,) = paused.output.approvals
    assert request.tool_name == 'author_capability'
    assert FINE in str(request.args_as_dict()['code'])
    assert not ran.exists()
    assert f'approved_{name}' not in [entry.name for entry in place.store.list_all()]

    resumed = await agent.run(
        message_history=paused.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={request.tool_call_id: True}),
    )
    (part,) = tool_returns(resumed.all_messages())
    assert 'passed its checks and is saved as version 1' in str(part.content)
    assert resumed.output == 'done'
    assert (int(ran.read_text()) == os.getpid()) is not isolate
    entry = next(entry for entry in place.store.list_all() if entry.name == f'approved_{name}')
    assert entry.run_id == resumed.run_id


async def test_cc13_denied_code_does_not_run(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """The model reads the reason; nothing was run or written."""
    ran = tmp_path / 'ran'
    agent = approving(creation, writes_pid(ran) + FINE)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    (request,) = paused.output.approvals
    denied = DeferredToolResults(approvals={request.tool_call_id: ToolDenied('not that')})
    resumed = await agent.run(message_history=paused.all_messages(), deferred_tool_results=denied)
    (part,) = tool_returns(resumed.all_messages())
    assert (part.outcome, part.content) == ('denied', 'not that')
    assert not ran.exists()
    assert not creation.store.directory.exists()


async def test_cc13_the_other_tools_need_no_approval(creation: CapabilityCreation[None]) -> None:
    """Listing and disabling go on as ever."""
    creation.store.write('subject', FINE)
    guardrail = ToolGuardrail[None](guard=lambda call: GuardrailResult.approve(), tools=['author_capability'])
    parts = await run_calls(
        creation,
        call('list_authored_capabilities'),
        call('disable_authored_capability', name='subject'),
        capabilities=[guardrail],
        output_type=[str, DeferredToolRequests],
    )
    assert [part.outcome for part in parts] == ['success', 'success']


async def test_cc13_approved_code_that_is_wrong_is_refused(creation: CapabilityCreation[None]) -> None:
    """A person's approval does not replace the checks."""
    agent = approving(creation, 'x = (\n')
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    resumed = await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert 'SyntaxError' in str(tool_returns(resumed.all_messages())[0].content)


# -- CC-14: spans ------------------------------------------------------------------------------------------------


async def traced(creation: CapabilityCreation[None], *turns: Any, provider: TracerProvider) -> None:
    """A run whose spans go to this provider."""
    settings = InstrumentationSettings(tracer_provider=provider)
    await agent_of(ScriptedModel(turns), creation, Instrumentation(settings=settings)).run('go')


def provider_and_exporter() -> tuple[TracerProvider, InMemorySpanExporter]:
    """Where spans go, and where they can be looked at."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def names(spans: Sequence[ReadableSpan]) -> list[str]:
    """The kinds of spans, with the tool's name for those of tools."""
    return sorted(span.name.replace('running tool: ', 'execute_tool ') for span in spans)


async def test_cc14_there_are_no_spans_of_its_own(
    creation: CapabilityCreation[None], isolated: CapabilityCreation[None]
) -> None:
    """Authoring, listing and disabling make the spans that any three tools would, wherever the code is checked."""
    calls = [
        author(FINE),
        call('list_authored_capabilities'),
        call('disable_authored_capability', name='subject'),
    ]
    seen: list[list[str]] = []
    for place in (creation, isolated):
        provider, exporter = provider_and_exporter()
        await traced(place, calls, provider=provider)
        seen.append(names(exporter.get_finished_spans()))

    def author_capability(name: str, code: str) -> str:
        return 'x'

    def list_authored_capabilities() -> str:
        return 'x'

    def disable_authored_capability(name: str) -> str:
        return 'x'

    provider, exporter = provider_and_exporter()
    settings = InstrumentationSettings(tracer_provider=provider)
    agent = Agent(
        ScriptedModel([calls]).model(),
        tools=[author_capability, list_authored_capabilities, disable_authored_capability],
        capabilities=[Instrumentation(settings=settings)],
    )
    await agent.run('go')
    wanted = names(exporter.get_finished_spans())
    assert seen == [wanted, wanted]
    assert any('author_capability' in name for name in wanted)


async def test_cc14_authored_code_runs_inside_the_span_of_the_tool(
    creation: CapabilityCreation[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A span that module code, constructor or getter makes is a child of the tool's."""
    provider, exporter = provider_and_exporter()
    import builtins

    monkeypatch.setattr(builtins, 'tracer_of_the_test', provider.get_tracer('test'), raising=False)
    span = 'tracer_of_the_test.start_as_current_span'
    code = f'with {span}("module"): pass\n' + authored(
        f'def __init__(self):\n    with {span}("constructor"): pass\n'
        f'def get_toolset(self):\n    with {span}("getter"): pass'
    )
    await traced(creation, [author(code)], provider=provider)
    spans = exporter.get_finished_spans()
    (tool,) = [span for span in spans if 'author_capability' in span.name]
    own = [span for span in spans if span.name in {'module', 'constructor', 'getter'}]
    assert {span.name for span in own} == {'module', 'constructor', 'getter'}
    assert tool.context is not None
    assert {span.parent.span_id if span.parent else None for span in own} == {tool.context.span_id}


# -- with code mode ----------------------------------------------------------------------------------------------


async def test_cm2_authoring_stays_native_beside_code_mode(creation: CapabilityCreation[None]) -> None:
    """Its argument is a program; the other two become functions in `run_code`, and work."""
    script = ScriptedModel(
        [
            [author(FINE)],
            'await list_authored_capabilities()',
            "[await disable_authored_capability(name='subject'), await list_authored_capabilities()]",
        ]
    )
    result = await agent_of(script, creation, CodeMode[None]()).run('go')
    assert sorted(script.tool_names()) == ['author_capability', 'run_code']
    assert 'async def list_authored_capabilities(' in script.description
    assert 'async def disable_authored_capability(' in script.description
    assert 'author_capability(*, name: str, code' not in script.description
    listed, disabled = [part.content for part in code_returns(result.all_messages())]
    assert isinstance(listed, list)
    assert (listed[0]['name'], listed[0]['status']) == ('subject', 'active')
    assert isinstance(disabled, list)
    assert "'subject' is disabled" in disabled[0]
    assert disabled[1][0]['status'] == 'disabled'


async def test_cm2_the_list_has_a_typed_signature(creation: CapabilityCreation[None]) -> None:
    """Code can be checked against what the list holds before it runs, and a wrong name in it is found."""
    script = ScriptedModel(
        [
            '[(c["name"], c["last_error"]) for c in await list_authored_capabilities()]',
            '[c["nmae"] for c in await list_authored_capabilities()]',
        ]
    )
    result = await agent_of(script, creation, CodeMode[None]()).run('go')
    assert 'class ListedCapability(TypedDict)' in script.description
    right, wrong = code_returns(result.all_messages())
    assert (right.outcome, right.content) == ('success', [])
    assert wrong.outcome == 'retried'


async def test_cm2_an_unknown_name_raises_in_the_snippet(creation: CapabilityCreation[None]) -> None:
    """The retry of the tool is an error where it was called."""
    code = 'try:\n    await disable_authored_capability(name="no")\nexcept Exception as e:\n    print(e)\n'
    result = await agent_of(ScriptedModel([code]), creation, CodeMode[None]()).run('go')
    assert "No capability is named 'no'" in str(code_returns(result.all_messages())[0].content)


# -- names of tools that are taken -------------------------------------------------------------------------------

COUNTS = authored(
    'def get_toolset(self): return FunctionToolset([word_count])',
    before='from pydantic_ai.toolsets import FunctionToolset\ndef word_count(text: str) -> int: return 1\n',
)


def word_count(text: str) -> int:
    """A tool of the agent's own."""
    return len(text)


@pytest.mark.parametrize('isolate', [False, True])
async def test_cc1_a_taken_tool_name_is_noted(
    creation: CapabilityCreation[None], isolated: CapabilityCreation[None], *, isolate: bool
) -> None:
    """Accepted, with the name and what becomes of it while it is taken."""
    part = await run_call(isolated if isolate else creation, author(COUNTS), tools=[word_count])
    assert 'passed its checks' in str(part.content)
    assert 'Note: This agent already has tools named word_count' in str(part.content)


async def test_cc1_a_free_tool_name_is_not_noted(creation: CapabilityCreation[None]) -> None:
    """Nothing is said where nothing is taken."""
    assert 'Note:' not in str((await run_call(creation, author(COUNTS))).content)


async def test_cc1_its_older_version_does_not_take_the_name(creation: CapabilityCreation[None]) -> None:
    """A capability that is loaded in this run may be replaced by one with the same tools."""
    creation.store.write('subject', COUNTS)
    loaded = creation.store.load_active()
    script = ScriptedModel([[author(COUNTS + '# newer\n')]])
    result = await agent_of(script, creation, *loaded).run('go')
    assert 'word_count' in script.tool_names()
    (part,) = tool_returns(result.all_messages())
    assert 'version 2' in str(part.content)
    assert 'Note:' not in str(part.content)


async def test_cc1_another_authored_capability_takes_the_name(creation: CapabilityCreation[None]) -> None:
    """A tool of the same name in a capability of another name is one too many."""
    creation.store.write('first', COUNTS)
    part = await run_call(creation, author(COUNTS, 'second'), capabilities=creation.store.load_active())
    assert 'Note: This agent already has tools named word_count' in str(part.content)


async def test_cc1_the_authoring_tools_take_their_names(creation: CapabilityCreation[None]) -> None:
    """An authored tool cannot stand in for `author_capability`; the agent keeps its own in the next run."""
    code = COUNTS.replace('word_count', 'author_capability')
    part = await run_call(creation, author(code))
    assert 'already has tools named author_capability' in str(part.content)
    again = await run_call(creation, author(FINE, 'other'), capabilities=creation.store.load_active())
    assert "'other' passed its checks" in str(again.content)


@pytest.mark.xfail(strict=True, reason='Only a FunctionToolset that is returned itself is looked into.')
async def test_cc1_a_taken_name_is_noted_through_a_wrapper(creation: CapabilityCreation[None]) -> None:
    """A toolset that is only prefixed, filtered or combined is static all the same."""
    code = COUNTS.replace('FunctionToolset([word_count])', 'FunctionToolset([word_count]).filtered(lambda c, t: True)')
    part = await run_call(creation, author(code), tools=[word_count])
    assert 'already has tools named word_count' in str(part.content)


@pytest.mark.xfail(strict=True, reason='The tool manager knows only `run_code`, and not what is inside of it.')
async def test_cc1_under_code_mode_a_taken_name_is_noted(creation: CapabilityCreation[None]) -> None:
    """The tools that have become functions have names too."""
    script = ScriptedModel([[author(COUNTS)]])
    result = await agent_of(script, creation, CodeMode[None](), tools=[word_count]).run('go')
    assert 'already has tools named word_count' in str(tool_returns(result.all_messages())[0].content)
