"""Wrong programs over the tools of `more_tools`, each wrong in one way: the last snippet must not run."""

from __future__ import annotations

from textwrap import dedent

from .program import WrongProgram


def _wrong(name: str, *snippets: str, line: int, mentions: str) -> WrongProgram:
    return WrongProgram(name, tuple(dedent(snippet).strip('\n') for snippet in snippets), line, mentions)


_UNREACHABLE = [
    _wrong(
        'loop_while_true__in_helper_after_return_on_none',
        """
        async def fetch():
            out, page = [], 1
            while True:
                r = await search_flights(origin='A', destination='B', day='2024-07-01', page=page)
                out += r['flights']
                if r['next_page'] is None:
                    break
                page = r['page_no']
            return out

        await fetch()
        """,
        line=8,
        mentions='page_no',
    ),
    _wrong(
        'isinstance_branch__str_result_then_wrong_call',
        """
        raw = await load_settings()
        """,
        """
        if isinstance(raw, str):
            raw = jsn.loads(raw)
        raw
        """,
        line=2,
        mentions='jsn',
    ),
    _wrong(
        'isinstance_branch__dict_test_on_list_else',
        """
        r = await search_tickets(query='e')
        """,
        """
        if isinstance(r, dict):
            print(r)
        else:
            r = await search_tickets(query='e', limits=3)
        """,
        line=4,
        mentions='limits',
    ),
    _wrong(
        'error_branch__wrong_key_in_error_case',
        """
        r = await update_ticket(key='WEB-4', labels=['x'])
        """,
        """
        if r['status'] == 'ok':
            out = r['ticket']['key']
        else:
            out = r['message']
        out
        """,
        line=4,
        mentions='message',
    ),
    _wrong(
        'error_branch__wrong_key_in_ok_case',
        """
        r = await http_get(url='https://example.com/a')
        """,
        """
        if r['ok']:
            text = r['content']
        else:
            text = r['error']
        text
        """,
        line=2,
        mentions='content',
    ),
    _wrong(
        'error_branch__key_of_no_variant',
        """
        r = await http_get(url='https://example.com/zzz')
        """,
        """
        r['reason'] if not r['ok'] else r['body']
        """,
        line=1,
        mentions='reason',
    ),
    _wrong(
        'error_branch__wrong_nested_key_after_status_test',
        """
        r = await update_ticket(key='WEB-1', assignee='bob')
        """,
        """
        if r['status'] == 'error':
            raise ValueError(r['error'])
        """,
        """
        r['ticket']['assignee']['name']
        """,
        line=1,
        mentions='name',
    ),
    _wrong(
        'error_branch__event_kind_with_key_of_other',
        """
        e = await read_event(raw='push:main,a')
        """,
        """
        if e['kind'] == 'push':
            who = e['reviewer']
        """,
        line=2,
        mentions='reviewer',
    ),
    _wrong(
        'except_branch__wrong_call_in_handler',
        """
        try:
            rate = await flaky_rate(currency='USD')
        except RuntimeError:
            rate = await flaky_rate(currency='USD', delay=1)
        rate
        """,
        line=4,
        mentions='delay',
    ),
    _wrong(
        'except_branch__missing_await_in_handler',
        """
        try:
            rate = await flaky_rate(currency='EUR')
        except RuntimeError:
            rate = flaky_rate(currency='EUR') * 2
        rate
        """,
        line=4,
        mentions='flaky_rate',
    ),
    _wrong(
        'finally_branch__wrong_call',
        """
        try:
            n = 1
        finally:
            write_file(path='/log', text='done')
        """,
        line=4,
        mentions='text',
    ),
    _wrong(
        'after_return__helper_second_half',
        """
        async def read(kind):
            if kind == 'labels':
                return await issue_read(method='get_labels', owner='o', repo='r', issue_number=1)
            if kind == 'none':
                return None
            return await issue_read(method='get', owner='o', repo='r', number=1)

        await read('labels')
        """,
        line=6,
        mentions='issue_number',
    ),
    _wrong(
        'after_guard__constant_condition',
        """
        DRY_RUN = False
        """,
        """
        if not DRY_RUN:
            await list_tickets(projct='WEB')
        """,
        line=2,
        mentions='projct',
    ),
    _wrong(
        'match_branch__wrong_call_in_case',
        """
        r = await update_ticket(key='WEB-1', status='done')
        """,
        """
        match r['status']:
            case 'ok':
                await update_ticket(key='WEB-2', assignees=['ada'])
            case _:
                pass
        """,
        line=3,
        mentions='assignees',
    ),
    _wrong(
        'match_branch__wrong_call_in_default',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        match t['priority']:
            case 1 | 2:
                pass
            case _:
                await list_tickets(project='WEB', statuss='open')
        """,
        line=5,
        mentions='statuss',
    ),
]

_AWAIT = [
    _wrong(
        'missing_await__assigned_then_subscripted',
        """
        page = list_tickets(project='WEB')
        """,
        """
        page['items']
        """,
        line=1,
        mentions='page',
    ),
    _wrong(
        'missing_await__assigned_then_iterated',
        """
        files = list_files(path='/src')
        """,
        """
        for f in files:
            print(f)
        """,
        line=1,
        mentions='files',
    ),
    _wrong(
        'missing_await__iterated_directly',
        """
        for f in list_files():
            print(f)
        """,
        line=1,
        mentions='list_files',
    ),
    _wrong(
        'missing_await__len_of_call',
        """
        n = len(search_tickets(query='e'))
        """,
        line=1,
        mentions='search_tickets',
    ),
    _wrong(
        'missing_await__in_list_comprehension_then_used',
        """
        tickets = [get_ticket(key=k) for k in ('WEB-1', 'WEB-2')]
        """,
        """
        [t['title'] for t in tickets]
        """,
        line=1,
        mentions='title',
    ),
    _wrong(
        'missing_await__in_dict_comprehension_then_used',
        """
        texts = {p: read_file(path=p) for p in ['/README.md', '/src/main.py']}
        """,
        """
        {p: len(texts[p]) for p in texts}
        """,
        line=1,
        mentions='texts',
    ),
    _wrong(
        'missing_await__passed_to_other_tool',
        """
        text = read_file(path='/README.md')
        """,
        """
        await summarize(text=text)
        """,
        line=1,
        mentions='text',
    ),
    _wrong(
        'missing_await__call_passed_to_other_tool',
        """
        write_file(path='/copy', content=read_file(path='/README.md'))
        """,
        line=1,
        mentions='content',
    ),
    _wrong(
        'missing_await__compared',
        """
        if flaky_rate(currency='USD') > 1:
            print('strong')
        """,
        line=1,
        mentions='flaky_rate',
    ),
    _wrong(
        'missing_await__arithmetic',
        """
        usd = flaky_rate(currency='USD')
        """,
        """
        total = usd * 100
        """,
        line=1,
        mentions='usd',
    ),
    _wrong(
        'missing_await__attribute_chain',
        r"""
        lines = read_file(path='/README.md').split('\n')
        """,
        line=1,
        mentions='read_file',
    ),
    _wrong(
        'missing_await__await_binds_to_subscript',
        """
        title = await get_ticket(key='WEB-1')['title']
        """,
        line=1,
        mentions='get_ticket',
    ),
    _wrong(
        'missing_await__await_binds_to_method',
        """
        lines = await read_file(path='/README.md').splitlines()
        """,
        line=1,
        mentions='read_file',
    ),
    _wrong(
        'missing_await__gather_not_awaited',
        """
        import asyncio
        a_b = asyncio.gather(get_ticket(key='WEB-1'), get_ticket(key='WEB-2'))
        a, b = a_b
        """,
        line=3,
        mentions='gather',
    ),
    _wrong(
        'missing_await__gather_not_awaited_unpacked',
        """
        import asyncio
        """,
        """
        stats, tags = asyncio.gather(workspace_stats(), known_tags())
        """,
        line=1,
        mentions='gather',
    ),
    _wrong(
        'missing_await__gather_iterated',
        """
        import asyncio
        """,
        """
        paths = ['/README.md', '/src/main.py']
        """,
        """
        for text in asyncio.gather(*[read_file(path=p) for p in paths]):
            print(len(text))
        """,
        line=1,
        mentions='gather',
    ),
    _wrong(
        'missing_await__own_async_helper',
        r"""
        async def count(path):
            text = await read_file(path=path)
            return text.count('\n')
        """,
        """
        total = count('/README.md') + 1
        """,
        line=1,
        mentions='count',
    ),
    _wrong(
        'missing_await__own_async_helper_as_last_value',
        """
        async def main():
            return await workspace_stats()
        """,
        """
        main()
        """,
        line=1,
        mentions='main',
    ),
    _wrong(
        'missing_await__tool_as_last_value',
        """
        workspace_stats()
        """,
        line=1,
        mentions='workspace_stats',
    ),
    _wrong(
        'missing_await__statement_dropped',
        """
        update_ticket(key='WEB-1', status='done')
        print('updated')
        """,
        line=1,
        mentions='update_ticket',
    ),
    _wrong(
        'missing_await__statement_dropped_in_loop',
        """
        for key in ['WEB-1', 'WEB-2']:
            update_ticket(key=key, status='done')
        print('updated')
        """,
        line=2,
        mentions='update_ticket',
    ),
    _wrong(
        'missing_await__statement_dropped_in_helper',
        """
        async def close(key):
            update_ticket(key=key, status='done')
            return key

        await close('WEB-1')
        """,
        line=2,
        mentions='update_ticket',
    ),
    _wrong(
        'missing_await__any_result_subscripted',
        """
        login = get_me()['login']
        """,
        line=1,
        mentions='get_me',
    ),
    _wrong(
        'missing_await__any_result_variable_subscripted',
        """
        issues = list_issues(owner='o', repo='r')
        """,
        """
        [i['title'] for i in issues['issues']]
        """,
        line=1,
        mentions='issues',
    ),
    _wrong(
        'missing_await__in_lambda',
        """
        north = max(['Oslo', 'Rome'], key=lambda p: geocode(place=p)[0])
        """,
        line=1,
        mentions='geocode',
    ),
    _wrong(
        'missing_await__in_sorted_key',
        """
        files = await list_files()
        """,
        """
        sorted(files, key=lambda p: len(read_file(path=p)))
        """,
        line=1,
        mentions='len',
    ),
    _wrong(
        'missing_await__unpacked',
        """
        lat, lon = geocode(place='Oslo')
        """,
        line=1,
        mentions='geocode',
    ),
    _wrong(
        'missing_await__star_unpacked',
        """
        labels = ['a', *known_tags()]
        """,
        line=1,
        mentions='known_tags',
    ),
    _wrong(
        'missing_await__in_membership',
        """
        if 'bug' in known_tags():
            print('has bugs')
        """,
        line=1,
        mentions='known_tags',
    ),
    _wrong(
        'missing_await__stored_in_object',
        """
        class Ctx:
            def __init__(self):
                self.user = None
        """,
        """
        ctx = Ctx()
        """,
        """
        ctx.user = find_user(id=1)
        """,
        """
        if True:
            print(ctx.user['name'])
        """,
        line=2,
        mentions='user',
    ),
    _wrong(
        'await_on_plain__write_file',
        """
        n = await write_file(path='/x', content='y')
        """,
        line=1,
        mentions='write_file',
    ),
    _wrong(
        'await_on_plain__result_variable',
        """
        receipt = send_message(from_='a', to=['b'], type='sms')
        """,
        """
        (await receipt)['delivered']
        """,
        line=1,
        mentions='receipt',
    ),
    _wrong(
        'await_on_plain__builtin',
        """
        n = await len(await list_files())
        """,
        line=1,
        mentions='len',
    ),
    _wrong(
        'await_on_plain__result_of_tool_twice',
        """
        stats = await workspace_stats()
        """,
        """
        users = (await stats)['users']
        """,
        line=1,
        mentions='stats',
    ),
]

_NAMES = [
    _wrong(
        'names__misspelt_tool_in_function_called',
        """
        async def title(key):
            return (await get_tickets(key=key))['title']

        await title('WEB-1')
        """,
        line=2,
        mentions='get_tickets',
    ),
    _wrong(
        'names__misspelt_variable_in_comprehension',
        """
        tickets = await search_tickets(query='e')
        """,
        """
        keys = [t['key'] for t in tickts]
        """,
        line=1,
        mentions='tickts',
    ),
    _wrong(
        'names__module_used_without_import',
        """
        n = math.ceil(2.5)
        """,
        line=1,
        mentions='math',
    ),
    _wrong(
        'names__datetime_used_without_import',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        age = datetime.now() - datetime.fromisoformat(t['created'])
        """,
        line=1,
        mentions='datetime',
    ),
    _wrong(
        'names__asyncio_not_imported',
        """
        a, b = await asyncio.gather(get_me(), known_tags())
        """,
        line=1,
        mentions='asyncio',
    ),
    _wrong(
        'names__counter_not_imported',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        Counter(t['status'] for t in page['items'])
        """,
        line=1,
        mentions='Counter',
    ),
    _wrong(
        'names__shown_type_constructed',
        """
        inv = await create_invoice(party=Party(name='x'), items=[])
        """,
        line=1,
        mentions='Party',
    ),
    _wrong(
        'names__shown_filter_constructed',
        """
        await search_tickets(query='', filter=TicketFilter(labels=['bug']))
        """,
        line=1,
        mentions='TicketFilter',
    ),
    _wrong(
        'names__shown_type_in_isinstance',
        """
        r = await http_get(url='https://example.com/a')
        """,
        """
        if isinstance(r, Page):
            print(r['body'])
        """,
        line=1,
        mentions='Page',
    ),
    _wrong(
        'names__typing_name_as_value',
        """
        from typing import cast
        """,
        """
        data = cast(Any, await get_me())
        """,
        line=1,
        mentions='Any',
    ),
    _wrong(
        'names__typed_dict_called_without_import',
        """
        Row = TypedDict('Row', {'a': int})
        """,
        line=1,
        mentions='TypedDict',
    ),
    _wrong(
        'names__module_of_tools',
        """
        t = await tools.get_ticket(key='WEB-1')
        """,
        line=1,
        mentions='tools',
    ),
    _wrong(
        'names__functions_prefix',
        """
        t = await functions.get_ticket(key='WEB-1')
        """,
        line=1,
        mentions='functions',
    ),
    _wrong(
        'names__missing_module_requests',
        """
        import requests
        text = requests.get('https://example.com').text
        """,
        line=1,
        mentions='requests',
    ),
    _wrong(
        'names__missing_module_pandas_in_function',
        """
        async def frame():
            import pandas as pd
            return pd.DataFrame(await query(sql='SELECT * FROM users'))

        await frame()
        """,
        line=2,
        mentions='pandas',
    ),
    _wrong(
        'names__missing_module_statistics',
        """
        import json
        """,
        """
        from statistics import mean
        mean([1, 2])
        """,
        line=1,
        mentions='statistics',
    ),
    _wrong(
        'names__import_of_tool',
        """
        from tools import get_ticket
        """,
        line=1,
        mentions='tools',
    ),
    _wrong(
        'names__missing_member_of_module',
        """
        import asyncio
        """,
        """
        task = asyncio.create_task(get_me())
        """,
        line=1,
        mentions='create_task',
    ),
    _wrong(
        'names__missing_member_imported',
        """
        from collections import OrderedDict
        """,
        line=1,
        mentions='OrderedDict',
    ),
    _wrong(
        'names__operator_module',
        """
        from operator import itemgetter
        """,
        line=1,
        mentions='operator',
    ),
    _wrong(
        'names__heapq_module',
        """
        import heapq
        """,
        line=1,
        mentions='heapq',
    ),
    _wrong(
        'names__self_forgotten',
        """
        class C:
            def __init__(self):
                self.cache = {}
            def put(self, k):
                cache[k] = 1
        C().put('a')
        """,
        line=5,
        mentions='cache',
    ),
]

_ARGUMENTS = [
    _wrong(
        'arguments__positional',
        """
        t = await get_ticket('WEB-1')
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'arguments__positional_second',
        """
        page = await list_tickets('WEB', 'open')
        """,
        line=1,
        mentions='list_tickets',
    ),
    _wrong(
        'arguments__positional_of_plain_tool',
        """
        n = write_file('/x', 'content')
        """,
        line=1,
        mentions='write_file',
    ),
    _wrong(
        'arguments__positional_in_lambda',
        """
        get = lambda k: get_ticket(k)
        await get('WEB-1')
        """,
        line=1,
        mentions='get_ticket',
    ),
    _wrong(
        'arguments__positional_dict',
        """
        await search_flights({'origin': 'A', 'destination': 'B', 'day': '2024-07-01'})
        """,
        line=1,
        mentions='search_flights',
    ),
    _wrong(
        'arguments__star_list',
        """
        args = ['WEB-1']
        """,
        """
        t = await get_ticket(*args)
        """,
        line=1,
        mentions='get_ticket',
    ),
    _wrong(
        'arguments__misspelt_with_underscore',
        """
        page = await list_tickets(project='WEB', per_page=5)
        """,
        line=1,
        mentions='per_page',
    ),
    _wrong(
        'arguments__camel_case',
        """
        page = await list_tickets(project='WEB', pageSize=5)
        """,
        line=1,
        mentions='pageSize',
    ),
    _wrong(
        'arguments__snake_case_for_github',
        """
        pr = await pull_request_read(method='get', owner='o', repo='r', pull_number=3)
        """,
        line=1,
        mentions='pull_number',
    ),
    _wrong(
        'arguments__snake_case_per_page_for_github',
        """
        c = await list_commits(owner='o', repo='r', per_page=5)
        """,
        line=1,
        mentions='per_page',
    ),
    _wrong(
        'arguments__keyword_like_name',
        """
        send_message(sender='ada', to=['b'], type='sms')
        """,
        line=1,
        mentions='sender',
    ),
    _wrong(
        'arguments__missing_method_of_github',
        """
        issue = await issue_read(owner='o', repo='r', issue_number=1)
        """,
        line=1,
        mentions='method',
    ),
    _wrong(
        'arguments__missing_two',
        """
        r = await search_flights(origin='A')
        """,
        line=1,
        mentions='destination',
    ),
    _wrong(
        'arguments__missing_in_comprehension',
        """
        ts = [await get_ticket() for _ in range(3)]
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'arguments__missing_in_gather',
        """
        import asyncio
        """,
        """
        await asyncio.gather(search_tickets(limit=3), get_me())
        """,
        line=1,
        mentions='query',
    ),
    _wrong(
        'arguments__extra_for_tool_without_any',
        """
        s = await workspace_stats(project='WEB')
        """,
        line=1,
        mentions='project',
    ),
    _wrong(
        'arguments__extra_in_default_of_helper',
        """
        async def read(path):
            return await read_file(path=path, encoding='utf-8')
        await read('/README.md')
        """,
        line=2,
        mentions='encoding',
    ),
    _wrong(
        'arguments__extra_in_nested_function',
        """
        async def outer(n):
            async def inner(i):
                if i:
                    return await list_tickets(project='WEB', page=i)
            return [await inner(i) for i in range(n)]
        await outer(2)
        """,
        line=4,
        mentions='page',
    ),
    _wrong(
        'arguments__given_twice',
        """
        t = await get_ticket(key='WEB-1', key='WEB-2')
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'arguments__partial_misspelt',
        """
        from functools import partial
        """,
        """
        web = partial(list_tickets, proj='WEB')
        await web()
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'arguments__own_helper_wrong_count',
        """
        def f(a, b):
            return a + b
        """,
        """
        f(1)
        """,
        line=1,
        mentions='b',
    ),
    _wrong(
        'arguments__own_helper_unknown_keyword',
        """
        def f(a, b=1):
            return a + b
        """,
        """
        f(1, z=2)
        """,
        line=1,
        mentions='z',
    ),
    _wrong(
        'arguments__own_class_wrong_count',
        """
        class Row:
            def __init__(self, a, b):
                self.a = a
        """,
        """
        Row(1)
        """,
        line=1,
        mentions='Row',
    ),
    _wrong(
        'arguments__dataclass_unknown_field',
        """
        from dataclasses import dataclass
        """,
        """
        @dataclass
        class Row:
            key: str
        """,
        """
        Row(key='a', size=1)
        """,
        line=1,
        mentions='size',
    ),
]

_LITERALS = [
    _wrong(
        'literals__status_closed',
        """
        page = await list_tickets(project='WEB', status='closed')
        """,
        line=1,
        mentions='closed',
    ),
    _wrong(
        'literals__capitalised',
        """
        page = await list_tickets(project='WEB', status='Open')
        """,
        line=1,
        mentions='Open',
    ),
    _wrong(
        'literals__lower_for_upper',
        """
        r = await list_issues(owner='o', repo='r', state='open')
        """,
        line=1,
        mentions='open',
    ),
    _wrong(
        'literals__upper_for_lower',
        """
        r = await issue_write(method='update', owner='o', repo='r', issue_number=1, state='CLOSED')
        """,
        line=1,
        mentions='CLOSED',
    ),
    _wrong(
        'literals__variable',
        """
        status = 'high'
        """,
        """
        await list_tickets(project='WEB', status=status)
        """,
        line=1,
        mentions='high',
    ),
    _wrong(
        'literals__conditional',
        """
        n = 3
        """,
        """
        await summarize(text='x', style='long' if n else 'plain')
        """,
        line=1,
        mentions='long',
    ),
    _wrong(
        'literals__github_method',
        """
        await issue_read(method='get_files', owner='o', repo='r', issue_number=1)
        """,
        line=1,
        mentions='get_files',
    ),
    _wrong(
        'literals__in_nested_object',
        """
        await update_issue_labels(owner='o', repo='r', issue_number=1, labels=[{'name': 'x', 'confidence': 'high'}])
        """,
        line=1,
        mentions='high',
    ),
]

_TYPES = [
    _wrong(
        'types__int_for_key',
        """
        await get_ticket(key=1)
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'types__str_for_number',
        """
        await issue_read(method='get', owner='o', repo='r', issue_number='1')
        """,
        line=1,
        mentions='issue_number',
    ),
    _wrong(
        'types__list_for_number',
        """
        await issue_read(method='get', owner='o', repo='r', issue_number=[1, 2])
        """,
        line=1,
        mentions='issue_number',
    ),
    _wrong(
        'types__str_for_list_of_str',
        """
        send_message(from_='a', to='bob', type='sms')
        """,
        line=1,
        mentions='to',
    ),
    _wrong(
        'types__str_for_labels',
        """
        await update_ticket(key='WEB-1', labels='bug')
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'types__list_of_int_for_list_of_str',
        """
        await update_ticket(key='WEB-1', labels=[1, 2])
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'types__dict_for_str',
        """
        await read_file(path={'path': '/README.md'})
        """,
        line=1,
        mentions='path',
    ),
    _wrong(
        'types__record_for_key',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        await ticket_comments(id=t)
        """,
        line=1,
        mentions='id',
    ),
    _wrong(
        'types__page_for_tickets',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        await close_tickets(tickets=page)
        """,
        line=1,
        mentions='tickets',
    ),
    _wrong(
        'types__optional_required_none',
        """
        await get_ticket(key=None)
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'types__record_misses_field',
        """
        await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'price': 2}])
        """,
        line=1,
        mentions='unit_price',
    ),
    _wrong(
        'types__record_field_type',
        """
        await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'unit_price': 'cheap'}])
        """,
        line=1,
        mentions='unit_price',
    ),
    _wrong(
        'types__record_as_list',
        """
        await create_invoice(party={'name': 'x'}, items={'name': 'a', 'unit_price': 2})
        """,
        line=1,
        mentions='items',
    ),
    _wrong(
        'types__record_name_missing',
        """
        await create_invoice(party={'vat_id': 'x'}, items=[])
        """,
        line=1,
        mentions='name',
    ),
    _wrong(
        'types__record_comprehension_missing_key',
        """
        paths = await list_files(path='/src')
        """,
        """
        texts = {p: await read_file(path=p) for p in paths}
        """,
        """
        await push_files(owner='o', repo='r', branch='b', message='m', files=[{'path': p, 'text': t} for p, t in texts.items()])
        """,
        line=1,
        mentions='content',
    ),
    _wrong(
        'types__files_as_dict',
        """
        texts = {'/a': 'x'}
        """,
        """
        await push_files(owner='o', repo='r', branch='b', message='m', files=texts)
        """,
        line=1,
        mentions='files',
    ),
    _wrong(
        'types__files_as_paths',
        """
        await push_files(owner='o', repo='r', branch='b', message='m', files=['/a', '/b'])
        """,
        line=1,
        mentions='files',
    ),
    _wrong(
        'types__filter_unknown_key',
        """
        await search_tickets(query='', filter={'label': ['bug']})
        """,
        line=1,
        mentions='label',
    ),
    _wrong(
        'types__filter_str_for_list',
        """
        await search_tickets(query='', filter={'labels': 'bug'})
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'types__filter_as_text',
        """
        await search_tickets(query='', filter='status:open')
        """,
        line=1,
        mentions='filter',
    ),
    _wrong(
        'types__params_as_dict',
        """
        await query(sql='SELECT * FROM users WHERE id = :id', params={'id': 1})
        """,
        line=1,
        mentions='params',
    ),
    _wrong(
        'types__params_as_scalar',
        """
        await query(sql='SELECT * FROM users WHERE id = ?', params=1)
        """,
        line=1,
        mentions='params',
    ),
    _wrong(
        'types__fields_value_list',
        """
        await update_ticket(key='WEB-1', fields={'tags': ['a']})
        """,
        line=1,
        mentions='fields',
    ),
    _wrong(
        'types__headers_as_list',
        """
        await http_get(url='https://example.com/a', headers=[('a', 'b')])
        """,
        line=1,
        mentions='headers',
    ),
    _wrong(
        'types__headers_number_value',
        """
        await http_get(url='https://example.com/a', headers={'x-count': 5})
        """,
        line=1,
        mentions='headers',
    ),
    _wrong(
        'types__bool_result_for_str',
        """
        found = await file_exists(path='/x')
        """,
        """
        await read_file(path=found)
        """,
        line=1,
        mentions='path',
    ),
    _wrong(
        'types__tuple_result_for_str',
        """
        pos = await geocode(place='Oslo')
        """,
        """
        await geocode(place=pos)
        """,
        line=1,
        mentions='place',
    ),
    _wrong(
        'types__union_parameter_list',
        """
        await find_user(id=[1, 2])
        """,
        line=1,
        mentions='id',
    ),
    _wrong(
        'types__json_text_for_record',
        """
        import json
        """,
        """
        await create_invoice(party=json.dumps({'name': 'x'}), items=[])
        """,
        line=1,
        mentions='party',
    ),
    _wrong(
        'types__json_text_for_list',
        """
        import json
        """,
        """
        await update_ticket(key='WEB-1', labels=json.dumps(['a']))
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'types__joined_text_for_list',
        """
        codes = ['AF', 'LH']
        """,
        """
        await search_flights(origin='A', destination='B', day='2024-07-01', airlines=','.join(codes))
        """,
        line=1,
        mentions='airlines',
    ),
    _wrong(
        'types__split_list_for_text',
        """
        await summarize(text=(await read_file(path='/README.md')).splitlines())
        """,
        line=1,
        mentions='text',
    ),
    _wrong(
        'types__list_result_for_text',
        """
        write_file(path='/x', content=await list_files())
        """,
        line=1,
        mentions='content',
    ),
    _wrong(
        'types__dict_result_for_text',
        """
        write_file(path='/x', content=await workspace_stats())
        """,
        line=1,
        mentions='content',
    ),
]

_KEYS = [
    _wrong(
        'keys__of_page',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        page['tickets']
        """,
        line=1,
        mentions='tickets',
    ),
    _wrong(
        'keys__cursor_at_wrong_level',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        cursor = page['next_cursor']
        """,
        line=1,
        mentions='next_cursor',
    ),
    _wrong(
        'keys__in_walrus_loop',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        while cursor := page['page']['cursor']:
            page = await list_tickets(project='WEB', cursor=cursor)
        """,
        line=1,
        mentions='cursor',
    ),
    _wrong(
        'keys__in_sort_key',
        """
        ts = await search_tickets(query='e')
        """,
        """
        ts.sort(key=lambda t: t['created_at'])
        """,
        line=1,
        mentions='created_at',
    ),
    _wrong(
        'keys__in_sorted_tuple_key',
        """
        ts = await search_tickets(query='e')
        """,
        """
        sorted(ts, key=lambda t: (-t['prio'], t['key']))
        """,
        line=1,
        mentions='prio',
    ),
    _wrong(
        'keys__in_generator_sum',
        """
        ts = await search_tickets(query='e')
        """,
        """
        sum(t['hours'] for t in ts)
        """,
        line=1,
        mentions='hours',
    ),
    _wrong(
        'keys__in_nested_comprehension',
        """
        [s for ms in (await team_members()).values() for m in ms for s in m['skill']]
        """,
        line=1,
        mentions='skill',
    ),
    _wrong(
        'keys__in_dict_comprehension',
        """
        {m['fullname']: m for ms in (await team_members()).values() for m in ms}
        """,
        line=1,
        mentions='fullname',
    ),
    _wrong(
        'keys__in_f_string_format',
        """
        node = await file_tree()
        """,
        """
        print(f"{node['children'][0]['size_bytes']:>10}")
        """,
        line=1,
        mentions='size_bytes',
    ),
    _wrong(
        'keys__of_recursive_child_in_function',
        """
        async def walk():
            node = await file_tree()
            return [c['path'] for c in node['children']]
        await walk()
        """,
        line=3,
        mentions='path',
    ),
    _wrong(
        'keys__of_group_by_author',
        """
        comments = await ticket_comments(id='WEB-1')
        """,
        """
        for author, items in comments.items():
            print(author, items[0]['body'])
        """,
        line=2,
        mentions='body',
    ),
    _wrong(
        'keys__of_gathered_batch',
        """
        import asyncio
        """,
        """
        out = []
        """,
        """
        for batch in [['WEB-1', 'WEB-2'], ['WEB-3']]:
            out += [t['id'] for t in await asyncio.gather(*[get_ticket(key=k) for k in batch])]
        """,
        line=2,
        mentions='id',
    ),
    _wrong(
        'keys__of_flight_in_min',
        """
        r = await search_flights(origin='A', destination='B', day='2024-07-01')
        """,
        """
        best = min(r['flights'], key=lambda f: f['cost'])
        """,
        line=1,
        mentions='cost',
    ),
    _wrong(
        'keys__of_optional_user',
        """
        user = await find_user(id=1)
        """,
        """
        user['email']
        """,
        line=1,
        mentions='email',
    ),
    _wrong(
        'keys__of_optional_after_test',
        """
        user = await find_user(id=1)
        """,
        """
        if user:
            print(user['email'])
        """,
        line=2,
        mentions='email',
    ),
    _wrong(
        'keys__of_nested_assignee',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        t['assignee']['name'] if t['assignee'] else None
        """,
        line=1,
        mentions='name',
    ),
    _wrong(
        'keys__attribute_of_nested',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        login = t['assignee'].login
        """,
        line=1,
        mentions='assignee',
    ),
    _wrong(
        'keys__attribute_in_lambda',
        """
        ts = await search_tickets(query='e')
        """,
        """
        max(ts, key=lambda t: t.priority)
        """,
        line=1,
        mentions='priority',
    ),
    _wrong(
        'keys__of_receipt_in_print',
        """
        print(send_message(from_='a', to=['b'], type='sms')['id'])
        """,
        line=1,
        mentions='id',
    ),
]

