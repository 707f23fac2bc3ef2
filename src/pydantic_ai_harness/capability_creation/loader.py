"""Turns authored source into a module, its capability class, and an instance of it."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeGuard

from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.errors import CapabilityRefusedError

from . import checks, own_code, prompt
from .versions import sha256

_PACKAGE = 'pydantic_ai_harness_authored'


class Source:
    """Authored code, and where it stands."""

    def __init__(self, name: str, path: Path, content: bytes) -> None:
        self.name = name
        self.path = path
        self.content = content
        self.sha256 = sha256(content)
        self.label = own_code.file_label(name, self.sha256)
        """What stands for the file in tracebacks."""

    @property
    def module_name(self) -> str:
        """The same for the same content at the same path, another for any other."""
        place = hashlib.sha256(str(self.path).encode(errors='surrogateescape')).hexdigest()[:8]
        return f'{_PACKAGE}.{self.name}_{place}_{self.sha256[:16]}'

    def text(self) -> str:
        """The code.

        Raises:
            CapabilityRefusedError: It is not UTF-8.
        """
        try:
            return self.content.decode('utf-8-sig')
        except UnicodeDecodeError as error:
            raise CapabilityRefusedError(f'The code is not UTF-8: {error}') from None


class _AuthoredModule(ModuleType):
    """A module that is run once, by whoever comes first; the others wait for that one."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.module_name)
        self.__file__ = str(source.path)
        self.authored_lock = threading.RLock()
        self.authored_state: Literal['new', 'loaded', 'failed'] = 'new'

    def run(self, source: Source) -> None:
        """Run the code and look at the class that it defines.

        Raises:
            CapabilityRefusedError: It fails, or does not define one capability that an agent could call.
        """
        text = source.text()
        own_code.remember_lines(source.label, text)
        try:
            exec(compile(text, source.label, 'exec', dont_inherit=True), self.__dict__)  # noqa: S102 - its purpose
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise CapabilityRefusedError(own_code.explain(error)) from error
        self.capability = _only_capability(self)
        checks.check_class(self.capability)


def load(source: Source) -> AbstractCapability[object]:
    """A new instance of the capability; the module is run only the first time in this process.

    The module stays, also when the file is changed later: instances go on working, and can be pickled.

    Raises:
        CapabilityRefusedError: The code is no capability; the text says why and on which line.
    """
    return _construct(_kept_module(source).capability)


def try_out(source: Source) -> AbstractCapability[object]:
    """An instance from a module that is run anew and forgotten.

    Raises:
        CapabilityRefusedError: As for `load`.
    """
    module = _AuthoredModule(source)
    previous = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses and annotations look it up while they are made
    try:
        module.run(source)
        return _construct(module.capability)
    finally:
        if previous is None:
            sys.modules.pop(module.__name__, None)
            linecache.cache.pop(source.label, None)
        else:
            sys.modules[module.__name__] = previous


def _kept_module(source: Source) -> _AuthoredModule:
    while True:
        module = sys.modules.setdefault(source.module_name, _AuthoredModule(source))
        if not isinstance(module, _AuthoredModule):
            raise CapabilityRefusedError(f'Another module is registered as {source.module_name}.')
        with module.authored_lock:
            if module.authored_state == 'loaded':
                return module
            if module.authored_state == 'new':
                _run_to_keep(module, source)
                return module


def _run_to_keep(module: _AuthoredModule, source: Source) -> None:
    module.authored_state = 'failed'  # unless it comes to its end
    try:
        module.run(source)
    except BaseException:
        sys.modules.pop(source.module_name, None)
        raise
    module.authored_state = 'loaded'


def _only_capability(module: ModuleType) -> type[AbstractCapability[object]]:
    found = list({id(value): value for value in vars(module).values() if _is_capability_of(module, value)}.values())
    if not found:
        raise CapabilityRefusedError(prompt.NO_CAPABILITY)
    if len(found) > 1:
        raise CapabilityRefusedError(prompt.several_capabilities(sorted(cls.__name__ for cls in found)))
    return found[0]


def _is_capability_of(module: ModuleType, value: object) -> TypeGuard[type[AbstractCapability[object]]]:
    return isinstance(value, type) and issubclass(value, AbstractCapability) and value.__module__ == module.__name__


def _construct(cls: type[AbstractCapability[object]]) -> AbstractCapability[object]:
    if inspect.isabstract(cls):
        raise CapabilityRefusedError(prompt.abstract_capability(cls.__name__, sorted(cls.__abstractmethods__)))
    try:
        instance: object = cls()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise CapabilityRefusedError(prompt.not_constructed(cls.__name__, own_code.explain(error))) from error
    if not isinstance(instance, cls):
        raise CapabilityRefusedError(prompt.not_constructed(cls.__name__, 'it made an object of another type'))
    return instance
