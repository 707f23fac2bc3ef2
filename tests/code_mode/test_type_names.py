"""CM-5: types are compared by kind, and only what is certainly unlike stops a snippet."""

from __future__ import annotations

import pytest

from pydantic_ai_harness.code_mode.type_names import certainly_unlike, is_plain_data

TYPED_DICTS = frozenset({'Order', 'Order__in', 'Item'})

ALIKE = [
    ('int', 'int'),
    ('str', 'str'),
    ('str', 'LiteralString'),
    ('str', 'Literal["a"]'),
    ('bytes | str', 'bytes'),
    # what Pydantic turns into the other
    ('float', 'int'),
    ('float', 'bool'),
    ('float', 'Literal[1]'),
    ('int', 'bool'),
    ('int', 'float'),
    ('bool', 'int'),
    ('bool', 'Literal[1]'),
    # one alternative fits
    ('str | None', 'None'),
    ('str | None', 'str'),
    ('str', 'str | None'),
    ('str', 'int | str'),
    ('list[int] | str', 'str'),
    # literals
    ('Literal["a", "b"]', 'Literal["a"]'),
    ('Literal["a", "b"]', 'Literal["b"]'),
    ('Literal["a"]', 'Literal["a", "z"]'),
    ('Literal["a"]', 'str'),
    ('Literal["a"]', 'LiteralString'),
    ('Literal[1, 2]', 'int'),
    ('Literal[-1]', 'Literal[-1]'),
    ('Literal[True]', 'bool'),
    ('Literal["a"] | None', 'None'),
    ('Literal[None]', 'None'),
    ('Literal["|"]', 'Literal["|"]'),
    ('Literal["a, b", "`"]', 'Literal["`"]'),
    ('Literal["\\u{2028}"]', 'Literal["\\u{2028}"]'),
    ('Literal["\\u{1f600}"]', 'Literal["\\u{1f600}"]'),
    ('Literal["a\\nb"]', 'Literal["a\\nb"]'),
    ('Literal["\\\\u{41}"]', 'Literal["\\\\u{41}"]'),
    ('Literal["\\""]', 'Literal["\\""]'),
    ('Literal[Color.RED]', 'Literal["red"]'),
    # sequences are one kind
    ('list[int]', 'list[int]'),
    ('list[int]', 'list[Unknown]'),
    ('list[int]', 'list'),
    ('list', 'list[int]'),
    ('list[Any]', 'list[str]'),
    ('list[int]', 'list[int | str]'),
    ('list[int]', 'tuple[int, ...]'),
    ('list[int]', 'tuple[str, int]'),
    ('list[int]', 'tuple[()]'),
    ('list[int]', 'set[int]'),
    ('list[int]', 'frozenset[int]'),
    ('list[float]', 'Sequence[int]'),
    ('list[list[str]]', 'list[list[str | int]]'),
    # so are mappings
    ('dict[str, int]', 'dict[str, int]'),
    ('dict[str, Any]', 'dict[str, str]'),
    ('dict[str, int]', 'dict[int, int]'),
    ('dict[str, int]', 'dict[Unknown, Unknown]'),
    ('dict[str, int]', 'dict[Literal["a"], int | str]'),
    ('dict[str, int]', 'Mapping[str, int]'),
    ('dict[str, int]', 'dict'),
    ('Order', 'dict[str, str]'),
    ('Order', 'Item'),
    ('Order__in', 'Order'),
    ('dict[str, int]', 'Order'),
    ('list[Order__in]', 'list[Order]'),
    # what is not known may be anything
    ('Any', 'str'),
    ('int', 'Any'),
    ('int', 'Unknown'),
    ('int', 'Foo'),
    ('int', 'Foo[str]'),
    ('int', 'datetime.date'),
    ('int', 'Foo | str'),
    # what cannot be read
    ('int', "<class 'str'>"),
    ('int', 'def f(x) -> str'),
    ('Literal["a", ... omitted 3 literals]', 'Literal["z"]'),
    ('int', ''),
    ('', 'int'),
]