_SESSIONS = [
    _wrong(
        'later__key_of_page_from_first_snippet',
        """
        page = await list_tickets(project='WEB')
        len(page['items'])
        """,
        """
        [t['key'] for t in page['tickets']]
        """,
        line=1,
        mentions='tickets',
    ),
    _wrong(
        'later__key_of_list_element_from_first_snippet',
        """
        tickets = await search_tickets(query='e')
        """,
        """
        for t in tickets:
            print(t['name'])
        """,
        line=2,
        mentions='name',
    ),
    _wrong(
        'later__key_after_extending_over_snippets',
        """
        page = await list_tickets(project='WEB')
        tickets = page['items']
        """,
        """
        page = await list_tickets(project='WEB', cursor=page['page']['next_cursor'])
        tickets += page['items']
        """,
        """
        sorted(tickets, key=lambda t: t['owner'])
        """,
        line=1,
        mentions='owner',
    ),
    _wrong(
        'later__key_after_reassignment_to_other_result',
        """
        result = await list_tickets(project='WEB')
        """,
        """
        result = await workspace_stats()
        """,
        """
        result['items']
        """,
        line=1,
        mentions='items',
    ),
    _wrong(
        'later__key_of_union_result',
        """
        r = await update_ticket(key='WEB-4', labels=['x'])
        """,
        """
        if r['status'] == 'error':
            print(r['message'])
        """,
        line=2,
        mentions='message',
    ),
    _wrong(
        'later__attribute_of_result',
        """
        stats = await workspace_stats()
        """,
        """
        n = 1
        """,
        """
        stats.uptime
        """,
        line=1,
        mentions='uptime',
    ),
    _wrong(
        'later__nested_optional_key',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        if t['assignee']:
            print(t['assignee']['username'])
        """,
        line=2,
        mentions='username',
    ),
    _wrong(
        'later__dict_of_results_by_key',
        """
        by_key = {t['key']: t for t in await search_tickets(query='e')}
        """,
        """
        [by_key[k]['summary'] for k in ('WEB-1', 'WEB-2')]
        """,
        line=1,
        mentions='summary',
    ),
    _wrong(
        'later__gathered_results',
        """
        import asyncio
        a, user = await asyncio.gather(geocode(place='Oslo'), find_user(id=1))
        """,
        """
        print(user['name'])
        user['lat']
        """,
        line=2,
        mentions='lat',
    ),
    _wrong(
        'later__wrong_literal_from_variable',
        """
        status = 'closed'
        """,
        """
        await list_tickets(project='WEB', status=status)
        """,
        line=1,
        mentions='closed',
    ),
    _wrong(
        'later__wrong_literal_constant',
        """
        project = 'WEB'
        """,
        """
        keys = ['WEB-1']
        """,
        """
        for k in keys:
            await update_ticket(key=k, status='IN_PROGRESS')
        """,
        line=2,
        mentions='IN_PROGRESS',
    ),
    _wrong(
        'later__misspelt_tool',
        """
        files = await list_files()
        """,
        """
        more = await lists_files(path='/data')
        """,
        line=1,
        mentions='lists_files',
    ),
    _wrong(
        'later__misspelt_tool_in_helper_called',
        """
        async def load(path):
            return await read_file(path=path)
        """,
        """
        async def load_all(paths):
            return [await readfile(path=p) for p in paths]
        await load_all(['/README.md'])
        """,
        line=2,
        mentions='readfile',
    ),
    _wrong(
        'later__misspelt_own_helper',
        """
        async def load_all(paths):
            return [await read_file(path=p) for p in paths]
        """,
        """
        texts = await load_al(['/README.md'])
        """,
        line=1,
        mentions='load_al',
    ),
    _wrong(
        'later__own_helper_wrong_keyword',
        """
        async def load(path, upper=False):
            return await read_file(path=path)
        """,
        """
        await load(pth='/README.md')
        """,
        line=1,
        mentions='pth',
    ),
    _wrong(
        'later__own_helper_missing_argument',
        """
        def fmt(text, width):
            return text[:width]
        """,
        """
        fmt('abc')
        """,
        line=1,
        mentions='width',
    ),
    _wrong(
        'later__own_helper_missing_await',
        """
        async def load(path):
            return await read_file(path=path)
        """,
        """
        load('/README.md').splitlines()
        """,
        line=1,
        mentions='load',
    ),
    _wrong(
        'later__coroutine_of_first_snippet_used',
        """
        page = list_tickets(project='WEB')
        """,
        """
        page['items']
        """,
        line=1,
        mentions='page',
    ),
    _wrong(
        'later__coroutine_in_dict_of_first_snippet_used',
        """
        texts = {p: read_file(path=p) for p in ('/README.md',)}
        """,
        """
        texts['/README.md'].upper()
        """,
        line=1,
        mentions='texts',
    ),
    _wrong(
        'later__missing_await_argument',
        """
        path = '/README.md'
        """,
        """
        s = await summarize(text=read_file(path=path))
        """,
        line=1,
        mentions='text',
    ),
    _wrong(
        'later__missing_await_on_loop',
        """
        words = ['page', 'mode']
        """,
        """
        for w in words:
            for t in search_tickets(query=w):
                print(t['key'])
        """,
        line=2,
        mentions='search_tickets',
    ),
    _wrong(
        'later__missing_await_statement',
        """
        keys = ['WEB-1', 'WEB-2']
        """,
        """
        for k in keys:
            update_ticket(key=k, status='done')
        len(keys)
        """,
        line=2,
        mentions='update_ticket',
    ),
    _wrong(
        'later__missing_await_gather',
        """
        import asyncio
        keys = ['WEB-1', 'WEB-2']
        """,
        """
        tickets = asyncio.gather(*[get_ticket(key=k) for k in keys])
        [t['key'] for t in tickets]
        """,
        line=2,
        mentions='gather',
    ),
    _wrong(
        'later__await_on_plain',
        """
        text = 'x'
        """,
        """
        await write_file(path='/x', content=text)
        """,
        line=1,
        mentions='write_file',
    ),
    _wrong(
        'later__await_on_result',
        """
        stats = await workspace_stats()
        """,
        """
        (await stats)['users']
        """,
        line=1,
        mentions='stats',
    ),
    _wrong(
        'later__wrong_type_from_variable',
        """
        n = 3
        """,
        """
        await get_ticket(key=n)
        """,
        line=1,
        mentions='key',
    ),
    _wrong(
        'later__wrong_type_from_result',
        """
        files = await list_files()
        """,
        """
        await read_file(path=files)
        """,
        line=1,
        mentions='path',
    ),
    _wrong(
        'later__wrong_type_optional_member',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        send_message(from_='bot', to=t['assignee'], type='email')
        """,
        line=1,
        mentions='to',
    ),
    _wrong(
        'later__wrong_type_text_for_list',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        send_message(from_='bot', to=t['assignee']['email'], type='email')
        """,
        line=1,
        mentions='to',
    ),
    _wrong(
        'later__wrong_type_list_of_records',
        """
        tickets = await search_tickets(query='e')
        """,
        """
        await update_ticket(key='WEB-1', labels=tickets)
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'later__wrong_type_record_of_other_kind',
        """
        user = await find_user(id=1)
        inv = None
        """,
        """
        inv = await create_invoice(party=user['roles'], items=[])
        """,
        line=1,
        mentions='party',
    ),
    _wrong(
        'later__wrong_type_page_for_tickets',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        keys = [t['key'] for t in page['items']]
        """,
        """
        await close_tickets(tickets=page)
        """,
        line=1,
        mentions='tickets',
    ),
    _wrong(
        'later__missing_argument',
        """
        base = 'CDG'
        """,
        """
        await search_flights(origin=base, destination='OSL')
        """,
        line=1,
        mentions='day',
    ),
    _wrong(
        'later__missing_argument_in_gather',
        """
        import asyncio
        paths = ['/README.md']
        """,
        """
        await asyncio.gather(*[read_file() for p in paths])
        """,
        line=1,
        mentions='path',
    ),
    _wrong(
        'later__positional_argument',
        """
        key = 'WEB-1'
        """,
        """
        await ticket_comments(key)
        """,
        line=1,
        mentions='ticket_comments',
    ),
    _wrong(
        'later__misspelt_argument_in_f_string',
        """
        uid = 1
        """,
        """
        print(f"{(await find_user(identifier=uid))['name']}")
        """,
        line=1,
        mentions='identifier',
    ),
    _wrong(
        'later__misspelt_argument_in_lambda',
        """
        places = ['Oslo']
        """,
        """
        get = lambda p: geocode(place_name=p)
        """,
        line=1,
        mentions='place_name',
    ),
    _wrong(
        'later__misspelt_argument_in_else',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        cursor = page['page']['next_cursor']
        if cursor is None:
            print('end')
        else:
            page = await list_tickets(project='WEB', cursr=cursor)
        """,
        line=5,
        mentions='cursr',
    ),
    _wrong(
        'later__misspelt_argument_in_try',
        """
        path = '/nope'
        """,
        """
        try:
            text = await read_file(pth=path)
        except FileNotFoundError:
            text = ''
        """,
        line=2,
        mentions='pth',
    ),
    _wrong(
        'later__misspelt_argument_in_nested_helper',
        """
        files = await list_files(path='/src')
        """,
        """
        async def outer():
            async def inner(p):
                return await summarize(tex=await read_file(path=p))
            return [await inner(f) for f in files]
        await outer()
        """,
        line=3,
        mentions='tex',
    ),
    _wrong(
        'later__record_field_missing',
        """
        items = []
        """,
        """
        items.append({'name': 'Pen', 'unit_price': 2})
        await create_invoice(party={'name': 'x'}, items=items + [{'name': 'Ink', 'amount': 3}])
        """,
        line=2,
        mentions='unit_price',
    ),
    _wrong(
        'later__variable_misspelt',
        """
        tickets = await search_tickets(query='e')
        """,
        """
        len(tickts)
        """,
        line=1,
        mentions='tickts',
    ),
    _wrong(
        'later__variable_of_function_scope',
        """
        async def load():
            page = await list_tickets(project='WEB')
            return len(page['items'])
        n = await load()
        """,
        """
        page['items'][0]
        """,
        line=1,
        mentions='page',
    ),
    _wrong(
        'later__variable_of_comprehension',
        """
        names = [p.upper() for p in await list_files()]
        """,
        """
        print(p)
        """,
        line=1,
        mentions='p',
    ),
    _wrong(
        'later__module_not_imported',
        """
        text = await read_file(path='/README.md')
        """,
        r"""
        n = 1
        re.findall(r'\d', text)
        """,
        line=2,
        mentions='re',
    ),
    _wrong(
        'later__module_not_imported_in_helper',
        """
        path = '/data/config.json'
        """,
        """
        async def cfg():
            return json.loads(await read_file(path=path))
        await cfg()
        """,
        line=2,
        mentions='json',
    ),
    _wrong(
        'later__missing_module',
        """
        url = 'https://example.com/a'
        """,
        """
        import httpx
        """,
        line=1,
        mentions='httpx',
    ),
    _wrong(
        'later__shadowed_tool_by_helper_with_other_arguments',
        """
        async def get_ticket(number):
            return {'key': f'WEB-{number}'}
        """,
        """
        await get_ticket(key='WEB-1')
        """,
        line=1,
        mentions='get_ticket',
    ),
    _wrong(
        'later__helper_redefined_called_old_way',
        """
        def fmt(a):
            return a
        """,
        """
        def fmt(a, b):
            return a + b
        """,
        """
        fmt(1)
        """,
        line=1,
        mentions='fmt',
    ),
    _wrong(
        'later__class_wrong_arguments',
        """
        class Cart:
            def __init__(self):
                self.items = []
            def add(self, name, price):
                self.items.append((name, price))
        cart = Cart()
        """,
        """
        cart.add('Pen')
        """,
        line=1,
        mentions='add',
    ),
    _wrong(
        'later__github_wrong_method_literal',
        """
        owner, repo = 'o', 'r'
        """,
        """
        await issue_read(method='comments', owner=owner, repo=repo, issue_number=1)
        """,
        line=1,
        mentions='comments',
    ),
    _wrong(
        'later__github_missing_message',
        """
        files = [{'path': 'a', 'content': 'b'}]
        """,
        """
        await push_files(owner='o', repo='r', branch='main', files=files)
        """,
        line=1,
        mentions='message',
    ),
    _wrong(
        'later__github_wrong_files',
        """
        paths = ['a.py', 'b.py']
        """,
        """
        await push_files(owner='o', repo='r', branch='main', files=paths, message='m')
        """,
        line=1,
        mentions='files',
    ),
    _wrong(
        'later__after_guard_raise_on_missing',
        """
        user = await find_user(id=1)
        if user is not None:
            name = user['name']
        else:
            raise ValueError('no user')
        """,
        """
        await sumarize(text=name)
        """,
        line=1,
        mentions='sumarize',
    ),
    _wrong(
        'later__after_isinstance_guard',
        """
        import json
        stats = await workspace_stats()
        if not isinstance(stats, dict):
            stats = json.loads(stats)
        """,
        """
        await sumarize(text='x')
        """,
        line=1,
        mentions='sumarize',
    ),
    _wrong(
        'after_failure__misspelt_tool',
        """
        # fails
        text = await read_file(path='/nope')
        """,
        """
        await serach_tickets(query='e')
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'after_failure__misspelt_argument',
        """
        # fails
        text = await read_file(path='/nope')
        """,
        """
        await read_file(pth='/README.md')
        """,
        line=1,
        mentions='pth',
    ),
    _wrong(
        'after_failure__name_never_assigned',
        """
        # fails
        text = await read_file(path='/nope')
        size = len(text)
        """,
        """
        sizes
        """,
        line=1,
        mentions='sizes',
    ),
    _wrong(
        'after_failure__key_of_typed_name',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        # fails
        text = await read_file(path='/nope')
        """,
        """
        page['tickets']
        """,
        line=1,
        mentions='tickets',
    ),
    _wrong(
        'after_failure__missing_await',
        """
        # fails
        x = 1 / 0
        """,
        """
        names = [f.upper() for f in list_files()]
        """,
        line=1,
        mentions='list_files',
    ),
    _wrong(
        'fourth__wrong_key',
        """
        a = await search_tickets(query='page')
        """,
        """
        b = await search_tickets(query='mode')
        """,
        """
        both = a + b
        len(both)
        """,
        """
        sum(t['score'] for t in both)
        """,
        line=1,
        mentions='score',
    ),
    _wrong(
        'fourth__wrong_argument_after_many_names',
        """
        import json
        """,
        """
        cfg = json.loads(await read_file(path='/data/config.json'))
        """,
        """
        names = [o['name'] for o in cfg['owners']]
        """,
        """
        for n in names:
            await search_tickets(query=n, limits=cfg['limits']['rpm'])
        """,
        line=2,
        mentions='limits',
    ),
]

