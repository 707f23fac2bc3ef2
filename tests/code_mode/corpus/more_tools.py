"""The tools which the programs of the second corpus call: modelled on real ones, awkward on purpose."""

# ruff: noqa: A002  # real tools have parameters that are called like builtins
# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import fnmatch
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any, Literal, NotRequired

from pydantic import BaseModel, Field
from pydantic_ai import Tool
from typing_extensions import TypedDict

# -- a ticket tracker ----------------------------------------------------------------------------------------------


class TicketStatus(StrEnum):
    """Where a ticket stands."""

    OPEN = 'open'
    IN_PROGRESS = 'in_progress'
    DONE = 'done'
    WONT_FIX = 'wont_fix'


class Priority(IntEnum):
    """How urgent a ticket is; 1 is the most urgent."""

    HIGH = 1
    MEDIUM = 2
    LOW = 3


class Person(BaseModel):
    """Somebody who works on tickets."""

    login: str
    email: str | None


class Ticket(BaseModel):
    """A ticket."""

    key: str
    title: str
    status: TicketStatus
    priority: Priority
    assignee: Person | None
    labels: list[str]
    created: datetime
    due: date | None
    estimate: float | None
    parent: str | None
    custom: dict[str, Any]


class PageInfo(BaseModel):
    """Where a page stands in all results."""

    next_cursor: str | None
    has_more: bool
    total: int


class TicketPage(BaseModel):
    """One page of tickets."""

    items: list[Ticket]
    page: PageInfo


class TicketFilter(TypedDict, total=False):
    """What tickets have to fulfil."""

    status: list[TicketStatus]
    labels: list[str]
    created_after: datetime
    max_priority: int


class TicketUpdated(TypedDict):
    """The ticket was changed."""

    status: Literal['ok']
    ticket: Ticket
    changed: list[str]


class TicketNotUpdated(TypedDict):
    """The ticket was not changed."""

    status: Literal['error']
    code: Literal['not_found', 'conflict', 'invalid']
    error: str


class Comment(TypedDict):
    """What somebody wrote about a ticket."""

    author: str
    text: str
    likes: int
    edited: NotRequired[str]


TicketSort = Literal['key', '-key', 'created', '-created', 'priority', '-priority']

_ADA = Person(login='ada', email='ada@example.com')
_BOB = Person(login='bob', email=None)

_TICKETS = [
    Ticket(
        key='WEB-1',
        title='Login page crashes',
        status=TicketStatus.OPEN,
        priority=Priority.HIGH,
        assignee=_ADA,
        labels=['bug', 'auth'],
        created=datetime(2024, 1, 10, 9, 0),
        due=date(2024, 2, 1),
        estimate=3.5,
        parent=None,
        custom={'severity': 'critical', 'votes': 12},
    ),
    Ticket(
        key='WEB-2',
        title='Dark mode',
        status=TicketStatus.IN_PROGRESS,
        priority=Priority.LOW,
        assignee=None,
        labels=['feature', 'ui'],
        created=datetime(2024, 1, 12, 14, 30),
        due=None,
        estimate=None,
        parent='WEB-5',
        custom={},
    ),
    Ticket(
        key='WEB-3',
        title='Slow search results',
        status=TicketStatus.OPEN,
        priority=Priority.MEDIUM,
        assignee=_BOB,
        labels=['bug', 'performance'],
        created=datetime(2024, 2, 3, 8, 15),
        due=date(2024, 3, 1),
        estimate=8.0,
        parent='WEB-5',
        custom={'severity': 'minor', 'votes': 3},
    ),
    Ticket(
        key='WEB-4',
        title='Update copyright year',
        status=TicketStatus.DONE,
        priority=Priority.LOW,
        assignee=_ADA,
        labels=[],
        created=datetime(2023, 12, 30, 17, 45),
        due=None,
        estimate=0.5,
        parent=None,
        custom={'votes': 0},
    ),
    Ticket(
        key='WEB-5',
        title='Redesign',
        status=TicketStatus.OPEN,
        priority=Priority.MEDIUM,
        assignee=_BOB,
        labels=['epic', 'ui'],
        created=datetime(2023, 11, 20, 11, 0),
        due=date(2024, 6, 30),
        estimate=40.0,
        parent=None,
        custom={'budget': {'amount': 5000, 'currency': 'EUR'}},
    ),
]

