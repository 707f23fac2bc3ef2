"""Authored code of every kind, and what is to be said of it, wherever it is checked."""

from __future__ import annotations

from dataclasses import dataclass

from .support import FINE, IMPORT, authored


@dataclass(frozen=True)
class Case:
    """One piece of code."""

    name: str
    code: str
    says: tuple[str, ...] | None = None
    """What is in the error, in that order; `None` if the code passes."""
    either: bool = False
    """Whether it may as well pass: what counts is that there is a verdict, and the same in both places."""


def passes(name: str, code: str) -> Case:
    """Code that is accepted."""
    return Case(name, code)


def fails(name: str, code: str, *says: str) -> Case:
    """Code that is refused."""
    return Case(name, code, says)


def judged(name: str, code: str) -> Case:
    """Code of which something is said, whatever that is."""
    return Case(name, code, either=True)


CONTRACT = 'A capability is exactly one class which subclasses'
TWO = 'The code defines 2 capabilities: Authored, Other.'


def raising(error: str, before: str = '') -> str:
    """A module whose body raises."""
    return f'{IMPORT}{before}raise {error}\n'


def getter(name: str, returns: str, before: str = '') -> str:
    """A capability with one getter."""
    return authored(f'def {name}(self):\n    return {returns}', before=before)


def later(name: str, then: str) -> str:
    """A capability whose getter answers `None` once, and does something else from then on."""
    return authored(f'calls = 0\ndef {name}(self):\n    type(self).calls += 1\n    if self.calls > 1: {then}')


def with_metaclass(method: str) -> str:
    """A capability whose class is made by a class of its own."""
    before = f'from abc import ABCMeta\nclass Meta(ABCMeta):\n    {method}\n'
    return authored("def get_instructions(self): return 'x'", before=before, bases='AbstractCapability, metaclass=Meta')


def liar(answer: str) -> str:
    """Code with an object beside the capability that does not tell its class."""
    return f'{FINE}class Liar:\n    @property\n    def __class__(self): {answer}\nliar = Liar()\n'


NESTED = f'{IMPORT}class Outer:\n    class Authored(AbstractCapability):\n        pass\n'
IN_A_FUNCTION = f'{IMPORT}def make():\n    class Authored(AbstractCapability):\n        pass\n    return Authored\n'

HOW_MANY = [
    passes('one', FINE),
    fails('nothing', '', 'defines no capability', CONTRACT),
    fails('only comments', '# nothing\n# at all\n', 'defines no capability', CONTRACT),
    fails('no class', IMPORT + 'x = 1\n', 'defines no capability'),
    fails('a class of another kind', 'class Authored:\n    pass\n', 'defines no capability'),
    fails('two', FINE + 'class Other(AbstractCapability):\n    pass\n', TWO, CONTRACT),
    fails('one and its subclass', FINE + 'class Other(Authored):\n    pass\n', TWO),
    passes('imported ones do not count', 'from pydantic_ai.capabilities import Hooks, WebSearch\n' + FINE),
    fails('imported ones alone', 'from pydantic_ai.capabilities import Hooks\n', 'defines no capability'),
    passes('an alias counts once', FINE + 'Again = Authored\nOnceMore = Again\n'),
    passes('a parametrized base as alias', FINE + 'Other = AbstractCapability[int]\n'),
    fails('nested', NESTED, 'defines no capability'),
    fails('in a function', IN_A_FUNCTION, 'defines no capability'),
    passes('made by a function', IN_A_FUNCTION + 'Made = make()\n'),
    passes('deleted again', FINE + 'class Other(Authored):\n    pass\ndel Other\n'),
    passes('generic', 'from typing import TypeVar\nT = TypeVar("T")\n' + FINE.replace('lity):', 'lity[T]):')),
    judged('an object that says it is a class', liar('return type')),
    judged('an object that does not tell its class', liar('raise RuntimeError("class")')),
]

