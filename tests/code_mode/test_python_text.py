"""CM-4: text of others stays inside the comment, the docstring or the name that it is put into."""

from __future__ import annotations

import ast
import inspect
import keyword

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pydantic_ai_harness.code_mode.python_text import as_comment, as_docstring, free_name, is_name, parse, to_name

ANY_TEXT = st.text(st.characters(codec=None), max_size=40) | st.text('"\\\'\n\r#{}` a\x00\u2028', max_size=12)
NASTY = [
    '',
    ' ',
    'plain',
    'ends in a quote"',
    'ends in quotes""',
    "ends in a quote'",
    'ends in a backslash\\',
    'ends in two\\\\',
    'ends in both\\"',
    '"',
    '""',
    '"""',
    '""""',
    '"""""""',
    "'''",
    'holds """ inside',
    'holds \\""" inside',
    '"starts with a quote',
    '\\n is no newline',
    '\\u no escape, \\x neither, \\N{no} too',
    'two\nlines',
    'two\r\nlines',
    'an old\rMac',
    'a\n\n\nb',
    '\n\nwithin\n\n',
    '  indented\n    more\n  less',
    'tab\there',
    'NUL\x00',
    'escape\x1b[31m',
    'form\x0cfeed\x0band\x1cmore\x85',
    'line\u2028and\u2029paragraph',
    'right\u202eto left',
    'half \ud83d of a pair',
    '\ud800\udfff',
    '```python\nimport os\n```',
    '# comment',
    '{braces} %s $x',
    'x' * 20_000,
    'word ' * 5_000,
    'line\n' * 2_000,
    '\x00',
    '天气 😀 é',
]


