"""Write requirements.lock from pyproject.toml, check that it is current, or show one package of it.

The lock pins, with hashes, what a developer's environment needs: the dependencies, the extras and all dependency
groups, for every supported Python. Its first line holds a hash of the tables in
pyproject.toml that it was made from. `--check` compares only that, so it needs no network and newer releases
never make it fail.

Only the standard library is used: the Makefile runs this before anything is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / 'pyproject.toml'
LOCK = ROOT / 'requirements.lock'
FIRST_LINE = '# pyproject.toml sha256: '


def locked_tables() -> dict[str, Any]:
    """The tables of pyproject.toml that decide what is in the lock."""
    data = tomllib.loads(PYPROJECT.read_text('utf-8'))
    project = data['project']
    return {
        'name': project['name'],
        'requires-python': project['requires-python'],
        'dependencies': project['dependencies'],
        'optional-dependencies': project.get('optional-dependencies', {}),
        'dependency-groups': data.get('dependency-groups', {}),
    }


def first_line(tables: dict[str, Any]) -> str:
    """The first line of a lock made from these tables."""
    digest = hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()
    return FIRST_LINE + digest


def pins() -> dict[str, list[str]]:
    """The requirements in the lock by package name, each with its hashes and on one line."""
    if not LOCK.exists():
        return {}
    found: dict[str, list[str]] = {}
    for line in LOCK.read_text('utf-8').replace('\\\n', ' ').splitlines():
        match = re.match(r'([A-Za-z0-9._-]+)==', line)
        if match:
            found.setdefault(match[1], []).append(' '.join(line.split()))
    return found


def temporary_pyproject(tables: dict[str, Any], constraints: list[str]) -> str:
    """A pyproject.toml with nothing but what the lock is made from."""

    def toml(value: Any) -> str:
        # Strings and booleans are written as in JSON.
        if isinstance(value, dict):
            items = cast('dict[str, Any]', value).items()
            return '{' + ', '.join(f'{json.dumps(key)} = {toml(item)}' for key, item in items) + '}'
        if isinstance(value, list):
            return '[' + ', '.join(toml(item) for item in cast('list[Any]', value)) + ']'
        return json.dumps(value)

    project = {key: value for key, value in tables.items() if key != 'dependency-groups'} | {'version': '0'}
    top = {
        'project': project,
        'dependency-groups': tables['dependency-groups'],
        'tool': {'uv': {'package': False, 'constraint-dependencies': constraints}},
    }
    return ''.join(f'{key} = {toml(value)}\n' for key, value in top.items())


def uv(directory: str, *arguments: str) -> str:
    """Run uv, which is installed beside this Python, in a directory."""
    env = os.environ | {'UV_PYTHON_DOWNLOADS': 'never'}
    command = [sys.executable, '-m', 'uv', *arguments, '--python', sys.executable, '--no-progress']
    return subprocess.run(command, cwd=directory, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 - fixed arguments


def export(tables: dict[str, Any], constraints: list[str]) -> str:
    """Resolve for every supported Python, and give the result as pinned requirements with hashes."""
    # uv.lock would hold the addresses of the index that this machine uses, so it does not leave this directory.
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, 'pyproject.toml').write_text(temporary_pyproject(tables, constraints), 'utf-8')
        uv(directory, 'lock', '--quiet')
        options = ['--format=requirements-txt', '--all-extras', '--all-groups']
        quiet = ['--no-emit-project', '--no-annotate', '--no-header']
        return uv(directory, 'export', '--frozen', *options, *quiet)


def problem(tables: dict[str, Any]) -> str | None:
    """What is wrong with the lock, if anything."""
    text = LOCK.read_text('utf-8') if LOCK.exists() else ''
    if text.partition('\n')[0] != first_line(tables):
        return 'requirements.lock was not made from the dependencies in pyproject.toml: run `make lock`'
    if '://' in text or re.search(r'^\s*-(?!-hash=)', text, re.MULTILINE):
        return 'requirements.lock has an address or an option in it: run `make lock`'
    return None


def write(tables: dict[str, Any], upgrade: list[str] | None) -> int:
    """Make the lock. What is pinned stays at its version, but for the packages named; for all if none is named."""
    keep = {} if upgrade == [] else pins()
    constraints = [
        re.sub(r' --hash=\S+', '', pin)
        for name, versions in keep.items()
        if name not in (upgrade or ())
        for pin in versions
    ]
    try:
        body = export(tables, constraints)
    except subprocess.CalledProcessError as error:
        print('uv could not resolve the dependencies.', file=sys.stderr)
        if constraints:
            print('If a pinned version is in the way: make lock UPGRADE="PACKAGE ..." or UPGRADE=all', file=sys.stderr)
        return error.returncode
    LOCK.write_text(f'{first_line(tables)}\n{body}', 'utf-8')
    wrong = problem(tables)
    print(wrong or f'{LOCK.name}: {len(pins())} packages')
    return int(wrong is not None)


def show(package: str) -> int:
    """Print the requirement that the lock has for a package, with its hashes."""
    print('\n'.join(pins().get(package, [package])))
    return 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument('--check', action='store_true', help='fail if the lock does not belong to pyproject.toml')
    group.add_argument('--show', metavar='PACKAGE', help='print the requirement for a package')
    group.add_argument('--upgrade', nargs='*', metavar='PACKAGE', help='take newer versions of these, or of all')
    arguments = parser.parse_args()
    if arguments.show:
        return show(arguments.show)
    tables = locked_tables()
    if arguments.check:
        wrong = problem(tables)
        print(wrong or f'{LOCK.name} is current')
        return int(wrong is not None)
    return write(tables, arguments.upgrade)


if __name__ == '__main__':
    sys.exit(main())