UNLIKE = [
    ('int', 'str'),
    ('str', 'int'),
    ('str', 'None'),
    ('str', 'bytes'),
    ('bytes | str', 'int'),
    ('int', 'complex'),
    ('str | None', 'int'),
    ('int', 'str | None'),
    ('int', 'Literal["1"]'),
    ('bool', 'str'),
    ('bool', 'float'),
    ('None', 'int'),
    ('Literal["a", "b"]', 'Literal["c"]'),
    ('Literal["a", "b"]', 'Literal["c", "d"]'),
    ('Literal["a", "b"] | None', 'Literal["c"]'),
    ('Literal["a"]', 'int'),
    ('Literal["a"]', 'None'),
    ('Literal["a"]', 'list[str]'),
    ('Literal[1]', 'Literal[2]'),
    ('Literal[-1]', 'Literal[1]'),
    ('Literal[-1]', 'Literal["-1"]'),
    ('Literal["\\u{2028}"]', 'Literal["a"]'),
    ('Literal["\\\\u{41}"]', 'Literal["A"]'),
    ('list[int]', 'str'),
    ('str', 'list[str]'),
    ('list[int]', 'list[str]'),
    ('list[int]', 'list[str | None]'),
    ('list[int]', 'tuple[str, ...]'),
    ('list[int]', 'tuple[str, None]'),
    ('list[list[int]]', 'list[list[str]]'),
    ('list[list[int]]', 'list[int]'),
    ('list[Literal["a"]]', 'list[Literal["b"]]'),
    ('list[Order]', 'list[str]'),
    ('list[int]', 'dict[str, int]'),
    ('dict[str, int]', 'dict[str, str]'),
    ('dict[str, list[int]]', 'dict[str, list[str]]'),
    ('dict[str, int]', 'list[int]'),
    ('Order', 'str'),
    ('Order | None', 'list[Order]'),
    ('str', 'Order'),
    ('int', 'CoroutineType[Any, Any, int]'),
    ('Order', 'CoroutineType[Any, Any, Order]'),
]


@pytest.mark.parametrize(('expected', 'found'), ALIKE)
def test_cm5_what_may_fit_is_let_pass(expected: str, found: str) -> None:
    assert not certainly_unlike(expected, found, TYPED_DICTS)


@pytest.mark.parametrize(('expected', 'found'), UNLIKE)
@pytest.mark.parametrize('every_part', [False, True])
def test_cm5_what_cannot_fit_is_told(expected: str, found: str, every_part: bool) -> None:
    assert certainly_unlike(expected, found, TYPED_DICTS, every_part=every_part)


@pytest.mark.parametrize(
    ('expected', 'found'),
    [
        ('str', 'str | None'),
        ('str', 'int | str'),
        ('Literal["a"]', 'Literal["a", "z"]'),
        ('list[int]', 'list[int | str]'),
        ('list[int]', 'tuple[int, str]'),
        ('list[int] | None', 'list[int | None]'),
        ('list[list[int]]', 'list[list[int | str]]'),
        ('dict[str, int]', 'dict[Literal["a"], int | str]'),
        ('list[Order]', 'list[Order | int]'),
    ],
)
def test_cm5_of_a_written_out_value_every_part_has_to_fit(expected: str, found: str) -> None:
    assert certainly_unlike(expected, found, TYPED_DICTS, every_part=True)
    assert not certainly_unlike(expected, found, TYPED_DICTS)


@pytest.mark.parametrize(
    ('expected', 'found'),
    [
        ('str | None', 'str | None'),
        ('list[int | None]', 'list[int | None]'),
        ('list[Order | Item]', 'list[Order | dict[Literal["a"], int]]'),
        ('list[float]', 'list[int | float]'),
        ('list[Any]', 'list[int | str]'),
        ('list[int]', 'list[int | Unknown]'),
        ('dict[str, int | str]', 'dict[Literal["a", "b"], int | str]'),
    ],
)
def test_cm5_of_a_written_out_value_every_part_may_fit(expected: str, found: str) -> None:
    assert not certainly_unlike(expected, found, TYPED_DICTS, every_part=True)


@pytest.mark.parametrize(
    'text',
    [
        'int',
        'str | None',
        'LiteralString',
        'list[Foo]',
        'tuple[int, ...]',
        'dict[str, Any]',
        'Order',
        'Literal["a"]',
        'Literal["a", 1]',
        'bytes',
        'Order | None',
    ],
)
def test_cm5_plain_data(text: str) -> None:
    assert is_plain_data(text, TYPED_DICTS)


@pytest.mark.parametrize(
    'text',
    [
        'Any',
        'Foo',
        'Unknown',
        'int | Foo',
        'CoroutineType[Any, Any, int]',
        'int | CoroutineType[Any, Any, int]',
        'def f()',
        '',
        "<module 'os'>",
        'type[int]',
        'Literal[Color.RED]',
        'datetime',
    ],
)
def test_cm5_what_may_be_more_than_data(text: str) -> None:
    assert not is_plain_data(text, TYPED_DICTS)
