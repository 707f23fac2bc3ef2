"""Programs that wait for somebody, with what is answered and what must come of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ModelRetry, ToolApproved, ToolDenied, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelRequest, UserPromptPart

from pydantic_ai_harness.code_mode import PausedCall
from tests.support import Turn

from .bank import SKIP, Bank, Decide, Dialogue, approve, images_in

SAFE = """import asyncio
async def safe(call):
    try:
        return await call
    except Exception as e:
        return repr(e)
"""


@dataclass(frozen=True, kw_only=True)
class Shape:
    code: str
    ran: list[str]
    """What has run at the end, in any order."""
    content: Any = None
    """What the first `run_code` call that waited returns in the end."""
    fails: tuple[str, ...] = ()
    """What the text of its failure has, if it fails."""
    decide: Decide = approve
    rounds: tuple[Decide, ...] = ()
    """For the first pauses, in place of `decide`."""
    metadata: dict[str, Any] | None = None
    """For each call that is answered."""
    pauses: int = 1
    before: tuple[Turn, ...] = ()
    """Code of the same run that comes first."""
    after: tuple[Turn, ...] = ()
    """Code of the resumed run that comes next."""
    after_contents: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    check: Callable[[Dialogue], None] = lambda dialogue: None

    def dialogue(self, bank: Bank, store: Any) -> Dialogue:
        return Dialogue(bank=bank, store=store, options=self.options)

    async def start(self, dialogue: Dialogue) -> None:
        await dialogue.run(*self.before, self.code)

    async def go_on(self, dialogue: Dialogue) -> None:
        pause = pause_of(dialogue)
        answers = dialogue.answers(self.rounds[pause - 1] if pause <= len(self.rounds) else self.decide)
        metadata = None if self.metadata is None else dict.fromkeys(answers, self.metadata)
        await dialogue.answer(answers, *self.after, metadata=metadata)

    def verify(self, dialogue: Dialogue, ran: list[str]) -> None:
        """What came of it is what must come of it."""
        assert dialogue.output == 'done', dialogue.output
        assert sorted(ran) == sorted(self.ran)
        returned = dialogue.returns[len(self.before)]
        if self.fails:
            assert returned.outcome == 'retried', returned
            for text in self.fails:
                assert text in str(returned.content)
        else:
            assert returned.outcome == 'success', returned
            assert returned.content == self.content
        rest = dialogue.returns[len(self.before) + 1 :]
        assert [part.content for part in rest] == list(self.after_contents) or not self.after_contents, rest
        self.check(dialogue)


def pause_of(dialogue: Dialogue) -> int:
    """How often the one `run_code` call that waits has paused."""
    (metadata,) = dialogue.requests.metadata.values()
    return int(metadata['code_mode_pause']['pause'])


def deny(call: PausedCall) -> object:
    return ToolDenied('over the limit')


def even_only(call: PausedCall) -> object:
    return True if call.args['amount'] % 2 == 0 else ToolDenied(f'{call.args["amount"]} is odd')


def less(call: PausedCall) -> object:
    return ToolApproved(override_args={'amount': call.args['amount'] - 1})


def nonsense(call: PausedCall) -> object:
    return ToolApproved(override_args={'amount': 'much'})


def only(*ids: str) -> Decide:
    """Answers those calls and leaves the others."""
    return lambda call: approve(call) if call.tool_call_id in ids else SKIP


OUTSIDE: dict[str, object] = {
    'value': {'a': [1, 2.5, None]},
    'return': ToolReturn('returned', content=['for the model'], metadata={'job': 7}),
    'retry': ModelRetry('again'),
    'failed': ToolFailed('no use'),
    'error': LookupError('nobody there'),
    'denied': ToolDenied('not today'),
    'none': None,
}


def from_outside(call: PausedCall) -> object:
    return OUTSIDE[call.args['job']]


def one_prompt(text: str) -> Callable[[Dialogue], None]:
    """The text reached the model beside the result, once."""

    def check(dialogue: Dialogue) -> None:
        prompts = [
            part.content
            for message in dialogue.history
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        ]
        assert sum(text in str(prompt) for prompt in prompts) == 1, prompts

    return check


def images(*identifiers: str) -> Callable[[Dialogue], None]:
    def check(dialogue: Dialogue) -> None:
        found = images_in(dialogue.returns[0].content)
        assert [image.identifier for image in found] == list(identifiers), found
        assert all(image.data.startswith(b'\x89PNG') for image in found)

    return check


def metadata_of(count: int) -> Callable[[Dialogue], None]:
    """The return has a record of each call, in order."""

    def check(dialogue: Dialogue) -> None:
        metadata = dialogue.returns[0].metadata
        ids = [f'code_1__{n + 1}' for n in range(count)]
        assert metadata['code_mode'] is True
        assert [*metadata['tool_calls']] == ids
        assert [*metadata['tool_returns']] == ids

    return check


class _Anything:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # pyright: ignore[reportAssignmentType]


ANYTHING: Any = _Anything()

SHAPES: dict[str, Shape] = {
    'sequence': Shape(
        code='a = await free(n=1)\nb = await pay(amount=a)\nc = await free(n=2)\n[a, b, c]',
        content=[10, 'paid 10', 20],
        ran=['free 1', 'pay 10', 'free 2'],
        check=metadata_of(3),
    ),
    'gather': Shape(
        code='import asyncio\nawait asyncio.gather(free(n=1), pay(amount=5), slow(n=2), ask(amount=7))',
        content=[10, 'paid 5', 200, 'asked 7'],
        ran=['free 1', 'pay 5', 'slow 2', 'ask 7'],
    ),
    'nested gather': Shape(
        code='import asyncio\ngather = asyncio.gather\n'
        'await gather(gather(pay(amount=1), free(n=1)), gather(ask(amount=2), gather(slow(n=2), pay(amount=3))))',
        content=[['paid 1', 10], ['asked 2', [200, 'paid 3']]],
        ran=['pay 1', 'free 1', 'ask 2', 'slow 2', 'pay 3'],
    ),
    'loop': Shape(
        code='done = []\nfor i in range(3):\n    done.append(await pay(amount=i))\n    await free(n=i)\ndone',
        content=['paid 0', 'paid 1', 'paid 2'],
        ran=['pay 0', 'free 0', 'pay 1', 'free 1', 'pay 2', 'free 2'],
        pauses=3,
    ),
    'while and break': Shape(
        code='n = 0\nwhile True:\n    n += 1\n    if await pay(amount=n) == "paid 2":\n        break\nn',
        content=2,
        ran=['pay 1', 'pay 2'],
        pauses=2,
    ),
    'five pauses': Shape(
        code='total = 0\nfor i in range(5):\n    total += len(await pay(amount=10 ** i))\ntotal',
        content=sum(len(f'paid {10**i}') for i in range(5)),
        ran=[f'pay {10**i}' for i in range(5)],
        pauses=5,
    ),
    'try and finally': Shape(
        code='log = []\ntry:\n    log.append(await pay(amount=1))\n    await broken(n=1)\nexcept RuntimeError as e:\n'
        '    log.append(str(e))\nfinally:\n    log.append(await free(n=3))\nlog',
        content=['paid 1', 'broken 1', 30],
        ran=['pay 1', 'broken 1', 'free 3'],
    ),
    'waits while an error is handled': Shape(
        code='try:\n    await broken(n=2)\nexcept RuntimeError as e:\n    r = [await pay(amount=1), str(e)]\nr',
        content=['paid 1', 'broken 2'],
        ran=['broken 2', 'pay 1'],
    ),
    'waits in finally, the error goes on': Shape(
        code='try:\n    1 / 0\nfinally:\n    await pay(amount=1)',
        fails=('ZeroDivisionError', '- pay(amount=1) returned "paid 1"'),
        ran=['pay 1'],
    ),
    'helper functions': Shape(
        code='async def inner(n):\n    a = await free(n=n)\n    return [a, await pay(amount=a)]\n'
        'async def outer(n):\n    first = await inner(n)\n    return first + await inner(n + 1)\nawait outer(1)',
        content=[10, 'paid 10', 20, 'paid 20'],
        ran=['free 1', 'pay 10', 'free 2', 'pay 20'],
        pauses=2,
    ),
    'lambda and plain helper': Shape(
        code='f = lambda n: pay(amount=n + 1)\ndef g(n):\n    return f(n * 2)\n[await f(1), await g(2)]',
        content=['paid 2', 'paid 5'],
        ran=['pay 2', 'pay 5'],
        pauses=2,
    ),
    'closure': Shape(
        code='def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up\n'
        'up = counter()\nup()\nawait pay(amount=up())\nup()',
        content=3,
        ran=['pay 2'],
    ),
    'iterator half-way': Shape(
        code='out = []\nfor i, (k, v) in enumerate(zip("ab", {"x": 1, "y": 2}.items())):\n'
        '    out.append([i, k, v[0], await pay(amount=v[1])])\nout',
        content=[[0, 'a', 'x', 'paid 1'], [1, 'b', 'y', 'paid 2']],
        ran=['pay 1', 'pay 2'],
        pauses=2,
    ),
    'comprehension': Shape(
        code='[await pay(amount=i) for i in range(2) if await free(n=i) >= 0]',
        content=['paid 0', 'paid 1'],
        ran=['free 0', 'pay 0', 'free 1', 'pay 1'],
        pauses=2,
    ),
    'sync tool': Shape(
        code='a = look(n=1)\nb = pay_now(amount=a)\nc = look(n=5)\n[a, b, c]',
        content=[2, 'paid now 2', 6],
        ran=['look 1', 'pay_now 2', 'look 5'],
    ),
    'sync tool in plain functions': Shape(
        code='def twice(n):\n    return [pay_now(amount=n), pay_now(amount=n + 1)]\n[len(x) for x in twice(1)]',
        content=[10, 10],
        ran=['pay_now 1', 'pay_now 2'],
        pauses=2,
    ),
    'sync tool beside settled calls': Shape(
        code='import asyncio\nasync def later_on():\n    await free(n=1)\n    return [pay_now(amount=2), await free(n=5)]\n'
        'await asyncio.gather(slow(n=3), later_on(), slow(n=4))',
        content=[300, ['paid now 2', 50], 400],
        ran=['slow 3', 'free 1', 'slow 4', 'pay_now 2', 'free 5'],
    ),
    'denial caught': Shape(
        code='try:\n    r = await pay(amount=5)\nexcept PermissionError as e:\n    r = str(e)\n[r, await free(n=1)]',
        decide=deny,
        content=['over the limit', 10],
        ran=['free 1'],
    ),
    'denial not caught': Shape(
        code='x = await free(n=1)\nawait pay(amount=5)',
        decide=deny,
        fails=('PermissionError: over the limit', 'line 2', '- free(n=1) returned 10', '- pay(amount=5) was denied'),
        ran=['free 1'],
        after=('x',),
        after_contents=(10,),
    ),
    'denial of some': Shape(
        code=SAFE + 'await asyncio.gather(*[safe(pay(amount=n)) for n in range(20)])',
        decide=even_only,
        content=[f'paid {n}' if n % 2 == 0 else f"PermissionError('{n} is odd')" for n in range(20)],
        ran=[f'pay {n}' for n in range(0, 20, 2)],
    ),
    'sync denial': Shape(
        code='try:\n    r = pay_now(amount=1)\nexcept PermissionError as e:\n    r = str(e)\nr',
        decide=deny,
        content='over the limit',
        ran=[],
    ),
    'other arguments': Shape(
        code='await pay(amount=5, note="!")', decide=less, content='paid 4', ran=['pay 4'], check=metadata_of(1)
    ),
    'wrong arguments': Shape(
        code=SAFE + '(await safe(pay(amount=5)))[:50]',
        decide=nonsense,
        content="ValueError('pay() got wrong arguments: amount: Inp",
        ran=[],
    ),
    'wrong arguments not caught': Shape(
        code='await pay(amount=5)',
        decide=nonsense,
        fails=('ValueError: pay() got wrong arguments: amount:', 'line 1', 'was refused before the tool ran'),
        ran=[],
    ),
    'partial answers': Shape(
        code='import asyncio\nawait asyncio.gather(pay(amount=1), later(job="first"), ask(amount=3), later(job="2nd"))',
        rounds=(only('code_1__3'), only(), only('code_1__2', 'code_1__4')),
        pauses=4,
        content=['paid 1', 'answer to first', 'asked 3', 'answer to 2nd'],
        ran=['pay 1', 'ask 3'],
    ),
    'external results': Shape(
        code=SAFE + f'await asyncio.gather(*[safe(later(job=job)) for job in {[*OUTSIDE]!r}])',
        decide=from_outside,
        content=[
            {'a': [1, 2.5, None]},
            'returned',
            "RuntimeError('again')",
            "RuntimeError('no use')",
            "RuntimeError('LookupError: nobody there')",
            "PermissionError('not today')",
            None,
        ],
        ran=[],
        check=one_prompt('for the model'),
    ),
    'external tool': Shape(
        code='a = await outside(topic="x")\na.upper()', content='ANSWER TO X', ran=[], check=metadata_of(1)
    ),
    'prints': Shape(
        code='print("one", await free(n=1))\nprint("two", await pay(amount=2))\nprint("three")\n3',
        content={'output': 'one 10\ntwo paid 2\nthree\n', 'result': 3},
        ran=['free 1', 'pay 2'],
    ),
    'results feed later calls': Shape(
        code='x = await pay(amount=1)\ny = await later(job=x)\nz = await free(n=len(str(y)))\n[x, y, z]',
        content=['paid 1', 'answer to paid 1', 160],
        ran=['pay 1', 'free 16'],
        pauses=2,
    ),
    'time-out after it': Shape(
        code='await free(n=1)\nawait pay(amount=2)\nwhile True:\n    pass',
        fails=(
            'used up the 0.4 s',
            '- free(n=1) returned 10',
            '- pay(amount=2) returned "paid 2"',
            'session was reset',
        ),
        ran=['free 1', 'pay 2'],
        options={'resource_limits': {'max_duration_secs': 0.4}},
        after=('1 + 1',),
        after_contents=(2,),
    ),
    'a line fails after it': Shape(
        code='x = 1\ndef f(n):\n    return n / 0\n\nawait pay(amount=1)\ny = f(x)\nz = 3',
        fails=('ZeroDivisionError', 'line 3, in f', 'return n / 0', 'called from line 6', 'y = f(x)', '1 tool call'),
        ran=['pay 1'],
        after=('x',),
        after_contents=(1,),
    ),
    'a tool fails after it': Shape(
        code='try:\n    await refuse(amount=3)\nexcept ValueError as e:\n    r = str(e)\nr',
        content='3 is refused',
        ran=['refuse 3'],
    ),
    'image from before': Shape(
        code='p = await picture(n=1)\nawait pay(amount=1)\np',
        content=ANYTHING,
        ran=['picture 1', 'pay 1'],
        check=images('picture-1'),
    ),
    'images from before and after': Shape(
        code='p = await picture(n=1)\nq = await paint(n=2)\n[p, q]',
        content=ANYTHING,
        ran=['picture 1', 'paint 2'],
        check=images('picture-1', 'paint-2'),
    ),
    'bytes': Shape(
        code='b = await blob(n=7)\nawait pay(amount=1)\n[len(b), b[0], b[1], b == b"\\x07\\xff"]',
        content=[2, 7, 255, True],
        ran=['blob 7', 'pay 1'],
        pauses=2,
    ),
    'odd values': Shape(
        code='o = await odd()\nawait pay(amount=1)\np = o["$dict"]["$bytes"][0]\n'
        '[o["nan"] != o["nan"], o["inf"] == float("-inf"), o["big"] == 10 ** 40, o["none"], o["$bytes"], '
        'p == b"\\x00\\xff", o["a b\\n\\""]]',
        content=[True, True, True, None, 'no bytes', True, [[], {}, True, 1.5]],
        ran=['odd', 'pay 1'],
    ),
    'odd arguments': Shape(
        code='v = {"nan": float("nan"), "inf": float("inf"), "big": 10 ** 40, "$bytes": b"\\xff", "$dict": {"": [None]}}\n'
        'await keep(value=v)',
        content="{'nan': nan, 'inf': inf, 'big': " + str(10**40) + ", '$bytes': b'\\xff', '$dict': {'': [None]}}",
        ran=['keep'],
    ),
    'made but not awaited': Shape(
        # What nobody awaits is given up at the end of the code, so that waits for another call.
        code='c = free(n=1)\nd = free(n=2)\ne = pay(amount=9)\nawait pay(amount=1)\nawait slow(n=3)\n[await c]',
        content=[10],
        ran=['pay 1', 'free 1', 'free 2', 'pay 9', 'slow 3'],
    ),
    'sleeps beside it': Shape(
        code='import asyncio\nr = await asyncio.gather(asyncio.sleep(0.05), pay(amount=1), asyncio.sleep(0.01))\n'
        'await asyncio.sleep(0.01)\nr',
        content=[None, 'paid 1', None],
        ran=['pay 1'],
    ),
    'metadata of the tool': Shape(code='await told(n=1)', content={'got': {'why': 'told 1'}}, ran=['told 1']),
    'metadata of the answer': Shape(
        code='await told(n=1)', metadata={'by': 'Ada'}, content={'got': {'by': 'Ada'}}, ran=['told 1']
    ),
    'budget': Shape(
        code='await free(n=1)\nawait pay(amount=2)\nawait free(n=3)\nr = []\ntry:\n    await free(n=4)\n'
        'except RuntimeError as e:\n    r = str(e)\nr',
        content='the budget of 3 tool calls for one `run_code` call is used up; free() was not called',
        ran=['free 1', 'pay 2', 'free 3'],
        options={'max_tool_calls': 3},
    ),
    'value too large': Shape(
        code='big = ["y" * 1000]\nawait pay(amount=1)\nbig * 400',
        content=ANYTHING,
        ran=['pay 1'],
        after=('len(big)',),
        after_contents=(1,),
        check=lambda dialogue: None if len(str(dialogue.returns[0].content)) < 50_000 else _fail(dialogue),
    ),
    'next code uses the variables': Shape(
        code='a = await free(n=1)\ndef f(x):\n    return x + a\nb = await pay(amount=a)',
        content={},
        ran=['free 1', 'pay 10', 'free 11'],
        after=('[a, b, f(1), await free(n=f(1))]',),
        after_contents=([10, 'paid 10', 11, 110],),
    ),
    'types are known afterwards': Shape(
        code='a: int = await free(n=1)\nb: str = await pay(amount=a)',
        content={},
        ran=['free 1', 'pay 10'],
        after=('await free(n=b)',),
        check=lambda dialogue: _expect('The code was not run', str(dialogue.returns[1].content)),
    ),
    'content beside results': Shape(
        code='[await described(n=1), await pay(amount=2), await described(n=3)]',
        content=[1, 'paid 2', 3],
        ran=['described 1', 'pay 2', 'described 3'],
        check=one_prompt('about 1'),
    ),
    'arguments that are validated by asking': Shape(
        code='await validated(amount=3)', content='validated 3', ran=['validated 3']
    ),
    'after earlier code': Shape(
        before=('x = 4\nasync def helper(n):\n    return await pay(amount=n + x)', 'x += 1'),
        code='[await helper(1), x]',
        content=['paid 6', 5],
        ran=['pay 6'],
    ),
    'carriage returns': Shape(code='a = 1\r\nb = await pay(amount=a)\r\n[a, b]', content=[1, 'paid 1'], ran=['pay 1']),
    'value that cannot be sent': Shape(
        code='await pay(amount=1)\nf = lambda: 1\n[f]',
        fails=('The code ran to its end', 'cannot be sent back', '- pay(amount=1) returned "paid 1"'),
        ran=['pay 1'],
        after=('f()',),
        after_contents=(1,),
    ),
    'after code that failed': Shape(
        before=('x = 1\n1 / 0',),
        code='await pay(amount=x)',
        content='paid 1',
        ran=['pay 1'],
        check=lambda dialogue: _expect('ZeroDivisionError', str(dialogue.returns[0].content)),
    ),
    'class with state': Shape(
        code='class Box:\n    def __init__(self, n):\n        self.n = n\n    async def pay(self):\n'
        '        self.n += 1\n        return await pay(amount=self.n)\nbox = Box(1)\n[await box.pay(), await box.pay(), box.n]',
        content=['paid 2', 'paid 3', 3],
        ran=['pay 2', 'pay 3'],
        pauses=2,
    ),
}


def _fail(dialogue: Dialogue) -> None:
    raise AssertionError(str(dialogue.returns[0].content)[:300])


def _expect(text: str, whole: str) -> None:
    assert text in whole, whole
