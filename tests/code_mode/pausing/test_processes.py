"""BEYOND-1: programs that pause in one process, which is killed, and go on in another."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pydantic_ai_harness.code_mode import FileStateStore

from .bank import Bank, Dialogue
from .processes import Process
from .shapes import SHAPES
from .worker import load_state

KEY_ROUNDS = 10


@dataclass
class Course:
    """What happened to one program."""

    state: dict[str, Any] | None = None
    pids: list[int] = field(default_factory=list[int])
    pauses: int = 0
    error: str | None = None

    @property
    def is_over(self) -> bool:
        return self.error is not None or (self.state is not None and self.state['requests'] is None)


@dataclass
class Courses:
    """What happened to all programs, and two processes that are left."""

    directory: Path
    by_name: dict[str, Course]
    pair: tuple[Process, Process]
    crashed: dict[str, Any]
    """The end of a program whose process died right in the middle of what it did after the pause."""

    def end(self, name: str, state: dict[str, Any]) -> Dialogue:
        dialogue = SHAPES[name].dialogue(Bank(), FileStateStore(self.directory / 'states'))
        load_state(dialogue, state)
        return dialogue


def log_of(directory: Path, shape: str) -> Path:
    return directory / f'{shape}.log'


def executions(directory: Path, shape: str) -> list[str]:
    log = log_of(directory, shape)
    return log.read_text().splitlines() if log.exists() else []


def command(directory: Path, what: str, shape: str, state: dict[str, Any] | None, log: str = '') -> dict[str, Any]:
    path = log_of(directory, log or shape)
    return {'do': what, 'shape': shape, 'state': state, 'states': str(directory / 'states'), 'log': str(path)}


def go_round(process: Process, directory: Path, courses: dict[str, Course]) -> None:
    """One step of each program that is not over."""
    for name, course in courses.items():
        if not course.is_over:
            reply = process.ask(command(directory, 'step', name, course.state))
            course.pids.append(process.pid)
            course.error = reply.get('error')
            course.state = reply
            course.pauses += reply.get('requests') is not None


@pytest.fixture(scope='module')
def courses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Courses]:
    """All programs: the process that paused them is killed, so is the next; two others take turns with the rest."""
    directory = tmp_path_factory.mktemp('pausing')
    by_name = {name: Course() for name in SHAPES}
    with ExitStack() as stack:
        first, second = stack.enter_context(Process()), stack.enter_context(Process())
        first.ready()
        go_round(first, directory, by_name)
        to_crash = first.ask(command(directory, 'step', 'sequence', None, 'crashed'))
        first.kill()
        third, fourth = stack.enter_context(Process()), stack.enter_context(Process())
        second.ready()
        go_round(second, directory, by_name)
        second.send(command(directory, 'crash', 'sequence', to_crash, 'crashed'))
        assert second.ended() == -9
        third.ready()
        fourth.ready()
        crashed = third.ask(command(directory, 'step', 'sequence', to_crash, 'crashed'))
        while not all(course.is_over for course in by_name.values()):
            go_round(third, directory, by_name)
            go_round(fourth, directory, by_name)
        yield Courses(directory, by_name, (third, fourth), crashed)


@pytest.mark.timeout(240)  # the first of them waits for all processes
@pytest.mark.parametrize('name', SHAPES)
def test_beyond1_over_killed_processes_every_call_runs_once(name: str, courses: Courses) -> None:
    """A program that is resumed by another process at each pause ends as it should, each of its calls made once."""
    course, shape = courses.by_name[name], SHAPES[name]
    assert course.error is None, course.error
    assert course.state is not None
    assert course.pauses == shape.pauses
    assert all(one != other for one, other in zip(course.pids, course.pids[1:], strict=False))
    shape.verify(courses.end(name, course.state), executions(courses.directory, name))


def test_beyond1_a_process_that_dies_after_taking_leaves_nothing_to_run_twice(courses: Courses) -> None:
    """After a crash in the middle of a resumed program, it is refused, and the model reads what may have run."""
    dialogue = courses.end('sequence', courses.crashed)
    assert executions(courses.directory, 'crashed') == ['free 1', 'pay 10']
    assert 'it was taken up before' in dialogue.text
    assert '- free(n=1) returned 10' in dialogue.text
    assert 'may have run' in dialogue.text


@pytest.mark.timeout(240)
@pytest.mark.parametrize('rounds', [200])
def test_beyond1_of_two_processes_that_resume_one_pause_one_runs(rounds: int, courses: Courses) -> None:
    """In each round, one process runs the rest of the program and the other one is told that it was taken."""
    one, other = courses.pair
    names = [f'race-{rounds}-{number}' for number in range(rounds)]
    log = f'races-{rounds}'
    pauses = one.ask({**command(courses.directory, 'pause_often', 'sequence', None, log), 'times': rounds})
    assert executions(courses.directory, log) == ['free 1'] * rounds
    winners: list[int] = []
    for name, state in zip(names, pauses['states'], strict=True):
        request = {**command(courses.directory, 'race', 'sequence', state, name), 'at': time.time() + 0.003}
        one.send(request)
        other.send(request)
        ends = [courses.end('sequence', process.receive()) for process in courses.pair]
        outcomes = [end.returned.outcome for end in ends]
        assert sorted(outcomes) == ['failed', 'success'], outcomes
        winners.append(outcomes.index('success'))
        assert 'it was taken up before' in ends[1 - winners[-1]].text
        assert ends[winners[-1]].content == [10, 'paid 10', 20]
        assert executions(courses.directory, name) == ['pay 10', 'free 2']
    assert set(winners) == {0, 1}, 'the same process was always first, so there was no race'


async def test_beyond1_processes_that_save_first_at_the_same_time_agree_on_one_key(courses: Courses) -> None:
    """The key file is made once, whoever comes first: what either of two processes saves, a third can read."""
    for number in range(KEY_ROUNDS):
        directory = courses.directory / f'keys-{number}'
        at = time.time() + 0.003
        for process, key in zip(courses.pair, 'ab', strict=True):
            process.send({'do': 'first_save', 'states': str(directory), 'key': key, 'at': at})
        assert [process.receive() for process in courses.pair] == [{}, {}]
        store = FileStateStore(directory)
        assert [await store.take('a'), await store.take('b')] == [b'state', b'state']
        assert sorted(path.name for path in directory.iterdir()) == ['a.taken', 'b.taken', 'key']
        assert [path.stat().st_mode & 0o777 for path in directory.iterdir()] == [0o600] * 3
        assert directory.stat().st_mode & 0o777 == 0o700
