"""BEYOND-4: what is meant for the framework passes the guard untouched, and what it does not know is a failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests
from pydantic_ai.exceptions import RunCancelled, UsageLimitExceeded, UserError

from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import ADD, Bench, Drive, call, capability, only_return, outcome, pass_on, text_of, tools
from .test_every_hook import SPECIAL, TOOL_HOOKS, Scenario

CONTROL = {
    'ModelRetry': "ModelRetry('once more')",
    'ToolFailed': "ToolFailed('no luck')",
    'SkipToolValidation': "SkipToolValidation({'a': 3, 'b': 4})",
    'SkipToolExecution': "SkipToolExecution('skipped')",
    'SkipModelRequest': "SkipModelRequest(ModelResponse(parts=[TextPart('skipped')]))",
    'RetryModelRequest': 'RetryModelRequest()',
    'CallDeferred': "CallDeferred(metadata={'why': 'later'})",
    'ApprovalRequired': "ApprovalRequired(metadata={'why': 'careful'})",
}
ENDS_RUNS: dict[str, tuple[str, type[BaseException]]] = {
    'UsageLimitExceeded': ("UsageLimitExceeded('enough')", UsageLimitExceeded),
    'RunCancelled': ("RunCancelled('stop')", RunCancelled),
    'CancelledError': ('asyncio.CancelledError()', asyncio.CancelledError),
}
ASYNC = [name for name, hook in HOOKS.items() if hook.kind == 'async']
IN_RUNS = [name for name in ASYNC if name not in {'get_run_start_time', 'resolve_model_id', 'for_run'}]
"""The hooks of a run that has begun."""
WRAPS = [name for name in ASYNC if HOOKS[name].wraps]


def once(name: str, *, late: bool = False) -> str:
    """A hook that raises what it is given the first time it is called, after its handler if it is late."""
    return capability(
        name,
        'if probe.calls:',
        f'    return {pass_on(name)}',
        f'probe.calls.append({name!r})',
        f'done = {pass_on(name)}' if late else 'pass',
        'raise eval(probe.given)',
    )


async def play(bench: Bench, scenario: Scenario, *, max_failures: int | None = 3, drive: Drive = 'run') -> Any:
    """What a run comes to that can be deferred."""
    bench.turns(*scenario.turns)
    bench.probe.calls.clear()
    bench.executed.clear()
    bench.max_failures = max_failures
    options = dict(scenario.agent)
    options.setdefault('output_type', [str, DeferredToolRequests])
    return await outcome(lambda: bench.run(drive=drive, run_options=dict(scenario.run), **options))


def is_unknown(ended: Any, error: str) -> bool:
    """Whether the framework did not know what to do with the exception."""
    kind = ended[0]
    return isinstance(kind, type) and (kind.__name__ == error or issubclass(kind, (UserError, AssertionError)))


async def compare(bench: Bench, name: str, error: str) -> bool:
    """Check that a run with the authored hook is the same as unguarded where that is legal; whether it is."""
    bench.probe.given = CONTROL[error]
    bench.store.enable('authored')
    scenario = SPECIAL.get(name, Scenario())
    unguarded = await play(bench, scenario, max_failures=None)
    assert bench.probe.calls == [name]
    guarded = await play(bench, scenario)
    assert bench.probe.calls == [name]
    if is_unknown(unguarded, error):
        assert bench.entry().failing_runs == 1
        assert not is_unknown(guarded, error)
        assert bench.failure()[0] == name
        return False
    assert guarded == unguarded
    assert bench.entry().failing_runs == 0
    return True


SKIPS_LATE = [(name, 'SkipModelRequest') for name in ('after_model_request', 'on_model_request_error')]


@pytest.mark.parametrize('name', IN_RUNS)
async def test_beyond4_control_flow_of_each_hook_is_as_without_the_guard(bench: Bench, name: str) -> None:
    """Legal control flow has the same effect and is no failure; any other is contained."""
    bench.author(once(name))
    for error in CONTROL:
        if (name, error) not in SKIPS_LATE:
            await compare(bench, name, error)


@pytest.mark.parametrize(('name', 'error'), SKIPS_LATE)
async def test_beyond4_a_late_skip_is_as_without_the_guard(bench: Bench, name: str, error: str) -> None:
    """The response that it brings takes the place of the model's, or of its failure."""
    bench.author(once(name))
    await compare(bench, name, error)


@pytest.mark.parametrize('name', WRAPS)
async def test_beyond4_control_flow_after_the_handler_is_as_without_the_guard(bench: Bench, name: str) -> None:
    """The same once a wrap hook has called its handler."""
    bench.author(once(name, late=True))
    for error in CONTROL:
        await compare(bench, name, error)


LEGAL = [
    ('before_tool_validate', 'SkipToolValidation', True),
    ('before_tool_validate', 'CallDeferred', False),
    ('after_tool_validate', 'ApprovalRequired', True),
    ('before_tool_execute', 'ModelRetry', True),
    ('before_tool_execute', 'ToolFailed', True),
    ('before_tool_execute', 'SkipToolExecution', True),
    ('before_tool_execute', 'CallDeferred', True),
    ('before_model_request', 'SkipModelRequest', True),
    ('after_model_request', 'RetryModelRequest', True),
    ('before_run', 'ModelRetry', False),
    ('after_run', 'ModelRetry', False),
]


