"""What a snippet may use: sandbox time, memory, sleep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pydantic_monty
from typing_extensions import TypedDict

from pydantic_ai_harness.errors import ConfigurationError

DEFAULT_MAX_DURATION_SECS = 30.0
DEFAULT_MAX_MEMORY = 256 * 1024 * 1024
MAX_PRINTED_BYTES = 10 * 1024 * 1024

# What the sandbox can hold.
_MAX_LIMITS = {'max_duration_secs': 10**9, 'max_memory': 2**63 - 1}
# Monty counts host round trips over a whole session and stops at 1,000 by default (1.4.0);
# nested calls have a budget of their own, so this one is set out of the way.
_MAX_SUSPENSIONS = 2**31 - 1


class ResourceLimits(TypedDict, total=False):
    """Limits of one snippet; a key that is left out keeps its default, `None` lifts the limit."""

    max_duration_secs: float | None
    """Seconds of sandbox time for each snippet (default 30). Waiting for a tool does not count."""
    max_memory: int | None
    """Bytes of heap for the whole session (default 256 MiB)."""


ResourceLimitsSetting: TypeAlias = ResourceLimits | Literal['unlimited'] | None


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """Validated limits."""

    max_duration_secs: float | None = DEFAULT_MAX_DURATION_SECS
    """Seconds of sandbox time for each snippet; the same again may be slept. `None` is no limit."""
    max_memory: int | None = DEFAULT_MAX_MEMORY
    """Bytes of heap. `None` is no limit."""

    def __post_init__(self) -> None:
        _check_number('max_duration_secs', self.max_duration_secs, (int, float))
        _check_number('max_memory', self.max_memory, (int,))

    @classmethod
    def parse(cls, setting: ResourceLimitsSetting) -> SandboxLimits:
        """Read the `resource_limits` setting.

        Raises:
            ConfigurationError: An unknown key, or a value that is no positive number.
        """
        if setting is None:
            return cls()
        if setting == 'unlimited':
            return cls(max_duration_secs=None, max_memory=None)
        _check_dict(setting)
        if unknown := sorted(set(setting) - ResourceLimits.__optional_keys__):
            raise ConfigurationError(
                f'`resource_limits` has no key {unknown[0]!r}; '
                f'its keys are {", ".join(sorted(ResourceLimits.__optional_keys__))}.'
            )
        return cls(**setting)

    def for_monty(self) -> pydantic_monty.ResourceLimits:
        """The same limits in Monty's words."""
        return {
            'max_feed_duration_secs': self.max_duration_secs,
            'max_memory': self.max_memory,
            'max_suspensions': _MAX_SUSPENSIONS,
        }


def _check_dict(setting: object) -> None:
    if not isinstance(setting, dict):
        raise ConfigurationError(
            f"`resource_limits` must be a dict or 'unlimited', not {setting!r}. "
            "Example: {'max_duration_secs': 10, 'max_memory': 134_217_728}."
        )


def _check_number(name: str, value: object, types: tuple[type, ...]) -> None:
    if value is None:
        return
    wanted = 'a whole number of bytes' if types == (int,) else 'a number of seconds'
    if isinstance(value, bool) or not isinstance(value, types):
        raise ConfigurationError(f'`{name}` must be {wanted} or None, not {value!r}.')
    if not (isinstance(value, (int, float)) and 0 < value <= _MAX_LIMITS[name]):
        raise ConfigurationError(
            f'`{name}` must be greater than zero and at most {_MAX_LIMITS[name]:,}, not {value!r}. '
            'None lifts the limit.'
        )
