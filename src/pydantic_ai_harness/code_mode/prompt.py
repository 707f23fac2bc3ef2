"""Every word that the model reads of code mode, except failures."""

from __future__ import annotations

from dataclasses import dataclass

from .catalog_view import CatalogMode, CatalogView
from .lookup import LookupNames

MODULES = (
    'asyncio',
    'base64',
    'binascii',
    'bisect',
    'collections',
    'copy',
    'csv',
    'dataclasses',
    'datetime',
    'decimal',
    'functools',
    'hashlib',
    'itertools',
    'json',
    'math',
    'os',
    'pathlib',
    're',
    'sys',
    'tomllib',
    'typing',
    'unicodedata',
)
"""What code can import without further ado; a test compares it with the installed sandbox."""

HOST_MODULES = ('random', 'time')
"""Importable, but what they offer has to be granted by the host."""


@dataclass(frozen=True, kw_only=True)
class Grants:
    """What the host lets the code touch."""

    os_access: bool
    mounts: tuple[tuple[str, str], ...]
    """Virtual path and mode of each mounted directory."""


_INTRODUCTION = """\
Run Python code in a sandbox. Your tools are functions there: call them from the code, as often as needed, with \
loops, conditions and variables, and return only what matters.

- Call functions with keyword arguments, and `await` each `async def`: `x = await f(a=1)`. Run independent calls \
together: `a, b = await asyncio.gather(f(a=1), g(b=2))` (after `import asyncio`).
- The last expression is the result; nothing has to be printed. Put a variable's name on the last line to return it.
- Variables, imports and functions stay for the next call; `restart: true` starts afresh.
- Errors of a function are raised where it is called, and can be caught with try/except.
- Only this much of the standard library: {modules}. No other packages, no `import *`, no `del`, no `yield`, no \
`async with`, no `create_task`.
- {grants}"""


def run_code_description(functions: str, grants: Grants, *, max_tool_calls: int, may_grow: bool) -> str:
    """The description of the `run_code` tool.

    Args:
        functions: What the model reads of them, or where it does.
        grants: What the code may touch.
        max_tool_calls: In one run of code.
        may_grow: Whether tools that are found or loaded later become functions.
    """
    modules = sorted([*MODULES, *HOST_MODULES]) if grants.os_access else MODULES
    introduction = _INTRODUCTION.format(modules=', '.join(modules), grants=_grants_text(grants))
    points = [f'- At most {max_tool_calls} function calls in one run.', *([_MAY_GROW] if may_grow else [])]
    return '\n'.join([introduction, *points, '', functions])


def functions_instructions(view: CatalogView, names: LookupNames) -> str:
    """What the instructions say when the functions do not stand in the description."""
    return f'# Functions of `run_code`\n\n{functions_text(view, names)}'


def functions_text(view: CatalogView, names: LookupNames) -> str:
    """The functions, in a fence that their texts cannot close, and how to find out more."""
    if not view.text:
        return 'There are no functions to call.'
    fence = _FENCE
    while fence in view.text:
        fence += '`'
    heading = _HEADINGS[view.mode].format(help=names.help, find=names.find)
    return f'{heading}\n\n{fence}python\n{view.text}\n{fence}'


_HEADINGS: dict[CatalogMode, str] = {
    'full': 'Functions:',
    'dense': (
        'Functions; all arguments are keywords. An argument without a type is the one of its name declared on top, and '
        '`x: x2` is the one declared there as `x2`. `=...` can be left out, and a result without a type is `Any`. '
        '`{help}(f)` returns one declaration, whole; it is called in code, without `await`, and is free.'
    ),
    'brief': (
        'Functions, all `async def` unless it says otherwise; `name=...` can be left out. `{help}(f, g)` returns '
        'signatures, types and descriptions, `{find}("words")` finds functions; both are called in code, without '
        '`await`, and are free. Look at the `{help}` of what you have not called yet.'
    ),
    'search': (
        'Functions, all `async def` unless their `{help}` says otherwise, by where they come from. In code, without '
        '`await` and free: `{find}("words", limit=10, group="...")` finds functions, `{help}(f, g)` returns '
        'signatures, types and descriptions. Look at the `{help}` of what you have not called yet.'
    ),
}
LISTED_APART = (
    'The functions are listed in the instructions, under "Functions of `run_code`". '
    'A message names those that come later.'
)
FOUND_COMES_INSIDE = 'What is found becomes a function of `run_code`: call it in code, from your next step on.'
_MAY_GROW = '- Tools that you find or load later become functions too: call them in code, from your next step on.'
_FENCE = '```'
CODE_DESCRIPTION = 'The Python code to run.'
RESTART_DESCRIPTION = 'Drop all variables, imports and functions of earlier code first.'


def _grants_text(grants: Grants) -> str:
    if not grants.os_access and not grants.mounts:
        return 'There is no file, environment variable, clock, randomness or network.'
    parts: list[str] = []
    if grants.mounts:
        parts.append(' '.join(_mount_text(path, mode) for path, mode in grants.mounts))
    if grants.os_access:
        parts.append(
            'Environment variables (`os.getenv`), the clock (`datetime.now()`, `time.time()`) and files are answered '
            'by the host, as far as it allows.'
        )
    else:
        parts.append('There is no environment variable and no clock.')
    return ' '.join([*parts, 'There is no network.'])


def _mount_text(path: str, mode: str) -> str:
    access = {
        'read-only': 'can be read, not written',
        'read-write': 'can be read and written, and what is written stays',
        'overlay': 'can be read and written, but what is written is gone after this call',
    }
    return f'Files under `{path}` {access.get(mode, mode)} (`pathlib`, `open`).'
