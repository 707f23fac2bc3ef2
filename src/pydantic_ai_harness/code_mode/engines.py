"""Which engine records a run, if any does."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapperCapability

from .engine import PLAIN, DurableEngine, Engine


def engine_of(ctx: RunContext[Any]) -> Engine:
    """The engine in whose workflow the run is, or `PLAIN`.

    Beside its durability capability, nothing has to be set.
    """
    leaves: list[AbstractCapability[Any]] = []

    def look_at(capability: AbstractCapability[Any]) -> None:
        while isinstance(capability, WrapperCapability):
            capability = capability.wrapped
        if hasattr(type(capability), 'in_durable_context'):
            leaves.append(capability)

    if ctx.root_capability is not None:
        ctx.root_capability.apply(look_at)
    if not leaves:
        return PLAIN
    from pydantic_ai.durable_exec import BaseDurabilityCapability  # noqa: PLC0415  takes 20 ms that few need

    for capability in leaves:
        if isinstance(capability, BaseDurabilityCapability) and capability.in_durable_context:
            engine = engine_named(capability.engine_name)
            return engine if engine.is_in_workflow() else PLAIN
    return PLAIN


def engine_named(name: str) -> Engine:
    """The engine that calls itself so."""
    if name == 'Temporal':
        from .temporal_engine import TemporalEngine  # noqa: PLC0415  each needs an extra

        return TemporalEngine()
    if name == 'DBOS':
        from .dbos_engine import DBOSEngine  # noqa: PLC0415

        return DBOSEngine()
    if name == 'Prefect':
        from .prefect_engine import PrefectEngine  # noqa: PLC0415

        return PrefectEngine()
    return DurableEngine(name)
