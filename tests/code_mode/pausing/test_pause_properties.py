"""BEYOND-1: over generated programs, pausing changes nothing but the moment of the answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolApproved, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls

from pydantic_ai_harness.code_mode import PausedCall

from .bank import SKIP, Bank, Dialogue

PRELUDE = """import asyncio
log = []
async def safe(call):
    try:
        return await call
    except Exception as e:
        return repr(e)
async def chain(n):
    first = await ask(amount=n)
    return [first, await free(n=n), await later(job=str(n))]
"""

_NUMBERS = st.integers(0, 9)


@dataclass(frozen=True)
class Program:
    """Lines of code, which may be put into a block."""

    lines: tuple[str, ...]

    def indented(self) -> tuple[str, ...]:
        return tuple(f'    {line}' for line in self.lines)


_ARGUMENTS = {'free': 'n={}', 'slow': 'n={}', 'told': 'n={}', 'broken': 'n={}', 'look': 'n={}', 'later': 'job="{}"'}


def call_of(tool: str, number: int) -> str:
    if tool == 'chain':
        return f'chain({number})'
    return f'{tool}({_ARGUMENTS.get(tool, "amount={}").format(number)})'


_CALLS = st.builds(
    call_of, st.sampled_from(['free', 'slow', 'broken', 'pay', 'ask', 'told', 'later', 'validated', 'chain']), _NUMBERS
)
_PLAIN_CALLS = st.builds(call_of, st.sampled_from(['look', 'pay_now']), _NUMBERS)
_SAFE = _CALLS.map(lambda call: f'safe({call})')  # whether a call runs beside one that fails is a matter of luck


def kept(value: str) -> Program:
    return Program((f'log.append({value})',))


def gathered(calls: list[str]) -> str:
    return f'asyncio.gather({", ".join(calls)})'


_ONE = _CALLS.map(lambda call: kept(f'await {call}')) | _PLAIN_CALLS.map(kept)
_GATHER = st.lists(_SAFE, min_size=2, max_size=4).map(lambda calls: kept(f'await {gathered(calls)}'))
_NESTED = st.lists(_SAFE, min_size=3, max_size=5).map(
    lambda calls: kept(f'await {gathered([calls[0], gathered(calls[1:])])}')
)
_SIMPLE = _ONE | _GATHER | _NESTED


def block_of(programs: list[Program]) -> Program:
    return Program(tuple(line for program in programs for line in program.lines))


def attempt(body: Program) -> Program:
    return Program(('try:', *body.indented(), 'except Exception as e:', '    log.append(repr(e))'))


def loop(body: Program, times: int) -> Program:
    return Program((f'for i in range({times}):', *body.indented()))


def function(body: Program, number: int) -> Program:
    return Program((f'async def f{number}():', *body.indented(), f'await f{number}()'))


_BLOCKS = st.lists(_ONE, min_size=1, max_size=2).map(block_of)
_COMPOUND = st.one_of(
    _BLOCKS.map(attempt),
    st.builds(loop, _BLOCKS, st.integers(1, 2)),
    st.builds(function, _BLOCKS, _NUMBERS),
    st.builds(loop, _BLOCKS.map(attempt), st.integers(1, 2)),
    st.builds(function, _GATHER, _NUMBERS).map(attempt),
    _NUMBERS.map(lambda n: Program((f'print("line {n}")',))),
)


@dataclass(frozen=True)
class Answers:
    """What is answered to a call: it depends on nothing but the call itself."""

    kinds: tuple[str, ...]

    def to(self, tool: str, args: dict[str, Any]) -> Any:
        (first, *_) = args.values()
        number = int(first)
        kind = self.kinds[(number + len(tool)) % len(self.kinds)]
        if tool == 'later':
            return {'deny': ToolDenied(f'no {number}')}.get(kind, {'job': number})
        if kind == 'change' and tool in ('pay', 'ask'):
            return ToolApproved(override_args={'amount': number + 100})
        return ToolDenied(f'no {number}') if kind == 'deny' else True


async def inline(code: str, answers: Answers) -> Dialogue:
    """All answers while the code runs."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(
            approvals={
                call.tool_call_id: answers.to(call.tool_name, call.args_as_dict()) for call in requests.approvals
            },
            calls={call.tool_call_id: answers.to(call.tool_name, call.args_as_dict()) for call in requests.calls},
            metadata={
                call.tool_call_id: requests.metadata[call.tool_call_id]
                for call in [*requests.approvals, *requests.calls]
                if call.tool_call_id in requests.metadata
            },
        )

    dialogue = Dialogue(
        Bank(),
        options={'deferred_calls': 'inline'},
        agent_options={'capabilities': [HandleDeferredToolCalls[None](handler=resolve)]},
    )
    await dialogue.run(code)
    return dialogue


