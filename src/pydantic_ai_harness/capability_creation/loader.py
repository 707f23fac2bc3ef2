"""Turns authored source into a module, its capability class, and an instance of it."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.errors import CapabilityRefusedError

from . import checks, own_code, prompt
from .versions import sha256

_PACKAGE = 'pydantic_ai_harness_authored'
sys.modules.setdefault(_PACKAGE, ModuleType(_PACKAGE))  # what is pickled names its module through its package
_CHECKS = itertools.count()


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

    __slots__ = ('loading',)  # not in its dict, which holds the names of the code

    def __init__(self, name: str, source: Source) -> None:
        super().__init__(name)
        self.__file__ = source.label
        self.loading = _Loading(name)


class _Loading:
    """How far a module has come."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.has_begun = False
        self.capability: type[AbstractCapability[object]] | None = None
        """The class, once it is known to be one that an agent could call."""


def load(source: Source) -> AbstractCapability[object]:
    """A new instance of the capability; the module is run only the first time in this process.

    The module stays, also when the file is changed later: instances go on working, and can be pickled.

    Raises:
        CapabilityRefusedError: The code is no capability; the text says why and on which line.
    """
    with own_code.refusing():
        return _construct(_kept_class(source))


def try_out(source: Source) -> AbstractCapability[object]:
    """An instance from a module that is run anew and forgotten.

    Raises:
        CapabilityRefusedError: As for `load`.
    """
    name = f'{source.module_name}_check_{next(_CHECKS)}'
    module = _AuthoredModule(name, source)
    sys.modules[name] = module  # dataclasses and annotations look it up while they are made
    try:
        with own_code.refusing():
            return _construct(_run(module, source))
    finally:
        sys.modules.pop(name, None)


def _kept_class(source: Source) -> type[AbstractCapability[object]]:
    while True:
        name = source.module_name
        module = sys.modules.get(name) or sys.modules.setdefault(name, _AuthoredModule(name, source))
        if not isinstance(module, _AuthoredModule):
            raise CapabilityRefusedError(f'Another module is registered as {name}.')
        with module.loading.lock:
            if module.loading.capability is not None:
                return module.loading.capability
            if not module.loading.has_begun:
                return _run_to_keep(module, source)
            if sys.modules.get(name) is module:
                raise CapabilityRefusedError('The code loads itself.')
        # It failed while this one waited, and is not registered any more.


def _run_to_keep(module: _AuthoredModule, source: Source) -> type[AbstractCapability[object]]:
    module.loading.has_begun = True
    try:
        module.loading.capability = _run(module, source)
    except BaseException:
        sys.modules.pop(module.loading.name, None)
        raise
    return module.loading.capability


def _run(module: _AuthoredModule, source: Source) -> type[AbstractCapability[object]]:
    text = source.text()
    own_code.remember_lines(source.label, text)
    exec(compile(text, source.label, 'exec', dont_inherit=True), module.__dict__)  # noqa: S102 - its purpose
    capability = _only_capability(module)
    checks.check_class(capability)
    return capability


def _only_capability(module: _AuthoredModule) -> type[AbstractCapability[object]]:
    of_module = (value for value in vars(module).values() if _is_capability_of(module.loading.name, value))
    found = list({id(value): value for value in of_module}.values())
    if not found:
        raise CapabilityRefusedError(prompt.NO_CAPABILITY)
    if len(found) > 1:
        raise CapabilityRefusedError(prompt.several_capabilities(sorted(cls.__name__ for cls in found)))
    return found[0]


def _is_capability_of(module: str, value: object) -> TypeGuard[type[AbstractCapability[object]]]:
    # Without `isinstance` and `issubclass`, which ask the value and its class.
    bases = type.__dict__['__mro__'].__get__(value) if type in type(value).__mro__ else ()
    return AbstractCapability in bases and getattr(value, '__module__', None) == module


def _construct(cls: type[AbstractCapability[object]]) -> AbstractCapability[object]:
    if inspect.isabstract(cls):
        raise CapabilityRefusedError(prompt.abstract_capability(cls.__name__, sorted(cls.__abstractmethods__)))
    with own_code.refusing(lambda reason: prompt.not_constructed(cls.__name__, reason)):
        instance: object = cls()
    if not isinstance(instance, cls):
        raise CapabilityRefusedError(prompt.not_constructed(cls.__name__, 'it made an object of another type'))
    return instance
