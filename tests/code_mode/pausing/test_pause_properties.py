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
async def noted(call):
    r = await call
    log.append("noted")
    return r
"""

_NUMBERS = st.integers(0, 9)


@dataclass(frozen=True)
class Program:
    """Lines of code, which may be put into a block."""

    lines: tuple[str, ...]

    def indented(self) -> tuple[str, ...]:
        return tuple(f'    {line}' for line in self.lines)


def call_of(tool: str, number: int) -> str:
    if tool == 'later':
        return f'later(job="{number}")'
    if tool == 'noted':
        return f'noted(ask(amount={number}))'
    return f'{tool}({"n" if tool in ("free", "slow", "told", "broken") else "amount"}={number})'


_CALLS = st.builds(
    call_of, st.sampled_from(['free', 'slow', 'broken', 'pay', 'ask', 'told', 'later', 'validated', 'noted']), _NUMBERS
)
_ONE = _CALLS.map(lambda call: Program((f'log.append(await {call})',)))
_PLAIN = st.builds(lambda tool, n: Program((f'log.append({tool}={n}))'.replace('=', '(n=' if tool == 'look' else '(amount=', 1),)), st.sampled_from(['look', 'pay_now']), _NUMBERS)
_GATHER = st.lists(_CALLS, min_size=2, max_size=4).map(
    lambda calls: Program((f'log.append(await asyncio.gather({", ".join(calls)}))',))
)
_NESTED = st.tuples(_CALLS, _CALLS, _CALLS).map(
    lambda calls: Program(
        (f'log.append(await asyncio.gather({calls[0]}, asyncio.gather({calls[1]}, {calls[2]})))',)
    )
)
_SIMPLE = _ONE | _PLAIN | _GATHER | _NESTED


def block_of(programs: list[Program]) -> Program:
    return Program(tuple(line for program in programs for line in program.lines))


def attempt(body: Program) -> Program:
    return Program(('try:', *body.indented(), 'except Exception as e:', '    log.append(repr(e))'))


def loop(body: Program, times: int) -> Program:
    return Program((f'for i in range({times}):', *body.indented()))


def function(body: Program, number: int) -> Program:
    name = f'f{number}_{abs(hash(body)) % 1000}'
    return Program((f'async def {name}():', *body.indented(), f'await {name}()'))


_BLOCKS = st.lists(_SIMPLE, min_size=1, max_size=2).map(block_of)
_STATEMENTS = st.one_of(
    _SIMPLE,
    _BLOCKS.map(attempt),
    st.builds(loop, _BLOCKS, st.integers(1, 3)),
    st.builds(function, _BLOCKS, _NUMBERS),
    st.builds(lambda body, times: attempt(loop(attempt(body), times)), _BLOCKS, st.integers(1, 2)),
    _NUMBERS.map(lambda n: Program((f'print("line {n}")',))),
)
_PROGRAMS = st.lists(_STATEMENTS, min_size=1, max_size=4).map(block_of)


@dataclass(frozen=True)
class Answers:
    """What is answered to a call: it depends on nothing but the call itself."""

    kinds: tuple[str, ...]

    def to(self, tool: str, args: dict[str, Any]) -> object:
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
                call.tool_call_id: _as_approval(answers.to(call.tool_name, call.args_as_dict()))
                for call in requests.approvals
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


def _as_approval(answer: object) -> Any:
    return answer


async def paused(code: str, answers: Answers, leave: Callable[[int], bool]) -> tuple[Dialogue, int]:
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
    return dialogue, pauses


def outcome_of(dialogue: Dialogue) -> tuple[Any, ...]:
    """What the model reads and the application sees, without what depends on time."""
    returned = dialogue.returned
    metadata: Any = returned.metadata or {}
    calls = {call_id: (part['tool_name'], part['args']) for call_id, part in metadata.get('tool_calls', {}).items()}
    returns = {
        call_id: (part['content'], part['outcome'], part['metadata'])
        for call_id, part in metadata.get('tool_returns', {}).items()
    }
    return returned.outcome, returned.content, calls, returns


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    program=_PROGRAMS,
    answers=st.lists(st.sampled_from(['yes', 'yes', 'deny', 'change']), min_size=1, max_size=4).map(
        lambda kinds: Answers(tuple(kinds))
    ),
    left=st.sets(st.integers(1, 6)),
)
def test_beyond1_pausing_changes_only_the_moment_of_the_answers(
    program: Program, answers: Answers, left: set[int]
) -> None:
    """The outcome, the records and the executions are those of a run whose answers all come inline."""
    code = PRELUDE + '\n'.join(program.lines) + '\nlog'

    async def compare() -> int:
        expected = await inline(code, answers)
        actual, pauses = await paused(code, answers, left.__contains__)
        assert sorted(actual.bank.ran) == sorted(expected.bank.ran)
        assert sorted(actual.bank.metadata, key=str) == sorted(expected.bank.metadata, key=str)
        assert outcome_of(actual) == outcome_of(expected)
        return pauses

    asyncio.run(compare())
