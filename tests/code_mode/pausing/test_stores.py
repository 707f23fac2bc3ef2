"""BEYOND-1: the stores, and what happens when one fails."""

import asyncio
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode import (
    FileStateStore,
    MemoryStateStore,
    StateStore,
    StateStoreWarning,
    StateUnavailableError,
)
from pydantic_ai_harness.errors import ConfigurationError

from .bank import Dialogue, approve, run_through

BOTH = 'a = await free(n=1)\nb = await pay(amount=a)\n[a, b]'
CAUGHT = """import asyncio
async def safe(call):
    try:
        return await call
    except PermissionError as e:
        return str(e)
await asyncio.gather(free(n=1), safe(pay(amount=2)), safe(later(job="x")))"""


def hours(number: float = 1) -> datetime:
    return datetime.now(UTC) + timedelta(hours=number)


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def reason_of(store: StateStore, key: str) -> str:
    with pytest.raises(StateUnavailableError) as refusal:
        await store.take(key)
    return refusal.value.reason


@pytest.fixture(params=['memory', 'file'])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    return MemoryStateStore() if request.param == 'memory' else FileStateStore(tmp_path / 'states')


# -- both of them --------------------------------------------------------------------------------------------------


async def test_beyond1_a_state_is_given_out_once(store: StateStore) -> None:
    """One taker gets what was saved, the next ones are told that it was taken."""
    await store.save('k', b'\x00state\n', expires_at=hours())
    assert await store.take('k') == b'\x00state\n'
    assert [await reason_of(store, 'k') for _ in range(2)] == ['taken', 'taken']


async def test_beyond1_what_was_never_saved_is_missing(store: StateStore) -> None:
    """An unknown key is told from one that was taken."""
    assert await reason_of(store, 'k') == 'missing'
    await store.save('other', b'', expires_at=hours())
    assert await reason_of(store, 'k') == 'missing'


async def test_beyond1_saving_again_replaces_it_and_lifts_that_it_was_taken(store: StateStore) -> None:
    """The last state saved under a key is the one that is given out."""
    await store.save('k', b'1', expires_at=hours())
    await store.save('k', b'2', expires_at=hours())
    assert await store.take('k') == b'2'
    await store.save('k', b'3', expires_at=hours())
    assert await store.take('k') == b'3'
    assert await reason_of(store, 'k') == 'taken'


async def test_beyond1_an_expired_state_says_when(store: StateStore) -> None:
    """It stays expired for whoever asks again, and can be saved anew."""
    moment = datetime.now(UTC) - timedelta(seconds=1)
    await store.save('k', b'1', expires_at=moment)
    for _ in range(2):
        with pytest.raises(StateUnavailableError, match=f'it has expired \\(on {moment:%Y-%m-%d %H:%M} UTC\\)'):
            await store.take('k')
    await store.save('k', b'2', expires_at=hours())
    assert await store.take('k') == b'2'


async def test_beyond1_of_many_tasks_one_takes_it(store: StateStore) -> None:
    """Takers in one process do not share a state either."""
    for number in range(10):
        key = f'k{number}'
        await store.save(key, b'state', expires_at=hours())
        results = await asyncio.gather(*[store.take(key) for _ in range(8)], return_exceptions=True)
        refused = [result for result in results if isinstance(result, StateUnavailableError)]
        assert [result for result in results if isinstance(result, bytes)] == [b'state']
        assert [refusal.reason for refusal in refused] == ['taken'] * 7


async def test_beyond1_other_time_zones(store: StateStore) -> None:
    """A moment is a moment, whatever zone it is given in."""
    from datetime import timezone

    await store.save('k', b'1', expires_at=hours().astimezone(timezone(timedelta(hours=14))))
    assert await store.take('k') == b'1'
    await store.save('k', b'1', expires_at=hours(-0.1).astimezone(timezone(timedelta(hours=14))))
    assert await reason_of(store, 'k') == 'expired'


# -- in memory -----------------------------------------------------------------------------------------------------


async def test_beyond1_memory_keeps_the_newest_states() -> None:
    """Past its bound the oldest state is gone; one that is saved again counts as new. A snippet takes two."""
    store = MemoryStateStore(max_states=1)
    for key in 'abac':
        await store.save(key, key.encode(), expires_at=hours())
    assert await reason_of(store, 'b') == 'missing'
    assert [await store.take(key) for key in 'ac'] == [b'a', b'c']


async def test_beyond1_memory_forgets_first_what_was_taken() -> None:
    """What waits is not thrown out for the marks of what is done."""
    store = MemoryStateStore(max_states=1)
    await store.save('waits', b'w', expires_at=hours())
    for key in 'ab':
        await store.save(key, b'', expires_at=hours())
        await store.take(key)
    assert await store.take('waits') == b'w'