_COMMENTS: dict[str, list[Comment]] = {
    'WEB-1': [
        {'author': 'ada', 'text': 'Can reproduce.', 'likes': 2},
        {'author': 'bob', 'text': 'Same on mobile.', 'likes': 0, 'edited': '2024-01-11'},
        {'author': 'ada', 'text': 'Fix is coming.', 'likes': 5},
    ],
    'WEB-3': [{'author': 'bob', 'text': 'Needs an index.', 'likes': 1}],
}


def _find_ticket(key: str) -> Ticket | None:
    return next((ticket for ticket in _TICKETS if ticket.key == key), None)


def list_tickets(
    project: str,
    status: TicketStatus | None = None,
    assignee: str | None = None,
    cursor: str | None = None,
    page_size: int = 2,
) -> TicketPage:
    """List the tickets of a project page by page."""
    found = [
        ticket
        for ticket in _TICKETS
        if ticket.key.startswith(f'{project}-')
        and (status is None or ticket.status is status)
        and (assignee is None or (ticket.assignee is not None and ticket.assignee.login == assignee))
    ]
    start = int(cursor) if cursor else 0
    end = start + page_size
    more = end < len(found)
    return TicketPage(
        items=found[start:end], page=PageInfo(next_cursor=str(end) if more else None, has_more=more, total=len(found))
    )


def search_tickets(
    query: str, filter: TicketFilter | None = None, sort: list[TicketSort] | None = None, limit: int = 10
) -> list[Ticket]:
    """Search tickets by their title."""
    wanted: TicketFilter = filter or {}
    found = [
        ticket
        for ticket in _TICKETS
        if query.lower() in ticket.title.lower()
        and ticket.status in wanted.get('status', list(TicketStatus))
        and set(wanted.get('labels', ())) <= set(ticket.labels)
        and ticket.created >= wanted.get('created_after', datetime(2000, 1, 1))
        and ticket.priority <= wanted.get('max_priority', 3)
    ]
    for one in reversed(sort or []):
        found.sort(key=lambda ticket: getattr(ticket, one.removeprefix('-')), reverse=one.startswith('-'))
    return found[:limit]


def get_ticket(key: str) -> Ticket | None:
    """Get one ticket, if there is such a one."""
    return _find_ticket(key)


def update_ticket(
    key: str,
    status: TicketStatus | None = None,
    assignee: str | None = None,
    labels: list[str] | None = None,
    fields: dict[str, str | int | float | bool | None] | None = None,
) -> TicketUpdated | TicketNotUpdated:
    """Change a ticket and say what changed."""
    ticket = _find_ticket(key)
    if ticket is None:
        return {'status': 'error', 'code': 'not_found', 'error': f'no ticket {key}'}
    if ticket.status is TicketStatus.DONE:
        return {'status': 'error', 'code': 'conflict', 'error': f'{key} is closed'}
    changes: dict[str, Any] = {
        name: value for name, value in (('status', status), ('labels', labels)) if value is not None
    }
    if assignee is not None:
        changes['assignee'] = Person(login=assignee, email=None)
    if fields:
        changes['custom'] = {**ticket.custom, **fields}
    return {'status': 'ok', 'ticket': ticket.model_copy(update=changes), 'changed': sorted(changes)}


def ticket_comments(id: str) -> dict[str, list[Comment]]:
    """Get the comments on a ticket by author."""
    by_author: dict[str, list[Comment]] = {}
    for comment in _COMMENTS.get(id, []):
        by_author.setdefault(comment['author'], []).append(comment)
    return by_author


def close_tickets(tickets: list[Ticket], resolution: TicketStatus = TicketStatus.DONE) -> dict[str, TicketStatus]:
    """Close tickets, given whole."""
    return {ticket.key: resolution for ticket in tickets}


# -- files ---------------------------------------------------------------------------------------------------------


class FileNode(BaseModel):
    """A file, or a directory with what is below it."""

    name: str
    type: Literal['dir', 'file']
    size: int | None = None
    children: 'list[FileNode]' = Field(default_factory=list['FileNode'])


