"""CM-21: what a step takes and gives, as data; all of it comes back as it was."""

from __future__ import annotations

import math

import pytest

from pydantic_ai_harness.code_mode.recorded_step import StepReport, StepRequest, recorded_size
from pydantic_ai_harness.code_mode.repl import Check
from pydantic_ai_harness.code_mode.stored_answer import StoredAnswer
from pydantic_ai_harness.sandbox import (
    Call,
    CannotCrossError,
    Failed,
    FailureKind,
    Finished,
    Frame,
    Needs,
    Raised,
    Returned,
    Sleep,
    Step,
)

CALL = Call(
    3,
    'look',
    ('words',),
    {
        'limit': 10**5000,
        'low': -(10**1001),
        'odd': {'$int': '0x1'},
        'data': b'\x00\xff',
        'weights': [math.inf, None, {'$bytes': 1}],
    },
    2,
)
STEPS: list[Step] = [
    Needs((CALL, Sleep(4, 0.5), Sleep(5, 2.0, blocking=True)), frozenset({3, 4})),
    Finished({'rows': [1, 2.5, 'ß', b'\xff', None, True]}),
    Finished(None),
    Failed(FailureKind.ERROR, 'KeyError', "'x'", (Frame(2, 'a[b]', None, current=True),)),
    Failed(FailureKind.TOO_LARGE, 'StateTooLarge', 'too much', rolled_back=True),
    Failed(FailureKind.TIME, 'TimeoutError', 'late', session_lost=True),
]


@pytest.mark.parametrize('step', STEPS, ids=lambda step: type(step).__name__)
def test_cm21_a_step_comes_back_as_it_was(step: Step) -> None:
    report = StepReport.of(step, 'printed')
    report.state = b'\x00state' * 100
    again = StepReport.model_validate_json(report.model_dump_json())
    assert again.step == step
    assert (again.state, again.printed) == (report.state, 'printed')


def test_cm21_a_value_that_is_no_data_is_told_as_outside() -> None:
    step = StepReport.model_validate_json(StepReport.of(Finished({'f': print})).model_dump_json()).step
    assert isinstance(step, Finished)
    assert isinstance(step.value, CannotCrossError)
    assert (step.value.what, step.value.path) == ("the function 'print'", "['f']")


def test_cm21_a_report_of_nothing_is_no_step() -> None:
    assert StepReport.model_validate_json(StepReport().model_dump_json()).step is None


@pytest.mark.parametrize(
    'error', [ValueError('bad'), KeyError('key'), KeyError(), UnicodeError('\ud83d'), StopIteration('end')], ids=repr
)
def test_cm21_an_error_comes_back_as_its_builtin_type(error: Exception) -> None:
    stored = StoredAnswer.model_validate_json(StoredAnswer.of(Raised(error)).model_dump_json())
    answer = stored.answer
    assert isinstance(answer, Raised)
    assert type(answer.error) is type(error)
    assert answer.error.args == (str(error.args[0]).encode(errors='replace').decode() if error.args else '',)


def test_cm21_an_error_of_an_unknown_type_is_a_runtime_error_that_says_so() -> None:
    answer = StoredAnswer(error_type='print', message='row 3').answer
    assert isinstance(answer, Raised)
    assert repr(answer.error) == "RuntimeError('print: row 3')"


def test_cm21_a_request_comes_back_as_it_was_and_takes_little() -> None:
    stubs = '\n'.join(f'async def function_{number}(*, name: str) -> dict[str, int]: ...' for number in range(500))
    request = StepRequest(
        engine='Temporal',
        state=b'state',
        code='x = 1',
        async_functions=['look'],
        check=Check('x = 1', stubs, 'y = 2\n'),
        answers={3: StoredAnswer.of(Returned({'rows': [1]}))},
    )
    text = request.model_dump_json()
    assert StepRequest.model_validate_json(text) == request
    assert len(text) < len(stubs) / 5


def test_cm21_the_size_counts_what_quoting_adds() -> None:
    assert recorded_size('"\\ä') == len(b'\\"\\\\') + 2