async def test_beyond1_memory_for_one_snippet_holds_one() -> None:
    dialogue = await run_through('await pay(amount=1)', store=MemoryStateStore(max_states=1))
    assert dialogue.content == 'paid 1'


@pytest.mark.parametrize('number', [0, -1])
def test_beyond1_memory_holds_at_least_one(number: int) -> None:
    """A bound that would keep nothing is refused."""
    with pytest.raises(ConfigurationError, match=f'not {number}'):
        MemoryStateStore(max_states=number)


async def test_beyond1_a_capability_has_a_memory_of_its_own_by_default() -> None:
    """Without a store, code pauses and goes on within the process, if it is the same capability."""
    settings = CodeMode[None](deferred_calls='pause')
    dialogue = Dialogue()
    dialogue.code_mode = lambda: settings
    await dialogue.run(BOTH)
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']


# -- in files ------------------------------------------------------------------------------------------------------


async def test_beyond1_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Directory 0700, files 0600, whatever the umask."""
    old = os.umask(0)
    try:
        store = FileStateStore(tmp_path / 'a' / 'states')
        await store.save('k', b'1', expires_at=hours())
        await store.save('other', b'1', expires_at=hours())
        await store.take('k')
    finally:
        os.umask(old)
    directory = tmp_path / 'a' / 'states'
    assert directory.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert modes == {'k.taken': 0o600, 'other.state': 0o600, 'key': 0o600}


async def test_beyond1_nothing_is_made_before_the_first_save(tmp_path: Path) -> None:
    """Building a store and asking it leaves the disk as it was."""
    store = FileStateStore(tmp_path / 'states')
    assert await reason_of(store, 'k') == 'missing'
    assert names(tmp_path) == set()


def test_beyond1_a_short_key_is_refused(tmp_path: Path) -> None:
    """The text says how many bytes it takes and how many there are, not which."""
    with pytest.raises(ConfigurationError, match=r'at least 16 bytes; it has 9\.') as refusal:
        FileStateStore(tmp_path, key=b'very weak')
    assert 'weak' not in str(refusal.value)


async def test_beyond1_a_given_key_is_not_written_down(tmp_path: Path) -> None:
    """With a key of the application's, no key lies beside the files."""
    key = b'0123456789abcdef'
    await FileStateStore(tmp_path, key=key).save('k', b'1', expires_at=hours())
    assert names(tmp_path) == {'k.state'}
    assert key not in (tmp_path / 'k.state').read_bytes()
    assert await FileStateStore(tmp_path, key=key).take('k') == b'1'


async def test_beyond1_a_taken_state_is_wiped(tmp_path: Path) -> None:
    """Only the fact that it was taken stays on the disk."""
    store = FileStateStore(tmp_path)
    await store.save('k', b'S3cret' * 100, expires_at=hours())
    await store.take('k')
    assert (tmp_path / 'k.taken').read_bytes() == b''


async def test_beyond1_files_cannot_be_swapped(tmp_path: Path) -> None:
    """A state under the key of another one is refused, and is good again at its own place."""
    store = FileStateStore(tmp_path)
    await store.save('a', b'1', expires_at=hours())
    await store.save('b', b'2', expires_at=hours())
    first, second, aside = tmp_path / 'a.state', tmp_path / 'b.state', tmp_path / 'aside'
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    assert [await reason_of(store, key) for key in 'ab'] == ['altered', 'altered']
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    assert [await store.take(key) for key in 'ab'] == [b'1', b'2']


async def test_beyond1_every_byte_of_a_file_counts(tmp_path: Path) -> None:
    """Whichever byte is changed, the state is refused, or is what was saved."""
    store = FileStateStore(tmp_path)
    await store.save('k', b'state', expires_at=hours())
    path = tmp_path / 'k.state'
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            taken = await store.take('k')
        except StateUnavailableError as error:
            assert error.reason == 'altered'  # noqa: PT017
        else:
            assert taken == b'state'
            await store.save('k', b'state', expires_at=hours())
            content = path.read_bytes()
            assert chr(content[place]) in ' "T:Z=' or chr(content[place]).isalnum()


async def test_beyond1_a_process_that_died_after_taking_it_took_it(tmp_path: Path) -> None:
    """A file that was renamed and never emptied counts as taken, for good."""
    store = FileStateStore(tmp_path)
    await store.save('k', b'1', expires_at=hours())
    (tmp_path / 'k.state').rename(tmp_path / 'k.taken')
    assert await reason_of(store, 'k') == 'taken'
    await store.save('other', b'1', expires_at=hours())
    assert await reason_of(store, 'k') == 'taken'


