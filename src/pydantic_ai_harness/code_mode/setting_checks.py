"""Whether the settings of `CodeMode` are what they must be, so that bad ones fail when it is built."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from pydantic_monty import AbstractOS, MountDir, OsHandler
from typing_extensions import TypeIs

from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.narrowing import is_collection, is_count, selects_tools
from pydantic_ai_harness.sandbox import WorkerPool

PositionalOsHandler: TypeAlias = Callable[[str, tuple[object, ...], dict[str, object]], object]
"""Answers an OS call from `(name, args, kwargs)`."""
OsAccess: TypeAlias = AbstractOS | OsHandler | PositionalOsHandler
"""What `os_access` takes: Monty's keyword form `(*, name, args, kwargs, is_async)`, or the positional one."""


def as_os_handler(access: OsAccess) -> OsHandler:
    """Bring both forms of a handler to Monty's keyword form.

    Raises:
        ConfigurationError: It takes other arguments, cannot be called, or is a coroutine function.
    """
    if isinstance(access, AbstractOS):
        return access
    if not callable(access):
        raise ConfigurationError(
            f'`os_access` takes an AbstractOS such as `OSAccess(environ=...)`, or a function, not {access!r}.'
        )
    if inspect.iscoroutinefunction(access) or inspect.iscoroutinefunction(access.__call__):
        raise ConfigurationError('`os_access` must be a plain function: code waits for its answer.')
    if _takes_keywords(access):
        return access
    if not _accepts(access, '', (), {}):
        raise ConfigurationError(
            '`os_access` must take `(name, args, kwargs)`, or the keywords `name`, `args`, `kwargs` and `is_async`, '
            f'which {access!r} does not.'
        )
    positional = access

    def handler(*, name: str, args: tuple[object, ...], kwargs: dict[str, object], **_: object) -> object:
        return positional(name, args, kwargs)

    return handler


def _takes_keywords(access: OsHandler | PositionalOsHandler) -> TypeIs[OsHandler]:
    return _accepts(access, name='', args=(), kwargs={}, is_async=False)


def _accepts(function: Callable[..., object], *args: object, **kwargs: object) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):  # ValueError: a builtin without a signature
        return False
    return True


def checked_mounts(setting: object) -> tuple[MountDir, ...]:
    """The directories, always several."""
    listed = list(setting) if is_collection(setting) else [setting]
    mounts = [mount for mount in listed if isinstance(mount, MountDir)]
    if wrong := [mount for mount in listed if not isinstance(mount, MountDir)]:
        raise ConfigurationError(f'`mount` takes `pydantic_monty.MountDir`, one or several, not {wrong[0]!r}.')
    for one, other in itertools.combinations(mounts, 2):
        if one.virtual_path == other.virtual_path:
            raise ConfigurationError(
                f'`mount` has two directories under {one.virtual_path!r}; give each its own virtual path.'
            )
        host, other_host = Path(one.host_path).resolve(), Path(other.host_path).resolve()
        if host.is_relative_to(other_host) or other_host.is_relative_to(host):
            raise ConfigurationError(
                f'`mount` has overlapping directories, {one.host_path!r} and {other.host_path!r}: code could reach '
                'one through the other. Mount directories that do not lie inside each other.'
            )
    return tuple(mounts)


def check_pool(setting: object) -> None:
    """Refuse what lends no workers."""
    if setting is not None and not isinstance(setting, WorkerPool):
        raise ConfigurationError(f'`worker_pool` takes a WorkerPool, not {setting!r}.')


def check_pausing(deferred_calls: object, store: object, time_to_live: object) -> None:
    """Refuse what cannot keep code that waits."""
    if deferred_calls not in ('inline', 'pause'):
        raise ConfigurationError(f"`deferred_calls` is 'inline' or 'pause', not {deferred_calls!r}.")
    has_methods = all(callable(getattr(store, method, None)) for method in ('save', 'take'))
    if store is not None and (isinstance(store, type) or not has_methods):
        raise ConfigurationError(f'`state_store` takes an object with async `save` and `take`, not {store!r}.')
    if not isinstance(time_to_live, timedelta) or time_to_live <= timedelta():
        raise ConfigurationError(f'`pause_ttl` must be a timedelta above zero, not {time_to_live!r}.')


def check_count(name: str, value: object, *, least: int) -> None:
    """Refuse what is no count, or too small."""
    if not is_count(value, least=least):
        raise ConfigurationError(f'`{name}` must be a whole number of at least {least}, not {value!r}.')


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither."""
    if not isinstance(value, bool):
        raise ConfigurationError(f'`{name}` is True or False, not {value!r}.')


def check_tools(selector: object) -> None:
    """Refuse what selects no tools, for the framework does not look at it before a run."""
    if selector != 'all' and not selects_tools(selector):
        raise ConfigurationError(
            f"`tools` takes 'all', names, a predicate `(ctx, tool_def)` or a metadata dict, not {selector!r}."
        )
