"""CM-5 on programs as models write them: none that would run is refused, each wrong one is caught before it runs."""

from __future__ import annotations

import pydantic_core
import pytest

from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.findings import SnippetCheck
from pydantic_ai_harness.narrowing import is_text_mapping
from pydantic_ai_harness.sandbox import TypeChecker, WorkerPool
from tests.code_mode.corpus.correct import CORRECT
from tests.code_mode.corpus.program import Program, WrongProgram
from tests.code_mode.corpus.tools import TOOLS
from tests.code_mode.corpus.wrong import WRONG
from tests.support import run_snippets

CATALOG = Catalog.build([tool.tool_def for tool in TOOLS])


@pytest.fixture(scope='module')
def checker() -> TypeChecker:
    return WorkerPool().type_checker


def problems(checker: TypeChecker, snippets: tuple[str, ...]) -> list[list[str]]:
    """What is found in each snippet, checked after the ones before it."""
    found: list[list[str]] = []
    before = ''
    for code in snippets:
        findings = checker.check(code, stubs=CATALOG.stubs, before=before).result()
        found.append(SnippetCheck(code, before, CATALOG).problems(findings))
        before += f'{code}\n'
    return found


@pytest.mark.parametrize('program', CORRECT, ids=lambda program: program.name)
def test_cm5_no_correct_program_is_refused(program: Program, checker: TypeChecker) -> None:
    assert problems(checker, program.snippets) == [[] for _ in program.snippets]


@pytest.mark.parametrize('program', WRONG, ids=lambda program: program.name)
def test_cm5_each_wrong_program_is_caught_with_its_line(program: WrongProgram, checker: TypeChecker) -> None:
    *earlier, last = problems(checker, program.snippets)
    assert earlier == [[] for _ in earlier]
    assert any(text.startswith(f'line {program.line}:') and program.mentions in text for text in last), last


@pytest.mark.filterwarnings('ignore::pydantic_ai_harness.code_mode.MissingReturnSchemaWarning')
@pytest.mark.parametrize('program', CORRECT, ids=lambda program: program.name)
async def test_cm5_correct_programs_give_their_value_through_an_agent(program: Program) -> None:
    returns = await run_snippets(*program.snippets, tools=TOOLS)
    assert [part.outcome for part in returns] == ['success'] * len(program.snippets), returns[-1].content
    value = unwrapped(returns[-1].content)
    assert pydantic_core.to_jsonable_python(value) == pydantic_core.to_jsonable_python(program.expected)


def unwrapped(content: object) -> object:
    """The value without what was printed (CM-8)."""
    if is_text_mapping(content) and 'output' in content:
        return content.get('result')
    return None if content == {} else content