CONSTRUCTOR = [
    fails('with arguments', authored('def __init__(self, n): pass'), 'Authored() failed: TypeError: ', "'n'", CONTRACT),
    passes('with defaults', authored('def __init__(self, n=1): self.n = n')),
    passes('without super', authored("def __init__(self): pass\ndef get_instructions(self): return 'x'")),
    fails(
        'raises',
        authored('def __init__(self):\n    raise ValueError("not today")'),
        'Authored() failed: ValueError: not today',
        'line 4, in __init__:\n    raise ValueError("not today")',
        CONTRACT,
    ),
    fails('exits', authored('def __init__(self): raise SystemExit(3)'), 'Authored() failed: SystemExit: 3'),
    fails('another object', authored('def __new__(cls): return 3'), 'made an object of another type'),
    fails(
        'abstract',
        authored('@abstractmethod\ndef stop(self): ...', before='from abc import abstractmethod\n'),
        'Authored is abstract: it has no stop.',
        CONTRACT,
    ),
    passes('a dataclass', 'from dataclasses import dataclass\n' + FINE.replace('class A', '@dataclass\nclass A')),
    passes(
        'a dataclass with fields',
        authored(
            'n: int = 3\n_: KW_ONLY\nk: "str" = ""\ndef get_instructions(self): return str(self.n)',
            before='from dataclasses import KW_ONLY, dataclass\n@dataclass\n',
        ),
    ),
    passes(
        'a dataclass with deferred annotations',
        'from __future__ import annotations\n'
        + authored('n: int = 3\n_: KW_ONLY\nk: str = ""', before='from dataclasses import *\n@dataclass\n'),
    ),
    fails('a dataclass with a field to fill', authored('n: int', before='from dataclasses import *\n@dataclass\n'), ''),
]

GETTERS = ['get_instructions', 'get_toolset', 'get_native_tools', 'get_model_settings', 'get_serialization_name']
NATIVE = 'from pydantic_ai.native_tools import WebSearchTool\n'
TOOLSET = 'from pydantic_ai.toolsets import FunctionToolset\n'
PROMISING = 'def promise(ctx): ...\nasync def later(ctx): ...\n'
RUBBISH = {
    'get_instructions': ['3', 'b"x"', 'object()', '{"a": 1}', '{"a"}', 'iter(["x"])', 'NotImplemented'],
    'get_toolset': ['3', '"x"', '[]', '[FunctionToolset()]', 'FunctionToolset', '{}', 'object()'],
    'get_native_tools': [
        '3',
        'WebSearchTool()',
        '"x"',
        '{}',
        'object()',
        'WebSearchTool',
        'iter([WebSearchTool()])',
        '{WebSearchTool}',
    ],
    'get_model_settings': ['3', '"x"', '[]', '{3: 4}', 'object()', '[("temperature", 1)]'],
    'get_serialization_name': ['3', 'b"x"', '["x"]', 'object()', 'print'],
    'get_description': ['3', '["x"]', 'b"x"'],
    'get_ordering': ['3', '"outermost"', '{}', '["outermost"]'],
}
ITEMS = {
    'get_instructions': ['["x", 3]', '("x", None)', '["x", ["y"]]', '["x", b"y"]', '[promise, 3]'],
    'get_native_tools': ['[WebSearchTool(), 3]', '[promise, None]', '(promise, WebSearchTool)', '[promise, "x"]'],
}
USABLE = {
    'get_instructions': ['None', '""', '"x"', '["x", promise, later]', '("x",)', 'promise', 'later', '[]'],
    'get_toolset': ['None', 'FunctionToolset()', 'promise', 'later'],
    'get_native_tools': ['[]', '()', '[WebSearchTool()]', '[promise, later]'],
    'get_model_settings': ['None', '{}', '{"temperature": 0.5}', 'promise'],
    'get_serialization_name': ['None', '"x"'],
    'get_description': ['None', '"x"', 'promise'],
    'get_ordering': ['None', 'CapabilityOrdering(position="outermost")'],
}
ITEMS_THAT_FAIL = 'class Items(list):\n    def __iter__(self): raise ValueError("items")\n'
_BEFORE = NATIVE + TOOLSET + PROMISING + 'from pydantic_ai.capabilities import CapabilityOrdering\n'