_FILES: dict[str, str] = {
    '/README.md': '# Demo\n\nVersion: 1.4.2\n\n- [x] tests\n- [ ] docs\n',
    '/data/people.csv': 'name,age,city\nAda,36,London\nBob,41,Oslo\nCleo,29,Paris\n',
    '/data/config.json': json.dumps(
        {
            'service': {'name': 'api', 'port': 8080, 'tags': ['prod', 'eu']},
            'limits': {'rpm': 600, 'burst': None},
            'owners': [{'name': 'Ada', 'team': 'core'}, {'name': 'Bob', 'team': None}],
        }
    ),
    '/logs/app.log': (
        '2024-03-01 10:00:01 INFO start pid=12\n'
        '2024-03-01 10:00:05 ERROR timeout host=db1 ms=1500\n'
        '2024-03-01 10:01:00 WARN retry host=db1 ms=200\n'
        '2024-03-01 10:02:30 ERROR timeout host=db2 ms=900\n'
    ),
    '/src/main.py': 'import os\n\n\ndef main():\n    # TODO: exit code\n    print(os.name)\n',
    '/src/util/text.py': 'def shout(s):\n    return s.upper()  # TODO: unicode\n',
}


def list_files(path: str = '/', pattern: str | None = None) -> list[str]:
    """List the files below a directory."""
    below = sorted(name for name in _FILES if name.startswith(path))
    return [name for name in below if pattern is None or fnmatch.fnmatch(name, pattern)]


def read_file(path: str) -> str:
    """Read a text file; fails when there is none."""
    if path not in _FILES:
        raise FileNotFoundError(f'no such file: {path}')
    return _FILES[path]


def read_bytes(path: str) -> bytes:
    """Read a file as bytes."""
    return _FILES[path].encode()


def write_file(path: str, content: str, append: bool = False) -> int:
    """Write a text file and get how many characters it has."""
    return len(content) + (len(_FILES.get(path, '')) if append else 0)


def file_exists(path: str) -> bool:
    """Tell whether there is such a file."""
    return path in _FILES


def file_tree(path: str = '/') -> FileNode:
    """Get the tree of files below a directory."""
    root = FileNode(name=path, type='dir')
    for name in sorted(_FILES):
        if not name.startswith(path):
            continue
        *directories, file = name.removeprefix(path).strip('/').split('/')
        node = root
        for directory in directories:
            if not node.children or node.children[-1].name != directory:
                node.children.append(FileNode(name=directory, type='dir'))
            node = node.children[-1]
        node.children.append(FileNode(name=file, type='file', size=len(_FILES[name])))
    return root


# -- a database ----------------------------------------------------------------------------------------------------

_TABLES = """
CREATE TABLE users (id INTEGER, name TEXT, country TEXT, score REAL);
INSERT INTO users VALUES (1, 'Ada', 'UK', 9.5), (2, 'Bob', 'NO', 7.25), (3, 'Cleo', 'FR', NULL), (4, 'Dan', 'UK', 5.0);
CREATE TABLE sales (id INTEGER, user_id INTEGER, amount REAL, day TEXT);
INSERT INTO sales VALUES (1, 1, 20.0, '2024-01-01'), (2, 1, 35.5, '2024-01-02'), (3, 2, 12.0, '2024-01-02'),
    (4, 4, 99.9, '2024-01-05'), (5, 4, 0.1, '2024-01-05');
"""