async def test_beyond1_old_files_are_swept(tmp_path: Path) -> None:
    """Each save removes what expired a week ago and what dead writers left, and nothing else."""
    store = FileStateStore(tmp_path)
    await store.save('young', b'1', expires_at=hours(-24 * 6.9))
    await store.save('old', b'1', expires_at=hours(-24 * 7.1))
    await store.save('gone', b'1', expires_at=hours())
    await store.take('gone')
    week_ago = time.time() - 7.1 * 86_400
    os.utime(tmp_path / 'gone.taken', (week_ago, week_ago))
    os.utime(tmp_path / 'key', (week_ago, week_ago))
    for name, age in (('fresh.part', 60), ('dead.part', 3700), ('notes.txt', 10**9)):
        (tmp_path / name).write_text('x')
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    await store.save('new', b'1', expires_at=hours())
    assert names(tmp_path) == {'young.state', 'new.state', 'fresh.part', 'notes.txt', 'key'}


async def test_beyond1_no_half_written_file_is_ever_seen(tmp_path: Path) -> None:
    """Takers beside a writer get a whole state or none."""
    store = FileStateStore(tmp_path)
    state = os.urandom(200_000)

    async def take() -> bytes | str:
        try:
            return await store.take('k')
        except StateUnavailableError as error:
            return error.reason

    for _ in range(10):
        saving = asyncio.create_task(store.save('k', state, expires_at=hours()))
        taken: list[bytes | str] = []
        while not saving.done():
            taken.append(await take())
        await saving
        taken.append(await take())
        assert all(one in (state, 'missing', 'taken') for one in taken)
        assert sum(one == state for one in taken) == 1


async def test_beyond1_a_file_that_cannot_be_read_for_the_moment_is_not_lost(tmp_path: Path) -> None:
    """An error of the disk while a state is taken, before anybody has it, leaves it to be taken later."""
    store = FileStateStore(tmp_path)
    await store.save('k', b'1', expires_at=hours())
    fresh = FileStateStore(tmp_path)
    key, aside = tmp_path / 'key', tmp_path / 'aside'
    key.rename(aside)
    key.mkdir()  # so that reading it fails
    with pytest.raises(OSError, match='directory'):
        await fresh.take('k')
    key.rmdir()
    aside.rename(key)
    assert await fresh.take('k') == b'1'


# -- a store that fails --------------------------------------------------------------------------------------------


@dataclass
class Failing(MemoryStateStore):
    """A store of the application's, which fails or hangs."""

    save_fails: Exception | None = None
    take_fails: Exception | None = None
    hang_in: Literal['save', 'take', ''] = ''
    hangs: asyncio.Event = field(default_factory=asyncio.Event)
    saves: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        self.saves += 1
        if self.save_fails is not None:
            raise self.save_fails
        if self.hang_in == 'save':
            self.hangs.set()
            await asyncio.Event().wait()
        await super().save(key, state, expires_at=expires_at)

    async def take(self, key: str) -> bytes:
        if self.take_fails is not None:
            raise self.take_fails
        if self.hang_in == 'take':
            self.hangs.set()
            await asyncio.Event().wait()
        return await super().take(key)


async def quietly(work: Callable[[], Any], wanted: str) -> None:
    """Do it, with one warning of the store, and no other."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        await work()
    assert [warning.category for warning in caught] == [StateStoreWarning], caught
    assert wanted in str(caught[0].message)


async def test_beyond1_when_saving_fails_the_calls_are_denied_and_the_code_goes_on() -> None:
    """The waiting calls raise, with the reason; what had run is not run again; the application is warned."""
    dialogue = Dialogue(store=Failing(save_fails=OSError('disk full')))
    await quietly(lambda: dialogue.run(CAUGHT), 'could not be stored (OSError: disk full)')
    nobody = 'Nobody could be asked: it could not be stored (OSError: disk full).'
    assert dialogue.content == [10, nobody, nobody]
    assert dialogue.bank.ran == ['free 1']
    returns = dialogue.returned.metadata['tool_returns'].values()
    assert [part['outcome'] if isinstance(part, dict) else part.outcome for part in returns] == [
        'success',
        'denied',
        'denied',
    ]


async def test_beyond1_when_saving_fails_later_calls_are_denied_at_once() -> None:
    """The store is not tried for each call of the code; each denial says why."""
    store = Failing(save_fails=OSError('disk full'))
    dialogue = Dialogue(store=store)
    code = """r = []
for n in range(3):
    try:
        await pay(amount=n)
    except PermissionError as e:
        r.append("disk full" in str(e))
