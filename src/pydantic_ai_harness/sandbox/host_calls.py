"""What running code asks of its host, read from the snapshot at which the code stands."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from pydantic_monty import FunctionSnapshot, NameLookupSnapshot, SyncSnapshot

from .crossing import looked_up
from .snippet import Snippet
from .steps import Answer, Call, Raised, Request, Sleep


@dataclass(frozen=True)
class HostCalls:
    """Reads what a snippet asks."""

    snippet: Snippet
    file_name: str
    """What tracebacks and positions call the snippet's code."""

    def request(self, snapshot: FunctionSnapshot) -> Request | Answer | None:
        """What the host has to do for a call: a request, an answer that is there at once, or an OS call (`None`)."""
        name = snapshot.function_name
        if snapshot.is_os_function:
            if name not in ('asyncio.sleep', 'time.sleep'):
                return None
            return Sleep(snapshot.call_id, float(snapshot.args[0]), blocking=name == 'time.sleep')
        kind = self.snippet.functions.get(name)
        lookup = self.snippet.lookups.get(name)
        if kind is None and lookup is None:
            return Raised(NameError(self._unknown_name(name)))
        try:
            args, kwargs = snapshot.args, snapshot.kwargs
        except Exception as error:  # noqa: BLE001  Python has no such value, a dict with unhashable keys for example
            return Raised(TypeError(f'an argument of {name}() cannot leave the sandbox: {error}'))
        if lookup is not None:
            return looked_up(lookup, args, kwargs)
        call = Call(snapshot.call_id, name, args, kwargs, self._line_of(snapshot), blocking=kind == 'plain')
        refused = self.snippet.admit(call)
        return call if refused is None else Raised(refused)

    def look_up(self, snapshot: NameLookupSnapshot) -> SyncSnapshot:
        """Go on with a name that the code does not define, which may be a function of the host."""
        name = snapshot.variable_name
        if name not in self.snippet.functions and name not in self.snippet.lookups:
            return snapshot.resume()

        def function() -> None:
            """Stands for a host function inside the sandbox; only its name crosses."""

        function.__name__ = name
        return snapshot.resume(value=function)

    def _unknown_name(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.snippet.functions, n=3)
        return f'name {name!r} is not defined' + (f'. Did you mean {" or ".join(near)}?' if near else '')

    def _line_of(self, snapshot: FunctionSnapshot) -> int | None:
        position = snapshot.position
        if position.filename != self.file_name:
            return None
        return self.snippet.code.encode()[: position.start].count(b'\n') + 1