_SCOPE = [
    _wrong(
        'after_return__in_same_snippet',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        if t is None:
            return 'missing'
        """,
        """
        return t['titel']
        """,
        line=1,
        mentions='titel',
    ),
    _wrong(
        'ignore_comment__type_ignore_argument',
        """
        r = await list_tickets(proj='e')  # type: ignore[call-arg]
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'ignore_comment__noqa_and_pyright',
        """
        r = await list_tickets(proj='e')  # noqa  # pyright: ignore
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'ignore_comment__first_line_of_first_snippet',
        """
        # type: ignore
        x = 1
        """,
        """
        r = await list_tickets(proj='e')
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'ignore_comment__first_line',
        """
        # type: ignore
        r = await list_tickets(proj='e')
        """,
        line=2,
        mentions='proj',
    ),
    _wrong(
        'loop__break_on_none_of_tool',
        """
        found = []
        """,
        """
        for i in range(10):
            user = await find_user(id=i + 1)
            if user is None:
                break
            found.appendd(await sumarize(text=user['name']))
        """,
        line=5,
        mentions='sumarize',
    ),
    _wrong(
        'loop__while_true_break_if_not_cursor',
        """
        cursor = None
        """,
        """
        while True:
            page = await list_tickets(project='WEB', cursor=cursor)
            cursor = page['page']['next_cursor']
            if not cursor:
                break
        """,
        """
        await sumarize(text='x')
        """,
        line=1,
        mentions='sumarize',
    ),
    _wrong(
        'loop__while_walrus_truthy',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        while cursor := page['page']['next_cursor']:
            page = await list_tickets(project='WEB', cursor=cursor)
        """,
        """
        await sumarize(text='x')
        """,
        line=1,
        mentions='sumarize',
    ),
    _wrong(
        'guard__comprehension_filter_is_none',
        """
        users = [await find_user(id=i) for i in (1, 9)]
        """,
        """
        lost = [await serach_tickets(query='x') for u in users if u is None]
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'guard__default_argument_none',
        """
        async def f(t=None):
            if t is None:
                t = await get_ticket(keyy='WEB-1')
            return t
        await f()
        """,
        line=3,
        mentions='keyy',
    ),
    _wrong(
        'guard__placeholder_none',
        """
        best = None
        """,
        """
        if best is None:
            best = await get_ticket(keyy='WEB-1')
        """,
        line=2,
        mentions='keyy',
    ),
    _wrong(
        'guard__retry_until_value',
        """
        rate = None
        """,
        """
        while rate is None:
            try:
                rate = await flaky_rate(currenc='USD')
            except RuntimeError:
                pass
        """,
        line=3,
        mentions='currenc',
    ),
    _wrong(
        'guard__list_result_empty',
        """
        ts = await search_tickets(query='zzz')
        """,
        """
        if not ts:
            ts = await search_tickets(query='', limt=3)
        """,
        line=2,
        mentions='limt',
    ),
    _wrong(
        'guard__len_zero',
        """
        ts = await search_tickets(query='zzz')
        """,
        """
        if len(ts) == 0:
            ts = await search_tickets(query='', limt=3)
        """,
        line=2,
        mentions='limt',
    ),
    _wrong(
        'guard__email_not_branch',
        """
        t = await get_ticket(key='WEB-3')
        """,
        """
        mail = t['assignee']['email']
        """,
        """
        if not mail:
            send_message(from_='bot', too=['x'], type='sms')
        """,
        line=2,
        mentions='too',
    ),
    _wrong(
        'guard__manager_chain',
        """
        user = await find_user(id=3)
        """,
        """
        while user.get('manager_id') is not None:
            user = await find_user(id=user['manager_id'])
        """,
        """
        top = user['name']
        """,
        """
        await find_user(idd=top)
        """,
        line=1,
        mentions='idd',
    ),
    _wrong(
        'guard__next_page_is_none_else',
        """
        r = await search_flights(origin='A', destination='B', day='2024-07-01')
        """,
        """
        if r['next_page'] is None:
            print('last')
        else:
            r = await search_flights(origin='A', destination='B', day='2024-07-01', pge=r['next_page'])
        """,
        line=4,
        mentions='pge',
    ),
]