RETURNED = [
    *(
        fails(
            f'{name} {value}',
            getter(name, value, _BEFORE),
            f'{name} returned ',
            'It must return a list: ' if name == 'get_native_tools' else 'It may return ',
        )
        for name, values in RUBBISH.items()
        for value in values
    ),
    *(
        fails(f'{name} {value}', getter(name, value, _BEFORE), f'{name} returned a list whose item 1 is ')
        for name, values in ITEMS.items()
        for value in values
    ),
    *(passes(f'{name} {value}', getter(name, value, _BEFORE)) for name, values in USABLE.items() for value in values),
    fails(
        'settings that have to be awaited',
        getter('get_model_settings', 'later', PROMISING),
        'get_model_settings',
    ),
    *(
        fails(f'async {name}', authored(f'async def {name}(self): return None'), name, 'must be a plain `def`', 'def ')
        for name in [*GETTERS[:-1], 'get_description', 'get_ordering']
    ),
    fails(
        'async get_serialization_name',
        authored('async def get_serialization_name(self): return None'),
        'get_serialization_name must be a plain `def`',
    ),
    fails(
        'a generator', authored("def get_instructions(self):\n    yield 'x'"), 'get_instructions returned <generator'
    ),
    fails('a getter with arguments', authored('def get_toolset(self, ctx): pass'), 'get_toolset, on line 3', 'ctx'),
    *(
        fails(
            f'{name} raises {error}',
            authored(f'def {name}(self):\n    raise {error}("as a test")'),
            f'{name}() failed: {error}: as a test',
            f'line 4, in {name}:',
        )
        for name in [*GETTERS, 'get_description', 'get_ordering']
        for error in ['ValueError', 'SystemExit', 'GeneratorExit']
    ),
    fails('a list that fails', getter('get_instructions', 'Items("x")', ITEMS_THAT_FAIL), 'ValueError: items'),
]

TEXT_THAT_FAILS = 'class Error(Exception):\n    def __str__(self): {}\n'.format
ODD_REPR = 'class Odd:\n    def __repr__(self): raise SystemExit\n'
ODD_TOOLS = (
    (
        TOOLSET + 'class Odd(FunctionToolset):\n    @property\n    def tools(self): {}\n'
        '    @tools.setter\n    def tools(self, value): pass\n'
    )
    .replace('{3: 4}', '{{3: 4}}')
    .format
)
RUBBISH_SYNTAX = 'error = SyntaxError("boo")\nerror.lineno, error.offset, error.text = {}\n'.format

RAISED = [
    fails('SystemExit', raising('SystemExit(3)'), 'SystemExit: 3', 'line 2, in <module>:\n    raise SystemExit(3)'),
    fails('sys.exit', f'{IMPORT}import sys\nsys.exit()\n', 'SystemExit', 'line 3, in <module>:\n    sys.exit()'),
    fails('exit', f'{IMPORT}exit(0)\n', 'SystemExit: 0', 'line 2'),
    fails('GeneratorExit', raising('GeneratorExit("g")'), 'GeneratorExit: g', 'line 2'),
    fails('StopIteration', raising('StopIteration(4)'), 'StopIteration: 4', 'line 2'),
    fails('CancelledError', raising('asyncio.CancelledError', 'import asyncio\n'), 'CancelledError', 'line 3'),
    fails('BaseException', raising('BaseException("b")'), 'BaseException: b', 'line 2'),
    fails('its own', raising('Own("b")', 'class Own(BaseException): pass\n'), 'Own: b', 'line 3'),
    fails('a group', raising('ExceptionGroup("g", [ValueError("v")])'), 'ExceptionGroup: g', 'line 2'),
    fails('MemoryError', raising('MemoryError("m")'), 'MemoryError: m', 'line 2'),
    fails('an absurd allocation', f'{IMPORT}x = bytearray(1 << 46)\n', 'MemoryError'),
    fails('RecursionError', f'{IMPORT}def f(): f()\nf()\n', 'RecursionError: ', 'line 2, in f:\n    def f(): f()'),
    fails('recursion that is caught', f'{IMPORT}def f():\n    try: f()\n    finally: f(1)\nf()\n', 'Error'),
    fails('AssertionError', f'{IMPORT}assert 1 > 2\n', 'AssertionError', 'line 2', 'assert 1 > 2'),
    fails('a framework error', raising('ModelRetry("no")', 'from pydantic_ai import ModelRetry\n'), 'ModelRetry: no'),
    fails('a text that raises', raising('Error', TEXT_THAT_FAILS('raise ValueError')), 'Error: (its text', 'line 4'),
    fails('a text that is none', raising('Error', TEXT_THAT_FAILS('return 3')), 'Error: (its text', 'line 4'),
    judged('a text that exits', raising('Error', TEXT_THAT_FAILS('raise SystemExit'))),
    judged('a text that ends generators', raising('Error', TEXT_THAT_FAILS('raise GeneratorExit'))),
    fails('half a character', raising('ValueError("\\udc80")'), 'ValueError: '),
    fails('a traceback taken away', raising('ValueError("v").with_traceback(None)'), 'ValueError: v', 'line 2'),
    fails(
        'an odd SyntaxError',
        raising('error', RUBBISH_SYNTAX('"x", "y", 3')),
        'boo',
    ),
    fails(
        'an odder SyntaxError',
        raising('error', RUBBISH_SYNTAX('3, "y", 3')),
        'boo',
    ),
    judged(
        'a SyntaxError that does not tell its line',
        raising('S("boo")', 'class S(SyntaxError):\n    @property\n    def lineno(self): raise ValueError\n'),
    ),
    fails('a repr that exits', getter('get_instructions', 'Odd()', ODD_REPR), 'get_instructions', 'SystemExit'),
]

