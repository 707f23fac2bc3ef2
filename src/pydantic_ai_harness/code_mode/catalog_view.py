"""How much of a catalog the model reads: all of it, a line a function, or names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .token_estimate import estimate_tokens, fits

if TYPE_CHECKING:
    from .catalog import Catalog
    from .function import Function

_MORE = '... and {} more'

CatalogMode: TypeAlias = Literal['full', 'dense', 'brief', 'search']
CatalogSetting: TypeAlias = Literal['auto', 'full', 'brief', 'search']


@dataclass(frozen=True)
class CatalogView:
    """What the model reads of the functions."""

    mode: CatalogMode
    """How it was written: `dense` is `full` with nothing said twice."""
    text: str

    @property
    def has_all(self) -> bool:
        """Whether the declarations of all functions are in it."""
        return self.mode in ('full', 'dense')


def view_of(catalog: Catalog, setting: CatalogSetting, max_tokens: int) -> CatalogView:
    """The functions as the setting says; `auto` takes the most that fits.

    Args:
        catalog: The functions and their types.
        setting: What was asked for.
        max_tokens: What `auto` may take, and what repeats, summaries and names are left out for.
    """
    if setting in ('auto', 'full') and fits(catalog.shown, max_tokens):
        return CatalogView('full', catalog.shown)
    if setting == 'full' or (
        setting == 'auto' and _may_fit_dense(catalog, max_tokens) and fits(catalog.dense, max_tokens)
    ):
        return CatalogView('dense', catalog.dense)
    groups = _groups(catalog.functions.values())
    if setting == 'brief' or (setting == 'auto' and fits(_brief(groups, frozenset()), max_tokens)):
        return CatalogView('brief', _brief(groups, _summaries_that_fit(groups, max_tokens)))
    return CatalogView('search', _names(groups, max_tokens))


def _may_fit_dense(catalog: Catalog, max_tokens: int) -> bool:
    """Whether writing it is worth while: it takes between a half and nine tenths of the plain text."""
    return fits(catalog.shown, 3 * max_tokens)


Groups: TypeAlias = Mapping[str, Sequence['Function']]


def _groups(functions: Iterable[Function]) -> Groups:
    groups: dict[str, list[Function]] = {}
    for function in functions:
        groups.setdefault(function.group, []).append(function)
    return groups


def _brief(groups: Groups, with_summary: frozenset[str]) -> str:
    blocks: list[str] = []
    for group, functions in groups.items():
        lines = [f'# {group}:'] if group else []
        lines += [_brief_line(function, with_summary) for function in functions]
        blocks.append('\n'.join(lines))
    return '\n\n'.join(blocks)


def _brief_line(function: Function, with_summary: frozenset[str]) -> str:
    line = function.brief if function.kind == 'async' else f'{function.brief}  # without await'
    if function.name not in with_summary:
        return line
    return f'{line}. {function.summary}' if function.kind != 'async' else f'{line}  # {function.summary}'


def _summaries_that_fit(groups: Groups, max_tokens: int) -> frozenset[str]:
    """As many summaries as fit, the short ones first."""
    left = max_tokens - estimate_tokens(_brief(groups, frozenset()))
    functions = [function for members in groups.values() for function in members if function.summary]
    costs = {function.name: estimate_tokens(f'  # {function.summary}') for function in functions}
    fitting: set[str] = set()
    for name, cost in sorted(costs.items(), key=lambda item: item[1]):
        left -= cost
        if left < 0:
            break
        fitting.add(name)
    return frozenset(fitting)


def _names(groups: Groups, max_tokens: int) -> str:
    """A line a group: how many functions, and their names while there is room, the same share for each group."""
    heads = {group: f'{group or "others"} ({len(functions)})' for group, functions in groups.items()}
    left = max_tokens - sum(estimate_tokens(f'{head}: {_MORE}') for head in heads.values())
    costs = {group: [estimate_tokens(f', {one.name}') for one in members] for group, members in groups.items()}
    everything = sum(map(sum, costs.values()))
    share = min(left / everything, 1.0) if everything else 1.0
    lines = [
        f'{heads[group]}: {_as_many_as_fit([one.name for one in members], costs[group], share * sum(costs[group]))}'
        for group, members in groups.items()
    ]
    return '\n'.join(lines)


def _as_many_as_fit(names: Sequence[str], costs: Sequence[int], room: float) -> str:
    shown: list[str] = []
    for name, cost in zip(names, costs, strict=True):
        room -= cost
        if room < 0:
            return ', '.join([*shown, _MORE.format(len(names) - len(shown))])
        shown.append(name)
    return ', '.join(shown)