r"""
    await quietly(lambda: dialogue.run(code), 'disk full')
    assert dialogue.content == [True, True, True]
    assert store.saves == 1


async def test_beyond1_when_saving_fails_uncaught_the_model_reads_all_of_it() -> None:
    """The failure has reason, line and what had run."""
    dialogue = Dialogue(store=Failing(save_fails=OSError('disk full')))
    await quietly(lambda: dialogue.run(BOTH), 'disk full')
    for text in ('PermissionError: Nobody could be asked', 'line 2', '- free(n=1) returned 10', '- pay(amount=10) was'):
        assert text in dialogue.text
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_when_saving_fails_the_next_code_has_the_variables() -> None:
    """The session survives a store that does not work."""
    dialogue = Dialogue(store=Failing(save_fails=OSError('disk full')))
    await quietly(lambda: dialogue.run(BOTH, 'a'), 'disk full')
    assert dialogue.content == 10


async def test_beyond1_when_the_second_pause_cannot_be_saved() -> None:
    """What was approved before has run once, the next call is denied."""
    store = Failing()
    dialogue = Dialogue(store=store)
    await dialogue.run('a = await pay(amount=1)\nb = await pay(amount=2)')
    store.save_fails = OSError('disk full')
    await quietly(lambda: dialogue.answer(approve), 'disk full')
    assert '- pay(amount=1) returned "paid 1"' in dialogue.text
    assert '- pay(amount=2) was denied' in dialogue.text
    assert dialogue.bank.ran == ['pay 1']


async def test_beyond1_an_error_of_taking_runs_nothing_and_another_attempt_may_succeed() -> None:
    """A store that cannot be reached ends the run with its error; the same answers work later, once."""
    store = Failing()
    dialogue = Dialogue(store=store)
    await dialogue.run(BOTH)
    store.take_fails = ConnectionError('no route')
    with pytest.raises(ConnectionError, match='no route'):
        await dialogue.answer(approve)
    assert dialogue.bank.ran == ['free 1']
    store.take_fails = None
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


@pytest.mark.parametrize('stage', ['save', 'take'])
async def test_beyond1_a_store_that_hangs_can_be_cancelled(stage: Literal['save', 'take']) -> None:
    """Cancelling ends the run at once; nothing is run, and the pause can be resumed if it was not taken."""
    store = Failing()
    dialogue = Dialogue(store=store)
    if stage == 'take':
        await dialogue.run(BOTH)
    store.hang_in = stage
    running = asyncio.create_task(dialogue.answer(approve) if stage == 'take' else dialogue.run(BOTH))
    async with asyncio.timeout(5):
        await store.hangs.wait()
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()
    assert dialogue.bank.ran == ['free 1']
    if stage == 'take':
        store.hang_in = ''
        await dialogue.answer(approve)
        assert dialogue.content == [10, 'paid 10']
        assert dialogue.bank.ran == ['free 1', 'pay 10']


@pytest.mark.parametrize('given', ['memory', object(), MemoryStateStore])
def test_beyond1_what_is_no_store_is_refused(given: Any) -> None:
    """A setting that is no store fails when the capability is built."""
    if isinstance(given, type):
        CodeMode[None](state_store=given())
        return
    with pytest.raises(ConfigurationError, match='`state_store` takes an object with async `save` and `take`'):
        CodeMode[None](state_store=given)


@pytest.mark.parametrize('given', [timedelta(), timedelta(seconds=-1), 60])
def test_beyond1_a_time_to_live_is_above_zero(given: Any) -> None:
    """The text names the setting and what it got."""
    with pytest.raises(ConfigurationError, match='`pause_ttl` must be a timedelta above zero'):
        CodeMode[None](pause_ttl=given)


def test_beyond1_only_two_ways_to_treat_deferred_calls() -> None:
    """The text names both."""
    wrong: Any = 'wait'
    with pytest.raises(ConfigurationError, match="`deferred_calls` is 'inline' or 'pause', not 'wait'"):
        CodeMode[None](deferred_calls=wrong)


async def test_beyond1_a_pause_lives_for_seven_days_by_default() -> None:
    """The store is told when the state may go."""
    told: list[timedelta] = []

    class Telling(MemoryStateStore):
        async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
            told.append(expires_at - datetime.now(UTC))
            assert key.isalnum()
            assert len(key) <= 64
            assert json.loads(state.split(b'\n')[0])['format'] == 1
            await super().save(key, state, expires_at=expires_at)

    dialogue = Dialogue(store=Telling())
    await dialogue.run(BOTH)
    assert timedelta(days=6.9) < told[0] <= timedelta(days=7)


async def test_beyond1_a_stored_pause_is_small() -> None:
    """Code that waits is a few kilobytes."""
    sizes: list[int] = []

    class Measuring(MemoryStateStore):
        async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
            sizes.append(len(state))
            await super().save(key, state, expires_at=expires_at)

    await Dialogue(store=Measuring()).run(BOTH)
    assert sizes[0] < 20_000