SPOILS_SUBCLASS_CHECKS = with_metaclass('def __subclasscheck__(cls, c): raise ValueError')
"""Nothing for a process that is used afterwards."""

HALF_A_TOOL_NAME = authored(
    'def get_toolset(self):\n    tools = FunctionToolset()\n'
    '    tools.add_function(lambda: 3, name="a\\udc80")\n    return tools',
    before=TOOLSET,
)

ODD_ATTRIBUTES = [
    fails('id of another type', authored('id = 3'), '`id` is 3 (int)', 'must be a str'),
    fails('id set to another type', authored('def __init__(self): self.id = 3'), '`id` is 3 (int)'),
    fails('an id that starts like those of loaded ones', authored('id = "authored_x"'), "'authored_x'"),
    fails('an id with a colon', authored('id = "a:b"'), "'a:b'"),
    fails('description of another type', authored('description = 3'), '`description` is 3 (int)'),
    fails('defer_loading of another type', authored('defer_loading = "yes"'), "`defer_loading` is 'yes' (str)"),
    fails(
        'an id that raises',
        authored('@property\ndef id(self): raise RuntimeError("odd")'),
        '`id` is a property',
    ),
    fails(
        'attributes that raise',
        authored('def __getattribute__(self, n): raise KeyError("odd")'),
        "KeyError: 'odd'",
    ),
    fails(
        'attributes that exit',
        authored('def __getattribute__(self, n): raise SystemExit("odd")'),
        'SystemExit: odd',
    ),
    fails(
        'has_on_event that raises',
        authored('@property\ndef has_on_event(self): raise ValueError("odd")'),
        '`has_on_event` belongs to Pydantic AI itself',
    ),
    judged('an ordering that raises later', later('get_ordering', 'raise ValueError("odd")')),
    judged('an ordering that exits later', later('get_ordering', 'raise SystemExit("odd")')),
    judged('an ordering that is none later', later('get_ordering', 'return 3')),
    judged('a toolset that raises later', later('get_toolset', 'raise ValueError("odd")')),
    judged('a toolset that exits later', later('get_toolset', 'raise SystemExit("odd")')),
    judged('tools that raise', getter('get_toolset', 'Odd()', ODD_TOOLS('raise ValueError("odd")'))),
    judged('tools that are none', getter('get_toolset', 'Odd()', ODD_TOOLS('return 3'))),
    judged('tools without names', getter('get_toolset', 'Odd()', ODD_TOOLS('return {3: 4}'))),
    judged('instance checks that raise', with_metaclass('def __instancecheck__(cls, c): raise ValueError')),
    judged('instance checks that lie', with_metaclass('def __instancecheck__(cls, c): return False')),
    judged('calls that make something else', with_metaclass('def __call__(cls): return 5')),
    judged('calls that make nothing', with_metaclass('def __call__(cls): return None')),
    judged(
        'a class without a module',
        with_metaclass(
            'def __getattribute__(cls, n):\n        if n == "__module__": raise ValueError\n'
            '        return super().__getattribute__(n)'
        ),
    ),
    passes('a class with a long name', FINE + 'Authored.__name__ = "a" * 5000\n'),
]

