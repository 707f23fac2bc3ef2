"""CM-5 on a second corpus: other tools, other styles, and snippets after one that failed half-way."""

from __future__ import annotations

import pydantic_core
import pytest

from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.repl import LocalRepl
from pydantic_ai_harness.code_mode.typecheck import SessionTypes
from pydantic_ai_harness.narrowing import is_text_mapping
from pydantic_ai_harness.sandbox import Session, WorkerPool
from tests.code_mode.corpus.known import STILL_MISSED, STILL_REFUSED
from tests.code_mode.corpus.more_correct import FAILS, KNOWN_CRASHES, KNOWN_FALSE_ALARMS, MORE_CORRECT
from tests.code_mode.corpus.more_tools import MORE_TOOLS
from tests.code_mode.corpus.more_wrong import KNOWN_MISSES, MORE_WRONG
from tests.code_mode.corpus.program import Program, WrongProgram
from tests.support import run_snippets

CATALOG = Catalog.build([tool.tool_def for tool in MORE_TOOLS])
CORRECT = [one for one in [*MORE_CORRECT, *KNOWN_FALSE_ALARMS] if one.name not in STILL_REFUSED]
WRONG = [one for one in [*MORE_WRONG, *KNOWN_MISSES] if one.name not in STILL_MISSED]
NOT_RUN = 'The code was not run'

pytestmark = pytest.mark.filterwarnings('ignore::pydantic_ai_harness.code_mode.toolset.MissingReturnSchemaWarning')


@pytest.fixture(scope='module')
def repl() -> LocalRepl:
    pool = WorkerPool()
    return LocalRepl(Session(pool), pool.type_checker)


async def problems(repl: LocalRepl, snippets: tuple[str, ...]) -> list[list[str]]:
    """What is found in each snippet, checked after the ones before it."""
    types = SessionTypes()
    found: list[list[str]] = []
    for code in snippets:
        found.append(await types.problems(code, CATALOG, repl))
        (types.failed if code.startswith(FAILS) else types.ran)(code)
    return found


@pytest.mark.parametrize('program', CORRECT, ids=lambda program: program.name)
async def test_cm5_no_correct_program_is_refused(program: Program, repl: LocalRepl) -> None:
    assert await problems(repl, program.snippets) == [[] for _ in program.snippets]


@pytest.mark.parametrize('program', WRONG, ids=lambda program: program.name)
async def test_cm5_each_wrong_program_is_caught_with_its_line(program: WrongProgram, repl: LocalRepl) -> None:
    *earlier, last = await problems(repl, program.snippets)
    assert earlier == [[] for _ in earlier]
    assert any(text.startswith(f'line {program.line}:') and program.mentions in text for text in last), last


@pytest.mark.parametrize('program', CORRECT, ids=lambda program: program.name)
async def test_cm5_correct_programs_give_their_value_through_an_agent(program: Program) -> None:
    returns = await run_snippets(*program.snippets, tools=MORE_TOOLS)
    outcomes = ['retried' if code.startswith(FAILS) else 'success' for code in program.snippets]
    assert [part.outcome for part in returns] == outcomes, returns[-1].content
    assert not any(str(part.content).startswith(NOT_RUN) for part in returns)
    value = unwrapped(returns[-1].content)
    assert pydantic_core.to_jsonable_python(value) == pydantic_core.to_jsonable_python(program.expected)


@pytest.mark.parametrize('program', KNOWN_CRASHES, ids=lambda program: program.name)
async def test_beyond6_what_earlier_code_did_not_await_is_told_and_ends_no_run(program: Program) -> None:
    returns = await run_snippets(*program.snippets, tools=MORE_TOOLS)
    assert returns[-1].outcome == 'retried'


def test_names_of_programs_are_unique() -> None:
    for programs in ([*MORE_CORRECT, *KNOWN_FALSE_ALARMS], [*MORE_WRONG, *KNOWN_MISSES]):
        names = [program.name for program in programs]
        assert sorted(set(names)) == sorted(names)


def unwrapped(content: object) -> object:
    """The value without what was printed (CM-8)."""
    if is_text_mapping(content) and 'output' in content:
        return content.get('result')
    return None if content == {} else content
