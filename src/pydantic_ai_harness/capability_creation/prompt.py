"""Every word about authored capabilities that the model reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .manifest import AuthoredCapability, CapabilityFailure

GUIDANCE = '''\
You can extend yourself. `author_capability(name, code)` checks and keeps a capability that you write in Python; it \
takes effect in a later run, not in this one. Write one when you need a behaviour again and again: a tool, a rule for \
your tool calls, an instruction. `list_authored_capabilities` shows what there is and what failed; send code under the \
same name to replace it; `disable_authored_capability` switches one off.

A capability is one class with only the methods it needs. It is constructed without arguments.

A rule before a tool runs:
```python
from pydantic_ai import ModelRetry
from pydantic_ai.capabilities import AbstractCapability


class NoForcePush(AbstractCapability):
    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        if call.tool_name == 'run_command' and '--force' in str(args.get('command')):
            raise ModelRetry('Force pushes are not allowed here.')
        return args
```

A tool, and an instruction for it:
```python
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset


def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


class WordCount(AbstractCapability):
    def get_toolset(self):
        return FunctionToolset([word_count])

    def get_instructions(self):
        return 'Use word_count before you state a length.'
```

Other hooks, all `async def`: `before_run(self, ctx)`, `after_tool_execute(self, ctx, *, call, tool_def, args, \
result)`, which returns the result, and `before_model_request(self, ctx, request_context)`, which returns the \
request_context. A hook that fails does not end a run, but is switched off when it keeps failing.\
'''

NAME_DESCRIPTION = 'At most 64 lower-case letters, digits and underscores, starting with a letter.'
CODE_DESCRIPTION = 'A Python module that defines exactly one subclass of `pydantic_ai.capabilities.AbstractCapability`.'

_CONTRACT = (
    'A capability is exactly one class which subclasses `pydantic_ai.capabilities.AbstractCapability`, can be '
    'constructed without arguments, and overrides the methods it needs.'
)

NO_CAPABILITY = f'The code defines no capability. {_CONTRACT}'
ORDERING_IGNORED = "Of `get_ordering`, authored capabilities keep only `position='outermost'`."


def several_capabilities(names: Sequence[str]) -> str:
    """The code defines more than one."""
    return f'The code defines {len(names)} capabilities: {", ".join(names)}. {_CONTRACT} Author others on their own.'


def abstract_capability(cls: str, missing: Sequence[str]) -> str:
    """The class cannot be constructed, since methods are missing."""
    return f'{cls} is abstract: it has no {", ".join(missing)}. {_CONTRACT}'


def not_constructed(cls: str, reason: str) -> str:
    """The constructor failed."""
    return f'{cls}() failed: {reason}\n{_CONTRACT}'


def getter_failed(getter: str, reason: str) -> str:
    """A getter failed, or returned what the agent cannot use."""
    return reason if reason.startswith(f'TypeError: {getter} ') else f'{getter}() failed: {reason}'


def reserved(name: str) -> str:
    """The class overrides what only the framework may."""
    return f'`{name}` belongs to Pydantic AI itself: give your method or attribute another name.'


def bad_attribute(field: str, kind: str, expected: str) -> str:
    """A field of every capability has a value of the wrong type."""
    return f'`{field}` is {kind}. Every capability has this attribute, and here it must be a {expected}.'


def has_metaclass(name: str) -> str:
    """The class is made by another metaclass than those of the framework."""
    return f'The capability has the metaclass {name}. It must have none of its own.'


def bad_id(value: str) -> str:
    """The class has an id that something else may have."""
    return f"The id {value!r} contains a colon, or starts with 'authored_', as ids do that are given. Choose another."


def bad_hook(name: str, line: int | None, problem: str, header: str) -> str:
    """A hook is not written as the agent calls it."""
    where = name if line is None else f'{name}, on line {line}'
    return f'{where}: {problem}. Write it as `{header}`.'


def overrides_nothing(own_methods: Sequence[str]) -> str:
    """The class has no method that the agent calls."""
    have = f' (`{"`, `".join(own_methods)}` are none of them)' if own_methods else ''
    return (
        f'It overrides no hook and no getter of AbstractCapability{have}, so it changes nothing yet. '
        'See `before_tool_execute`, `get_toolset` and `get_instructions`.'
    )


def accepted(entry: AuthoredCapability, hints: Sequence[str]) -> str:
    """The code passed, and is kept."""
    said = [
        f'{entry.name!r} passed its checks and is saved as version {entry.version} ({entry.class_name}).',
        'It takes effect in a later run, not in this one.',
        *(f'Note: {hint}' for hint in hints),
    ]
    return '\n'.join(said)


def refused(entry: AuthoredCapability, current: AuthoredCapability | None) -> str:
    """The code failed; `current` is the working version that stays, or `None` if there is none."""
    if current is None:
        kept = f'It is kept as {entry.module_file} and not loaded.'
    else:
        kept = (
            f'{current.name!r} stays as it was (version {current.version}, {current.status}); '
            f'the new code is kept as {entry.module_file}.'
        )
    return f'The code was refused. {kept} Mend it and send it again under the same name.\n\n{entry.last_error}'


def tool_name_taken(names: Sequence[str]) -> str:
    """Its tools have the names of others."""
    return (
        f'This agent already has tools named {", ".join(names)}: while it has, '
        'the tools of this capability are left out. Choose other names.'
    )


Progress = Literal['not run', 'begun', 'done']
"""How far a tool had come when something around it failed."""

_PROGRESS: dict[Progress, str] = {
    'not run': 'was not run',
    'begun': 'was begun and stopped, so it may have run in part',
    'done': 'ran, but its result is withheld',
}


def stopped_call(tool: str, name: str, failure: CapabilityFailure, progress: Progress) -> str:
    """A hook of an authored capability failed around a tool call, which therefore counts as failed."""
    return (
        f'{tool} {_PROGRESS[progress]}: {failure.where} of the authored capability {name!r} failed, and it might have '
        'been a guard.\n'
        f'{failure.error}\n{failure.traceback}\n'
        f'Mend {name!r} with author_capability, or disable it, for the next run.'
    )


def failed_tool(tool: str, name: str, failure: CapabilityFailure) -> str:
    """A tool of an authored capability failed in a way that would have ended the run."""
    return f'{tool}, a tool of the authored capability {name!r}, failed.\n{failure.error}\n{failure.traceback}'


def unknown_capability(name: str, known: Sequence[str]) -> str:
    """There is none of that name."""
    return f'No capability is named {name!r}. There are: {", ".join(known) or "none yet"}.'


def disabled(name: str) -> str:
    """It was switched off."""
    return f'{name!r} is disabled: it is not loaded from the next run on. It is still active in this one, if it was.'


def timed_out(seconds: float | None) -> str:
    """The code did not come to an end."""
    return (
        f'The code ran for longer than {seconds:g} seconds. A module, a constructor and a getter only define things: '
        'leave work, waiting and loops to the hooks and tools.'
    )


def ended_its_process(how: str) -> str:
    """The code ended the process in which it was checked."""
    return f'The code {how} while it was checked. A module, a constructor and a getter only define things.'


def not_approved(name: str) -> str:
    """The file holds code that was not accepted through the store, which was told to insist on that."""
    return (
        f'{name!r} is pinned, and its file holds code that was not accepted through the store: '
        f'author it again, or let a person approve it with `store.approve({name!r})`.'
    )


LETHAL = 'The code hung, or ended the process, when it was checked. It is not run again.'
EDITED = 'Its file was edited by hand and no longer holds the code that was accepted.'