HEADER = 'async def before_tool_execute(self, ctx, *, call, tool_def, args)'
HOOKS = [
    fails(
        'def instead of async def',
        authored('def before_run(self, ctx): pass'),
        'before_run, on line 3: it must be `async def`',
        'Write it as `async def before_run(self, ctx)`',
    ),
    fails('without ctx', authored('async def before_run(self): pass'), 'before_run, on line 3', '(self, ctx)`'),
    fails('with too much', authored('async def before_run(self, ctx, more): pass'), "'more'", '(self, ctx)`'),
    fails('without self', authored('async def before_run(ctx): pass'), 'before_run, on line 3', '(self, ctx)`'),
    fails(
        'with other names',
        authored('async def before_tool_execute(self, ctx, call, arguments): pass'),
        'before_tool_execute, on line 3',
        f'Write it as `{HEADER}`',
    ),
    fails('a generator', authored('async def before_run(self, ctx): yield'), 'without `yield`'),
    fails(
        'a stream without yield',
        authored('async def wrap_run_event_stream(self, ctx, *, stream): return stream'),
        'it must `yield` the events of `stream`',
    ),
    passes(
        'a stream',
        authored('async def wrap_run_event_stream(self, ctx, *, stream):\n    async for e in stream: yield e'),
    ),
    passes('with defaults', authored('async def before_run(self, ctx, more=1): pass')),
    passes('with any keywords', authored('async def before_tool_execute(self, ctx, **rest): return rest["args"]')),
    passes('with anything', authored('async def before_tool_execute(self, *a, **rest): return rest["args"]')),
    passes('static', authored('@staticmethod\nasync def before_run(ctx): pass')),
    passes('a line that is far down', authored('async def before_run(self, ctx): pass', before='#\n' * 500)),
    fails('a line that is far down, wrong', authored('def before_run(self): pass', before='#\n' * 500), 'line 503'),
    fails(
        'one that is inherited',
        authored('pass', before='class Base:\n    def before_run(self, ctx): pass\n', bases='Base, AbstractCapability'),
        'before_run, on line 3: it must be `async def`',
    ),
    fails(
        'a reserved one that is inherited',
        authored('pass', before='class Base:\n    def apply(self, visitor): pass\n', bases='Base, AbstractCapability'),
        '`apply` belongs to Pydantic AI itself',
    ),
    fails('a number', authored('before_run = 3'), 'before_run'),
    fails('None', authored('before_run = None'), 'before_run'),
    *(
        fails(f'reserved {name}', authored(f'def {name}(self): pass'), f'`{name}` belongs to Pydantic AI itself')
        for name in ['apply', 'combine', 'from_spec', 'has_on_event', 'listens_to', 'prefix_tools', 'visit_and_replace']
    ),
    *(
        fails(f'private {name}', authored(f'{name} = 3'), f'`{name}` belongs to Pydantic AI itself')
        for name in ['_collect_instructions', '_one_per_agent', '_prepare_workspace', '_safe_at_runtime']
    ),
    passes('private of its own', authored('_mine = 3\ndef __secret(self): pass\ndef get_toolset(self): pass')),
]