_ANNOTATIONS = [
    _wrong(
        'annotated__helper_parameter_shown_type_wrong_key',
        """
        def title(t: Ticket) -> str:
            return t['titel']
        title(await get_ticket(key='WEB-1'))
        """,
        line=2,
        mentions='titel',
    ),
    _wrong(
        'annotated__any_result',
        """
        x: Any = await get_me()
        """,
        """
        y: Any = await serach_tickets(query='e')
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'annotated__lambda_call_wrong_argument',
        """
        jobs = {
            'a': lambda: get_ticket(keyy='WEB-1'),
            'b': lambda: get_me(),
        }
        await jobs['a']()
        """,
        line=2,
        mentions='keyy',
    ),
    _wrong(
        'annotated__helper_passes_wrong_type',
        """
        async def load(n: int):
            # numbers only
            return await get_ticket(key=n)
        await load(1)
        """,
        line=3,
        mentions='key',
    ),
    _wrong(
        'annotated__class_method_wrong_argument',
        """
        class Client:
            def __init__(self, project):
                self.project = project
            async def page(self):
                return await list_tickets(project_key=self.project)
        await Client('WEB').page()
        """,
        line=5,
        mentions='project_key',
    ),
    _wrong(
        'annotated__class_method_missing_await',
        """
        class Client:
            async def title(self, key):
                return get_ticket(key=key)['title']
        await Client().title('WEB-1')
        """,
        line=3,
        mentions='get_ticket',
    ),
    _wrong(
        'annotated__decorated_helper_wrong_argument',
        """
        def logged(fn):
            return fn
        """,
        """
        @logged
        async def load(key):
            return await get_ticket(keyy=key)
        await load('WEB-1')
        """,
        line=3,
        mentions='keyy',
    ),
    _wrong(
        'annotated__second_of_two_statements_on_line',
        """
        a = 1; b = await get_ticket(keyy='WEB-1')
        """,
        line=1,
        mentions='keyy',
    ),
    _wrong(
        'annotated__multiline_call',
        """
        page = await list_tickets(
            project='WEB',
            statuss='open',
        )
        """,
        line=3,
        mentions='statuss',
    ),
    WrongProgram(
        'annotated__crlf_and_tabs', (("if True:\r\n\tt = await get_ticket(keyy='WEB-1')\r"),), line=2, mentions='keyy'
    ),
    _wrong(
        'annotated__after_triple_quoted_text',
        '''
        text = """
        not code: await get_ticket(keyy='WEB-1')
        """
        t = await get_ticket(keyy=text)
        ''',
        line=4,
        mentions='keyy',
    ),
    _wrong(
        'annotated__set_comprehension_wrong_key',
        """
        {l for t in await search_tickets(query='e') for l in t['lables']}
        """,
        line=1,
        mentions='lables',
    ),
    _wrong(
        'annotated__walrus_wrong_key',
        """
        if (t := await get_ticket(key='WEB-1')) and t['ky']:
            print(t)
        """,
        line=1,
        mentions='ky',
    ),
    _wrong(
        'annotated__starred_wrong_key',
        """
        first, *rest = (await list_tickets(project='WEB'))['itmes']
        """,
        line=1,
        mentions='itmes',
    ),
    _wrong(
        'annotated__subscript_slice_wrong_key',
        """
        (await list_tickets(project='WEB'))['itmes'][:2]
        """,
        line=1,
        mentions='itmes',
    ),
    _wrong(
        'annotated__key_written_instead_of_read',
        """
        t = await get_ticket(key='WEB-1')
        t['labels'] = t['asignee']
        """,
        line=2,
        mentions='asignee',
    ),
    _wrong(
        'annotated__zip_of_results_wrong_key',
        """
        a = await search_tickets(query='e')
        b = await search_tickets(query='page')
        [(x['key'], y['texts']) for x, y in zip(a, b)]
        """,
        line=3,
        mentions='texts',
    ),
    _wrong(
        'annotated__enumerate_wrong_key',
        """
        for i, m in enumerate((await team_members())['core'], 1):
            print(i, m['nme'])
        """,
        line=2,
        mentions='nme',
    ),
    _wrong(
        'annotated__any_all_wrong_key',
        """
        ts = await search_tickets(query='e')
        any('bug' in t['label'] for t in ts)
        """,
        line=2,
        mentions='label',
    ),
    _wrong(
        'annotated__max_default_wrong_key',
        """
        ts = await search_tickets(query='e')
        max([t['estimat'] or 0 for t in ts], default=0)
        """,
        line=2,
        mentions='estimat',
    ),
    _wrong(
        'annotated__dict_items_values_wrong_key',
        """
        for team, ms in (await team_members()).items():
            print(team, [m['roll'] for m in ms])
        """,
        line=2,
        mentions='roll',
    ),
    _wrong(
        'annotated__copied_list_wrong_key',
        """
        ts = list(await search_tickets(query='e'))
        ts = sorted(ts, key=lambda t: t['key'])[:3]
        [t['ky'] for t in reversed(ts)]
        """,
        line=3,
        mentions='ky',
    ),
    _wrong(
        'annotated__appended_list_wrong_key',
        """
        found = []
        for q in ('page', 'mode'):
            found.extend(await search_tickets(query=q))
        [t['ky'] for t in found]
        """,
        line=4,
        mentions='ky',
    ),
]

_LEXICAL = [
    _wrong(
        'gather_alias_not_awaited_subscripted',
        """
        import asyncio as aio
        x = aio.gather(get_me(), known_tags())[0]
        """,
        line=2,
        mentions='aio',
    ),
    _wrong(
        'create_task_of_tool',
        """
        import asyncio
        t = asyncio.create_task(get_me())
        """,
        line=2,
        mentions='create_task',
    ),
    _wrong(
        'wait_for_of_tool',
        """
        import asyncio
        t = await asyncio.wait_for(get_me(), timeout=3)
        """,
        line=2,
        mentions='wait_for',
    ),
    _wrong(
        'as_completed_of_tools',
        """
        import asyncio
        for c in asyncio.as_completed([get_me(), known_tags()]):
            print(await c)
        """,
        line=2,
        mentions='as_completed',
    ),
    _wrong(
        'semaphore',
        """
        import asyncio
        sem = asyncio.Semaphore(3)
        """,
        line=2,
        mentions='Semaphore',
    ),
    _wrong(
        'task_group',
        """
        import asyncio
        async with asyncio.TaskGroup() as tg:
            tg.create_task(get_me())
        """,
        line=2,
        mentions='TaskGroup',
    ),
    _wrong(
        'input_builtin',
        """
        name = input('name? ')
        """,
        line=1,
        mentions='input',
    ),
    _wrong(
        'globals_builtin',
        """
        if 'x' in globals():
            print(x)
        """,
        line=1,
        mentions='globals',
    ),
    _wrong(
        'sync_loop_run_until_complete',
        """
        import asyncio
        r = asyncio.get_event_loop().run_until_complete(get_me())
        """,
        line=2,
        mentions='get_event_loop',
    ),
    _wrong(
        'positional_only_in_method_style',
        """
        data = (await http_get(url='https://example.com/a')).json()
        """,
        line=1,
        mentions='json',
    ),
    _wrong(
        'response_text_attribute',
        """
        r = await http_get(url='https://example.com/a')
        print(r.text)
        """,
        line=2,
        mentions='text',
    ),
    _wrong(
        'response_status_attribute',
        """
        r = await http_get(url='https://example.com/a')
        ok = r.status_code == 200
        """,
        line=2,
        mentions='status_code',
    ),
    _wrong(
        'result_data_attribute',
        """
        files = (await list_files()).data
        """,
        line=1,
        mentions='data',
    ),
    _wrong(
        'datetime_method_on_text',
        """
        t = await get_ticket(key='WEB-1')
        t['created'].strftime('%Y')
        """,
        line=2,
        mentions='strftime',
    ),
]

_LAMBDAS = [
    _wrong(
        'lambda_key__attribute_assigned',
        """
        ts = await search_tickets(query='e')
        best = max(ts, key=lambda t: t.priority)
        """,
        line=2,
        mentions='priority',
    ),
    _wrong(
        'lambda_key__wrong_key_assigned',
        """
        ts = await search_tickets(query='e')
        best = max(ts, key=lambda t: t['prio'])
        """,
        line=2,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_sorted_assigned',
        """
        ts = await search_tickets(query='e')
        ts = sorted(ts, key=lambda t: t['prio'])
        """,
        line=2,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_sorted_tuple_reverse',
        """
        ts = await search_tickets(query='e')
        top = sorted(ts, key=lambda t: (t['prio'], t['key']), reverse=True)[:3]
        """,
        line=2,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_in_for',
        """
        for t in sorted(await search_tickets(query='e'), key=lambda t: t['prio']):
            print(t['key'])
        """,
        line=1,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_in_comprehension',
        """
        ts = await search_tickets(query='e')
        [t['key'] for t in sorted(ts, key=lambda x: x['prio'])]
        """,
        line=2,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_in_min_default',
        """
        ts = await search_tickets(query='e')
        first = min(ts, key=lambda t: t['prio'], default=None)
        """,
        line=2,
        mentions='prio',
    ),
    _wrong(
        'lambda_key__wrong_key_of_groupby',
        """
        from itertools import groupby
        ts = await search_tickets(query='e')
        groups = {k: list(g) for k, g in groupby(ts, key=lambda t: t['state'])}
        """,
        line=3,
        mentions='state',
    ),
]

_NEWER = [
    _wrong(
        'newer_syntax__missing_module',
        """
        import requests
        t = await get_ticket(key='WEB-1')
        f"{t["key"]}"
        """,
        line=1,
        mentions='requests',
    ),
    _wrong(
        'newer_syntax__wrong_key',
        """
        t = await get_ticket(key='WEB-1')
        f"{t["titel"]}"
        """,
        line=2,
        mentions='titel',
    ),
    _wrong(
        'newer_syntax__wrong_record_in_call',
        """
        t = await get_ticket(key='WEB-1')
        inv = await create_invoice(party={'name': f"{t["key"]}"}, items=[{'name': 'a'}])
        """,
        line=2,
        mentions='unit_price',
    ),
    _wrong(
        'newer_syntax__wrong_argument',
        """
        t = await get_ticket(key='WEB-1')
        u = await get_ticket(keyy=f"{t["key"]}")
        """,
        line=2,
        mentions='keyy',
    ),
    _wrong(
        'newer_syntax__gather_unpacked',
        """
        import asyncio
        t = await get_ticket(key='WEB-1')
        a, b = asyncio.gather(get_ticket(key=f"{t["key"]}"), get_me())
        """,
        line=3,
        mentions='gather',
    ),
    _wrong(
        'newer_syntax__key_in_later_snippet',
        """
        t = await get_ticket(key='WEB-1')
        label = f"{t["key"]}"
        """,
        """
        t['titel']
        """,
        line=1,
        mentions='titel',
    ),
]

MORE_WRONG: list[WrongProgram] = [
    *_UNREACHABLE,
    *_AWAIT,
    *_NAMES,
    *_ARGUMENTS,
    *_LITERALS,
    *_TYPES,
    *_KEYS,
    *_SESSIONS,
    *_SCOPE,
    *_ANNOTATIONS,
    *_LEXICAL,
    *_LAMBDAS,
    *_NEWER,
]

KNOWN_MISSES: list[WrongProgram] = [
    _wrong(
        'none_branch__misspelt_tool_after_is_none',
        """
        t = await get_ticket(key='WEB-99')
        if t is None:
            found = await serach_tickets(query='login')
        else:
            found = [t]
        found
        """,
        line=3,
        mentions='serach_tickets',
    ),
    _wrong(
        'none_branch__misspelt_tool_after_not',
        """
        user = await find_user(id='Zed')
        if not user:
            found = await serach_tickets(query='Zed')
            print(found)
        """,
        line=3,
        mentions='serach_tickets',
    ),
    _wrong(
        'none_branch__wrong_argument_in_else',
        """
        t = await get_ticket(key='WEB-99')
        if t:
            comments = await ticket_comments(id=t['key'])
        else:
            comments = await ticket_comments(ticket='WEB-1')
        comments
        """,
        line=5,
        mentions='ticket',
    ),
    _wrong(
        'none_branch__wrong_literal_in_helper',
        """
        async def close(key):
            t = await get_ticket(key=key)
            if t is None:
                return await update_ticket(key='WEB-1', status='closed')
            return t

        await close('WEB-99')
        """,
        line=4,
        mentions='closed',
    ),
    _wrong(
        'none_branch__missing_await_in_conditional_expression',
        """
        t = await get_ticket(key='WEB-99')
        names = t['labels'] if t is not None else [f.upper() for f in list_files()]
        names
        """,
        line=2,
        mentions='list_files',
    ),
    _wrong(
        'none_branch__undefined_name_after_early_return',
        """
        async def owner(key):
            t = await get_ticket(key=key)
            if t is None:
                t = await get_ticket(key=fallback_key)
            return t['assignee']

        await owner('WEB-99')
        """,
        line=4,
        mentions='fallback_key',
    ),
    _wrong(
        'none_branch__or_operator',
        """
        user = await find_user(id='Zed') or await find_user(usr='Ada')
        user['name']
        """,
        line=1,
        mentions='usr',
    ),
    _wrong(
        'none_branch__nested_optional_member',
        """
        t = await get_ticket(key='WEB-2')
        who = t['assignee']
        if who is None:
            send_message(from_='bot', recipients=['team'], type='email')
        """,
        line=4,
        mentions='recipients',
    ),
    _wrong(
        'none_branch__due_is_none_wrong_key',
        """
        t = await get_ticket(key='WEB-2')
        if t['due'] is None:
            print(t['deadline'])
        """,
        line=3,
        mentions='deadline',
    ),
    _wrong(
        'loop_until_none__misspelt_tool_after_loop',
        """
        page = await list_tickets(project='WEB')
        titles = [t['title'] for t in page['items']]
        cursor = page['page']['next_cursor']
        while cursor is not None:
            page = await list_tickets(project='WEB', cursor=cursor)
            titles += [t['title'] for t in page['items']]
            cursor = page['page']['next_cursor']
        await sumarize(text=' '.join(titles))
        """,
        line=8,
        mentions='sumarize',
    ),
    _wrong(
        'loop_until_none__wrong_argument_after_loop',
        """
        page = await search_flights(origin='A', destination='B', day='2024-07-01')
        names = [f['number'] for f in page['flights']]
        while page['next_page'] is not None:
            page = await search_flights(origin='A', destination='B', day='2024-07-01', page=page['next_page'])
            names += [f['number'] for f in page['flights']]
        await summarize(txt=', '.join(names))
        """,
        line=6,
        mentions='txt',
    ),
    _wrong(
        'loop_until_none__wrong_key_after_walrus_loop',
        """
        page = await list_tickets(project='WEB')
        while (cursor := page['page']['next_cursor']) is not None:
            page = await list_tickets(project='WEB', cursor=cursor)
        print(cursor)
        page['page']['total_count']
        """,
        line=5,
        mentions='total_count',
    ),
    _wrong(
        'loop_while_true__misspelt_tool_after_break_on_none',
        """
        cursor = None
        while True:
            page = await list_tickets(project='WEB', cursor=cursor)
            cursor = page['page']['next_cursor']
            if cursor is None:
                break
        writefile(path='/x', content='done')
        """,
        line=7,
        mentions='writefile',
    ),
    _wrong(
        'missing_await__in_f_string',
        """
        total = 3
        print(f'rate: {flaky_rate(currency="USD")}')
        """,
        line=2,
        mentions='flaky_rate',
    ),
    _wrong(
        'missing_await__in_f_string_of_variable',
        """
        rate = flaky_rate(currency='USD')
        f'The rate is {rate}'
        """,
        line=2,
        mentions='rate',
    ),
    _wrong(
        'missing_await__in_if_condition',
        """
        if file_exists(path='/x'):
            print('there')
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__in_if_condition_of_variable',
        """
        exists = file_exists(path='/x')
        if exists:
            print('there')
        """,
        line=2,
        mentions='exists',
    ),
    _wrong(
        'missing_await__in_not_condition',
        """
        if not file_exists(path='/x'):
            write_file(path='/x', content='')
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__in_comprehension_condition',
        """
        [p for p in ('/a', '/b') if file_exists(path=p)]
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__in_ternary_condition',
        """
        text = 'yes' if file_exists(path='/a') else 'no'
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__in_and_condition',
        """
        n = 3
        ok = n > 2 and file_exists(path='/a') and n < 5
        print('ok' if ok else 'no')
        """,
        line=2,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__in_while_condition',
        """
        while not file_exists(path='/lock'):
            break
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'missing_await__gather_zip',
        """
        import asyncio
        keys = ['WEB-1', 'WEB-2']
        dict(zip(keys, asyncio.gather(*[get_ticket(key=k) for k in keys])))
        """,
        line=3,
        mentions='gather',
    ),
    _wrong(
        'missing_await__returned_from_helper_and_used',
        """
        def load(i):
            return find_user(id=i)

        user = load(1)
        user['name']
        """,
        line=4,
        mentions='user',
    ),
    _wrong(
        'missing_await__own_async_helper_in_sum',
        """
        async def size(path):
            return len(await read_file(path=path))

        total = sum(size(p) for p in ['/README.md', '/src/main.py'])
        """,
        line=4,
        mentions='size',
    ),
    _wrong(
        'missing_await__appended_results',
        """
        rows = []
        for p in await list_files():
            rows.append({'path': p, 'text': read_file(path=p)})
        sorted(rows, key=lambda r: len(r['text']))[0]['path']
        """,
        line=4,
        mentions='size',
    ),
    _wrong(
        'missing_await__list_returned_as_value',
        """
        [geocode(place=p) for p in ('Oslo', 'Rome')]
        """,
        line=1,
        mentions='geocode',
    ),
    _wrong(
        'missing_await__in_returned_dict',
        """
        {
            'n': 1,
            'tags': known_tags(),
        }
        """,
        line=3,
        mentions='known_tags',
    ),
    _wrong(
        'missing_await__printed',
        """
        print(known_tags())
        """,
        line=1,
        mentions='known_tags',
    ),
    _wrong(
        'missing_await__str_of_call',
        """
        text = str(get_me())
        """,
        line=1,
        mentions='get_me',
    ),
    _wrong(
        'missing_await__json_dumps',
        """
        import json
        json.dumps(workspace_stats())
        """,
        line=2,
        mentions='workspace_stats',
    ),
    _wrong(
        'missing_await__double_star',
        """
        row = {'x': 1, **workspace_stats()}
        """,
        line=1,
        mentions='workspace_stats',
    ),
    _wrong(
        'missing_await__extend',
        """
        paths = []
        paths.extend(list_files())
        """,
        line=2,
        mentions='list_files',
    ),
    _wrong(
        'missing_await__is_none_test',
        """
        t = get_ticket(key='WEB-99')
        if t is None:
            print('missing')
        """,
        line=2,
        mentions='get_ticket',
    ),
    _wrong(
        'missing_await__joined',
        """
        text = ', '.join(list_files())
        """,
        line=1,
        mentions='list_files',
    ),
    _wrong(
        'missing_await__set_of_call',
        """
        tags = set(known_tags())
        """,
        line=1,
        mentions='known_tags',
    ),
    _wrong(
        'missing_await__returned_from_async_helper',
        """
        async def load(i):
            u = find_user(id=i)
            return u

        user = await load(1)
        user['name']
        """,
        line=6,
        mentions='user',
    ),
    _wrong(
        'missing_await__plain_helper_builds_list',
        """
        def load():
            return [get_ticket(key=k) for k in ('WEB-1', 'WEB-2')]
        items = load()
        items[0]['title']
        """,
        line=4,
        mentions='items',
    ),
    _wrong(
        'await_on_plain__in_gather',
        """
        import asyncio
        await asyncio.gather(*[write_file(path=f'/{i}', content='y') for i in range(3)])
        """,
        line=2,
        mentions='write_file',
    ),
    _wrong(
        'await_on_plain__own_function',
        """
        def double(x):
            return x * 2
        await double(3)
        """,
        line=3,
        mentions='double',
    ),
    _wrong(
        'await_on_plain__gather_of_results',
        """
        import asyncio
        a = await get_ticket(key='WEB-1')
        b = await get_ticket(key='WEB-2')
        x, y = await asyncio.gather(a, b)
        """,
        line=4,
        mentions='gather',
    ),
    _wrong(
        'await_on_plain__gather_of_list',
        """
        import asyncio
        r = await asyncio.gather([get_ticket(key='WEB-1'), get_ticket(key='WEB-2')])
        """,
        line=2,
        mentions='gather',
    ),
    _wrong(
        'names__loop_variable_of_comprehension_after_it',
        """
        keys = [t['key'] for t in await search_tickets(query='e')]
        print(t['title'])
        """,
        line=2,
        mentions='t',
    ),
    _wrong(
        'names__nonlocal_helper_name',
        """
        async def outer():
            async def fetch_one(k):
                return await get_ticket(key=k)
            return await fetch_one('WEB-1')
        await outer()
        await fetch_one('WEB-2')
        """,
        line=6,
        mentions='fetch_one',
    ),
    _wrong(
        'names__variable_local_to_function',
        """
        async def search():
            found = await search_tickets(query='e')
        await search()
        len(found)
        """,
        line=4,
        mentions='found',
    ),
    _wrong(
        'names__used_before_assignment_in_function',
        """
        def add(xs):
            for x in xs:
                total += x
            return total
        add([1])
        """,
        line=3,
        mentions='total',
    ),
    _wrong(
        'names__shadowed_tool_called_again',
        """
        list_files = await list_files(path='/src')
        more = await list_files(path='/data')
        """,
        line=2,
        mentions='list_files',
    ),
    _wrong(
        'names__shadowed_tool_called_in_loop',
        """
        for key in ('WEB-1', 'WEB-2'):
            if key:
                get_ticket = await get_ticket(key=key)
        """,
        line=3,
        mentions='get_ticket',
    ),
    _wrong(
        'names__shadowed_tool_by_string',
        """
        query = 'SELECT name FROM users'
        rows = await query(sql=query)
        """,
        line=2,
        mentions='query',
    ),
    _wrong(
        'names__shadowed_builtin_called',
        """
        list = await list_files()
        first = list[0]
        again = list(first)
        """,
        line=3,
        mentions='list',
    ),
    _wrong(
        'names__exception_variable_after_block',
        """
        try:
            await read_file(path='/no')
        except FileNotFoundError as e:
            pass
        print(e)
        """,
        line=5,
        mentions='e',
    ),
    _wrong(
        'arguments__kwargs_dict_misspelt',
        """
        kwargs = {'keys': 'WEB-1'}
        t = await get_ticket(**kwargs)
        """,
        line=2,
        mentions='keys',
    ),
    _wrong(
        'arguments__kwargs_literal_misspelt',
        """
        p = await list_tickets(**{'proj': 'WEB'})
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'arguments__kwargs_dict_constructor_misspelt',
        """
        common = dict(owner='o', repository='r')
        i = await issue_read(method='get', issue_number=1, **common)
        """,
        line=2,
        mentions='repository',
    ),
    _wrong(
        'arguments__through_retry_helper',
        """
        async def retry(fn, **kw):
            return await fn(**kw)
        rate = await retry(flaky_rate, curr='USD')
        """,
        line=3,
        mentions='curr',
    ),
    _wrong(
        'literals__in_list',
        """
        await schedule_report(name='x', days=['monday'])
        """,
        line=1,
        mentions='monday',
    ),
    _wrong(
        'literals__one_of_list',
        """
        await schedule_report(name='x', days=['mon', 'weekend'])
        """,
        line=1,
        mentions='weekend',
    ),
    _wrong(
        'literals__list_variable',
        """
        days = ['saturday', 'sunday']
        await schedule_report(name='x', days=days)
        """,
        line=2,
        mentions='saturday',
    ),
    _wrong(
        'literals__nested_in_filter',
        """
        await search_tickets(query='', filter={'status': ['closed']})
        """,
        line=1,
        mentions='closed',
    ),
    _wrong(
        'literals__nested_in_filter_variable',
        """
        flt = {'status': ['open', 'resolved']}
        await search_tickets(query='', filter=flt)
        """,
        line=2,
        mentions='resolved',
    ),
    _wrong(
        'literals__sort_key',
        """
        await search_tickets(query='', sort=['title'])
        """,
        line=1,
        mentions='title',
    ),
    _wrong(
        'literals__loop_over_constants',
        """
        for s in ('open', 'closed'):
            await list_tickets(project='WEB', status=s)
        """,
        line=2,
        mentions='closed',
    ),
    _wrong(
        'types__records_for_keys',
        """
        ts = await search_tickets(query='e')
        await run_checks(ids=[t['key'] for t in ts])
        """,
        line=2,
        mentions='ids',
    ),
    _wrong(
        'types__keys_for_tickets',
        """
        page = await list_tickets(project='WEB')
        await close_tickets(tickets=[t['key'] for t in page['items']])
        """,
        line=2,
        mentions='tickets',
    ),
    _wrong(
        'types__record_misses_field_in_variable',
        """
        item = {'name': 'a', 'quantity': 2}
        await create_invoice(party={'name': 'x'}, items=[item])
        """,
        line=2,
        mentions='unit_price',
    ),
    _wrong(
        'types__arithmetic_on_record',
        """
        stats = await workspace_stats()
        n = stats['by_status'] + stats['uptime']
        """,
        line=2,
        mentions='uptime',
    ),
    _wrong(
        'types__text_plus_number',
        """
        stats = await workspace_stats()
        text = 'Users: ' + stats['users']
        """,
        line=2,
        mentions='users',
    ),
    _wrong(
        'types__list_indexed_by_text',
        """
        tickets = await search_tickets(query='e')
        for t in tickets['items']:
            print(t)
        """,
        line=2,
        mentions='items',
    ),
    _wrong(
        'types__dict_attribute',
        """
        page = await list_tickets(project='WEB')
        keys = [t.key for t in page.items]
        """,
        line=2,
        mentions='items',
    ),
    _wrong(
        'types__text_result_as_record',
        """
        text = await read_file(path='/README.md')
        text['content']
        """,
        line=2,
        mentions='content',
    ),
    _wrong(
        'types__bool_iterated',
        """
        for x in await file_exists(path='/x'):
            print(x)
        """,
        line=1,
        mentions='file_exists',
    ),
    _wrong(
        'later__result_of_helper',
        """
        async def first_open():
            page = await list_tickets(project='WEB', status='open')
            return page['items'][0]
        """,
        """
        (await first_open())['hours']
        """,
        line=1,
        mentions='hours',
    ),
    _wrong(
        'later__result_of_helper_with_hint',
        """
        async def load(key: str):
            return await get_ticket(key=key)
        """,
        """
        t = await load('WEB-1')
        t['estimate']
        """,
        """
        t['estimation']
        """,
        line=1,
        mentions='estimation',
    ),
    _wrong(
        'later__own_helper_missing_await_in_if',
        """
        async def ready(path):
            return await file_exists(path=path)
        """,
        """
        if ready('/x'):
            print('yes')
        """,
        line=1,
        mentions='ready',
    ),
    _wrong(
        'later__own_helper_missing_await_variable',
        """
        async def total_hours():
            return sum(m['hours'] for ms in (await team_members()).values() for m in ms)
        """,
        """
        total = total_hours()
        print(f'{total:.1f}')
        """,
        line=2,
        mentions='total',
    ),
    _wrong(
        'later__missing_await_in_condition',
        """
        path = '/x'
        """,
        """
        n = 1
        if file_exists(path=path):
            n = 2
        """,
        line=2,
        mentions='file_exists',
    ),
    _wrong(
        'later__missing_await_printed',
        """
        print('start')
        """,
        """
        print(known_tags())
        """,
        line=1,
        mentions='known_tags',
    ),
    _wrong(
        'later__missing_await_f_string',
        """
        cur = 'USD'
        """,
        """
        print(f"{cur}: {flaky_rate(currency=cur)}")
        """,
        line=1,
        mentions='flaky_rate',
    ),
    _wrong(
        'later__await_on_own_plain_helper',
        """
        def shorten(s):
            return s[:3]
        """,
        """
        await shorten('abcdef')
        """,
        line=1,
        mentions='shorten',
    ),
    _wrong(
        'later__record_missing_field_after_building',
        """
        party = {'vat_id': 'X'}
        """,
        """
        await create_invoice(party=party, items=[])
        """,
        line=1,
        mentions='name',
    ),
    _wrong(
        'later__shadowed_tool_called',
        """
        list_files = await list_files()
        """,
        """
        await list_files(path='/data')
        """,
        line=1,
        mentions='list_files',
    ),
    _wrong(
        'later__shadowed_tool_by_loop_variable',
        """
        for query in ('page', 'mode'):
            print(len(await search_tickets(query=query)))
        """,
        """
        await query(sql='SELECT 1')
        """,
        line=1,
        mentions='query',
    ),
    _wrong(
        'later__shadowed_builtin_called',
        """
        str = 'abc'
        """,
        """
        n = str(5)
        """,
        line=1,
        mentions='str',
    ),
    _wrong(
        'later__helper_replaced_by_value',
        """
        def total(xs):
            return sum(xs)
        """,
        """
        total = total([1, 2])
        """,
        """
        total([3])
        """,
        line=1,
        mentions='total',
    ),
    _wrong(
        'later__class_unknown_method',
        """
        class Store:
            def __init__(self):
                self.items = {}
            def get(self, k):
                return self.items.get(k)
        store = Store()
        """,
        """
        store.find('a')
        """,
        line=1,
        mentions='find',
    ),
    _wrong(
        'later__dataclass_unknown_attribute',
        """
        from dataclasses import dataclass
        @dataclass
        class Row:
            key: str
        rows = [Row('a')]
        """,
        """
        [r.colour for r in rows]
        """,
        line=1,
        mentions='colour',
    ),
    _wrong(
        'later__none_branch_misspelt_tool',
        """
        t = await get_ticket(key='WEB-99')
        """,
        """
        if t is None:
            t = (await serach_tickets(query='login'))[0]
        """,
        line=2,
        mentions='serach_tickets',
    ),
    _wrong(
        'later__loop_until_none_wrong_call_after',
        """
        page = await list_tickets(project='WEB')
        """,
        """
        while (cursor := page['page']['next_cursor']) is not None:
            page = await list_tickets(project='WEB', cursor=cursor)
        write(path='/x', content='y')
        """,
        line=3,
        mentions='write',
    ),
    _wrong(
        'later__after_loop_until_none_in_first_snippet',
        """
        page = await list_tickets(project='WEB')
        while page['page']['next_cursor'] is not None:
            page = await list_tickets(project='WEB', cursor=page['page']['next_cursor'])
        """,
        """
        await serach_tickets(query='e')
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'later__after_while_true_break_on_none_in_first_snippet',
        """
        cursor, keys = None, []
        while True:
            page = await list_tickets(project='WEB', cursor=cursor)
            keys += [t['key'] for t in page['items']]
            cursor = page['page']['next_cursor']
            if cursor is None:
                break
        """,
        """
        writefile(path='/x', content=','.join(keys))
        """,
        line=1,
        mentions='writefile',
    ),
    _wrong(
        'fourth__missing_await_after_helpers',
        """
        async def titles(q):
            return [t['title'] for t in await search_tickets(query=q)]
        """,
        """
        a = await titles('page')
        """,
        """
        b = await titles('mode')
        """,
        """
        c = titles('e') + a + b
        """,
        line=1,
        mentions='titles',
    ),
    _wrong(
        'after_return__first_snippet_returned',
        """
        t = await get_ticket(key='WEB-1')
        return t['title']
        """,
        """
        t['keyy']
        """,
        line=1,
        mentions='keyy',
    ),
    _wrong(
        'after_return__first_snippet_returned_in_loop',
        """
        for key in ('WEB-1', 'WEB-2'):
            t = await get_ticket(key=key)
        return t['key']
        """,
        """
        await serach_tickets(query='e')
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'ignore_comment__type_ignore',
        """
        r = await serach_tickets(query='e')  # type: ignore
        """,
        line=1,
        mentions='serach_tickets',
    ),
    _wrong(
        'ignore_comment__ty_ignore',
        """
        r = await list_tickets(proj='e')  # ty: ignore
        """,
        line=1,
        mentions='proj',
    ),
    _wrong(
        'loop__while_not_none_in_helper',
        """
        async def run():
            page = await list_tickets(project='WEB')
            cursor = page['page']['next_cursor']
            while cursor is not None:
                cursor = (await list_tickets(project='WEB', cursor=cursor))['page']['next_cursor']
            return await serach_tickets(query='e')
        await run()
        """,
        line=6,
        mentions='serach_tickets',
    ),
    _wrong(
        'loop__parent_chain_until_none',
        """
        t = await get_ticket(key='WEB-3')
        while t['parent'] is not None:
            t = await get_ticket(key=t['parent'])
        await sumarize(text=t['title'])
        """,
        line=4,
        mentions='sumarize',
    ),
    _wrong(
        'loop__while_true_break_only_on_none_of_tool',
        """
        i, names = 1, []
        while True:
            user = await find_user(id=i)
            if user is None:
                break
            names.append(user['name'])
            i += 1
        await sumarize(text=' '.join(names))
        """,
        line=8,
        mentions='sumarize',
    ),
    _wrong(
        'loop__while_true_break_in_else',
        """
        cursor = None
        while True:
            page = await list_tickets(project='WEB', cursor=cursor)
            nxt = page['page']['next_cursor']
            if nxt is not None:
                cursor = nxt
            else:
                break
        await sumarize(text='x')
        """,
        line=9,
        mentions='sumarize',
    ),
    _wrong(
        'guard__return_when_missing_in_helper',
        """
        async def name_of(i):
            user = await find_user(id=i)
            if user is not None:
                return user['name']
            return await find_user(nam=i)
        await name_of(9)
        """,
        line=5,
        mentions='nam',
    ),
    _wrong(
        'guard__collect_missing_only',
        """
        missing = []
        for k in ('WEB-1', 'X'):
            t = await get_ticket(key=k)
            if t is None:
                missing.append(await ticket_comments(id=k, author='ada'))
        """,
        line=5,
        mentions='author',
    ),
    _wrong(
        'guard__try_get_none_or_default',
        """
        t = (await get_ticket(key='X')) or (await get_ticket(keyy='WEB-1'))
        """,
        line=1,
        mentions='keyy',
    ),
    _wrong(
        'guard__if_expression_none_else_call',
        """
        t = await get_ticket(key='X')
        u = t if t is not None else await get_ticket(keyy='WEB-1')
        """,
        line=2,
        mentions='keyy',
    ),
    _wrong(
        'guard__dict_get_none',
        """
        t = await get_ticket(key='WEB-2')
        if t.get('due') is None:
            await search_tickets(query='', limt=3)
        """,
        line=3,
        mentions='limt',
    ),
    _wrong(
        'guard__email_none_branch',
        """
        t = await get_ticket(key='WEB-3')
        mail = t['assignee']['email']
        if mail is None:
            send_message(from_='bot', too=['x'], type='sms')
        """,
        line=4,
        mentions='too',
    ),
    _wrong(
        'guard__size_none_in_tree',
        """
        node = await file_tree()
        for c in node['children']:
            if c['size'] is None:
                await file_tree(pth=c['name'])
        """,
        line=4,
        mentions='pth',
    ),
    _wrong(
        'guard__retry_after_none',
        """
        r = await http_get(url='https://example.com/x')
        if not r['ok']:
            if r['retry_after'] is None:
                r = await http_get(urll='https://example.com/a')
        """,
        line=4,
        mentions='urll',
    ),
    _wrong(
        'guard__equals_none',
        """
        t = await get_ticket(key='X')
        if t == None:
            await search_tickets(query='', limt=3)
        """,
        line=3,
        mentions='limt',
    ),
    _wrong(
        'annotated__result_variable_wrong_key',
        """
        page: dict = await list_tickets(project='WEB')
        page['itms']
        """,
        line=2,
        mentions='itms',
    ),
    _wrong(
        'annotated__helper_returning_dict_wrong_key',
        """
        async def load() -> dict:
            return await list_tickets(project='WEB')
        (await load())['itms']
        """,
        line=3,
        mentions='itms',
    ),
    _wrong(
        'annotated__helper_without_hint_wrong_key_of_parameter',
        """
        def title(t):
            return t['titel']
        title(await get_ticket(key='WEB-1'))
        """,
        line=2,
        mentions='titel',
    ),
    _wrong(
        'annotated__gather_helper_wrong_key',
        """
        import asyncio
        async def load(k):
            return await get_ticket(key=k)
        ts = await asyncio.gather(*[load(k) for k in ('WEB-1', 'WEB-2')])
        [t['titel'] for t in ts]
        """,
        line=5,
        mentions='titel',
    ),
    _wrong(
        'annotated__default_argument_wrong_literal',
        """
        async def load(status='closed'):
            return await list_tickets(project='WEB', status=status)
        await load()
        """,
        line=2,
        mentions='closed',
    ),
    _wrong(
        'annotated__filter_lambda_wrong_key',
        """
        busy = list(filter(lambda m: m['hour'] > 35, (await team_members())['core']))
        """,
        line=1,
        mentions='hour',
    ),
    _wrong(
        'annotated__map_lambda_wrong_key',
        """
        names = list(map(lambda m: m['nme'], (await team_members())['core']))
        """,
        line=1,
        mentions='nme',
    ),
    _wrong(
        'annotated__setdefault_groups_wrong_key',
        """
        groups = {}
        for t in await search_tickets(query='e'):
            groups.setdefault(t['status'], []).append(t)
        {s: [t['ky'] for t in ts] for s, ts in groups.items()}
        """,
        line=4,
        mentions='ky',
    ),
    _wrong(
        'annotated__defaultdict_groups_wrong_key',
        """
        from collections import defaultdict
        groups = defaultdict(list)
        for t in await search_tickets(query='e'):
            groups[t['status']].append(t)
        {s: [t['ky'] for t in ts] for s, ts in groups.items()}
        """,
        line=5,
        mentions='ky',
    ),
    _wrong(
        'annotated__best_none_first_wrong_key',
        """
        best = None
        for t in await search_tickets(query='e'):
            if best is None or (t['estimate'] or 0) > (best['estimate'] or 0):
                best = t
        best['estimat']
        """,
        line=5,
        mentions='estimat',
    ),
    _wrong(
        'stored_key__same_key_written_into_own_dict',
        """
        rows = []
        for t in await search_tickets(query='e'):
            row = {}
            row['url'] = t['url']
            rows.append(row)
        """,
        line=4,
        mentions='url',
    ),
    _wrong(
        'stored_key__same_key_in_summary',
        """
        t = await get_ticket(key='WEB-1')
        summary = {}
        summary['owner'] = t['owner']
        """,
        line=3,
        mentions='owner',
    ),
    _wrong(
        'stored_key__same_key_in_update',
        """
        t = await get_ticket(key='WEB-1')
        out = {}
        out.update({'severity': t['severity']})
        """,
        line=3,
        mentions='severity',
    ),
    _wrong(
        'stored_key__same_key_counted',
        """
        t = await get_ticket(key='WEB-1')
        counts = {}
        counts['type'] = 0
        kind = t['type']
        """,
        line=4,
        mentions='type',
    ),
    _wrong(
        'stored_key__stored_in_earlier_snippet',
        """
        config = {}
        config['name'] = 'x'
        t = await get_ticket(key='WEB-1')
        """,
        """
        t['name']
        """,
        line=1,
        mentions='name',
    ),
    _wrong(
        'stored_key__header_of_request',
        """
        payload = {}
        user = await find_user(id=1)
        payload['id'] = (await get_ticket(key='WEB-1'))['id']
        """,
        line=3,
        mentions='id',
    ),
    _wrong(
        'gather_imported_not_awaited_unpacked',
        """
        from asyncio import gather
        a, b = gather(get_me(), known_tags())
        """,
        line=2,
        mentions='gather',
    ),
    _wrong(
        'gather_imported_not_awaited_looped',
        """
        from asyncio import gather
        for x in gather(*[geocode(place=p) for p in ('Oslo',)]):
            print(x)
        """,
        line=2,
        mentions='gather',
    ),
    _wrong(
        'gather_returned_from_helper_not_awaited',
        """
        import asyncio
        async def load(paths):
            return asyncio.gather(*[read_file(path=p) for p in paths])
        texts = await load(['/README.md'])
        texts[0].upper()
        """,
        line=5,
        mentions='texts',
    ),
    _wrong(
        'bytes_result_as_text',
        r"""
        data = await read_bytes(path='/README.md')
        lines = data.split('\n')
        """,
        line=2,
        mentions='split',
    ),
    _wrong(
        'json_loads_of_record',
        """
        import json
        stats = json.loads(await workspace_stats())
        """,
        line=2,
        mentions='loads',
    ),
    _wrong(
        'json_loads_of_list',
        """
        import json
        files = json.loads(await list_files())
        """,
        line=2,
        mentions='loads',
    ),
    _wrong(
        'sum_of_records',
        """
        ts = await search_tickets(query='e')
        total = sum(ts)
        """,
        line=2,
        mentions='sum',
    ),
    _wrong(
        'join_of_records',
        """
        ts = await search_tickets(query='e')
        text = ', '.join(ts)
        """,
        line=2,
        mentions='join',
    ),
    _wrong(
        'datetime_minus_text',
        """
        from datetime import datetime
        t = await get_ticket(key='WEB-1')
        age = datetime(2024, 1, 1) - t['created']
        """,
        line=3,
        mentions='created',
    ),
    _wrong(
        'json_text_number_operations',
        """
        inv = await create_invoice(party={'name': 'x'}, items=[])
        net = inv['total'] / 1.19
        """,
        line=2,
        mentions='total',
    ),
    _wrong(
        'round_of_text_total',
        """
        inv = await create_invoice(party={'name': 'x'}, items=[])
        net = round(inv['total'], 2)
        """,
        line=2,
        mentions='total',
    ),
    _wrong(
        'compare_text_total',
        """
        inv = await create_invoice(party={'name': 'x'}, items=[])
        big = inv['total'] > 100
        """,
        line=2,
        mentions='total',
    ),
    _wrong(
        'lambda_key__wrong_key_returned',
        """
        async def best():
            ts = await search_tickets(query='e')
            return max(ts, key=lambda t: t['prio'])
        await best()
        """,
        line=3,
        mentions='prio',
    ),
    _wrong(
        'lambda_named__wrong_key',
        """
        by_priority = lambda t: t['prio']
        ts = sorted(await search_tickets(query='e'), key=by_priority)
        """,
        line=1,
        mentions='prio',
    ),
    _wrong(
        'module_in_try_of_other_error',
        """
        try:
            import requests
        except ValueError:
            pass
        """,
        line=2,
        mentions='requests',
    ),
    _wrong(
        'module_in_try_around_everything',
        """
        try:
            t = await get_ticket(key='WEB-1')
            import pandas as pd
            print(pd.DataFrame([t]))
        except KeyError as e:
            print('failed', e)
        """,
        line=3,
        mentions='pandas',
    ),
    _wrong(
        'helper_returns_unawaited_tool',
        """
        async def stats():
            return workspace_stats()
        await stats()
        """,
        line=3,
        mentions='stats',
    ),
    _wrong(
        'helper_returns_unawaited_tool_subscripted',
        """
        async def stats():
            return workspace_stats()
        (await stats())['users']
        """,
        line=3,
        mentions='users',
    ),
]
"""Wrong programs that the type check lets through."""