@pytest.mark.parametrize(('name', 'error', 'is_legal'), LEGAL)
async def test_beyond4_the_comparison_knows_what_is_legal(
    bench: Bench, name: str, error: str, *, is_legal: bool
) -> None:
    """The test above would be worth nothing if it took everything for legal, or nothing."""
    bench.author(once(name))
    assert await compare(bench, name, error) is is_legal


async def ending(bench: Bench, scenario: Scenario, max_failures: int | None) -> object:
    """What a run ends with, whatever that is."""
    bench.probe.calls.clear()
    try:
        return await play(bench, scenario, max_failures=max_failures)
    except BaseException as error:  # noqa: BLE001 - it is compared
        return type(error), str(error)


@pytest.mark.parametrize('name', ASYNC)
async def test_beyond4_what_means_the_run_itself_is_as_without_the_guard(bench: Bench, name: str) -> None:
    """A usage limit or a cancellation in a hook goes through, and is no failure of the capability."""
    bench.author(once(name))
    scenario = SPECIAL.get(name, Scenario())
    for code, kind in ENDS_RUNS.values():
        bench.probe.given = code
        unguarded = await ending(bench, scenario, None)
        guarded = await ending(bench, scenario, 3)
        assert bench.probe.calls == [name]
        assert guarded == unguarded
        assert bench.entry().failing_runs == 0
        if name == 'before_run':
            assert isinstance(guarded, tuple)
            assert guarded[0] is kind


@pytest.mark.parametrize('name', ['before_run', 'before_model_request', 'before_tool_execute', 'get_model_settings'])
def test_beyond4_an_interrupt_is_not_contained(bench: Bench, name: str) -> None:
    """Control-C ends the program also while authored code runs."""
    bench.author(capability(name, 'if probe.armed: raise KeyboardInterrupt', f'return {pass_on(name)}'))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(bench.run())
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('error', ['ModelRetry', 'ToolFailed', 'CallDeferred', 'ApprovalRequired'])
async def test_beyond4_control_flow_of_a_tool_is_as_without_the_guard(bench: Bench, error: str) -> None:
    """The tools of an authored toolset retry, fail and defer as ever."""
    code = tools(
        f'def work():\n    probe.calls.append("work")\n    if len(probe.calls) == 1: raise {CONTROL[error]}\n    return 1\nreturn FunctionToolset([work])'
    )
    bench.author(code)
    scenario = Scenario((call('work'), call('work')))
    unguarded = await play(bench, scenario, max_failures=None)
    assert await play(bench, scenario) == unguarded
    assert bench.entry().failing_runs == 0


async def test_beyond4_an_approval_asked_for_by_a_hook_can_be_given(bench: Bench) -> None:
    """The run ends in a deferral and goes on when it is approved, with the hook in place."""
    bench.hook('before_tool_execute', 'if not ctx.tool_call_approved: raise ApprovalRequired', 'return args')
    bench.turns(ADD)
    agent = bench.agent(output_type=[str, DeferredToolRequests])
    first = await agent.run('go', capabilities=bench.load())
    assert isinstance(first.output, DeferredToolRequests)
    assert bench.executed == []
    results = first.output.build_results(approve_all=True)
    second = await agent.run(
        message_history=first.all_messages(), deferred_tool_results=results, capabilities=bench.load()
    )
    assert (second.output, bench.executed) == ('done', [(1, 2)])
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('name', [name for name in TOOL_HOOKS if name != 'wrap_tool_validate'])
async def test_beyond4_a_retry_in_a_group_is_a_failure(bench: Bench, name: str) -> None:
    """The framework does not look into exception groups, so the call fails closed."""
    bench.hook(name, "raise ExceptionGroup('both', [ModelRetry('a'), ModelRetry('b')])")
    part = only_return(await bench.run())
    assert part.outcome == 'failed'
    assert 'ExceptionGroup' in text_of(part)


PAYLOADS = [
    ('before_model_request', "SkipModelRequest('no response')"),
    ('before_model_request', 'SkipModelRequest(None)'),
    ('before_tool_execute', 'SkipToolExecution(object())'),
    ('before_tool_validate', 'SkipToolValidation(None)'),
    ('after_model_request', 'RetryModelRequest(5)'),
    ('after_model_request', "RetryModelRequest('nonsense:model')"),
]


@pytest.mark.parametrize(('name', 'error'), PAYLOADS)
async def test_beyond4_control_flow_that_carries_rubbish_is_a_failure(bench: Bench, name: str, error: str) -> None:
    """An exception that the framework knows ends the run if it cannot go on with what is in it."""
    bench.hook(name, f'raise {error}')
    assert (await bench.run()).output == 'done'
    assert bench.entry().failing_runs == 1
