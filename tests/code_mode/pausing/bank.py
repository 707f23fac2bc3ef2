"""Tools that wait for somebody, what each of them did, and runs that pause and go on."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, Tool, ToolDefinition, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelMessagesTypeAdapter, ToolReturnPart
from pydantic_ai.toolsets import ExternalToolset

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode import MemoryStateStore, PausedCall, StateStore, paused_calls, resume_with
from pydantic_ai_harness.narrowing import is_list
from tests.support import ScriptedModel, Turn, code_returns, make_agent

REQUESTS = TypeAdapter(DeferredToolRequests)
OUTPUT: list[Any] = [str, DeferredToolRequests]
PIXEL = bytes.fromhex(
    '89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003'
    '010100c9fe92ef0000000049454e44ae426082'
)
ODD: dict[str, Any] = {
    'nan': math.nan,
    'inf': -math.inf,
    'big': 10**40,
    'none': None,
    '$bytes': 'no bytes',
    '$dict': {'$bytes': [b'\x00\xff', {'': 'é\u2028'}]},
    'a b\n"': [[], {}, True, 1.5],
}


def text_type(name: str) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        parameters_json_schema={'type': 'object', 'properties': {'topic': {'type': 'string'}}, 'required': ['topic']},
        return_schema={'type': 'string'},
    )


def outside() -> ExternalToolset[None]:
    """A tool that is not here."""
    return ExternalToolset[None]([text_type('outside')])


@dataclass
class Bank:
    """Tools, and which of them ran, in order."""

    record: Callable[[str], None] | None = None
    """Gets each execution too, to count them over processes."""
    ran: list[str] = field(default_factory=list[str])
    metadata: list[Any] = field(default_factory=list[Any])
    """What each approved call got as `ctx.tool_call_metadata`."""

    def note(self, what: str) -> None:
        self.ran.append(what)
        if self.record is not None:
            self.record(what)

    def tools(self) -> list[Tool[None]]:
        return [*self._free_tools(), *self._asking_tools(), *self._waiting_tools()]

    def _free_tools(self) -> list[Tool[None]]:
        def free(n: int) -> int:
            """Ten times as much."""
            self.note(f'free {n}')
            return n * 10

        async def slow(n: int) -> int:
            await asyncio.sleep(0.02)
            self.note(f'slow {n}')
            return n * 100

        def look(n: int) -> int:
            self.note(f'look {n}')
            return n + 1

        def missing(name: str) -> int:
            self.note(f'missing {name}')
            raise KeyError(name)

        def broken(n: int) -> int:
            self.note(f'broken {n}')
            raise ToolFailed(f'broken {n}')

        def picture(n: int) -> BinaryContent:
            self.note(f'picture {n}')
            return BinaryContent(PIXEL, media_type='image/png', identifier=f'picture-{n}')

        def odd() -> dict[str, Any]:
            self.note('odd')
            return ODD

        def described(n: int) -> ToolReturn[int]:
            self.note(f'described {n}')
            return ToolReturn(n, content=[f'about {n}'], metadata={'n': n})

        return [
            Tool(free),
            Tool(slow),
            Tool(look, sequential=True),
            Tool(missing),
            Tool(broken),
            Tool(picture),
            Tool(odd),
            Tool(described),
        ]

    def _asking_tools(self) -> list[Tool[None]]:
        """Tools that ask for themselves."""

        def ask(ctx: RunContext[None], amount: int) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired(metadata={'why': f'{amount} is a lot'})
            self.metadata.append(ctx.tool_call_metadata)
            self.note(f'ask {amount}')
            return f'asked {amount}'

        def told(ctx: RunContext[None], n: int) -> dict[str, Any]:
            if not ctx.tool_call_approved:
                raise ApprovalRequired(metadata={'why': f'told {n}'})
            self.note(f'told {n}')
            return {'got': ctx.tool_call_metadata}

        def validate(ctx: RunContext[None], amount: int) -> None:
            if not ctx.tool_call_approved:
                raise ApprovalRequired

        def validated(amount: int) -> str:
            self.note(f'validated {amount}')
            return f'validated {amount}'

        def later(job: str) -> str | int | dict[str, Any] | list[Any] | None:
            raise CallDeferred(metadata={'job': job})

        return [Tool(ask), Tool(told), Tool(validated, args_validator=validate), Tool(later)]

    def _waiting_tools(self) -> list[Tool[None]]:
        """Tools that are declared to need approval."""

        def pay(ctx: RunContext[None], amount: int, note: str = '') -> str:
            assert ctx.tool_call_approved
            self.metadata.append(ctx.tool_call_metadata)
            self.note(f'pay {amount}{note}')
            return f'paid {amount}'

        def pay_now(amount: int) -> str:
            self.note(f'pay_now {amount}')
            return f'paid now {amount}'

        def paint(n: int) -> BinaryContent:
            self.note(f'paint {n}')
            return BinaryContent(PIXEL, media_type='image/png', identifier=f'paint-{n}')

        def blob(n: int) -> bytes:
            self.note(f'blob {n}')
            return bytes([n, 255])

        def keep(value: dict[str, Any]) -> str:
            self.note('keep')
            return repr(value)

        def refuse(amount: int) -> str:
            self.note(f'refuse {amount}')
            raise ValueError(f'{amount} is refused')

        return [
            Tool(pay, requires_approval=True),
            Tool(pay_now, requires_approval=True, sequential=True),
            Tool(paint, requires_approval=True),
            Tool(blob, requires_approval=True),
            Tool(keep, requires_approval=True),
            Tool(refuse, requires_approval=True),
        ]


Answers = dict[str, object]
Decide = Callable[[PausedCall], object]
"""The answer to one call; `SKIP` leaves it out."""
SKIP = object()


def approve(call: PausedCall) -> object:
    """Consent to all, and answer external calls with their arguments."""
    return True if call.kind == 'approval' else f'answer to {next(iter(call.args.values()))}'


@dataclass
class Dialogue:
    """Runs of one conversation, each as if in another process: history and requests go through JSON."""

    bank: Bank = field(default_factory=Bank)
    store: StateStore = field(default_factory=MemoryStateStore)
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    """For `CodeMode`."""
    agent_options: dict[str, Any] = field(default_factory=dict[str, Any])
    history: list[ModelMessage] = field(default_factory=list[ModelMessage])
    output: Any = None
    script: ScriptedModel = field(default_factory=lambda: ScriptedModel([]))

    def agent(self, *turns: Turn) -> Agent[None, Any]:
        self.script = ScriptedModel(turns)
        options: dict[str, Any] = {
            'tools': self.bank.tools(),
            'toolsets': [outside()],
            'output_type': OUTPUT,
            **self.agent_options,
        }
        return make_agent(self.script, code_mode=self.code_mode(), **options)

    def code_mode(self) -> CodeMode[None]:
        options: dict[str, Any] = {'deferred_calls': 'pause', 'state_store': self.store, **self.options}
        return CodeMode[None](**options)

    async def run(self, *turns: Turn, **options: Any) -> Any:
        result = await self.agent(*turns).run('go', message_history=self.history or None, **options)
        return self.take(result.all_messages(), result.output)

    async def resume(self, results: DeferredToolResults, *turns: Turn, **options: Any) -> Any:
        result = await self.agent(*turns).run(message_history=self.history, deferred_tool_results=results, **options)
        return self.take(result.all_messages(), result.output)

    async def answer(self, answers: Answers | Decide, *turns: Turn, **options: Any) -> Any:
        """Go on with answers by the calls' ids, or with what a function decides for each call."""
        return await self.resume(resume_with(self.requests, self.answers(answers), **options), *turns)

    def answers(self, answers: Answers | Decide) -> Answers:
        if not callable(answers):
            return answers
        decided = {call.tool_call_id: answers(call) for call in self.waiting}
        return {call_id: answer for call_id, answer in decided.items() if answer is not SKIP}

    def take(self, messages: Sequence[ModelMessage], output: Any) -> Any:
        self.history = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([*messages]))
        if isinstance(output, DeferredToolRequests):
            output = REQUESTS.validate_json(REQUESTS.dump_json(output))
        self.output = output
        return output

    @property
    def requests(self) -> DeferredToolRequests:
        assert isinstance(self.output, DeferredToolRequests), self.texts
        return self.output

    @property
    def waiting(self) -> list[PausedCall]:
        return paused_calls(self.requests)

    @property
    def returns(self) -> list[ToolReturnPart]:
        return code_returns(self.history)

    @property
    def returned(self) -> ToolReturnPart:
        """The last return of `run_code`."""
        assert self.output == 'done', self.output
        return self.returns[-1]

    @property
    def content(self) -> Any:
        assert self.returned.outcome == 'success', self.texts
        return self.returned.content

    @property
    def text(self) -> str:
        """What the model read of the last failure."""
        assert self.returned.outcome != 'success', self.texts
        return str(self.returned.content)

    @property
    def texts(self) -> list[str]:
        return [str(part.content) for part in self.returns]


def images_in(content: object) -> list[BinaryContent]:
    """The images that are a value, or in it."""
    return [part for part in (content if is_list(content) else [content]) if isinstance(part, BinaryContent)]


async def run_through(code: str, decide: Decide = approve, *, most: int = 20, **options: Any) -> Dialogue:
    """Run code, answer all that waits until nothing does."""
    conversation = Dialogue(**options)
    await conversation.run(code)
    while isinstance(conversation.output, DeferredToolRequests):
        most -= 1
        assert most >= 0, 'it pauses for ever'
        await conversation.answer(decide)
    return conversation