@pytest.mark.parametrize('text', ['a', '_', '__', '_a1', 'None_', 'type', 'match', 'print', 'self'])
def test_cm4_names(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize('text', ['', '1a', 'a-b', 'a b', 'a.b', 'é', '天', '$a', 'from', 'None', 'async', '__debug__'])
def test_cm4_what_is_no_name(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize(
    ('text', 'name'),
    [
        ('get_weather', 'get_weather'),
        ('get-weather', 'get_weather'),
        ('a.b/c d', 'a_b_c_d'),
        ('a--b', 'a_b'),
        ('2fa', '_2fa'),
        ('from', 'from_'),
        ('None', 'None_'),
        ('__debug__', '__debug___'),
        ('größe', 'gr_e'),
        ('$filter', '_filter'),
        ('Foo[Bar]', 'Foo_Bar_'),
        ('__typename', '__typename'),
        ('', ''),
        ('天气', ''),
        ('-', ''),
        ('_', ''),
        ('a\nb', 'a_b'),
    ],
)
def test_cm4_the_nearest_name(text: str, name: str) -> None:
    assert to_name(text) == name


@given(ANY_TEXT)
def test_cm4_the_nearest_name_is_one_or_nothing(text: str) -> None:
    name = to_name(text)
    assert name == '' or (is_name(name) and not keyword.iskeyword(name))


@pytest.mark.parametrize(
    ('taken', 'name'), [(set[str](), 'a'), ({'a'}, 'a_2'), ({'a', 'a_2'}, 'a_3'), ({'a_2'}, 'a'), ({'b'}, 'a')]
)
def test_cm4_a_free_name(taken: set[str], name: str) -> None:
    assert free_name('a', taken) == name


@pytest.mark.parametrize('text', NASTY, ids=ascii)
def test_cm4_a_comment_is_one_line(text: str) -> None:
    comment = as_comment(text)
    assert len(f'x{comment}'.splitlines()) == 1
    assert ast.unparse(ast.parse(f'x = 1  # {comment}\ny = 2')) == 'x = 1\ny = 2'
    assert comment.isprintable()


@given(ANY_TEXT)
def test_cm4_any_comment_is_one_line(text: str) -> None:
    assert ast.unparse(ast.parse(f'x = 1  # {as_comment(text)}\ny = 2')) == 'x = 1\ny = 2'


def assert_docstring_holds(text: str) -> None:
    source = f'def f():\n{as_docstring(text, "    ")}\n'
    compile(source, 'docstring', 'exec')
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 1
    held = ast.get_docstring(function)
    assert held is not None
    assert visible(held) == visible(text)


def visible(text: str) -> list[list[str]]:
    """The words of each line, without what nobody sees; those of no line that is empty."""
    shown = ''.join(character if character.isprintable() or character in '\n\t' else ' ' for character in text)
    return [words for line in shown.split('\n') if (words := line.split())]


@pytest.mark.parametrize('text', NASTY, ids=lambda text: ascii(text)[:40])
def test_cm4_a_docstring_holds_its_text(text: str) -> None:
    assert_docstring_holds(text)


@given(ANY_TEXT)
@example('\\"""')
@example('a\\\n"')
def test_cm4_a_docstring_holds_any_text(text: str) -> None:
    assert_docstring_holds(text)


def test_cm4_a_docstring_keeps_lines_and_indentation() -> None:
    text = 'First.\n\nArgs:\n    a: The a.\n      More of it.'
    source = f'def f():\n{as_docstring(text, "    ")}\n'
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert ast.get_docstring(function) == text
    assert inspect.cleandoc(text) == text


# -- code that this Python cannot parse ----------------------------------------------------------------------------

NEWER = [
    "x = f'{d['a']}'",
    'x = f"{d["a"]}"',
    "x = f'{f'{f'{d}'}'}'",
    "x = f'{d['a']:>{d['b']}} and {d['c']!r}'",
    "x = f'{{{d['a']}}}'",
    "x = rf'\\{d['a']}'",
    "x = fR'{d['a']}'",
    "x = f'''\n{d['a']}\n{d['''b''']}'''",
    "x = 'a' f'{d['b']}' 'c'",
    "x = f'{d['é天']}'",
    "x = f'é{d['a']}' + f'{d['b']}'",
    "x = f'{', '.join(sorted(d))}'",
    "x = f'{ {'a': 1}['a'] + d['b'] }'",
    "x = f'{d[\"a\"]} \\' {d['b']}'",
    "# it's f'{\nx = f'{d['a']}'",
    "y = 'it\\'s f{'\nx = f'{d['a']}'",
    "x = f'{d['a']=}'",
]


@pytest.mark.parametrize('code', NEWER)
def test_cm5_strings_inside_f_strings_may_have_the_same_quotes(code: str) -> None:
    tree = parse(f'd = {{}}\n{code}\nlast = d')
    assert tree is not None
    assert [ast.unparse(node) for node in (tree.body[0], tree.body[-1])] == ['d = {}', 'last = d']
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {'d', 'x', 'last'} <= named
    lines = code.count('\n')
    assert (tree.body[-1].lineno, tree.body[-1].col_offset) == (lines + 3, 0)


def test_cm5_places_in_f_strings_are_those_of_the_code() -> None:
    tree = parse("é = f'é{d['a']} {d['b']}'")
    assert tree is not None
    keys = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    assert [(key.lineno, key.col_offset) for key in keys] == [(1, 12), (1, 21)]


@pytest.mark.parametrize('code', ['', 'x = 1', "re.findall('\\d', x)", 'return 1', 'await f()', "f'{a}'", "'{'"])
def test_cm5_other_code_is_parsed_as_it_is(code: str) -> None:
    tree = parse(code)
    assert tree is not None
    assert ast.unparse(tree) == ast.unparse(ast.parse(code.replace('\\', '\\\\'))).replace('\\\\\\\\', '\\\\')


@pytest.mark.parametrize(
    'code', ['def f(', "f'{", "f'{d['a'", 'x = "', "'''", '\x00', '\ud800 x', '(' * 5_000, "f'{" * 500, '\\']
)
def test_cm5_what_is_no_code_has_no_tree(code: str) -> None:
    assert parse(code) is None


@given(st.text('fr\'"{}[]:!#\\\n =a', max_size=30))
def test_cm5_parsing_never_fails(code: str) -> None:
    parse(code)
