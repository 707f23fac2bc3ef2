"""Tools that are nothing but their schemas: values that fit a schema, calls in code, and a record of what arrives."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.findings import SnippetCheck
from pydantic_ai_harness.code_mode.function import Function
from pydantic_ai_harness.sandbox import TypeChecker
from tests.support import run_snippet

Schema: TypeAlias = 'Mapping[str, Any] | bool'
Call: TypeAlias = tuple[str, dict[str, Any]]
"""A tool by its own name, and its arguments under their own names."""

_IMPORTS = 'from typing import Any, Literal, NotRequired, TypedDict\n'
_ANY_ARGUMENTS = SchemaValidator(core_schema.any_schema())
_PATTERNS = {
    '^(Time)?SlicerStyle(Light|Dark|Other)\\d$': 'SlicerStyleLight1',
    '^=': '=A1',
    '^[A-Z][A-Z0-9_]+$': 'ABC',
    '^[A-Z][A-Z0-9_]+-\\d+(?:-\\d+)*$': 'ABC-1',
}
_validate: Callable[[object, Schema], None] = importlib.import_module('jsonschema').validate


def validate(value: object, schema: Schema) -> None:
    """Raise unless `value` is what the schema describes."""
    _validate(value, schema)


def probe(parameters: Mapping[str, Any], **options: Any) -> ToolDefinition:
    """A tool called `probe`, or what `options` say, with this schema of parameters."""
    options = {'name': 'probe', 'return_schema': {'type': 'string'}, **options}
    return ToolDefinition(parameters_json_schema=dict(parameters), **options)


def properties(required: Sequence[str] = (), /, **schemas: Schema) -> dict[str, Any]:
    """A schema of an object."""
    return {'type': 'object', 'properties': schemas, 'required': list(required)}


def mcp_tools(path: Path) -> list[ToolDefinition]:
    """Read a file of a server's tools as `MCPToolset` does."""
    return [
        ToolDefinition(
            name=tool['name'],
            description=tool.get('description'),
            parameters_json_schema=tool['inputSchema'],
            metadata={'meta': tool.get('_meta'), 'annotations': tool.get('annotations'), 'task': False},
            return_schema=tool.get('outputSchema') or None,
        )
        for tool in json.loads(path.read_text())
    ]


@dataclass
class RecordingToolset(AbstractToolset[None]):
    """Offers tools and keeps what they are called with."""

    tools: Sequence[ToolDefinition]
    results: Mapping[str, object] = field(default_factory=dict[str, object])
    """What each tool returns, by its name; the others return 'done'."""
    calls: list[Call] = field(default_factory=list[Call])

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            tool.name: ToolsetTool(toolset=self, tool_def=tool, max_retries=0, args_validator=_ANY_ARGUMENTS)
            for tool in self.tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        self.calls.append((name, tool_args))
        return self.results.get(name, 'done')


async def run_recorded(code: str, toolset: RecordingToolset) -> ToolReturnPart:
    """Run a snippet in an agent that has only this toolset."""
    code_mode = CodeMode[None](max_tool_calls=1_000, max_result_bytes=None)
    return await run_snippet(code, toolsets=[toolset], code_mode=code_mode)


def problems(checker: TypeChecker, catalog: Catalog, code: str) -> list[str]:
    """Why the snippet may not run."""
    findings = checker.check(code, stubs=catalog.stubs).result()
    return SnippetCheck(code, '', catalog).problems(findings)


def refused_lines(checker: TypeChecker, catalog: Catalog, code: str) -> set[int]:
    """The lines that keep the snippet from running."""
    texts = problems(checker, catalog, code)
    return {int(text.removeprefix('line ').split(':', 1)[0]) for text in texts}


def assert_valid(checker: TypeChecker, catalog: Catalog, *, allowed: str = 'never') -> None:
    """Assert that what the model reads, and what snippets are checked against, is Python that the checker accepts.

    `allowed` is a pattern for messages that may be there all the same.
    """
    for text in (catalog.shown, catalog.stubs):
        compile(text, 'catalog', 'exec')
        findings = checker.check(_IMPORTS + text, stubs='').result()
        messages = [one.message for one in findings if one.rule not in _ABOUT_STUBS]
        assert [one for one in messages if not re.search(f'`EllipsisType`|{allowed}', one)] == []


_ABOUT_STUBS = frozenset({'empty-body', 'invalid-legacy-positional-parameter'})
"""Rules that a declaration breaks only if it were a function that runs, or had positional parameters."""


def call_text(function: Function, arguments: Mapping[str, Any], *extra: str) -> str:
    """A call of the function in code, with the arguments of the tool."""
    names = {parameter.key: parameter.name for parameter in function.parameters}
    texts = [*extra, *(f'{names.get(key, key)}={value!r}' for key, value in arguments.items())]
    return f'{"await " if function.kind == "async" else ""}{function.name}({", ".join(texts)})'


def list_text(expressions: Sequence[str]) -> str:
    """A list of these expressions, each on its line, from line 2."""
    return '\n'.join(['[', *(f'{one},' for one in expressions), ']'])


# -- values that fit a schema --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """Makes a value that a schema describes."""

    root: Schema
    every: bool = True
    """Whether optional properties are there too."""
    choice: int = 0
    """Which alternative to take where there are several."""

    def of(self, schema: Schema, depth: int = 0) -> Any:
        if isinstance(schema, bool):
            return 'anything'
        if '$ref' in schema:
            return self.of(_resolved(self.root, schema['$ref']), depth)
        if 'const' in schema or 'enum' in schema:
            return schema['const'] if 'const' in schema else self._chosen(schema['enum'])
        for combination in ('anyOf', 'oneOf'):
            if combination in schema:
                return self.of(_merged([_without(schema, combination), self._chosen(schema[combination])]), depth)
        if 'allOf' in schema:
            return self.of(_merged([_without(schema, 'allOf'), *schema['allOf']]), depth)
        return self._of_type(schema, depth)

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind = schema.get('type', 'object' if 'properties' in schema else None)
        kind = self._chosen(cast(list[str], kind)) if isinstance(kind, list) else kind
        if kind == 'object':
            return self._object(schema, depth)
        if kind == 'array':
            items = schema.get('prefixItems') or [schema.get('items', True)] * max(1, schema.get('minItems', 1))
            return [self.of(item, depth + 1) for item in items]
        if kind in ('integer', 'number'):
            return max(1, schema.get('minimum', 1))
        return {'string': _text(schema), 'boolean': True, 'null': None}.get(str(kind), 'anything')

    def _chosen(self, alternatives: Sequence[Any]) -> Any:
        return alternatives[self.choice % len(alternatives)]

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        required = schema.get('required', ())
        known: Mapping[str, Schema] = schema.get('properties', {})
        value = {
            key: self.of(one, depth + 1) for key, one in known.items() if key in required or (self.every and depth < 5)
        }
        extra = schema.get('additionalProperties')
        return value if value or not isinstance(extra, dict) else {'key': self.of(cast(Schema, extra), depth + 1)}


def _text(schema: Mapping[str, Any]) -> str:
    return _PATTERNS.get(schema.get('pattern', ''), 'text'.ljust(schema.get('minLength', 0), '.'))


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _merged(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for schema in schemas:
        lists = {key: [*merged.get(key, ()), *schema[key]] for key in ('required',) if key in schema}
        known = {key: {**merged.get(key, {}), **schema[key]} for key in ('properties',) if key in schema}
        merged.update(schema, **lists, **known)
    return merged


def _resolved(root: Schema, ref: str) -> Schema:
    node: Any = root
    for part in ref.split('/')[1:]:
        node = node[part]
    return node