def query(sql: str, params: list[str | int | float | None] | None = None) -> list[dict[str, Any]]:
    """Run a query on the tables `users` and `sales`."""
    connection = sqlite3.connect(':memory:')
    connection.executescript(_TABLES)
    cursor = connection.execute(sql, params or [])
    names = [column[0] for column in cursor.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    connection.close()
    return rows


def table_columns(table: str) -> dict[str, str]:
    """Get the type of each column."""
    rows = query(f'SELECT name, type FROM pragma_table_info("{table}")')  # noqa: S608  # an empty database
    return {row['name']: row['type'] for row in rows}


# -- the web -------------------------------------------------------------------------------------------------------


class Page(TypedDict):
    """A page that was fetched."""

    ok: Literal[True]
    status_code: int
    body: str
    headers: dict[str, str]


class NoPage(TypedDict):
    """Why a page was not fetched."""

    ok: Literal[False]
    error: str
    retry_after: int | None


class PushEvent(BaseModel):
    """Somebody pushed."""

    kind: Literal['push'] = 'push'
    branch: str
    commits: list[str]


class ReviewEvent(BaseModel):
    """Somebody reviewed."""

    kind: Literal['review'] = 'review'
    reviewer: str
    approved: bool


class PingEvent(BaseModel):
    """Nothing but a sign of life."""

    kind: Literal['ping'] = 'ping'


_PAGES: dict[str, str] = {
    'https://example.com/a': '<title>Alpha</title><a href="/b">b</a><a href="/c">c</a>',
    'https://example.com/b': '<title>Beta</title>',
    'https://example.com/data.json': '{"rates": {"EUR": 1, "USD": "1.25"}, "as_of": "2024-05-01T00:00:00"}',
}


def http_get(url: str, headers: dict[str, str] | None = None, timeout: float = 10) -> Page | NoPage:
    """Fetch a page."""
    if url in _PAGES:
        return {
            'ok': True,
            'status_code': 200,
            'body': _PAGES[url],
            'headers': {'content-length': str(len(_PAGES[url])), **(headers or {})},
        }
    return {'ok': False, 'error': 'not found', 'retry_after': 5 if url.endswith('/busy') else None}


def read_event(raw: str) -> PushEvent | ReviewEvent | PingEvent:
    """Read an event of a webhook."""
    kind, _, rest = raw.partition(':')
    if kind == 'push':
        branch, *commits = rest.split(',')
        return PushEvent(branch=branch, commits=commits)
    if kind == 'review':
        return ReviewEvent(reviewer=rest.rstrip('!'), approved=rest.endswith('!'))
    return PingEvent()


_flaky_calls: dict[str, int] = {}


def flaky_rate(currency: str) -> float:
    """Get a rate; each second call for a currency works, the others fail."""
    _flaky_calls[currency] = _flaky_calls.get(currency, 0) + 1
    if _flaky_calls[currency] % 2:
        raise RuntimeError(f'temporarily unavailable: {currency}')
    return {'USD': 1.25, 'GBP': 0.8}.get(currency, 1.0)


# -- everything else -----------------------------------------------------------------------------------------------

Weekday = Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
Cabin = Literal['economy', 'business', 'first']


@dataclass
class User:
    """Somebody with an account."""

    id: int
    name: str
    roles: list[Literal['admin', 'editor', 'viewer']]
    manager_id: int | None = None


class Flight(TypedDict):
    """A flight."""

    number: str
    price: float
    stops: int
    departs: datetime
    minutes: int
    cabin: Cabin


class FlightPage(TypedDict):
    """Flights, and whether there are more."""

    flights: list[Flight]
    next_page: int | None


class InvoiceItem(BaseModel):
    """One line of an invoice."""

    name: str
    unit_price: float
    quantity: int = 1
    tags: list[str] = Field(default_factory=list[str])


class Party(BaseModel):
    """Who pays."""

    name: str
    vat_id: str | None = None


class Invoice(BaseModel):
    """An invoice."""

    number: str
    party: Party
    items: list[InvoiceItem]
    total: Decimal
    paid: bool


class Member(BaseModel):
    """Somebody in a team."""

    name: str
    role: Literal['lead', 'dev', 'ops']
    hours: float
    skills: list[str]


class Stats(TypedDict):
    """Numbers about the whole workspace."""

    users: int
    tickets: int
    uptime: float
    by_status: dict[TicketStatus, int]
    last_deploy: datetime | None


class Receipt(TypedDict):
    """Proof that a message was sent."""

    message_id: str
    delivered: bool
    recipients: int


_PLACES = {'Paris': (48.86, 2.35), 'Oslo': (59.91, 10.75), 'Rome': (41.9, 12.5)}

_USERS = [
    User(1, 'Ada', ['admin', 'editor']),
    User(2, 'Bob', ['editor'], manager_id=1),
    User(3, 'Cleo', ['viewer'], manager_id=2),
]

_FLIGHTS: list[Flight] = [
    {
        'number': 'AF10',
        'price': 120.0,
        'stops': 0,
        'departs': datetime(2024, 7, 1, 8, 0),
        'minutes': 135,
        'cabin': 'economy',
    },
    {
        'number': 'LH22',
        'price': 95.5,
        'stops': 1,
        'departs': datetime(2024, 7, 1, 6, 30),
        'minutes': 260,
        'cabin': 'economy',
    },
    {
        'number': 'AF12',
        'price': 410.0,
        'stops': 0,
        'departs': datetime(2024, 7, 1, 18, 0),
        'minutes': 130,
        'cabin': 'business',
    },
]


def geocode(place: str) -> tuple[float, float]:
    """Get latitude and longitude of a place; fails for an unknown one."""
    return _PLACES[place]


def time_series(
    name: str, start: datetime, end: datetime | None = None, step: Literal['1h', '6h', '1d'] = '6h'
) -> list[tuple[datetime, float]]:
    """Get points of a metric."""
    hours = {'1h': 1, '6h': 6, '1d': 24}[step]
    last = end or start + timedelta(days=1)
    count = int((last - start) / timedelta(hours=hours))
    return [(start + timedelta(hours=hours * index), float((index * 7 + len(name)) % 10)) for index in range(count)]


def find_user(id: int | str) -> User | None:
    """Find a user by number or name."""
    return next((user for user in _USERS if id in (user.id, user.name)), None)


def search_flights(  # noqa: PLR0917  # tools are called with keywords
    origin: str,
    destination: str,
    day: date,
    return_day: date | None = None,
    adults: int = 1,
    children: int = 0,
    infants: int = 0,
    cabin: Cabin | None = None,
    max_stops: int | None = None,
    max_price: float | None = None,
    airlines: list[str] | None = None,
    bags: int = 0,
    currency: Literal['EUR', 'USD'] = 'EUR',
    sort_by: Literal['price', 'minutes', 'departs'] = 'price',
    descending: bool = False,
    page: int = 1,
    per_page: int = 2,
) -> FlightPage:
    """Search flights, page by page."""
    found = [
        flight
        for flight in _FLIGHTS
        if (cabin is None or flight['cabin'] == cabin)
        and (max_stops is None or flight['stops'] <= max_stops)
        and (max_price is None or flight['price'] <= max_price)
        and (airlines is None or flight['number'][:2] in airlines)
    ]
    found.sort(key=lambda flight: flight[sort_by], reverse=descending)
    chunk = found[(page - 1) * per_page : page * per_page]
    factor = adults + children
    flights: list[Flight] = [{**flight, 'price': flight['price'] * factor + 30 * bags} for flight in chunk]
    return {'flights': flights, 'next_page': page + 1 if page * per_page < len(found) else None}


def schedule_report(
    name: str, days: list[Weekday], hour: int = 8, formats: list[Literal['pdf', 'csv']] | None = None
) -> str:
    """Have a report made on some days of the week."""
    return f'{name}@{hour:02d}:' + ','.join(days) + ''.join(f'.{one}' for one in formats or [])


def create_invoice(party: Party, items: list[InvoiceItem], discount: float = 0, paid: bool = False) -> Invoice:
    """Make an invoice."""
    total = sum(item.unit_price * item.quantity for item in items) * (1 - discount)
    return Invoice(number=f'INV-{len(items)}', party=party, items=items, total=Decimal(str(round(total, 2))), paid=paid)


def invoice_total(invoice: Invoice) -> float:
    """Compute what an invoice comes to."""
    return float(invoice.total)


def team_members(team: str | None = None) -> dict[str, list[Member]]:
    """Get the members of one team, or of all."""
    teams = {
        'core': [
            Member(name='Ada', role='lead', hours=40.0, skills=['python', 'sql']),
            Member(name='Bob', role='dev', hours=32.5, skills=['go']),
        ],
        'infra': [Member(name='Cleo', role='ops', hours=38.0, skills=['sql', 'bash'])],
    }
    return {name: members for name, members in teams.items() if team in (None, name)}


def workspace_stats() -> Stats:
    """Get numbers about the whole workspace."""
    return {
        'users': 3,
        'tickets': 5,
        'uptime': 99.95,
        'by_status': {TicketStatus.OPEN: 3, TicketStatus.IN_PROGRESS: 1, TicketStatus.DONE: 1},
        'last_deploy': datetime(2024, 5, 5, 12, 0),
    }


def known_tags() -> set[str]:
    """Get every tag that is in use."""
    return {'bug'}


def run_checks(ids: list[int]) -> dict[int, bool]:
    """Check some numbers: even ones pass."""
    return {one: one % 2 == 0 for one in ids}


def load_settings(section: str | None = None):  # noqa: ANN201  # the result of a tool without a return annotation is Any
    """Load settings of any shape."""
    settings: dict[str, Any] = {
        'theme': 'dark',
        'retries': 3,
        'regions': ['eu', 'us'],
        'smtp': {'host': 'mail.example.com', 'port': 25, 'tls': False},
    }
    return settings if section is None else settings.get(section)


def summarize(text: str, max_words: int = 5, style: Literal['plain', 'bullets', 'caps'] = 'plain') -> str:
    """Shorten a text."""
    words = text.split()[:max_words]
    return {
        'plain': ' '.join(words),
        'bullets': '\n'.join(f'- {word}' for word in words),
        'caps': ' '.join(words).upper(),
    }[style]


def send_message(
    from_: str, to: list[str], type: Literal['email', 'sms'], body: str = '', id: str | None = None
) -> Receipt:
    """Send a message; has to run alone."""
    return {'message_id': id or f'{type}-{from_}-{len(body)}', 'delivered': bool(to), 'recipients': len(to)}


# -- GitHub: the input schemas of github-mcp-server (MIT licence), without their descriptions ------------------------

_TEXT: Mapping[str, Any] = {'type': 'string'}
_NUMBER: Mapping[str, Any] = {'type': 'number'}
_TEXTS: Mapping[str, Any] = {'type': 'array', 'items': {'type': 'string'}}
_PAGE: Mapping[str, Any] = {'type': 'number', 'minimum': 1}
_PER_PAGE: Mapping[str, Any] = {'type': 'number', 'minimum': 1, 'maximum': 100}
_REPO: Mapping[str, Any] = {'owner': _TEXT, 'repo': _TEXT}
_CONFIDENCE: Mapping[str, Any] = {'type': 'string', 'enum': ['LOW', 'MEDIUM', 'HIGH']}
_INTENT: Mapping[str, Any] = {
    'confidence': _CONFIDENCE,
    'is_suggestion': {'type': 'boolean'},
    'rationale': {'type': 'string', 'maxLength': 280},
}


def _one_of(*values: str) -> dict[str, Any]:
    return {'type': 'string', 'enum': list(values)}


def _schema(required: list[str], properties: Mapping[str, Any]) -> dict[str, Any]:
    return {'type': 'object', 'properties': dict(properties), 'required': required}


_ISSUES: list[dict[str, Any]] = [
    {
        'number': number,
        'title': title,
        'state': state,
        'user': {'login': login},
        'labels': [{'name': label} for label in labels],
        'comments': comments,
        'body': body,
        'created_at': f'2024-04-0{number}T10:00:00Z',
    }
    for number, title, state, login, labels, comments, body in (
        (1, 'Crash on start', 'OPEN', 'ada', ['bug'], 3, 'Traceback: see #2'),
        (2, 'Add dark mode', 'OPEN', 'bob', ['enhancement', 'ui'], 0, None),
        (3, 'Typo in README', 'CLOSED', 'ada', [], 1, 'fixes #1'),
        (4, 'Crash on exit', 'OPEN', 'cleo', ['bug', 'p1'], 7, ''),
    )
]


def _list_issues(**arguments: Any) -> Any:
    found = [issue for issue in _ISSUES if arguments.get('state') in (None, issue['state'])]
    found = [issue for issue in found if {*arguments.get('labels', [])} <= {one['name'] for one in issue['labels']}]
    start = int(arguments.get('after', '0'))
    end = start + int(arguments.get('perPage', 30))
    more = end < len(found)
    page_info = {'hasNextPage': more, 'endCursor': str(end) if more else None}
    return {'issues': found[start:end], 'pageInfo': page_info, 'totalCount': len(found)}


def _search_issues(**arguments: Any) -> Any:
    found = [issue for issue in _ISSUES if arguments['query'].lower() in issue['title'].lower()]
    return {'total_count': len(found), 'incomplete_results': False, 'items': found}


def _issue_read(**arguments: Any) -> Any:
    issue = next((one for one in _ISSUES if one['number'] == arguments['issue_number']), None)
    if issue is None:
        raise ValueError('404 Not Found')
    if arguments['method'] == 'get_comments':
        return [{'id': issue['number'] * 10 + n, 'body': f'comment {n}'} for n in range(issue['comments'])]
    return issue['labels'] if arguments['method'] == 'get_labels' else issue


def _issue_write(**arguments: Any) -> Any:
    return {'id': '99', 'url': f'https://github.com/{arguments["owner"]}/{arguments["repo"]}/issues/99', **arguments}


def _get_file_contents(**arguments: Any) -> Any:
    path = arguments.get('path', '/')
    if path.endswith('/'):
        return [{'type': 'file', 'name': 'a.py', 'path': 'src/a.py', 'size': 10, 'sha': 'abc'}]
    return f'# {path}\nprint("hi")\n'


def _list_commits(**arguments: Any) -> Any:
    page = int(arguments.get('page', 1))
    names = ['ada', 'bob', 'ada', 'cleo', 'ada']
    per_page = int(arguments.get('perPage', 2))
    return [
        {'sha': f'{index:040x}', 'commit': {'message': f'change {index}\n\nbody', 'author': {'name': names[index]}}}
        for index in range((page - 1) * per_page, min(page * per_page, len(names)))
    ]


def _push_files(**arguments: Any) -> Any:
    return {'ref': f'refs/heads/{arguments["branch"]}', 'files': len(arguments['files'])}


def _pull_request_read(**arguments: Any) -> Any:
    if arguments['method'] == 'get_files':
        return [
            {'filename': 'a.py', 'additions': 10, 'deletions': 2},
            {'filename': 'b.md', 'additions': 1, 'deletions': 0},
        ]
    if arguments['method'] == 'get_status':
        return json.dumps({'state': 'success', 'statuses': []})
    return {'number': arguments['pullNumber'], 'title': 'Fix', 'merged': False, 'user': None}


def _update_issue_labels(**arguments: Any) -> Any:
    return {'labels': [one if isinstance(one, str) else one['name'] for one in arguments['labels']]}


def _get_me() -> Any:
    return {'login': 'ada', 'id': 7, 'details': {'company': None, 'followers': 10}}


def _set_issue_fields(**arguments: Any) -> Any:
    return {'updated': [one['field_id'] for one in arguments['fields']]}


def _update_issue_type(**arguments: Any) -> Any:
    return {'type': arguments['issue_type']}


_FIELDS_OF_ISSUES = ('number', 'title', 'body', 'state', 'user', 'labels', 'assignees', 'comments', 'created_at')

_GITHUB: list[Tool[None]] = [
    Tool.from_schema(
        _list_issues,
        name='list_issues',
        description='List issues of a repository.',
        json_schema=_schema(
            ['owner', 'repo'],
            {
                **_REPO,
                'after': _TEXT,
                'direction': _one_of('ASC', 'DESC'),
                'field_filters': {
                    'type': 'array',
                    'items': _schema(['field_name', 'value'], {'field_name': _TEXT, 'value': _TEXT}),
                },
                'fields': {'type': 'array', 'items': _one_of(*_FIELDS_OF_ISSUES)},
                'labels': _TEXTS,
                'orderBy': _one_of('CREATED_AT', 'UPDATED_AT', 'COMMENTS'),
                'perPage': _PER_PAGE,
                'since': _TEXT,
                'state': _one_of('OPEN', 'CLOSED'),
            },
        ),
    ),
    Tool.from_schema(
        _search_issues,
        name='search_issues',
        description='Search issues.',
        json_schema=_schema(
            ['query'],
            {
                **_REPO,
                'query': _TEXT,
                'fields': {'type': 'array', 'items': _one_of(*_FIELDS_OF_ISSUES, 'state_reason', 'html_url')},
                'order': _one_of('asc', 'desc'),
                'page': _PAGE,
                'perPage': _PER_PAGE,
                'sort': _one_of('comments', 'reactions', 'reactions-+1', 'created', 'updated'),
            },
        ),
    ),
    Tool.from_schema(
        _issue_read,
        name='issue_read',
        description='Read one issue.',
        json_schema=_schema(
            ['method', 'owner', 'repo', 'issue_number'],
            {
                **_REPO,
                'issue_number': _NUMBER,
                'method': _one_of('get', 'get_comments', 'get_sub_issues', 'get_parent', 'get_labels'),
                'page': _PAGE,
                'perPage': _PER_PAGE,
            },
        ),
    ),
    Tool.from_schema(
        _issue_write,
        name='issue_write',
        description='Create or update an issue.',
        json_schema=_schema(
            ['method', 'owner', 'repo'],
            {
                **_REPO,
                'assignees': _TEXTS,
                'body': _TEXT,
                'duplicate_of': _NUMBER,
                'issue_fields': {
                    'type': 'array',
                    'items': {
                        **_schema(
                            ['field_name'],
                            {
                                'delete': {'type': 'boolean'},
                                'field_name': _TEXT,
                                'field_option_name': _TEXT,
                                'value': {'type': ['string', 'number', 'boolean']},
                            },
                        ),
                        'additionalProperties': False,
                    },
                },
                'issue_number': _NUMBER,
                'labels': _TEXTS,
                'method': _one_of('create', 'update'),
                'milestone': _NUMBER,
                'state': _one_of('open', 'closed'),
                'state_reason': _one_of('completed', 'not_planned', 'duplicate'),
                'title': _TEXT,
                'type': {'anyOf': [{'type': 'string', 'minLength': 1}, {'type': 'null'}]},
            },
        ),
    ),
    Tool.from_schema(
        _get_file_contents,
        name='get_file_contents',
        description='Get a file or a directory.',
        json_schema=_schema(
            ['owner', 'repo'],
            {
                **_REPO,
                'fields': {'type': 'array', 'items': _one_of('type', 'name', 'path', 'size', 'sha', 'url')},
                'path': {'type': 'string', 'default': '/'},
                'ref': _TEXT,
                'sha': _TEXT,
            },
        ),
    ),
    Tool.from_schema(
        _list_commits,
        name='list_commits',
        description='List commits.',
        json_schema=_schema(
            ['owner', 'repo'],
            {
                **_REPO,
                'author': _TEXT,
                'fields': {'type': 'array', 'items': _one_of('sha', 'html_url', 'commit', 'author', 'committer')},
                'page': _PAGE,
                'path': _TEXT,
                'perPage': _PER_PAGE,
                'sha': _TEXT,
                'since': _TEXT,
                'until': _TEXT,
            },
        ),
    ),
    Tool.from_schema(
        _push_files,
        name='push_files',
        description='Push several files in one commit.',
        json_schema=_schema(
            ['owner', 'repo', 'branch', 'files', 'message'],
            {
                **_REPO,
                'branch': _TEXT,
                'files': {
                    'type': 'array',
                    'items': {
                        **_schema(['path', 'content'], {'content': _TEXT, 'path': _TEXT}),
                        'additionalProperties': False,
                    },
                },
                'message': _TEXT,
            },
        ),
    ),
    Tool.from_schema(
        _pull_request_read,
        name='pull_request_read',
        description='Read a pull request.',
        json_schema=_schema(
            ['method', 'owner', 'repo', 'pullNumber'],
            {
                **_REPO,
                'after': _TEXT,
                'method': _one_of(
                    'get', 'get_diff', 'get_status', 'get_files', 'get_commits', 'get_reviews', 'get_comments'
                ),
                'page': _PAGE,
                'perPage': _PER_PAGE,
                'pullNumber': _NUMBER,
            },
        ),
    ),
    Tool.from_schema(
        _update_issue_labels,
        name='update_issue_labels',
        description='Set the labels of an issue.',
        json_schema=_schema(
            ['owner', 'repo', 'issue_number', 'labels'],
            {
                **_REPO,
                'issue_number': _PAGE,
                'labels': {'type': 'array', 'items': {'oneOf': [_TEXT, _schema(['name'], {'name': _TEXT, **_INTENT})]}},
            },
        ),
    ),
    Tool.from_schema(
        _set_issue_fields,
        name='set_issue_fields',
        description='Set fields of an issue.',
        json_schema=_schema(
            ['owner', 'repo', 'issue_number', 'fields'],
            {
                **_REPO,
                'issue_number': _PAGE,
                'fields': {
                    'type': 'array',
                    'minItems': 1,
                    'items': _schema(
                        ['field_id'],
                        {
                            **_INTENT,
                            'date_value': _TEXT,
                            'delete': {'type': 'boolean'},
                            'field_id': _TEXT,
                            'number_value': _NUMBER,
                            'single_select_option_id': _TEXT,
                            'text_value': _TEXT,
                        },
                    ),
                },
            },
        ),
    ),
    Tool.from_schema(
        _update_issue_type,
        name='update_issue_type',
        description='Set the type of an issue.',
        json_schema=_schema(
            ['owner', 'repo', 'issue_number', 'issue_type'],
            {
                **_REPO,
                **_INTENT,
                'issue_number': _PAGE,
                'issue_type': {'anyOf': [{'type': 'string', 'minLength': 1}, {'type': 'null'}]},
            },
        ),
    ),
    Tool.from_schema(_get_me, name='get_me', description='Who you are.', json_schema=_schema([], {})),
]

MORE_TOOLS: list[Tool[None]] = [
    Tool(list_tickets),
    Tool(search_tickets),
    Tool(get_ticket),
    Tool(update_ticket),
    Tool(ticket_comments),
    Tool(close_tickets),
    Tool(list_files),
    Tool(read_file),
    Tool(read_bytes),
    Tool(write_file, sequential=True),
    Tool(file_exists),
    Tool(file_tree),
    Tool(query),
    Tool(table_columns),
    Tool(http_get),
    Tool(read_event),
    Tool(flaky_rate),
    Tool(geocode),
    Tool(time_series),
    Tool(find_user),
    Tool(search_flights),
    Tool(schedule_report),
    Tool(create_invoice),
    Tool(invoice_total),
    Tool(team_members),
    Tool(workspace_stats),
    Tool(known_tags),
    Tool(run_checks),
    Tool(load_settings),
    Tool(summarize),
    Tool(send_message, sequential=True),
    *_GITHUB,
]
