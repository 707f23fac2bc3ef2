"""The stand-in for a model: it replays a recorded plan, so the demo runs without a key and without a network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Plan: TypeAlias = Generator[list[ToolCallPart], list[Any], str]
"""Yields the tool calls of a turn, is sent their results, and returns the final text."""

# The code that a model would write.

LOOK = """\
import asyncio

async def look(table):
    columns = await describe_table(table_name=table)
    return [f"{column['name']} {column['type']}" for column in columns]

tables = [table['name'] for table in await list_tables()]
dict(zip(tables, await asyncio.gather(*[look(name) for name in tables])))"""

WORK = """\
async def late_orders(market):
    country, promise = market['country'], market['promise_days']
    # Only what took more days than promised can be late.
    orders = await read_query(query=f\"\"\"
        SELECT price, ordered_on AS start, delivered_on AS end
        FROM orders JOIN shipments ON order_id = id
        WHERE country = '{country}'
        AND ordered_on BETWEEN '2026-01-01' AND '2026-03-31'
        AND julianday(delivered_on) - julianday(ordered_on) > {promise}
        ORDER BY id\"\"\")
    days = await asyncio.gather(*[
        working_days(country=country, start=o['start'], end=o['end'])
        for o in orders
    ])
    late = [o['price'] for o, taken in zip(orders, days) if taken > promise]
    back = round(sum(late) / 10, 2)
    euros = await convert(amount=back, currency=market['currency'])
    return {'market': market['name'], 'late': len(late), 'euros': euros}

markets = await read_query(query='SELECT * FROM markets ORDER BY name')
await asyncio.gather(*[late_orders(market) for market in markets])"""


def code_mode_plan() -> Plan:
    """Two snippets: a look at the tables, and all the work."""
    yield [call('run_code', code=LOOK)]
    [report] = yield [call('run_code', code=WORK)]
    return answer(report)


def plain_plan() -> Plan:
    """The same calls as plain tool calls, one batch for each step that needs the results of the one before.

    The sums between the calls are done here in Python; a real model has to do them in its head.
    """
    [tables] = yield [call('list_tables')]
    yield [call('describe_table', table_name=table['name']) for table in tables]
    [markets] = yield [call('read_query', query='SELECT * FROM markets ORDER BY name')]
    orders = yield [call('read_query', query=slow_orders(market)) for market in markets]
    slow = [(market, order) for market, rows in zip(markets, orders, strict=True) for order in rows]
    days = yield [
        call('working_days', country=market['country'], start=order['start'], end=order['end'])
        for market, order in slow
    ]
    late: dict[str, list[float]] = {market['name']: [] for market in markets}
    for (market, order), taken in zip(slow, days, strict=True):
        if taken > market['promise_days']:
            late[market['name']].append(order['price'])
    euros = yield [
        call('convert', amount=round(sum(late[market['name']]) / 10, 2), currency=market['currency'])
        for market in markets
    ]
    report = zip(late.items(), euros, strict=True)
    return answer([{'market': name, 'late': len(prices), 'euros': back} for (name, prices), back in report])


def slow_orders(market: dict[str, Any]) -> str:
    """The query of `WORK`."""
    return f"""
        SELECT price, ordered_on AS start, delivered_on AS end
        FROM orders JOIN shipments ON order_id = id
        WHERE country = '{market['country']}'
        AND ordered_on BETWEEN '2026-01-01' AND '2026-03-31'
        AND julianday(delivered_on) - julianday(ordered_on) > {market['promise_days']}
        ORDER BY id"""  # noqa: S608  the market comes from the database


def answer(report: list[dict[str, Any]]) -> str:
    """The final text, from what the tools returned."""
    orders = sum(line['late'] for line in report)
    euros = sum(line['euros'] for line in report)
    rows = [f'| {line["market"]} | {line["late"]} | {line["euros"]:.2f} |' for line in report]
    heading = f'**{orders} orders came late, and we owe {euros:.2f} EUR.**'
    return '\n'.join([heading, '', '| market | late orders | owed, EUR |', '|---|--:|--:|', *rows])


def call(tool: str, **arguments: Any) -> ToolCallPart:
    """A tool call as a model makes it."""
    return ToolCallPart(tool, arguments)


# The model that replays a plan, and counts what it would have cost.


@dataclass(frozen=True)
class Turn:
    """One request to the model and its reply, in characters."""

    sent: int
    """Tool definitions, instructions and every message so far."""
    received: int
    tool_calls: int


@dataclass
class StandIn:
    """Replays a plan as a Pydantic AI model."""

    plan: Plan
    turns: list[Turn] = field(default_factory=list[Turn])
    _expected: list[str] = field(default_factory=list[str])

    def model(self) -> FunctionModel:
        """The model for an agent."""
        return FunctionModel(stream_function=self._stream, model_name='stand-in')

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        reply = self._next(messages)
        parts = [TextPart(reply)] if isinstance(reply, str) else reply
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        sent = sum(map(len, request_texts(messages, info)))
        self.turns.append(Turn(sent, sum(len(part_text(part)) for part in parts), len(calls)))
        if isinstance(reply, str):
            yield reply
        for index, part in enumerate(calls):
            yield {index: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}

    def _next(self, messages: Sequence[ModelMessage]) -> list[ToolCallPart] | str:
        returns = {part.tool_call_id: part for part in messages[-1].parts if isinstance(part, ToolReturnPart)}
        try:
            if not self._expected:
                calls = next(self.plan)
            else:
                calls = self.plan.send([result(returns[call_id]) for call_id in self._expected])
        except StopIteration as ended:
            return str(ended.value)
        self._expected = [part.tool_call_id for part in calls]
        return calls


def result(returned: ToolReturnPart) -> Any:
    """What a tool returned. A plan cannot react to a failure as a model would."""
    if returned.outcome != 'success':
        raise RuntimeError(f'{returned.tool_name} failed, and the plan goes no further: {returned.content}')
    return returned.content


def request_texts(messages: Sequence[ModelMessage], info: AgentInfo) -> Iterator[str]:
    """Every text that a request carries, without the JSON around it and without ids."""
    yield info.instructions or ''
    for tool in info.function_tools:
        yield from (tool.name, tool.description or '', json.dumps(tool.parameters_json_schema))
    for message in messages:
        yield from map(part_text, message.parts)


def part_text(part: ModelRequestPart | ModelResponsePart) -> str:
    """The text of a part as the model reads or writes it."""
    match part:
        case ToolCallPart():
            return part.tool_name + part.args_as_json_str()
        case ToolReturnPart():
            return part.tool_name + part.model_response_str()
        case TextPart(content=str(text)) | UserPromptPart(content=str(text)):
            return text
        case _:
            raise TypeError(f'The stand-in does not know how to count {part!r}')