async def paused(code: str, answers: Answers, leave: Callable[[int], bool]) -> Dialogue:
    """The same answers over pauses; `leave` says of each call whether it goes unanswered this time."""
    dialogue, pauses = Dialogue(Bank()), 0
    await dialogue.run(code)
    while isinstance(dialogue.output, DeferredToolRequests):
        pauses += 1
        assert pauses < 100

        def decide(call: PausedCall, pause: int = pauses) -> object:
            left_out = pause % 2 == 1 and leave(int(call.tool_call_id.split('__')[1]))
            return SKIP if left_out else answers.to(call.tool_name, call.args)

        await dialogue.answer(decide)
    return dialogue


def outcome_of(dialogue: Dialogue) -> tuple[Any, ...]:
    """What the model reads and the application sees; which of two calls made at once is the first is left out."""
    returned = dialogue.returned
    metadata: Any = returned.metadata or {}
    ids = set(metadata.get('tool_calls', ()))
    returns = [
        (part['tool_name'], part['content'], part['outcome']) for part in metadata.get('tool_returns', {}).values()
    ]
    calls = [(part['tool_name'], part['args']) for part in metadata.get('tool_calls', {}).values()]
    return (
        returned.outcome,
        returned.content if returned.outcome == 'success' else '',
        ids,
        *map(by_text, (calls, returns)),
    )


def by_text(values: list[Any]) -> list[Any]:
    return sorted(values, key=repr)


async def compare(program: Program, answers: Answers, left: set[int]) -> None:
    """The outcome, the records and the executions are those of a run whose answers all come inline."""
    code = PRELUDE + '\n'.join(program.lines) + '\nlog'
    expected = await inline(code, answers)
    actual = await paused(code, answers, left.__contains__)
    assert sorted(actual.bank.ran) == sorted(expected.bank.ran)
    assert by_text(actual.bank.metadata) == by_text(expected.bank.metadata)
    assert outcome_of(actual) == outcome_of(expected)


_ANSWERS = st.lists(st.sampled_from(['yes', 'yes', 'deny', 'change']), min_size=1, max_size=4)
_LEFT = st.sets(st.integers(1, 6))
_SETTINGS = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@_SETTINGS
@given(program=st.lists(_SIMPLE, min_size=1, max_size=3).map(block_of), kinds=_ANSWERS, left=_LEFT)
def test_beyond1_over_pauses_straight_programs_do_what_they_do_inline(
    program: Program, kinds: list[str], left: set[int]
) -> None:
    """Calls, one by one and gathered, end as they do when every answer comes inline, whichever is answered first."""
    asyncio.run(compare(program, Answers(tuple(kinds)), left))


@_SETTINGS
@given(program=st.lists(_ONE | _COMPOUND, min_size=1, max_size=3).map(block_of), kinds=_ANSWERS, left=_LEFT)
def test_beyond1_over_pauses_blocks_loops_and_functions_do_what_they_do_inline(
    program: Program, kinds: list[str], left: set[int]
) -> None:
    """Blocks, loops and functions end as they do when every answer comes inline."""
    asyncio.run(compare(program, Answers(tuple(kinds)), left))