FORMS = [
    fails('NUL', 'x = "a\0b"\n' + FINE, 'SyntaxError', 'null bytes'),
    passes('half a character in a string', 'x = "\udc80"\n' + FINE),
    passes('half a character in a comment', '# \ud83d\n' + FINE),
    fails('half a character in a name', 'x\udc80 = 1\n' + FINE, 'SyntaxError', 'line 1'),
    passes('CRLF', FINE.replace('\n', '\r\n')),
    passes('CR', FINE.replace('\n', '\r')),
    passes('tabs', FINE.replace('    ', '\t')),
    fails('tabs and spaces', FINE.replace('        return', '\treturn'), 'TabError', 'line 4:\n    return'),
    passes('BOM', '\ufeff' + FINE),
    passes('another encoding declared', '# -*- coding: latin-1 -*-\n' + FINE.replace('kind', 'gütig')),
    passes('no newline at the end', FINE.rstrip('\n')),
    passes('a form feed', FINE.replace('class', '\fclass')),
    passes('1 MB in one line', FINE + '#' * 1_000_000),
    passes('1 MB in many lines', FINE + '# a comment of this length\n' * 38_000),
    passes('not run as a program', FINE + 'if __name__ == "__main__":\n    raise RuntimeError\n'),
    passes('deferred annotations', 'from __future__ import annotations\n' + FINE),
    fails('a late future', FINE + 'from __future__ import annotations\n', 'SyntaxError', 'line 5'),
    passes(
        'pydantic models',
        'from __future__ import annotations\nfrom pydantic import BaseModel\n'
        'class Node(BaseModel):\n    next: Node | None = None\n    leaf: Leaf | None = None\n'
        'class Leaf(BaseModel):\n    n: int = 1\n'
        'Node.model_rebuild()\nassert Node.model_validate({"next": {"leaf": {}}}).next.leaf.n == 1\n' + FINE,
    ),
    fails('a relative import', 'from . import x\n' + FINE, 'line 1', 'from . import x'),
    fails('a relative import of a module', 'from .other import x\n' + FINE, 'line 1', 'from .other import x'),
    fails(
        'a missing import', 'import no_such_module_at_all\n' + FINE, "No module named 'no_such_module_at_all'", 'line 1'
    ),
    fails('another __name__', FINE.replace('class', '__name__ = "x"\nclass') + '__name__ = "y"\n', ''),
    passes('itself replaced', 'import sys\nsys.modules[__name__] = None\n' + FINE),
    passes('itself removed', 'import sys\ndel sys.modules[__name__]\n' + FINE),
    passes('another module replaced', 'import sys\nsys.modules["pretended_by_a_test"] = 3\n' + FINE),
    passes('lines forgotten', 'import linecache\nlinecache.clearcache()\n' + FINE),
    fails(
        'too many parentheses', 'x = ' + '(' * 500 + ')' * 500 + '\n' + FINE, 'too many nested parentheses', 'line 1'
    ),
    fails('too deep', 'x = ' + '-' * 50_000 + '1\n' + FINE, 'Error'),
    fails('too many operators', 'x = ' + '+'.join(['1'] * 50_000) + '\n' + FINE, 'Error'),
]

FRAMEWORK = 'from pydantic_ai.capabilities import Hooks, WebSearch, Toolset, WrapperCapability, CombinedCapability\n'


def based(base: str, body: str, before: str = '') -> str:
    """A capability based on one of the framework's."""
    return FRAMEWORK + authored(body, before=TOOLSET + before, bases=base)


INIT = 'def __init__(self):\n    super().__init__'
SUBCLASSES = [
    passes('Hooks', based('Hooks', 'pass')),
    passes('Hooks with a function', based('Hooks', f'{INIT}(before_run=f)', 'async def f(ctx): ...\n')),
    passes('WebSearch', based('WebSearch', 'pass')),
    passes('Toolset', based('Toolset', f'{INIT}(FunctionToolset())')),
    fails('Toolset without one', based('Toolset', 'pass'), 'Authored() failed: TypeError', CONTRACT),
    fails('Toolset of rubbish', based('Toolset', f'{INIT}(3)'), 'get_toolset returned 3 (int)'),
    passes('WrapperCapability', based('WrapperCapability', f'{INIT}(Hooks())')),
    fails('WrapperCapability around nothing', based('WrapperCapability', 'pass'), "'wrapped'", CONTRACT),
    judged('WrapperCapability around rubbish', based('WrapperCapability', f'{INIT}(3)')),
    passes('CombinedCapability', based('CombinedCapability', f'{INIT}([Hooks()])')),
    judged('CombinedCapability of rubbish', based('CombinedCapability', f'{INIT}([3])')),
    fails('CombinedCapability without any', based('CombinedCapability', 'pass'), 'Authored() failed', CONTRACT),
    passes('a mixin', FRAMEWORK + authored('pass', before='class Mixin:\n    pass\n', bases='Mixin, Hooks')),
]

ALL = {
    f'{group}: {case.name}': case
    for group, cases in {
        'how many': HOW_MANY,
        'constructor': CONSTRUCTOR,
        'returned': RETURNED,
        'raised': RAISED,
        'attributes': ODD_ATTRIBUTES,
        'hooks': HOOKS,
        'form': FORMS,
        'subclass': SUBCLASSES,
    }.items()
    for case in cases
}
