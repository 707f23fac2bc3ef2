"""Correct programs over the tools of `more_tools`, in styles that are hard on a type check."""

from __future__ import annotations

from textwrap import dedent

from .program import Program

FAILS = '# fails'
"""How a snippet begins that fails while it runs, after it was let through."""


def _program(name: str, *snippets: str, expected: object) -> Program:
    return Program(name, tuple(dedent(snippet).strip('\n') for snippet in snippets), expected)


_RECORDS = [{'id': number, 'name': f'record number {number}', 'tags': ['a', 'b', 'c']} for number in range(500)]

_PAGING = [
    _program(
        'pages_while_true_cursor_none',
        """
        cursor = None
        all_tickets = []
        while True:
            page = await list_tickets(project="WEB", cursor=cursor)
            all_tickets.extend(page["items"])
            if not page["page"]["has_more"]:
                break
            cursor = page["page"]["next_cursor"]

        by_status = {}
        for ticket in all_tickets:
            by_status.setdefault(ticket["status"], []).append(ticket["key"])
        by_status
        """,
        expected={'open': ['WEB-1', 'WEB-3', 'WEB-5'], 'in_progress': ['WEB-2'], 'done': ['WEB-4']},
    ),
    _program(
        'pages_kwargs_built_conditionally',
        """
        async def fetch_all(project, **filters):
            results = []
            cursor = None
            while True:
                kwargs = {'project': project, 'page_size': 2}
                kwargs.update(filters)
                if cursor is not None:
                    kwargs['cursor'] = cursor
                page = await list_tickets(**kwargs)
                results += page['items']
                cursor = page['page'].get('next_cursor')
                if not cursor:
                    return results

        tickets = await fetch_all('WEB', status='open')
        mine = await fetch_all('WEB', assignee='ada')
        print(f"{len(tickets)} open, {len(mine)} of ada")
        [t['key'] for t in tickets + mine]
        """,
        expected=['WEB-1', 'WEB-3', 'WEB-5', 'WEB-1', 'WEB-4'],
    ),
    _program(
        'pages_walrus_over_next_cursor',
        """
        tickets = []
        page = await list_tickets(project='WEB', page_size=3)
        tickets.extend(page['items'])
        while (cursor := page['page']['next_cursor']) is not None:
            page = await list_tickets(project='WEB', page_size=3, cursor=cursor)
            tickets.extend(page['items'])
        {'n': len(tickets), 'total': page['page']['total'], 'last': tickets[-1]['key']}
        """,
        expected={'n': 5, 'total': 5, 'last': 'WEB-5'},
    ),
    _program(
        'pages_walrus_over_plain_batches',
        r"""
        page_no = 1
        messages = []
        while batch := await list_commits(owner='o', repo='r', page=page_no, perPage=2):
            for c in batch:
                messages.append(c['commit']['message'].split('\n')[0])
            page_no += 1
            if page_no > 10:
                break
        messages
        """,
        expected=['change 0', 'change 1', 'change 2', 'change 3', 'change 4'],
    ),
    _program(
        'pages_github_graphql_cursor',
        """
        issues, after = [], None
        while True:
            params = {"owner": "octo", "repo": "demo", "state": "OPEN", "perPage": 2}
            if after:
                params["after"] = after
            resp = await list_issues(**params)
            issues.extend(resp["issues"])
            info = resp.get("pageInfo", {})
            if not info.get("hasNextPage"):
                break
            after = info["endCursor"]

        label_counts = {}
        for issue in issues:
            for label in issue.get("labels", []):
                name = label["name"]
                label_counts[name] = label_counts.get(name, 0) + 1

        result = {
            "count": len(issues),
            "labels": dict(sorted(label_counts.items(), key=lambda kv: (-kv[1], kv[0]))),
            "authors": sorted({i["user"]["login"] for i in issues}),
            "no_body": [i["number"] for i in issues if not i["body"]],
        }
        result
        """,
        expected={
            'count': 3,
            'labels': {'bug': 2, 'enhancement': 1, 'p1': 1, 'ui': 1},
            'authors': ['ada', 'bob', 'cleo'],
            'no_body': [2, 4],
        },
    ),
    _program(
        'pages_for_else_over_numbers',
        """
        flights = []
        for page in range(1, 10):
            r = await search_flights(origin='CDG', destination='OSL', day='2024-07-01', page=page, per_page=1)
            flights.extend(r['flights'])
            if r['next_page'] is None:
                break
        else:
            print('too many pages')
        cheapest = min(flights, key=lambda f: f['price'])
        [cheapest['number'], len(flights), page]
        """,
        expected=['LH22', 3, 3],
    ),
    _program(
        'pages_next_page_number_loop',
        """
        page = 1
        numbers = []
        while page:
            data = await search_flights(origin="CDG", destination="OSL", day="2024-07-01", page=page, per_page=2)
            numbers += [f["number"] for f in data["flights"]]
            page = data["next_page"]
        numbers
        """,
        expected=['LH22', 'AF10', 'AF12'],
    ),
    _program(
        'pages_recursive_helper',
        """
        async def collect(cursor=None, acc=None):
            acc = acc or []
            page = await list_tickets(project='WEB', cursor=cursor, page_size=2)
            acc = acc + [t['key'] for t in page['items']]
            nxt = page['page']['next_cursor']
            return await collect(nxt, acc) if nxt else acc

        await collect()
        """,
        expected=['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5'],
    ),
    _program(
        'pages_state_in_dict',
        """
        state = {'cursor': None, 'done': False, 'items': []}
        while not state['done']:
            page = await list_tickets(project='WEB', cursor=state['cursor'])
            state['items'].extend(page['items'])
            state['cursor'] = page['page']['next_cursor']
            state['done'] = state['cursor'] is None
        len(state['items'])
        """,
        expected=5,
    ),
    _program(
        'pages_have_max_pages_guard',
        """
        MAX_PAGES = 20
        cursor: str = None
        seen: set = set()
        count = 0
        for _ in range(MAX_PAGES):
            page = await list_tickets(project='WEB', cursor=cursor, page_size=4)
            for t in page['items']:
                if t['key'] in seen:
                    continue
                seen.add(t['key'])
                count += 1
            cursor = page['page']['next_cursor']
            if cursor is None:
                break
        count, sorted(seen)
        """,
        expected=[5, ['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5']],
    ),
]

_RETRIES = [
    _program(
        'retry_loop_around_flaky_call',
        """
        import asyncio

        rate = None
        for attempt in range(3):
            try:
                rate = await flaky_rate(currency='USD')
                break
            except Exception as e:
                print(f'attempt {attempt + 1} failed: {e}')
                await asyncio.sleep(0)
        rate * 100
        """,
        expected=125.0,
    ),
    _program(
        'retry_helper_takes_function_and_kwargs',
        """
        async def with_retry(func, *args, retries=3, **kwargs):
            last_error = None
            for i in range(retries):
                try:
                    return await func(*args, **kwargs)
                except RuntimeError as exc:
                    last_error = exc
            raise last_error

        usd = await with_retry(flaky_rate, currency='USD')
        gbp = await with_retry(flaky_rate, currency='GBP', retries=5)
        round(usd * gbp, 3)
        """,
        expected=1.0,
    ),
    _program(
        'retry_decorator',
        """
        def retry(times):
            def deco(fn):
                async def wrapper(*args, **kwargs):
                    err = None
                    for _ in range(times):
                        try:
                            return await fn(*args, **kwargs)
                        except Exception as e:
                            err = e
                    raise err
                return wrapper
            return deco

        @retry(3)
        async def get_rate(cur: str) -> float:
            return await flaky_rate(currency=cur)

        await get_rate('GBP')
        """,
        expected=0.8,
    ),
    _program(
        'retry_lambda_factory',
        """
        async def retry(make_call, attempts=2):
            for n in range(attempts):
                try:
                    return await make_call()
                except RuntimeError:
                    if n == attempts - 1:
                        raise

        rates = {}
        for cur in ['USD', 'GBP']:
            rates[cur] = await retry(lambda: flaky_rate(currency=cur))
        rates
        """,
        expected={'USD': 1.25, 'GBP': 0.8},
    ),
    _program(
        'errors_collected_per_item',
        """
        paths = ['/README.md', '/missing.txt', '/src/main.py', '/nope']
        contents, errors = {}, {}
        for p in paths:
            try:
                contents[p] = await read_file(path=p)
            except FileNotFoundError as err:
                errors[p] = str(err)
                continue
            except Exception as err:
                errors[p] = type(err).__name__
        {'ok': {k: len(v) for k, v in contents.items()}, 'errors': errors}
        """,
        expected={
            'ok': {'/README.md': 47, '/src/main.py': 65},
            'errors': {'/missing.txt': 'no such file: /missing.txt', '/nope': 'no such file: /nope'},
        },
    ),
    _program(
        'safe_wrapper_returns_pair',
        """
        async def safe(coro):
            try:
                return (await coro, None)
            except Exception as e:
                return (None, str(e))

        import asyncio
        results = await asyncio.gather(*[safe(read_file(path=p)) for p in ('/README.md', '/x', '/data/people.csv')])
        ok = [value for value, err in results if err is None]
        bad = [err for _, err in results if err]
        [len(ok), ok[0].splitlines()[0], bad]
        """,
        expected=[2, '# Demo', ['no such file: /x']],
    ),
    _program(
        'safe_wrapper_returns_dict_of_either_shape',
        """
        async def try_get(path):
            try:
                return {'path': path, 'text': await read_file(path=path)}
            except Exception as e:
                return {'path': path, 'error': str(e)}

        out = [await try_get(p) for p in ['/README.md', '/zzz']]
        good = [r for r in out if 'error' not in r]
        failed = [r['error'] for r in out if 'error' in r]
        [good[0]['text'].count('-'), failed]
        """,
        expected=[2, ['no such file: /zzz']],
    ),
    _program(
        'fallback_value_on_error',
        """
        async def size_of(path, default=-1):
            try:
                text = await read_file(path=path)
            except Exception:
                return default
            else:
                return len(text)
            finally:
                print('tried', path)

        total = await size_of('/README.md') + await size_of('/gone', default=0)
        total
        """,
        expected=47,
    ),
    _program(
        'error_of_invalid_argument_caught',
        """
        try:
            coords = await geocode(place='Atlantis')
        except Exception as e:
            coords = None
            reason = f'{type(e).__name__}'
        else:
            reason = ''
        {'coords': coords, 'failed': bool(reason)}
        """,
        expected={'coords': None, 'failed': True},
    ),
    _program(
        'exception_kept_for_later',
        """
        error = None
        try:
            await read_file(path='/secret')
        except Exception as e:
            error = e
        message = str(error) if error else 'fine'
        message
        """,
        expected='no such file: /secret',
    ),
    _program(
        'raise_own_error_and_catch',
        """
        async def require_ticket(key):
            t = await get_ticket(key=key)
            if t is None:
                raise ValueError(f'ticket {key} not found')
            return t

        found, missing = [], []
        for key in ['WEB-1', 'WEB-99', 'WEB-3']:
            try:
                found.append((await require_ticket(key))['title'])
            except ValueError as e:
                missing.append(str(e))
        [found, missing]
        """,
        expected=[['Login page crashes', 'Slow search results'], ['ticket WEB-99 not found']],
    ),
]

_ACCUMULATE = [
    _program(
        'counter_of_statuses_and_labels',
        """
        from collections import Counter

        page = await list_tickets(project='WEB', page_size=50)
        statuses = Counter(t['status'] for t in page['items'])
        labels = Counter()
        for t in page['items']:
            labels.update(t['labels'])
        top = labels.most_common(2)
        {'statuses': dict(statuses), 'top': top, 'unique': len(labels), 'missing': labels['nothing']}
        """,
        expected={
            'statuses': {'open': 3, 'in_progress': 1, 'done': 1},
            'top': [['bug', 2], ['ui', 2]],
            'unique': 6,
            'missing': 0,
        },
    ),
    _program(
        'defaultdict_of_lists_and_dicts',
        """
        from collections import defaultdict

        page = await list_tickets(project='WEB', page_size=50)
        groups = defaultdict(lambda: {'count': 0, 'keys': [], 'hours': 0.0})
        for t in page['items']:
            who = t['assignee']['login'] if t['assignee'] else 'nobody'
            groups[who]['count'] += 1
            groups[who]['keys'].append(t['key'])
            groups[who]['hours'] += t['estimate'] or 0
        {k: dict(v) for k, v in groups.items()}
        """,
        expected={
            'ada': {'count': 2, 'keys': ['WEB-1', 'WEB-4'], 'hours': 4.0},
            'nobody': {'count': 1, 'keys': ['WEB-2'], 'hours': 0.0},
            'bob': {'count': 2, 'keys': ['WEB-3', 'WEB-5'], 'hours': 48.0},
        },
    ),
    _program(
        'setdefault_with_mixed_record',
        """
        sales = await query(sql='SELECT u.name, s.amount FROM sales s JOIN users u ON u.id = s.user_id')
        totals = {}
        for row in sales:
            entry = totals.setdefault(row['name'], {'n': 0, 'sum': 0, 'amounts': []})
            entry['n'] += 1
            entry['sum'] += row['amount']
            entry['amounts'].append(row['amount'])
        for entry in totals.values():
            entry['avg'] = round(entry['sum'] / entry['n'], 2)
        totals
        """,
        expected={
            'Ada': {'n': 2, 'sum': 55.5, 'amounts': [20.0, 35.5], 'avg': 27.75},
            'Bob': {'n': 1, 'sum': 12.0, 'amounts': [12.0], 'avg': 12.0},
            'Dan': {'n': 2, 'sum': 100.0, 'amounts': [99.9, 0.1], 'avg': 50.0},
        },
    ),
    _program(
        'summary_dict_with_mixed_values_updated',
        """
        summary = {'total': 0, 'open': 0, 'names': [], 'by_priority': {}, 'oldest': None}
        page = await list_tickets(project='WEB', page_size=50)
        for t in page['items']:
            summary['total'] += 1
            if t['status'] == 'open':
                summary['open'] += 1
            summary['names'].append(t['title'])
            summary['by_priority'][t['priority']] = summary['by_priority'].get(t['priority'], 0) + 1
            if summary['oldest'] is None or t['created'] < summary['oldest']:
                summary['oldest'] = t['created']
        summary['names'] = sorted(summary['names'])[:2]
        summary
        """,
        expected={
            'total': 5,
            'open': 3,
            'names': ['Dark mode', 'Login page crashes'],
            'by_priority': {'1': 1, '3': 2, '2': 2},
            'oldest': '2023-11-20T11:00:00',
        },
    ),
    _program(
        'nested_defaultdict',
        """
        from collections import defaultdict
        tree = defaultdict(lambda: defaultdict(list))
        for path in await list_files():
            parts = path.strip('/').split('/')
            folder = parts[0] if len(parts) > 1 else '.'
            ext = parts[-1].rsplit('.', 1)[-1]
            tree[folder][ext].append(parts[-1])
        {k: dict(v) for k, v in tree.items()}
        """,
        expected={
            '.': {'md': ['README.md']},
            'data': {'json': ['config.json'], 'csv': ['people.csv']},
            'logs': {'log': ['app.log']},
            'src': {'py': ['main.py', 'text.py']},
        },
    ),
    _program(
        'list_of_rows_with_mixed_cells',
        r"""
        rows = [['name', 'hours', 'skills']]
        teams = await team_members()
        for team, members in teams.items():
            for m in members:
                rows.append([m['name'], m['hours'], len(m['skills'])])
        header, *body = rows
        total_hours = sum(r[1] for r in body)
        body.sort(key=lambda r: -r[1])
        '\n'.join(f'{n:<6}{h:>7.1f}{s:>3d}' for n, h, s in body) + f'\n{total_hours:.1f}'
        """,
        expected='Ada      40.0  2\nCleo     38.0  2\nBob      32.5  1\n110.5',
    ),
    _program(
        'columns_with_zip_star',
        """
        rows = await query(sql='SELECT name, score FROM users WHERE score IS NOT NULL ORDER BY name')
        pairs = [(r['name'], r['score']) for r in rows]
        names, scores = zip(*pairs)
        best = names[scores.index(max(scores))]
        [list(names), sum(scores), best]
        """,
        expected=[['Ada', 'Bob', 'Dan'], 21.75, 'Ada'],
    ),
    _program(
        'running_best_none_first',
        """
        best = None
        best_score = -1
        for team, members in (await team_members()).items():
            for m in members:
                score = m['hours'] * len(m['skills'])
                if best is None or score > best_score:
                    best, best_score = m, score
        best['name'], best_score
        """,
        expected=['Ada', 80.0],
    ),
    _program(
        'max_of_dict_by_value',
        """
        counts = {}
        for path in await list_files():
            ext = path.split('.')[-1]
            counts[ext] = counts.get(ext, 0) + 1
        most = max(counts, key=lambda e: counts[e])
        ranking = sorted(counts, key=lambda e: (-counts[e], e))
        [most, ranking]
        """,
        expected=['py', ['py', 'csv', 'json', 'log', 'md']],
    ),
    _program(
        'sort_with_tuple_and_negative_keys',
        """
        page = await list_tickets(project='WEB', page_size=50)
        items = sorted(page['items'], key=lambda t: (t['priority'], -(t['estimate'] or 0), t['key']))
        [(t['key'], t['priority'], t['estimate']) for t in items]
        """,
        expected=[['WEB-1', 1, 3.5], ['WEB-5', 2, 40.0], ['WEB-3', 2, 8.0], ['WEB-4', 3, 0.5], ['WEB-2', 3, None]],
    ),
    _program(
        'sort_by_value_of_items',
        """
        hours = {m['name']: m['hours'] for ms in (await team_members()).values() for m in ms}
        ranked = sorted(hours.items(), key=lambda kv: kv[1], reverse=True)
        dict(ranked[:2]), ranked[-1][0]
        """,
        expected=[{'Ada': 40.0, 'Cleo': 38.0}, 'Bob'],
    ),
    _program(
        'sums_of_generators_any_all',
        """
        page = await list_tickets(project='WEB', page_size=50)
        items = page['items']
        n_bugs = sum(1 for t in items if 'bug' in t['labels'])
        hours = sum(t['estimate'] for t in items if t['estimate'] is not None)
        unassigned = any(t['assignee'] is None for t in items)
        all_dated = all(t['due'] for t in items)
        votes = sum(t['custom'].get('votes', 0) for t in items)
        [n_bugs, hours, unassigned, all_dated, votes]
        """,
        expected=[2, 52.0, True, False, 15],
    ),
    _program(
        'set_algebra_over_results',
        """
        teams = await team_members()
        core = {s for m in teams['core'] for s in m['skills']}
        infra = {s for m in teams['infra'] for s in m['skills']}
        {
            'both': sorted(core & infra),
            'all': sorted(core | infra),
            'only_core': sorted(core - infra),
            'sub': {'sql'} <= core,
        }
        """,
        expected={'both': ['sql'], 'all': ['bash', 'go', 'python', 'sql'], 'only_core': ['go', 'python'], 'sub': True},
    ),
    _program(
        'dict_grows_new_shapes',
        """
        report = {}
        report['files'] = await list_files(path='/data')
        report['stats'] = await workspace_stats()
        report['count'] = len(report['files'])
        report['uptime'] = f"{report['stats']['uptime']:.1f}%"
        report['nested'] = {'a': {}}
        report['nested']['a']['b'] = [1, 'x', None]
        {k: v for k, v in report.items() if k != 'stats'}
        """,
        expected={
            'files': ['/data/config.json', '/data/people.csv'],
            'count': 2,
            'uptime': '100.0%',
            'nested': {'a': {'b': [1, 'x', None]}},
        },
    ),
    _program(
        'number_then_text_then_list',
        """
        x = 3
        x = str(x) + '0'
        x = [int(x), x]
        x = {type(v).__name__: v for v in x}
        x
        """,
        expected={'int': 30, 'str': '30'},
    ),
    _program(
        'totals_start_as_int_become_float',
        """
        total = 0
        counts = {'a': 0}
        for row in await query(sql='SELECT amount FROM sales'):
            total += row['amount']
            counts['a'] += 1.5
            counts['b'] = row['amount']
        round(total, 2), counts
        """,
        expected=[167.5, {'a': 7.5, 'b': 0.1}],
    ),
    _program(
        'grouping_with_itertools',
        """
        from itertools import groupby
        page = await list_tickets(project='WEB', page_size=50)
        items = sorted(page['items'], key=lambda t: t['status'])
        {status: [t['key'] for t in group] for status, group in groupby(items, key=lambda t: t['status'])}
        """,
        expected={'done': ['WEB-4'], 'in_progress': ['WEB-2'], 'open': ['WEB-1', 'WEB-3', 'WEB-5']},
    ),
    _program(
        'reduce_and_chain',
        """
        from functools import reduce
        from itertools import chain
        teams = await team_members()
        everyone = list(chain.from_iterable(teams.values()))
        hours = reduce(lambda acc, m: acc + m['hours'], everyone, 0)
        lookup = {m['name']: m for m in everyone}
        [hours, lookup['Cleo']['role'], reduce(lambda a, b: {**a, b['name']: b['role']}, everyone, {})]
        """,
        expected=[110.5, 'ops', {'Ada': 'lead', 'Bob': 'dev', 'Cleo': 'ops'}],
    ),
    _program(
        'matrix_and_transposition',
        """
        series = await time_series(name='cpu', start='2024-01-01T00:00:00')
        values = [v for _, v in series]
        avg = sum(values) / len(values)
        peak_ts, peak = max(series, key=lambda p: p[1])
        {'avg': avg, 'peak': peak, 'hour': peak_ts[11:13], 'above': [ts for ts, v in series if v > avg]}
        """,
        expected={'avg': 3.5, 'peak': 7.0, 'hour': '12', 'above': ['2024-01-01T12:00:00', '2024-01-01T18:00:00']},
    ),
    _program(
        'points_as_pairs_with_indices',
        """
        points = await time_series(name='mem', start='2024-01-01T00:00:00', end='2024-01-02T00:00:00', step='6h')
        total = 0.0
        for p in points:
            total += p[1]
        deltas = [b[1] - a[1] for a, b in zip(points, points[1:])]
        first_day = points[0][0].split('T')[0]
        [total, deltas, first_day]
        """,
        expected=[14.0, [-3.0, 7.0, -3.0], '2024-01-01'],
    ),
    _program(
        'points_parsed_into_datetimes',
        """
        from datetime import datetime, timedelta

        start = datetime(2024, 1, 1)
        points = await time_series(name='io', start=start.isoformat(), end=(start + timedelta(days=1)).isoformat())
        parsed = [(datetime.fromisoformat(ts), value) for ts, value in points]
        gaps = {(b[0] - a[0]).total_seconds() / 3600 for a, b in zip(parsed, parsed[1:])}
        {'gaps': list(gaps), 'noon': [v * 2 for t, v in parsed if t.hour == 12]}
        """,
        expected={'gaps': [6.0], 'noon': [12.0]},
    ),
]

_UNIONS = [
    _program(
        'success_or_error_by_discriminator',
        """
        r = await update_ticket(key='WEB-1', status='in_progress')
        if r['status'] == 'ok':
            out = f"{r['ticket']['key']}: {', '.join(r['changed'])}"
        else:
            out = f"failed ({r['code']}): {r['error']}"
        out
        """,
        expected='WEB-1: status',
    ),
    _program(
        'success_or_error_negative_test_first',
        """
        async def update(key, **changes):
            result = await update_ticket(key=key, **changes)
            if result['status'] != 'ok':
                return f"error {result['code']}: {result['error']}"
            return f"{result['ticket']['title']} -> {result['ticket']['status']}"

        [await update('WEB-1', status='done'), await update('WEB-4', labels=['x']), await update('NOPE')]
        """,
        expected=['Login page crashes -> done', 'error conflict: WEB-4 is closed', 'error not_found: no ticket NOPE'],
    ),
    _program(
        'error_key_tested_with_in',
        """
        lines = []
        for key in ['WEB-1', 'WEB-4', 'WEB-77']:
            result = await update_ticket(key=key, labels=['triaged'])
            if 'error' in result:
                lines.append(f"{key}: {result['error']}")
                continue
            lines.append(f"{key}: {result['ticket']['labels']}")
        lines
        """,
        expected=["WEB-1: ['triaged']", 'WEB-4: WEB-4 is closed', 'WEB-77: no ticket WEB-77'],
    ),
    _program(
        'no_test_at_all_on_success',
        """
        result = await update_ticket(key='WEB-2', assignee='ada')
        result['ticket']['assignee']['login']
        """,
        expected='ada',
    ),
    _program(
        'ok_flag_true_false_bodies',
        """
        page = await http_get(url='https://example.com/a')
        title = page['body'].split('<title>')[1].split('</title>')[0] if page['ok'] else None
        missing = await http_get(url='https://example.com/busy')
        wait = 0 if missing['ok'] else missing['retry_after']
        [title, wait]
        """,
        expected=['Alpha', 5],
    ),
    _program(
        'ok_flag_kept_in_variable',
        """
        r = await http_get(url='https://example.com/b')
        ok = r['ok']
        if ok:
            status = r['status_code']
            size = len(r['body'])
        else:
            status, size = None, 0
        [status, size]
        """,
        expected=[200, 19],
    ),
    _program(
        'ok_flag_compared_with_true',
        """
        results = []
        for path in ('a', 'zzz', 'b'):
            r = await http_get(url=f'https://example.com/{path}')
            if r['ok'] == True:
                results.append(r['headers']['content-length'])
            elif r['ok'] is False:
                results.append(r['error'])
        results
        """,
        expected=['56', 'not found', '19'],
    ),
    _program(
        'ok_filter_into_list_then_use',
        """
        import asyncio
        urls = [f'https://example.com/{x}' for x in 'abc']
        responses = await asyncio.gather(*(http_get(url=u) for u in urls))
        good = [r for r in responses if r['ok']]
        bad = [r for r in responses if not r['ok']]
        bodies = [r['body'][:14] for r in good]
        reasons = [r['error'] for r in bad]
        [bodies, reasons, good[0]['status_code']]
        """,
        expected=[['<title>Alpha</', '<title>Beta</t'], ['not found'], 200],
    ),
    _program(
        'ok_get_with_default',
        """
        r1 = await http_get(url='https://example.com/none')
        r2 = await http_get(url='https://example.com/b')
        [r.get('body', '') or r.get('error') for r in (r1, r2)]
        """,
        expected=['not found', '<title>Beta</title>'],
    ),
    _program(
        'ok_key_error_caught',
        """
        texts = []
        for u in ['https://example.com/b', 'https://example.com/q']:
            r = await http_get(url=u)
            try:
                texts.append(r['body'])
            except KeyError:
                texts.append('ERR ' + r['error'])
        texts
        """,
        expected=['<title>Beta</title>', 'ERR not found'],
    ),
    _program(
        'ok_early_return_in_helper',
        """
        async def fetch(url):
            r = await http_get(url=url)
            if not r['ok']:
                return None
            return r['body']

        async def links(url):
            body = await fetch(url)
            if body is None:
                return []
            return ['https://example.com' + part.split('"')[0] for part in body.split('href="')[1:]]

        found = await links('https://example.com/a')
        [found, await links('https://example.com/x')]
        """,
        expected=[['https://example.com/b', 'https://example.com/c'], []],
    ),
    _program(
        'ok_and_condition_in_one_line',
        """
        r = await http_get(url='https://example.com/a')
        has_beta = r['ok'] and 'Beta' in r['body']
        retry = not r['ok'] and (r['retry_after'] or 0) > 3
        [has_beta, retry]
        """,
        expected=[False, False],
    ),
    _program(
        'ok_match_statement',
        """
        outs = []
        for key in ('WEB-3', 'WEB-4'):
            r = await update_ticket(key=key, fields={'votes': 4, 'reviewed': True, 'note': None, 'ratio': 0.5})
            match r['status']:
                case 'ok':
                    outs.append(r['ticket']['custom']['votes'])
                case 'error':
                    outs.append(r['code'])
        outs
        """,
        expected=[4, 'conflict'],
    ),
    _program(
        'ok_match_mapping_pattern',
        """
        outs = []
        for u in ('a', 'gone'):
            match await http_get(url=f'https://example.com/{u}'):
                case {'ok': True, 'body': body}:
                    outs.append(len(body))
                case {'error': reason}:
                    outs.append(reason)
        outs
        """,
        expected=[56, 'not found'],
    ),
    _program(
        'events_by_kind_chain',
        """
        lines = []
        for raw in ['push:main,a1,b2', 'review:ada!', 'ping:']:
            event = await read_event(raw=raw)
            if event['kind'] == 'push':
                lines.append(f"{event['branch']}+{len(event['commits'])}")
            elif event['kind'] == 'review':
                lines.append(event['reviewer'] + (' yes' if event['approved'] else ' no'))
            else:
                lines.append(event['kind'])
        lines
        """,
        expected=['main+2', 'ada yes', 'ping'],
    ),
    _program(
        'events_dispatched_by_table',
        """
        handlers = {
            'push': lambda e: ','.join(e['commits']),
            'review': lambda e: e['reviewer'],
            'ping': lambda e: 'pong',
        }
        [handlers[e['kind']](e) for e in [await read_event(raw=r) for r in ('push:dev,x,y', 'review:bob', 'ping')]]
        """,
        expected=['x,y', 'bob', 'pong'],
    ),
    _program(
        'events_kind_in_variable_and_get',
        """
        counts = {}
        commits = 0
        for raw in ('push:main,a', 'ping', 'push:dev,b,c'):
            ev = await read_event(raw=raw)
            kind = ev.get('kind', 'unknown')
            counts[kind] = counts.get(kind, 0) + 1
            commits += len(ev.get('commits', []))
            branch = ev.get('branch') or '-'
            print(kind, branch)
        [counts, commits]
        """,
        expected=[{'push': 2, 'ping': 1}, 3],
    ),
    _program(
        'events_filtered_then_used',
        """
        events = [await read_event(raw=r) for r in ('push:main,a', 'review:ada!', 'push:dev,b,c')]
        pushes = [e for e in events if e['kind'] == 'push']
        reviews = list(filter(lambda e: e['kind'] == 'review', events))
        [sum(len(p['commits']) for p in pushes), reviews[0]['approved']]
        """,
        expected=[3, True],
    ),
    _program(
        'events_in_key_test',
        """
        ev = await read_event(raw='push:main,a,b')
        info = ev['commits'][-1] if 'commits' in ev else ev['reviewer'] if 'reviewer' in ev else None
        info
        """,
        expected='b',
    ),
    _program(
        'defensive_error_test_on_plain_result',
        """
        stats = await workspace_stats()
        if isinstance(stats, dict) and 'error' in stats:
            print('Error:', stats['error'])
            result = None
        else:
            result = stats['users']
        result
        """,
        expected=3,
    ),
    _program(
        'defensive_error_test_on_list_result',
        """
        tickets = await search_tickets(query='e')
        if isinstance(tickets, dict) and tickets.get('error'):
            out = tickets['error']
        elif not tickets:
            out = 'none'
        else:
            out = [t['key'] for t in tickets]
        out
        """,
        expected=['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5'],
    ),
    _program(
        'defensive_isinstance_str_then_json',
        """
        import json
        raw = await workspace_stats()
        if isinstance(raw, str):
            raw = json.loads(raw)
        data = raw.get('data', raw)
        data['tickets']
        """,
        expected=5,
    ),
    _program(
        'defensive_list_or_wrapped_list',
        """
        res = await search_tickets(query='mode')
        items = res if isinstance(res, list) else res.get('items', [])
        [i['key'] for i in items]
        """,
        expected=['WEB-2'],
    ),
    _program(
        'defensive_any_result_shapes',
        """
        me = await get_me()
        if isinstance(me, str):
            import json
            me = json.loads(me)
        login = me['login'] if isinstance(me, dict) else me[0]['login']
        followers = ((me or {}).get('details') or {}).get('followers', 0)
        company = me.get('details', {}).get('company') or 'n/a'
        [login, followers, company]
        """,
        expected=['ada', 10, 'n/a'],
    ),
    _program(
        'defensive_get_of_keys_that_are_not_there',
        """
        t = await get_ticket(key='WEB-1')
        owner = t.get('owner') or t.get('assignee', {}).get('login', 'nobody')
        url = t.get('url', 'n/a')
        [owner, url]
        """,
        expected=['ada', 'n/a'],
    ),
]

_HELPERS = [
    _program(
        'hints_optional_list_dict_from_typing',
        """
        from typing import Any, Dict, List, Optional, Tuple

        async def find(prefix: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
            tickets: List[Dict[str, Any]] = []
            for t in await search_tickets(query=prefix):
                tickets.append(t)
            return tickets[:limit] if limit else tickets

        def pick(rows: List[Dict[str, Any]], key: str) -> Tuple[int, List[Any]]:
            values = [r[key] for r in rows]
            return len(values), values

        n, titles = pick(await find('e', limit=2), 'title')
        n, titles
        """,
        expected=[2, ['Login page crashes', 'Dark mode']],
    ),
    _program(
        'hints_default_none_without_optional',
        """
        async def search(text: str, labels: list = None, limit: int = None) -> list:
            flt = {'labels': labels} if labels else None
            return await search_tickets(query=text, filter=flt, limit=limit)

        [len(await search('e')), len(await search('e', labels=['bug'])), len(await search('e', limit=1))]
        """,
        expected=[5, 2, 1],
    ),
    _program(
        'hints_that_lie_a_little',
        """
        async def get_title(key: str) -> str:
            t = await get_ticket(key=key)
            if not t:
                return None
            return t['title']

        async def get_keys(prefix: str) -> list:
            return {t['key'] for t in await search_tickets(query=prefix)}

        [await get_title('WEB-2'), await get_title('nope'), sorted(await get_keys('page'))]
        """,
        expected=['Dark mode', None, ['WEB-1']],
    ),
    _program(
        'hints_dict_return_none_and_str',
        r"""
        async def describe(path: str) -> dict:
            if not await file_exists(path=path):
                return None
            text = await read_file(path=path)
            return {'path': path, 'lines': text.count('\n')}

        d = await describe('/README.md')
        e = await describe('/nothing')
        d['lines'] if e is None else 0
        """,
        expected=6,
    ),
    _program(
        'hints_wrong_argument_types_harmless',
        """
        def label(count: str, names: list) -> str:
            return f'{count}: ' + '/'.join(names)

        stats = await workspace_stats()
        tags = tuple(await known_tags())
        label(stats['users'], tags)
        """,
        expected='3: bug',
    ),
    _program(
        'hints_pep604_and_nested_functions',
        """
        async def report(team: str | None = None, *, verbose: bool = False) -> dict[str, float]:
            members = await team_members(team=team)

            def hours(rows: list[dict]) -> float:
                return sum(r['hours'] for r in rows)

            async def describe(name: str) -> tuple[str, float]:
                return name, hours(members[name])

            out: dict[str, float] = {}
            for name in members:
                key, value = await describe(name)
                out[key] = value
                if verbose:
                    print(key, value)
            return out

        await report(verbose=True)
        """,
        expected={'core': 72.5, 'infra': 38.0},
    ),
    _program(
        'main_function_called_at_end',
        """
        import asyncio

        async def main():
            user = await find_user(id="Ada")
            if user is None:
                print("no such user")
                return
            boss_of = []
            for uid in range(1, 4):
                other = await find_user(id=uid)
                if other and other.get("manager_id") == user["id"]:
                    boss_of.append(other["name"])
            return {"user": user["name"], "boss_of": boss_of}

        result = await main()
        print(result)
        result
        """,
        expected={'user': 'Ada', 'boss_of': ['Bob']},
    ),
    _program(
        'main_function_gathers_pairs',
        """
        import asyncio

        async def process(path):
            text = await read_file(path=path)
            return path, len(text.split())

        async def main():
            files = await list_files(pattern='*.py')
            pairs = await asyncio.gather(*[process(f) for f in files])
            return dict(pairs)

        await main()
        """,
        expected={'/src/main.py': 9, '/src/util/text.py': 7},
    ),
    _program(
        'main_guard',
        """
        async def main():
            tree = await file_tree(path='/data')
            return [c['name'] for c in tree['children']]

        if __name__ == '__main__':
            names = await main()
        names
        """,
        expected=['config.json', 'people.csv'],
    ),
    _program(
        'recursion_over_tree_async',
        """
        async def walk(path):
            node = await file_tree(path=path)
            total = 0
            for child in node['children']:
                if child['type'] == 'dir':
                    total += await walk(f"{path.rstrip('/')}/{child['name']}")
                else:
                    total += child['size']
            return total

        await walk('/')
        """,
        expected=585,
    ),
    _program(
        'recursion_over_tree_plain_with_hints',
        """
        def flatten(node: dict, prefix: str = '', depth: int = 0) -> list[tuple[str, int]]:
            out = []
            name = node['name'] if node['name'] != '/' else ''
            for child in node.get('children') or []:
                out.extend(flatten(child, f'{prefix}{name}/', depth + 1))
            if node['type'] == 'file':
                out.append((prefix + name, node.get('size') or 0))
            return out

        tree = await file_tree()
        files = flatten(tree)
        biggest = sorted(files, key=lambda f: (-f[1], f[0]))[0]
        [len(files), biggest[0], max(d.count('/') for d, _ in files)]
        """,
        expected=[6, '/logs/app.log', 3],
    ),
    _program(
        'recursion_over_tree_with_stack',
        r"""
        tree = await file_tree()
        stack = [(tree, 0)]
        lines = []
        while stack:
            node, depth = stack.pop()
            lines.append('  ' * depth + node['name'])
            for child in reversed(node.get('children', [])):
                stack.append((child, depth + 1))
        '\n'.join(lines)
        """,
        expected='/\n  README.md\n  data\n    config.json\n    people.csv\n  logs\n    app.log\n  src\n    main.py\n    util\n      text.py',
    ),
    _program(
        'recursion_over_json',
        """
        import json

        def leaves(value, path='$'):
            if isinstance(value, dict):
                return [leaf for k, v in value.items() for leaf in leaves(v, f'{path}.{k}')]
            elif isinstance(value, list):
                return [leaf for i, v in enumerate(value) for leaf in leaves(v, f'{path}[{i}]')]
            return [(path, value)]

        config = json.loads(await read_file(path='/data/config.json'))
        found = dict(leaves(config))
        [found['$.service.port'], found['$.owners[1].team'], len(found)]
        """,
        expected=[8080, None, 10],
    ),
    _program(
        'lambdas_with_default_arguments',
        """
        teams = await team_members()
        makers = [lambda extra, n=name: f'{n}{extra}' for name in teams]
        checks = {name: (lambda h, limit=sum(m['hours'] for m in ms): h > limit) for name, ms in teams.items()}
        [make('!') for make in makers], {k: f(50) for k, f in checks.items()}
        """,
        expected=[['core!', 'infra!'], {'core': False, 'infra': True}],
    ),
    _program(
        'tools_passed_as_functions',
        """
        async def call_all(fn, key, values):
            return [await fn(**{key: v}) for v in values]

        places = await call_all(geocode, 'place', ['Oslo', 'Rome'])
        texts = await call_all(read_file, 'path', ['/README.md'])
        [p[0] for p in places] + [len(t) for t in texts]
        """,
        expected=[59.91, 41.9, 47],
    ),
    _program(
        'tools_in_a_table',
        """
        actions = {
            'ticket': (get_ticket, {'key': 'WEB-2'}),
            'user': (find_user, {'id': 3}),
            'exists': (file_exists, {'path': '/README.md'}),
        }
        out = {}
        for name, (fn, kwargs) in actions.items():
            out[name] = await fn(**kwargs)
        [out['ticket']['title'], out['user']['name'], out['exists']]
        """,
        expected=['Dark mode', 'Cleo', True],
    ),
    _program(
        'tools_in_partial',
        """
        from functools import partial
        web = partial(list_tickets, project='WEB', page_size=1)
        first = await web()
        second = await web(cursor=first['page']['next_cursor'])
        [first['items'][0]['key'], second['items'][0]['key']]
        """,
        expected=['WEB-1', 'WEB-2'],
    ),
    _program(
        'tools_behind_own_wrappers',
        """
        async def T(key): return await get_ticket(key=key)
        get = lambda k: get_ticket(key=k)

        a = await T('WEB-1')
        b = await get('WEB-2')
        c = (await get('WEB-3'))['title']
        [a['title'], b['title'], c]
        """,
        expected=['Login page crashes', 'Dark mode', 'Slow search results'],
    ),
    _program(
        'star_kwargs_of_mixed_dict',
        """
        base = {'origin': 'CDG', 'destination': 'OSL', 'day': '2024-07-01', 'adults': 2, 'max_price': 500, 'airlines': ['AF']}
        direct = await search_flights(**base, max_stops=0)
        business = await search_flights(**{**base, 'cabin': 'business'}, currency='USD')
        [f['price'] for f in direct['flights']], [f['number'] for f in business['flights']]
        """,
        expected=[[240.0, 820.0], ['AF12']],
    ),
    _program(
        'star_kwargs_of_dict_constructor',
        """
        common = dict(owner='octo', repo='demo')
        issue = await issue_read(method='get', issue_number=1, **common)
        labels = await issue_read(method='get_labels', issue_number=4, **common)
        new = await issue_write(**common, method='create', title='Follow-up of ' + issue['title'], labels=[l['name'] for l in labels])
        [new['title'], new['labels']]
        """,
        expected=['Follow-up of Crash on start', ['bug', 'p1']],
    ),
    _program(
        'star_kwargs_from_zip',
        """
        names = ['origin', 'destination', 'day']
        args = dict(zip(names, ['CDG', 'OSL', '2024-07-01']))
        args['per_page'] = 5
        args.update(sort_by='minutes', descending=True)
        r = await search_flights(**args)
        [f['minutes'] for f in r['flights']]
        """,
        expected=[260, 135, 130],
    ),
    _program(
        'class_as_client',
        """
        class Tracker:
            def __init__(self, project, page_size=2):
                self.project = project
                self.page_size = page_size
                self.cache = {}
                self.calls = 0

            async def get(self, key):
                if key not in self.cache:
                    self.calls += 1
                    self.cache[key] = await get_ticket(key=key)
                return self.cache[key]

            async def titles(self, *numbers):
                return [(await self.get(f'{self.project}-{n}'))['title'] for n in numbers]

        tracker = Tracker('WEB')
        titles = await tracker.titles(1, 2, 1)
        [titles, tracker.calls]
        """,
        expected=[['Login page crashes', 'Dark mode', 'Login page crashes'], 2],
    ),
    _program(
        'class_collects_statistics',
        """
        class Stat:
            count = 0
            total = 0

            def __init__(self, name: str):
                self.name = name
                self.values = []
                self.best = None

            def add(self, value):
                self.values.append(value)
                self.count += 1
                self.total += value
                if self.best is None or value > self.best:
                    self.best = value
                return self

            def summary(self):
                return {'name': self.name, 'avg': round(self.total / self.count, 2), 'best': self.best}

        stats = {}
        for row in await query(sql='SELECT user_id, amount FROM sales'):
            stats.setdefault(row['user_id'], Stat(f"u{row['user_id']}")).add(row['amount'])
        [s.summary() for s in stats.values()]
        """,
        expected=[
            {'name': 'u1', 'avg': 27.75, 'best': 35.5},
            {'name': 'u2', 'avg': 12.0, 'best': 12.0},
            {'name': 'u4', 'avg': 50.0, 'best': 99.9},
        ],
    ),
    _program(
        'dataclass_records_sorted',
        """
        from dataclasses import dataclass, field
        from typing import Optional

        @dataclass
        class Row:
            key: str
            hours: float
            owner: Optional[str] = None
            tags: list = field(default_factory=list)

        rows = []
        for t in (await list_tickets(project='WEB', page_size=9))['items']:
            rows.append(Row(t['key'], t['estimate'] or 0, owner=t['assignee'] and t['assignee']['login'], tags=t['labels']))
        rows.sort(key=lambda r: (-len(r.tags), r.key))
        rows[0].tags.append('first')
        [(r.key, r.owner, r.hours) for r in rows[:3]], rows[0].tags
        """,
        expected=[[['WEB-1', 'ada', 3.5], ['WEB-2', None, 0], ['WEB-3', 'bob', 8.0]], ['bug', 'auth', 'first']],
    ),
    _program(
        'dataclass_with_hints_that_lie',
        r"""
        from dataclasses import dataclass

        @dataclass
        class Person:
            name: str
            age: int
            email: str = None

        lines = (await read_file(path='/data/people.csv')).strip().split('\n')
        people = [Person(*line.split(',')[:2]) for line in lines[1:]]
        people.append(Person(name=None, age='40', email='x@y'))
        [int(p.age) + 1 for p in people], people[-1].email
        """,
        expected=[[37, 42, 30, 41], 'x@y'],
    ),
    _program(
        'dataclass_returned',
        """
        from dataclasses import dataclass

        @dataclass
        class Summary:
            users: int
            uptime: str

        s = await workspace_stats()
        Summary(s['users'], f"{s['uptime']}%")
        """,
        expected={'users': 3, 'uptime': '99.95%'},
    ),
    _program(
        'namedtuple_records',
        """
        from collections import namedtuple
        Point = namedtuple('Point', ['name', 'lat', 'lon'])
        points = [Point(p, *await geocode(place=p)) for p in ('Paris', 'Rome')]
        north = max(points, key=lambda p: p.lat)
        [north.name, round(sum(p.lon for p in points), 2)]
        """,
        expected=['Paris', 14.85],
    ),
    _program(
        'global_counter_in_function',
        """
        calls = 0
        log = []

        async def lookup(place):
            global calls
            calls += 1
            log.append(place)
            return await geocode(place=place)

        for p in ['Oslo', 'Rome']:
            await lookup(p)
        [calls, log]
        """,
        expected=[2, ['Oslo', 'Rome']],
    ),
    _program(
        'global_only_assigned_in_function',
        """
        async def setup():
            global settings, smtp
            settings = await load_settings()
            smtp = settings['smtp']

        await setup()
        f"{smtp['host']}:{smtp['port']}" if settings['theme'] == 'dark' else smtp
        """,
        expected='mail.example.com:25',
    ),
    _program(
        'nonlocal_accumulator',
        r"""
        async def count_lines():
            total = 0
            async def one(path):
                nonlocal total
                total += (await read_file(path=path)).count('\n')
            for path in await list_files(path='/src'):
                await one(path)
            return total

        await count_lines()
        """,
        expected=8,
    ),
    _program(
        'memo_in_default_argument',
        """
        async def rate(cur, _cache={}):
            if cur not in _cache:
                for _ in range(2):
                    try:
                        _cache[cur] = await flaky_rate(currency=cur)
                    except RuntimeError:
                        pass
            return _cache[cur]

        [await rate('USD'), await rate('USD'), await rate('GBP')]
        """,
        expected=[1.25, 1.25, 0.8],
    ),
    _program(
        'helper_used_before_its_helper_is_defined',
        """
        async def outer(path):
            return shorten(await read_file(path=path), WIDTH)

        def shorten(text, width):
            return text[:width] + '...' if len(text) > width else text

        WIDTH = 6
        await outer('/README.md')
        """,
        expected='# Demo...',
    ),
    _program(
        'helper_returns_different_shapes',
        """
        async def lookup(key, full=False):
            t = await get_ticket(key=key)
            if t is None:
                return False
            return t if full else t['title']

        title = await lookup('WEB-1')
        record = await lookup('WEB-1', full=True)
        none = await lookup('WEB-100')
        [title.upper(), record['labels'][0], none or 'missing']
        """,
        expected=['LOGIN PAGE CRASHES', 'bug', 'missing'],
    ),
    _program(
        'ternary_with_different_shapes',
        """
        user = await find_user(id='Bob')
        info = {'id': user['id'], 'boss': user['manager_id']} if user else 'unknown'
        value = user['roles'] if len(user['roles']) > 1 else user['roles'][0] if user['roles'] else None
        extra = info['boss'] if isinstance(info, dict) else 0
        [value, extra + 1]
        """,
        expected=['editor', 2],
    ),
    _program(
        'ternary_in_arguments',
        """
        verbose = True
        text = await read_file(path='/README.md' if await file_exists(path='/README.md') else '/src/main.py')
        s = await summarize(text=text, max_words=3 if verbose else 1, style='caps' if verbose else 'plain')
        hits = await search_tickets(query='', filter={'labels': ['bug']} if verbose else None, limit=None if verbose else 1)
        [s, len(hits)]
        """,
        expected=['# DEMO VERSION:', 2],
    ),
]

_GATHERING = [
    _program(
        'gather_in_batches_of_slices',
        """
        import asyncio

        keys = [f'WEB-{i}' for i in range(1, 8)]
        tickets = []
        for i in range(0, len(keys), 3):
            batch = keys[i:i + 3]
            tickets.extend(await asyncio.gather(*[get_ticket(key=k) for k in batch]))
        found = [t for t in tickets if t is not None]
        missing = [k for k, t in zip(keys, tickets) if t is None]
        [[t['key'] for t in found], missing]
        """,
        expected=[['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5'], ['WEB-6', 'WEB-7']],
    ),
    _program(
        'gather_zip_names_and_results',
        """
        import asyncio
        places = ['Paris', 'Oslo', 'Rome']
        coords = dict(zip(places, await asyncio.gather(*(geocode(place=p) for p in places))))
        north = max(coords.items(), key=lambda kv: kv[1][0])
        {'north': north[0], 'lons': {k: round(lon, 1) for k, (lat, lon) in coords.items()}}
        """,
        expected={'north': 'Oslo', 'lons': {'Paris': 2.4, 'Oslo': 10.8, 'Rome': 12.5}},
    ),
    _program(
        'gather_coroutines_kept_in_list',
        """
        import asyncio
        tasks = []
        for key in ('WEB-1', 'WEB-2'):
            tasks.append(get_ticket(key=key))
        tasks.append(find_user(id=1))
        t1, t2, user = await asyncio.gather(*tasks)
        [t1['key'], t2['title'], user['name']]
        """,
        expected=['WEB-1', 'Dark mode', 'Ada'],
    ),
    _program(
        'gather_coroutines_kept_in_dict',
        """
        import asyncio
        jobs = {'stats': workspace_stats(), 'me': get_me(), 'files': list_files(path='/src')}
        values = await asyncio.gather(*jobs.values())
        out = dict(zip(jobs.keys(), values))
        [out['stats']['users'], out['me']['login'], len(out['files'])]
        """,
        expected=[3, 'ada', 2],
    ),
    _program(
        'gather_coroutines_in_dict_awaited_in_loop',
        """
        pending = {}
        for p in ['/README.md', '/src/main.py']:
            pending[p] = read_file(path=p)
        sizes = {}
        for p, coro in pending.items():
            sizes[p] = len(await coro)
        sizes
        """,
        expected={'/README.md': 47, '/src/main.py': 65},
    ),
    _program(
        'gather_mixed_then_star_rest',
        """
        import asyncio
        stats, tags, *texts = await asyncio.gather(
            workspace_stats(),
            known_tags(),
            *[read_file(path=p) for p in await list_files(path='/src')],
        )
        first, *_ = texts
        [stats['tickets'], tags[0], len(texts), first[:9]]
        """,
        expected=[5, 'bug', 2, 'import os'],
    ),
    _program(
        'gather_of_gathers',
        """
        import asyncio
        async def with_comments(key):
            ticket, comments = await asyncio.gather(get_ticket(key=key), ticket_comments(id=key))
            n = sum(len(c) for c in comments.values())
            return {**ticket, 'comments': n, 'likes': sum(c['likes'] for cs in comments.values() for c in cs)}

        full = await asyncio.gather(with_comments('WEB-1'), with_comments('WEB-2'))
        [(f['key'], f['comments'], f['likes']) for f in full]
        """,
        expected=[['WEB-1', 3, 7], ['WEB-2', 0, 0]],
    ),
    _program(
        'gather_conditional_coroutine',
        """
        import asyncio
        want_user = True
        coro = find_user(id=2) if want_user else get_ticket(key='WEB-1')
        pair = await asyncio.gather(coro, known_tags())
        result = await (get_me() if not want_user else workspace_stats())
        [pair[0]['name'], result['users']]
        """,
        expected=['Bob', 3],
    ),
    _program(
        'gather_without_unpacking_helper',
        """
        import asyncio
        async def gather_dict(d):
            return dict(zip(d, await asyncio.gather(*d.values())))

        r = await gather_dict({k: find_user(id=k) for k in ('Ada', 'Cleo')})
        {k: v['roles'] for k, v in r.items()}
        """,
        expected={'Ada': ['admin', 'editor'], 'Cleo': ['viewer']},
    ),
    _program(
        'gather_results_flattened',
        """
        import asyncio
        queries = ['page', 'mode', 'e']
        results = await asyncio.gather(*[search_tickets(query=q) for q in queries])
        seen = {}
        for q, tickets in zip(queries, results):
            for t in tickets:
                seen.setdefault(t['key'], []).append(q)
        unique = {t['key']: t for batch in results for t in batch}
        [{k: v for k, v in sorted(seen.items()) if len(v) > 1}, len(unique)]
        """,
        expected=[{'WEB-1': ['page', 'e'], 'WEB-2': ['mode', 'e']}, 5],
    ),
    _program(
        'gather_with_safe_helper_and_isinstance',
        """
        import asyncio
        async def safe(fn, **kw):
            try:
                return await fn(**kw)
            except Exception as e:
                return e

        res = await asyncio.gather(safe(read_file, path='/README.md'), safe(read_file, path='/no'), safe(geocode, place='Rome'))
        ok = [r for r in res if not isinstance(r, Exception)]
        errors = [str(r) for r in res if isinstance(r, Exception)]
        [len(ok), errors]
        """,
        expected=[2, ['no such file: /no']],
    ),
    _program(
        'gather_nothing',
        """
        import asyncio
        empty = await asyncio.gather(*[read_file(path=p) for p in await list_files(path='/nothing')])
        list(empty)
        """,
        expected=[],
    ),
    _program(
        'gather_enumerated_ids',
        """
        import asyncio
        users = await asyncio.gather(*[find_user(id=i) for i in range(1, 5)])
        managers = {u['id']: u for u in users if u}
        lines = []
        for i, u in enumerate(users, start=1):
            boss = (managers.get((u or {}).get('manager_id')) or {}).get('name', '-')
            lines.append(f"{i}. {(u or {}).get('name', '?'):<5}|{boss:>4}")
        lines
        """,
        expected=['1. Ada  |   -', '2. Bob  | Ada', '3. Cleo | Bob', '4. ?    |   -'],
    ),
    _program(
        'await_in_comprehensions_and_conditions',
        """
        existing = [p for p in ['/README.md', '/x', '/src/main.py'] if await file_exists(path=p)]
        sizes = {p: len(await read_file(path=p)) for p in existing}
        if await file_exists(path='/README.md') and not await file_exists(path='/x'):
            sizes['checked'] = True
        n = (await workspace_stats())['users'] + len(await known_tags())
        [sizes, n, f"{(await find_user(id=1))['name']}"]
        """,
        expected=[{'/README.md': 47, '/src/main.py': 65, 'checked': True}, 4, 'Ada'],
    ),
]

_OPTIONAL = [
    _program(
        'optional_chain_with_or_dict',
        """
        out = {}
        for key in ['WEB-1', 'WEB-2', 'WEB-99']:
            t = await get_ticket(key=key)
            out[key] = ((t or {}).get('assignee') or {}).get('login', 'unassigned')
        out
        """,
        expected={'WEB-1': 'ada', 'WEB-2': 'unassigned', 'WEB-99': 'unassigned'},
    ),
    _program(
        'optional_chain_get_get',
        """
        t = await get_ticket(key='WEB-5')
        budget = t.get('custom', {}).get('budget', {}).get('amount', 0)
        severity = t['custom'].get('severity', 'n/a')
        mail = t.get('assignee', {}).get('email') or 'no mail'
        [budget, severity, mail]
        """,
        expected=[5000, 'n/a', 'no mail'],
    ),
    _program(
        'optional_email_lower_in_condition',
        """
        page = await list_tickets(project='WEB', page_size=9)
        mails = {t['assignee']['email'].lower() for t in page['items'] if t['assignee'] and t['assignee']['email']}
        domains = [m.split('@')[1] for m in mails]
        domains
        """,
        expected=['example.com'],
    ),
    _program(
        'optional_walrus_in_comprehension',
        """
        keys = ['WEB-1', 'NOPE', 'WEB-4']
        titles = [t['title'] for k in keys if (t := await get_ticket(key=k))]
        titles
        """,
        expected=['Login page crashes', 'Update copyright year'],
    ),
    _program(
        'optional_date_compared_and_parsed',
        """
        from datetime import date, datetime
        today = date(2024, 2, 15)
        page = await list_tickets(project='WEB', page_size=9)
        overdue = []
        for t in page['items']:
            if t['due'] and date.fromisoformat(t['due']) < today and t['status'] != 'done':
                days = (today - date.fromisoformat(t['due'])).days
                overdue.append(f"{t['key']} ({days}d)")
        ages = {t['key']: (datetime(2024, 3, 1) - datetime.fromisoformat(t['created'])).days for t in page['items']}
        [overdue, ages['WEB-1'], min(d for d in (t['due'] for t in page['items']) if d)]
        """,
        expected=[['WEB-1 (14d)'], 50, '2024-02-01'],
    ),
    _program(
        'optional_number_arithmetic_and_format',
        """
        page = await list_tickets(project='WEB', page_size=9)
        items = page['items']
        w1 = items[0]
        total = w1['estimate'] * 2 + items[2]['estimate']
        text = f"{w1['estimate']:.2f}h {w1['estimate'] / total:.1%} due {w1['due'][:7]}"
        text
        """,
        expected='3.50h 23.3% due 2024-02',
    ),
    _program(
        'optional_none_compared_everywhere',
        """
        user = await find_user(id='Zed')
        ticket = await get_ticket(key='WEB-2')
        checks = [user is None, user == None, not user, ticket['assignee'] is None, ticket['estimate'] != None, ticket['due'] == '2024-01-01']
        if user is None:
            state = 'no user'
        else:
            state = user['name']
        [checks, state]
        """,
        expected=[[True, True, True, True, False, False], 'no user'],
    ),
    _program(
        'optional_default_by_or',
        """
        t = await get_ticket(key='WEB-2')
        hours = t['estimate'] or 0
        due = t['due'] or 'never'
        login = (t['assignee'] or {'login': 'nobody'})['login']
        parent = t['parent'] or t['key']
        [hours + 1, due, login, parent]
        """,
        expected=[1, 'never', 'nobody', 'WEB-5'],
    ),
    _program(
        'optional_type_checks',
        """
        t = await get_ticket(key='WEB-3')
        kinds = []
        for name, value in t.items():
            if isinstance(value, dict):
                kinds.append(f'{name}:{len(value)}')
            elif isinstance(value, list):
                kinds.append(f'{name}[{len(value)}]')
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                kinds.append(f'{name}={value + 0:g}')
            elif value is None:
                kinds.append(f'{name}?')
        kinds
        """,
        expected=['priority=2', 'assignee:2', 'labels[2]', 'estimate=8', 'custom:2'],
    ),
    _program(
        'optional_parent_chain_loop',
        """
        chain = []
        key = 'WEB-3'
        while key:
            t = await get_ticket(key=key)
            chain.append(t['key'])
            key = t['parent']
        chain
        """,
        expected=['WEB-3', 'WEB-5'],
    ),
    _program(
        'optional_next_with_default',
        """
        page = await list_tickets(project='WEB', page_size=9)
        t = next(iter([t for t in page['items'] if t['parent'] == 'WEB-5']), None)
        u = next(iter([x for x in page['items'] if x['status'] == 'wont_fix']), {})
        [t['key'], u.get('key', 'none')]
        """,
        expected=['WEB-2', 'none'],
    ),
    _program(
        'optional_re_match_groups',
        r"""
        import re
        log = await read_file(path='/logs/app.log')
        rows = []
        for line in log.splitlines():
            m = re.match(r'(\S+) (\S+) (?P<level>[A-Z]+) (\w+)(?: host=(?P<host>\w+))?(?: ms=(\d+))?', line)
            rows.append({'level': m.group('level'), 'host': m.group('host'), 'ms': int(m.group(6) or 0)})
        slowest = max(rows, key=lambda r: r['ms'])
        version = re.search(r'Version:\s*(\d+)\.(\d+)', await read_file(path='/README.md')).groups()
        [slowest, tuple(map(int, version)), len(re.findall(r'ERROR', log))]
        """,
        expected=[{'level': 'ERROR', 'host': 'db1', 'ms': 1500}, [1, 4], 2],
    ),
    _program(
        'optional_csv_parsed',
        """
        import csv
        text = await read_file(path='/data/people.csv')
        people = list(csv.DictReader(text.splitlines()))
        ages = [int(p['age']) for p in people]
        oldest = max(people, key=lambda p: int(p['age']))
        [sum(ages) / len(ages), oldest['name'], {p['city']: p for p in people}['Oslo']['name']]
        """,
        expected=[35.333333333333336, 'Bob', 'Bob'],
    ),
    _program(
        'optional_json_traversal',
        """
        import json
        cfg = json.loads(await read_file(path='/data/config.json'))
        port = cfg['service']['port']
        burst = cfg['limits'].get('burst') or 10
        owners = {o['name']: o['team'] or '-' for o in cfg['owners']}
        cfg['service']['tags'].append('new')
        cfg['limits']['burst'] = burst * 2
        [port + 1, owners, json.dumps(cfg['limits'], sort_keys=True), cfg['service']['tags'][-1]]
        """,
        expected=[8081, {'Ada': 'core', 'Bob': '-'}, '{"burst": 20, "rpm": 600}', 'new'],
    ),
    _program(
        'optional_json_from_http_body',
        """
        import json
        r = await http_get(url='https://example.com/data.json', headers={'Accept': 'application/json'}, timeout=5)
        data = json.loads(r['body'])
        rates = {k: float(v) for k, v in data['rates'].items()}
        [rates, data['as_of'][:4], r['headers'].get('Accept')]
        """,
        expected=[{'EUR': 1.0, 'USD': 1.25}, '2024', 'application/json'],
    ),
]

_INPUTS = [
    _program(
        'inputs_list_variable_for_wider_list',
        """
        names = ['Ada', 'Cleo']
        marks = ','.join('?' * len(names))
        rows = await query(sql=f'SELECT id FROM users WHERE name IN ({marks}) ORDER BY id', params=names)
        ids = [r['id'] for r in rows]
        sales = await query(sql='SELECT SUM(amount) AS total FROM sales WHERE user_id = ?', params=[ids[0]])
        sales[0]['total']
        """,
        expected=55.5,
    ),
    _program(
        'inputs_list_of_mixed_params',
        """
        country = 'UK'
        minimum = 6
        params = [country, minimum]
        params.append(None)
        sql = 'SELECT name FROM users WHERE country = ? AND score > ? AND ? IS NULL'
        [r['name'] for r in await query(sql=sql, params=params)]
        """,
        expected=['Ada'],
    ),
    Program(
        'inputs_sql_triple_quoted_odd_indentation',
        (
            (
                'sql = """\n'
                'SELECT u.country,\n'
                '    COUNT(*) AS n,\n'
                '  ROUND(AVG(u.score), 2) AS avg_score\n'
                '        FROM users u\n'
                'WHERE u.score IS NOT NULL\n'
                '   GROUP BY u.country\n'
                '    ORDER BY n DESC, u.country\n'
                '"""\n'
                'rows = await query(sql=sql)\n'
                "lines = [f\"{r['country']}: {r['n']} ({r['avg_score']:.2f})\" for r in rows]\n"
                'print("\\n".join(lines))\n'
                "rows[0]['n'] + 1"
            ),
        ),
        expected=3,
    ),
    _program(
        'inputs_dict_variable_for_wider_dict',
        """
        fields = {'votes': 5}
        r = await update_ticket(key='WEB-1', fields=fields)
        extra = {'severity': 'low', 'votes': 1, 'ratio': 0.25, 'flag': True}
        extra['note'] = None
        s = await update_ticket(key='WEB-3', fields=extra)
        [r['ticket']['custom'], s['ticket']['custom']]
        """,
        expected=[
            {'severity': 'critical', 'votes': 5},
            {'severity': 'low', 'votes': 1, 'ratio': 0.25, 'flag': True, 'note': None},
        ],
    ),
    _program(
        'inputs_dict_built_by_comprehension',
        """
        custom = {f'field_{i}': i * 2 for i in range(3)}
        r = await update_ticket(key='WEB-2', fields={k: str(v) if v > 2 else v for k, v in custom.items()})
        r['ticket']['custom']
        """,
        expected={'field_0': 0, 'field_1': 2, 'field_2': '4'},
    ),
    _program(
        'inputs_str_variable_for_literal',
        """
        status = 'open'
        style = 'caps' if status == 'open' else 'plain'
        page = await list_tickets(project='WEB', status=status)
        text = await summarize(text=page['items'][0]['title'], style=style)
        text
        """,
        expected='LOGIN PAGE CRASHES',
    ),
    _program(
        'inputs_str_loop_variable_for_literal',
        """
        counts = {}
        for status in ['open', 'in_progress', 'done', 'wont_fix']:
            page = await list_tickets(project='WEB', status=status, page_size=1)
            counts[status] = page['page']['total']
        steps = {}
        for step in ('1h', '6h', '1d'):
            steps[step] = len(await time_series(name='q', start='2024-01-01T00:00:00', step=step))
        [counts, steps]
        """,
        expected=[{'open': 3, 'in_progress': 1, 'done': 1, 'wont_fix': 0}, {'1h': 24, '6h': 4, '1d': 1}],
    ),
    _program(
        'inputs_str_from_config_for_literal',
        """
        import json
        wanted = json.loads('{"cabin": "business", "sort_by": "minutes", "days": ["mon", "fri"]}')
        flights = await search_flights(origin='A', destination='B', day='2024-07-01', cabin=wanted['cabin'], sort_by=wanted['sort_by'])
        name = await schedule_report(name='weekly', days=wanted['days'])
        [len(flights['flights']), name]
        """,
        expected=[1, 'weekly@08:mon,fri'],
    ),
    _program(
        'inputs_str_from_other_result_for_literal',
        """
        first = (await list_tickets(project='WEB', page_size=1))['items'][0]
        same = await list_tickets(project='WEB', status=first['status'], page_size=9)
        by = {}
        for s, n in (await workspace_stats())['by_status'].items():
            by[s] = n == (await list_tickets(project='WEB', status=s))['page']['total']
        [len(same['items']), by]
        """,
        expected=[3, {'open': True, 'in_progress': True, 'done': True}],
    ),
    _program(
        'inputs_list_of_literals_built',
        """
        days = ['mon', 'tue', 'wed', 'thu', 'fri']
        workdays = [d for d in days if d != 'wed']
        workdays.append('sat')
        formats = ['pdf']
        if len(workdays) > 3:
            formats += ['csv']
        a = await schedule_report(name='a', days=workdays, formats=formats)
        b = await schedule_report(name='b', days=days[:2] + ['sun'])
        c = await schedule_report(name='c', days='mon tue'.split(), hour=int('7'))
        d = await schedule_report(name='d', days=list(dict.fromkeys(['fri', 'fri', 'sat'])))
        [a, b, c, d]
        """,
        expected=['a@08:mon,tue,thu,fri,sat.pdf.csv', 'b@08:mon,tue,sun', 'c@07:mon,tue', 'd@08:fri,sat'],
    ),
    _program(
        'inputs_sort_list_variable',
        """
        order = ['priority', '-created']
        found = await search_tickets(query='e', sort=order, limit=3)
        reverse = [('-' if not o.startswith('-') else '') + o.lstrip('-') for o in order]
        back = await search_tickets(query='e', sort=reverse, limit=1)
        [[t['key'] for t in found], back[0]['key']]
        """,
        expected=[['WEB-1', 'WEB-3', 'WEB-5'], 'WEB-4'],
    ),
    _program(
        'inputs_filter_dict_variable',
        """
        flt = {'labels': ['bug']}
        flt['max_priority'] = 2
        a = await search_tickets(query='', filter=flt)
        b = await search_tickets(query='', filter={'status': ['open', 'done'], 'created_after': '2024-01-01T00:00:00'})
        c = await search_tickets(query='', filter=dict(labels=['ui'], status=['in_progress']))
        c2 = await search_tickets(query='', filter={})
        [[t['key'] for t in x] for x in (a, b, c)], len(c2)
        """,
        expected=[[['WEB-1', 'WEB-3'], ['WEB-1', 'WEB-3'], ['WEB-2']], 5],
    ),
    _program(
        'inputs_filter_dict_conditional',
        """
        import json
        opts = json.loads('{"labels": ["ui"], "prio": null}')
        filter = {}
        if opts['labels']:
            filter['labels'] = opts['labels']
        if opts['prio'] is not None:
            filter['max_priority'] = opts['prio']
        filter['status'] = ['open', 'in_progress']
        [t['key'] for t in await search_tickets(query='', filter=filter or None, sort=['key'])]
        """,
        expected=['WEB-2', 'WEB-5'],
    ),
    _program(
        'inputs_filter_updated_and_unioned',
        """
        base = {'status': ['open']}
        wide = base | {'max_priority': 3}
        narrow = {**base, 'labels': ['bug'], 'max_priority': 1}
        wide.update({'labels': ['performance']})
        [[t['key'] for t in await search_tickets(query='', filter=f)] for f in (base, wide, narrow)]
        """,
        expected=[['WEB-1', 'WEB-3', 'WEB-5'], ['WEB-3'], ['WEB-1']],
    ),
    _program(
        'inputs_result_passed_whole',
        """
        page = await list_tickets(project='WEB', status='open', page_size=9)
        closed = await close_tickets(tickets=page['items'])
        one = await close_tickets(tickets=[await get_ticket(key='WEB-2')], resolution='wont_fix')
        some = await close_tickets(tickets=[t for t in page['items'] if not t['assignee'] or t['assignee']['login'] == 'bob'])
        [closed, one, sorted(some)]
        """,
        expected=[{'WEB-1': 'done', 'WEB-3': 'done', 'WEB-5': 'done'}, {'WEB-2': 'wont_fix'}, ['WEB-3', 'WEB-5']],
    ),
    _program(
        'inputs_result_changed_then_passed',
        """
        t = await get_ticket(key='WEB-1')
        t['labels'].append('urgent')
        t['assignee'] = None
        t['estimate'] = 1
        clone = dict(t)
        clone['key'] = 'WEB-1b'
        spread = {**t, 'key': 'WEB-1c', 'status': 'done'}
        merged = t | {'key': 'WEB-1d', 'due': None}
        await close_tickets(tickets=[t, clone, spread, merged])
        """,
        expected={'WEB-1': 'done', 'WEB-1b': 'done', 'WEB-1c': 'done', 'WEB-1d': 'done'},
    ),
    _program(
        'inputs_result_copied_then_passed',
        """
        import copy
        items = copy.deepcopy((await list_tickets(project='WEB'))['items'])
        for t in items:
            t['key'] = t['key'].lower()
        subset = [{k: v for k, v in t.items()} for t in items]
        await close_tickets(tickets=subset)
        """,
        expected={'web-1': 'done', 'web-2': 'done'},
    ),
    _program(
        'inputs_results_of_gather_passed',
        """
        import asyncio
        tickets = list(await asyncio.gather(*[get_ticket(key=f'WEB-{i}') for i in (1, 2)]))
        tickets.extend(await search_tickets(query='redesign'))
        tickets += (await list_tickets(project='WEB', status='done'))['items']
        by_key = {t['key']: t for t in tickets}
        await close_tickets(tickets=list(by_key.values()))
        """,
        expected={'WEB-1': 'done', 'WEB-2': 'done', 'WEB-5': 'done', 'WEB-4': 'done'},
    ),
    _program(
        'inputs_record_written_by_hand',
        """
        new = {
            'key': 'NEW-1', 'title': 'x', 'status': 'open', 'priority': 2, 'assignee': {'login': 'me', 'email': None},
            'labels': [], 'created': '2024-01-01T00:00:00', 'due': None, 'estimate': 3, 'parent': None, 'custom': {},
        }
        others = [{**new, 'key': f'NEW-{i}', 'assignee': None} for i in range(2, 4)]
        await close_tickets(tickets=[new] + others)
        """,
        expected={'NEW-1': 'done', 'NEW-2': 'done', 'NEW-3': 'done'},
    ),
    _program(
        'inputs_invoice_items_appended',
        """
        items = []
        for row in await query(sql='SELECT name, score FROM users WHERE score > 6'):
            items.append({'name': row['name'], 'unit_price': row['score'], 'quantity': 2})
        items.append({'name': 'Shipping', 'unit_price': 5})
        invoice = await create_invoice(party={'name': 'ACME'}, items=items, discount=0.1)
        float(invoice['total'])
        """,
        expected=34.65,
    ),
    _program(
        'inputs_invoice_items_by_comprehension',
        """
        prices = {'Book': 10, 'Pen': 1.5}
        cart = [('Book', 1), ('Pen', 4)]
        party = {'name': 'Bob'}
        party['vat_id'] = None
        invoice = await create_invoice(
            party=party,
            items=[{'name': n, 'unit_price': prices[n], 'quantity': q} for n, q in cart],
            paid=bool(cart),
        )
        [invoice['total'], invoice['number'], sum(i['quantity'] for i in invoice['items'])]
        """,
        expected=['16.0', 'INV-2', 5],
    ),
    _program(
        'inputs_invoice_items_from_zip_dict',
        """
        keys = ['name', 'unit_price', 'quantity']
        rows = [['A', 1.5, 2], ['B', 2, 1]]
        items = [dict(zip(keys, row)) for row in rows]
        party = dict(name='Zed', vat_id='X1')
        inv = await create_invoice(party=party, items=items)
        inv['items'][0]['tags'].append('t')
        [inv['total'], inv['party']['vat_id'], inv['items'][0]['tags']]
        """,
        expected=['5.0', 'X1', ['t']],
    ),
    _program(
        'inputs_invoice_reused_in_parts',
        """
        first = await create_invoice(party={'name': 'ACME', 'vat_id': 'DE1'}, items=[{'name': 'Pen', 'unit_price': 2}])
        second = await create_invoice(party=first['party'], items=first['items'] + [{'name': 'Ink', 'unit_price': 3, 'tags': ['blue']}])
        third = await create_invoice(party={**second['party'], 'name': 'ACME 2'}, items=[{**i, 'quantity': 2} for i in second['items']])
        total = await invoice_total(**third)
        [first['total'], second['total'], total]
        """,
        expected=['2.0', '5.0', 10.0],
    ),
    _program(
        'inputs_invoice_arguments_picked_from_result',
        """
        inv = await create_invoice(party={'name': 'Q'}, items=[{'name': 'Pen', 'unit_price': 2, 'quantity': 3}], paid=True)
        a = await invoice_total(number=inv['number'], party=inv['party'], items=inv['items'], total=inv['total'], paid=inv['paid'])
        b = await invoice_total(number='X', party={'name': 'Y'}, items=[], total=12, paid=False)
        c = await invoice_total(**{**inv, 'total': float(inv['total']) * 2})
        [a, b, c]
        """,
        expected=[6.0, 12.0, 12.0],
    ),
    _program(
        'inputs_ints_for_floats',
        """
        a = await search_flights(origin='A', destination='B', day='2024-07-01', max_price=100)
        b = await http_get(url='https://example.com/b', timeout=3)
        price = 7
        c = await create_invoice(party={'name': 'n'}, items=[{'name': 'x', 'unit_price': price}], discount=0)
        d = await issue_read(method='get', owner='o', repo='r', issue_number=2, page=1)
        [len(a['flights']), b['ok'], c['total'], d['number']]
        """,
        expected=[1, True, '7.0', 2],
    ),
    _program(
        'inputs_bool_for_int_and_number_from_str',
        """
        n = int('2')
        page = await list_tickets(project='WEB', page_size=n * True)
        limit = round(2.6)
        more = await search_tickets(query='e', limit=max(1, min(limit, 50)))
        half = await search_tickets(query='e', limit=len(more) // 2)
        [len(page['items']), len(more), len(half)]
        """,
        expected=[2, 3, 1],
    ),
    _program(
        'inputs_union_parameter',
        """
        users = [await find_user(id=x) for x in (1, '2', 'Cleo', 3.0 // 1 == 3 and 3)]
        found = [u['name'] if u else None for u in users]
        key = '3'
        u = await find_user(id=int(key) if key.isdigit() else key)
        ids = [1, 'Bob']
        also = [(await find_user(id=i))['id'] for i in ids]
        [found, u['name'], also]
        """,
        expected=[['Ada', None, 'Cleo', 'Cleo'], 'Cleo', [1, 2]],
    ),
    _program(
        'inputs_none_for_optional_arguments',
        """
        r = await search_flights(
            origin='A', destination='B', day='2024-07-01', return_day=None, cabin=None, max_stops=None, max_price=None,
            airlines=None, currency=None, page=None,
        )
        t = await list_tickets(project='WEB', cursor=None, status=None, page_size=None)
        s = await summarize(text='a b c', style=None, max_words=2)
        i = await list_issues(owner='o', repo='r', state=None, labels=None, perPage=None)
        [len(r['flights']), len(t['items']), s, i['totalCount']]
        """,
        expected=[2, 2, 'a b', 4],
    ),
    _program(
        'inputs_parameter_called_from_type_filter_id',
        """
        type = 'sms'
        id = None
        receipt = send_message(from_='ada', to=['bob'], type=type, id=id, body='hi')
        kind: str = 'email'
        mails = [send_message(from_=f, to=[t], type=kind, id=f'{f}>{t}')['message_id'] for f, t in [('a', 'b'), ('c', 'd')]]
        comments = await ticket_comments(id='WEB-1')
        [receipt['message_id'], mails, list(comments)]
        """,
        expected=['sms-ada-2', ['a>b', 'c>d'], ['ada', 'bob']],
    ),
    _program(
        'inputs_plain_tools_in_loops_and_comprehensions',
        r"""
        written = {}
        for path in await list_files(path='/src'):
            text = await read_file(path=path)
            if 'TODO' in text:
                written[path] = write_file(path=path + '.todo', content='\n'.join(l for l in text.split('\n') if 'TODO' in l))
        total = sum([write_file(path='/out', content=c) for c in ('a', 'bb')])
        n = write_file(path='/README.md', content='x', append=True) if written else 0
        [written, total, n, f"{write_file(path='/z', content='zz'):03d}"]
        """,
        expected=[{'/src/main.py': 21, '/src/util/text.py': 37}, 3, 48, '002'],
    ),
    _program(
        'inputs_plain_tool_behind_lambda_and_helper',
        """
        save = lambda name, text: write_file(path=f'/out/{name}', content=text)

        def notify(people, **kw):
            r = send_message(from_='bot', to=people, type='email', **kw)
            return r['recipients'] if r['delivered'] else 0

        [save('a.txt', 'hello'), notify(['a', 'b'], body='x'), notify([])]
        """,
        expected=[5, 2, 0],
    ),
    _program(
        'inputs_github_objects_in_lists',
        """
        files = [{'path': p, 'content': await read_file(path=p)} for p in await list_files(path='/src')]
        files.append({'path': 'NEW.md', 'content': ''})
        r = await push_files(owner='o', repo='r', branch='main', files=files, message=f'add {len(files)} files 🎉')
        labels = ['bug', {'name': 'p1', 'confidence': 'HIGH'}]
        l1 = await update_issue_labels(owner='o', repo='r', issue_number=1, labels=labels)
        l2 = await update_issue_labels(owner='o', repo='r', issue_number=1, labels=[{'name': n} for n in ('a', 'b')])
        l3 = await update_issue_labels(owner='o', repo='r', issue_number=1, labels=['x'] + [i['name'] for i in (await issue_read(method='get_labels', owner='o', repo='r', issue_number=2))])
        [r['files'], l1['labels'], l2['labels'], l3['labels']]
        """,
        expected=[3, ['bug', 'p1'], ['a', 'b'], ['x', 'enhancement', 'ui']],
    ),
    _program(
        'inputs_github_fields_of_several_types',
        """
        values = {'F1': 'text', 'F2': 3, 'F3': 2.5}
        fields = []
        for field_id, value in values.items():
            entry = {'field_id': field_id}
            if isinstance(value, str):
                entry['text_value'] = value
            else:
                entry['number_value'] = value
            fields.append(entry)
        fields.append({'field_id': 'F4', 'delete': True, 'rationale': 'old'})
        r = await set_issue_fields(owner='o', repo='r', issue_number=3, fields=fields)
        w = await issue_write(
            method='update', owner='o', repo='r', issue_number=3, type=None, milestone=2,
            issue_fields=[{'field_name': 'Size', 'value': 3}, {'field_name': 'Done', 'value': True}, {'field_name': 'Old', 'delete': True}],
        )
        ty = await update_issue_type(owner='o', repo='r', issue_number=3, issue_type=None)
        [r['updated'], len(w['issue_fields']), ty]
        """,
        expected=[['F1', 'F2', 'F3', 'F4'], 3, {'type': None}],
    ),
    _program(
        'inputs_github_state_upper_and_lower',
        """
        state = 'open'
        issues = (await list_issues(owner='o', repo='r', state=state.upper(), orderBy='CREATED_AT', direction='DESC'))['issues']
        bugs = [i for i in issues if any(l['name'] == 'bug' for l in i['labels'])]
        for i in bugs[:1]:
            await issue_write(method='update', owner='o', repo='r', issue_number=i['number'], state='closed', state_reason='completed')
        fields = ['number', 'title']
        hits = await search_issues(query='crash', fields=fields, sort='created', order='asc', perPage=10)
        [len(bugs), [h['title'] for h in hits['items']]]
        """,
        expected=[2, ['Crash on start', 'Crash on exit']],
    ),
    _program(
        'inputs_github_result_parsed_by_kind',
        """
        import json
        status = await pull_request_read(method='get_status', owner='o', repo='r', pullNumber=5)
        if isinstance(status, str):
            status = json.loads(status)
        pr = await pull_request_read(method='get', owner='o', repo='r', pullNumber=5)
        files = await pull_request_read(method='get_files', owner='o', repo='r', pullNumber=5)
        author = (pr.get('user') or {}).get('login', 'ghost')
        delta = sum(f['additions'] - f['deletions'] for f in files)
        {'state': status['state'], 'author': author, 'delta': delta, 'md': [f['filename'] for f in files if f['filename'].endswith('.md')]}
        """,
        expected={'state': 'success', 'author': 'ghost', 'delta': 9, 'md': ['b.md']},
    ),
    _program(
        'inputs_github_contents_list_or_text',
        r"""
        entries = await get_file_contents(owner='o', repo='r', path='src/')
        out = {}
        for e in entries:
            if e['type'] == 'file':
                text = await get_file_contents(owner='o', repo='r', path=e['path'], ref='main')
                out[e['name']] = text.count('\n')
        root = await get_file_contents(owner='o', repo='r')
        [out, root[0]['size']]
        """,
        expected=[{'a.py': 2}, 10],
    ),
    _program(
        'inputs_datetime_isoformat_with_step',
        """
        from datetime import datetime, timedelta, timezone
        start = datetime(2024, 1, 1, tzinfo=timezone.utc)
        end = start + timedelta(hours=12)
        pts = await time_series(name='x', start=start.isoformat(), end=end.isoformat(), step='6h')
        day = (start + timedelta(days=30)).date().isoformat()
        f = await search_flights(origin='A', destination='B', day=day, return_day=str(start.date()))
        late = [x['number'] for x in f['flights'] if datetime.fromisoformat(x['departs']).hour >= 7]
        [len(pts), late]
        """,
        expected=[2, ['AF10']],
    ),
    _program(
        'inputs_datetime_objects',
        """
        from datetime import date, datetime
        pts = await time_series(name='x', start=datetime(2024, 1, 1), step='1d')
        f = await search_flights(origin='A', destination='B', day=date(2024, 7, 1))
        [len(pts), len(f['flights'])]
        """,
        expected=[1, 2],
    ),
    _program(
        'inputs_tuple_and_range_for_list',
        """
        a = await run_checks(ids=(1, 2))
        b = await schedule_report(name='x', days=('mon', 'tue'))
        c = await run_checks(ids=list(range(3)))
        [a, b, c]
        """,
        expected=[{'1': False, '2': True}, 'x@08:mon,tue', {'0': True, '1': False, '2': True}],
    ),
    _program(
        'inputs_int_keys_become_text',
        """
        checks = await run_checks(ids=[1, 2, 4])
        passed = [int(k) for k, ok in checks.items() if ok]
        first = checks['1']
        [passed, first, sum(checks.values()), checks.get('9', None)]
        """,
        expected=[[2, 4], False, 2, None],
    ),
    _program(
        'inputs_sum_of_lists_and_strings',
        """
        ids = sum([[1], [2, 3]], [])
        checks = await run_checks(ids=ids + [int(x) for x in '4,5'.split(',')])
        text = 'a' * 3 + ' ' + str(len(checks))
        s = await summarize(text=text + f' {ids!r}', max_words=len(ids) - 1)
        [all(checks.values()), s]
        """,
        expected=[False, 'aaa 5'],
    ),
    _program(
        'inputs_join_map_filter',
        """
        ids = list(map(int, ['1', '2', '3']))
        odd = list(filter(lambda i: i % 2, ids))
        checks = await run_checks(ids=odd)
        labels = list(map(lambda i: f'n{i}', odd))
        r = await update_ticket(key='WEB-1', labels=labels + sorted({'b', 'a'}))
        [checks, r['ticket']['labels']]
        """,
        expected=[{'1': False, '3': False}, ['n1', 'n3', 'a', 'b']],
    ),
    _program(
        'inputs_set_of_result_as_list',
        """
        tags = await known_tags()
        tags.append('new')
        labels = sorted(set(tags) | {'a'})
        r = await update_ticket(key='WEB-1', labels=list(set(labels)))
        [len(labels), r['changed'], sorted(r['ticket']['labels'])]
        """,
        expected=[3, ['labels'], ['a', 'bug', 'new']],
    ),
    _program(
        'inputs_bytes_decoded',
        r"""
        data = await read_bytes(path='/README.md')
        text = data.decode('utf-8') if isinstance(data, bytes) else data
        first = text.split('\n')[0]
        [first, len(data), data[:1] == b'#']
        """,
        expected=['# Demo', 47, True],
    ),
    _program(
        'inputs_bytes_decoded_without_test',
        r"""
        import base64
        data = await read_bytes(path='/README.md')
        lines = data.decode('utf-8').splitlines()
        encoded = base64.b64encode(data).decode()
        [lines[0], encoded[:8], data.startswith(b'# '), len(data.split(b'\n'))]
        """,
        expected=['# Demo', 'IyBEZW1v', True, 7],
    ),
    _program(
        'inputs_decimal_text_computed',
        """
        from decimal import Decimal
        inv = await create_invoice(party={'name': 'n'}, items=[{'name': 'x', 'unit_price': 0.1, 'quantity': 3}])
        total = Decimal(inv['total']) + Decimal('0.70')
        vat = float(inv['total']) * 0.2
        [str(total), round(vat, 2), inv['total'] == '0.3']
        """,
        expected=['1.00', 0.06, True],
    ),
    _program(
        'inputs_geocode_unpacked',
        """
        lat, lon = await geocode(place='Paris')
        (a, b), c = await geocode(place='Rome'), 3
        coords = await geocode(place='Oslo')
        dist = ((coords[0] - lat) ** 2 + (coords[1] - lon) ** 2) ** 0.5
        [round(dist, 2), f'{a:.1f}/{b:.1f}', abs(lat - a) < 10]
        """,
        expected=[13.88, '41.9/12.5', True],
    ),
    _program(
        'inputs_positional_through_star_of_own_helper',
        """
        async def fetch(project, status=None, page_size=5):
            return await list_tickets(project=project, status=status, page_size=page_size)

        args = ['WEB', 'open']
        a = await fetch(*args)
        b = await fetch('WEB', page_size=1)
        c = await fetch(**{'project': 'WEB', 'status': 'done'})
        [len(x['items']) for x in (a, b, c)]
        """,
        expected=[3, 1, 1],
    ),
    _program(
        'inputs_keys_of_dict_as_list',
        """
        wanted = {'mon': True, 'tue': False, 'fri': True}
        days = [d for d, on in wanted.items() if on]
        a = await schedule_report(name='r', days=list(wanted.keys()))
        b = await schedule_report(name='r', days=days, formats=['pdf', 'csv'][:1])
        c = await schedule_report(name='r', days=sorted(wanted))
        [a, b, c]
        """,
        expected=['r@08:mon,tue,fri', 'r@08:mon,fri.pdf', 'r@08:fri,mon,tue'],
    ),
]

_LEXICAL = [
    Program(
        'lexical_tabs',
        (
            (
                'total = 0\n'
                "for t in (await list_tickets(project='WEB', page_size=9))['items']:\n"
                "\tif t['estimate']:\n"
                "\t\ttotal += t['estimate']\n"
                '\t\t# fertig\n'
                '\telse:\n'
                '\t\tcontinue\n'
                'total'
            ),
        ),
        expected=52.0,
    ),
    Program(
        'lexical_crlf',
        (
            (
                'async def f(path):\r\n'
                '    text = await read_file(path=path)\r\n'
                "    return text.count('#')\r\n"
                '\r\n'
                "n = await f('/README.md')\r\n"
                '[n,\r\n'
                ' n + 1]\r'
            ),
        ),
        expected=[1, 2],
    ),
    Program(
        'lexical_crlf_and_triple_quotes',
        (('text = """one\r\ntwo\r\n"""\r\nwrite_file(path=\'/x\', content=text.replace(\'\\r\\n\', \'\\n\'))\r'),),
        expected=8,
    ),
    _program(
        'lexical_semicolons_and_one_liners',
        """
        a = 1; b = 2; c = a + b
        if c > 2: print('big'); c += 1
        for i in range(2): c += i
        t = await get_ticket(key='WEB-1'); k = t['key']; k, c
        """,
        expected=['WEB-1', 5],
    ),
    Program(
        'lexical_leading_blank_lines_and_trailing_spaces',
        (("\n\nstats = await workspace_stats()  \n   \nstats['users'] + 1  "),),
        expected=4,
    ),
    _program(
        'lexical_last_expression_multiline_with_comments',
        """
        page = await list_tickets(project='WEB', page_size=9)
        {
            # anahtar: değer
            'n': len(page['items']),  # 数
            'keys': [
                t['key']
                for t in page['items']
                if t['status'] == 'open'
            ],
        }
        # конец — всё

        # fin
        """,
        expected={'n': 5, 'keys': ['WEB-1', 'WEB-3', 'WEB-5']},
    ),
    _program(
        'lexical_last_expression_is_call_chain',
        r"""
        (
            (await read_file(path='/README.md'))
            .replace('#', '')
            .strip()
            .split('\n')[0]
        )
        """,
        expected='Demo',
    ),
    _program(
        'lexical_backslash_continuations',
        r"""
        total = (await workspace_stats())['users'] + \
            (await workspace_stats())['tickets'] \
            + 1
        ok = total > 3 and \
             await file_exists(path='/README.md')
        total, ok
        """,
        expected=[9, True],
    ),
    Program(
        'lexical_triple_quoted_text_with_code_inside',
        (
            (
                "content = '''def f():\n"
                '  return """nested"""\n'
                '\n'
                'if True:\n'
                '\ttab = 1\n'
                'from __future__ import annotations\n'
                'await nothing(x=1)\n'
                "'''\n"
                "n = write_file(path='/gen.py', content=content)\n"
                '[n, content.splitlines()[0], len(content.splitlines())]'
            ),
        ),
        expected=[104, 'def f():', 7],
    ),
    _program(
        'lexical_comments_in_other_languages',
        """
        # Récupérer les tickets ouverts
        données = await list_tickets(project='WEB', status='open')  # données brutes
        # 获取标题
        标题 = [t['title'] for t in données['items']]
        größe = len(标题)
        f'{größe} → {标题[0]} ✅'
        """,
        expected='2 → Login page crashes ✅',
    ),
    _program(
        'lexical_emoji_and_escapes',
        r"""
        icons = {'open': '🟢', 'done': '✅', 'in_progress': '🚧'}
        page = await list_tickets(project='WEB', page_size=9)
        lines = [f"{icons.get(t['status'], '❓')} {t['title']!r:<25}|{t['priority']:>2}" for t in page['items']]
        print('\n'.join(lines))
        lines[0], '\t\\n \x41 \u00e9 \N{BULLET}', len('👩‍👩‍👧')
        """,
        expected=["🟢 'Login page crashes'     | 1", '\t\\n A é •', 5],
    ),
    _program(
        'lexical_nested_quotes_in_f_strings',
        """
        t = await get_ticket(key='WEB-1')
        u = await find_user(id=1)
        [
            f"{t["key"]}: {t['assignee']['login'] if t['assignee'] else "-"}",
            f'{", ".join(f"({r})" for r in u["roles"])}',
            f"{'open' if t['status'] == 'open' else 'closed':>8}",
            f'''{t['title']}
          "{u['name']}"''',
            f"{{{t['priority']}}} {t['estimate']=}",
        ]
        """,
        expected=[
            'WEB-1: ada',
            '(admin), (editor)',
            '    open',
            'Login page crashes\n  "Ada"',
            "{1} t['estimate']=3.5",
        ],
    ),
    _program(
        'lexical_only_comments_and_prints',
        r"""
        # nothing to return
        stats = await workspace_stats()
        print('Users:', stats['users'], sep=' ', end='\n\n')
        print(*[f'{k}={v}' for k, v in stats['by_status'].items()], sep=', ')
        print()
        """,
        expected=None,
    ),
    _program(
        'lexical_docstring_first',
        '''
        """Compute the number of bugs."""
        bugs = await search_tickets(query='', filter={'labels': ['bug']})
        len(bugs)
        ''',
        expected=2,
    ),
    _program(
        'lexical_future_import_first',
        """
        from __future__ import annotations

        async def f(x: "int | None" = None) -> Undefined | None:
            return await find_user(id=x or 1)

        (await f())['name']
        """,
        expected='Ada',
    ),
    _program(
        'lexical_imports_of_many_forms',
        r"""
        import json, re
        import datetime as dt
        from collections import Counter as C, defaultdict as dd
        import collections
        from datetime import datetime
        import math as m
        d = dd(list)
        d['a'] = C('hello')['l']
        d['b'] = dt.date(2024, 1, 1).isoformat()
        d['c'] = collections.Counter([1, 1])[1]
        d['d'] = m.floor(3.7) + json.loads('1') + len(re.split(r'\W+', 'a b'))
        d['e'] = datetime(2024, 5, 6).strftime('%d/%m/%Y')
        dict(d)
        """,
        expected={'a': 2, 'b': '2024-01-01', 'c': 2, 'd': 6, 'e': '06/05/2024'},
    ),
    _program(
        'lexical_unused_imports_and_annotated_variables',
        """
        import os, sys, json, re, math
        from typing import Any, Callable, Literal, Union
        from dataclasses import dataclass, field
        x: Union[int, str] = 1
        mode: Literal['a', 'b'] = 'a'
        f: Callable[[int], int] = lambda v: v + 1
        f(x)
        """,
        expected=2,
    ),
    _program(
        'lexical_import_guarded_by_try',
        """
        try:
            import numpy as np
        except ImportError:
            np = None
        mean = (lambda v: sum(v) / len(v)) if np is None else np.mean
        mean([1, 2, 3])
        """,
        expected=2.0,
    ),
    _program(
        'lexical_import_inside_function',
        """
        async def parse(path):
            import json
            from datetime import date
            cfg = json.loads(await read_file(path=path))
            return cfg['service']['port'], date(2024, 1, 1).year

        await parse('/data/config.json')
        """,
        expected=[8080, 2024],
    ),
    _program(
        'lexical_names_like_types_and_builtins',
        """
        list_ = await list_files()
        dict_ = {'input': 1}
        input = 'x'
        max = 3
        sum_ = sum([1, 2])
        hash = {}
        hash['a'] = sum_ + max
        next = None
        object = {'type': input, 'next': next}
        object['id'] = len(list_)
        [hash, object, dict_]
        """,
        expected=[{'a': 6}, {'type': 'x', 'next': None, 'id': 6}, {'input': 1}],
    ),
    _program(
        'lexical_variable_called_like_its_tool',
        """
        geocode_result = await geocode(place='Oslo')
        team_members = await team_members()
        query = 'page'
        found = await search_tickets(query=query)
        list_files = [p for p in await list_files() if p.endswith('.py')]
        [len(team_members), len(found), list_files]
        """,
        expected=[2, 1, ['/src/main.py', '/src/util/text.py']],
    ),
    _program(
        'lexical_parameter_called_like_a_tool',
        """
        def shorten(summarize, query=3):
            return summarize[:query]

        async def use(get_ticket):
            return get_ticket['title']

        [shorten('abcdef'), await use(await get_ticket(key='WEB-2')), [query * 2 for query in (1, 2)]]
        """,
        expected=['abc', 'Dark mode', [2, 4]],
    ),
    _program(
        'lexical_names_with_underscores',
        """
        _any = 1
        _ = [await get_me()]
        _Any, __x = 2, 3
        _checking = False
        for _ in range(2):
            pass
        first, _, third = (1, 2, 3)
        [_any, _Any + __x, _checking, _, third]
        """,
        expected=[1, 5, False, 2, 3],
    ),
    _program(
        'lexical_unreachable_code',
        """
        DEBUG = False
        if DEBUG:
            dump = await load_settings()
            print(dump['nothing'].foo)
        while True:
            value = 1
            break
            value = 'never'
        def f():
            return value
            print('never', value.upper())
        f()
        """,
        expected=1,
    ),
    _program(
        'lexical_augmented_assignments',
        """
        x = 10
        x -= 3; x *= 2; x //= 4; x **= 2; x %= 7; x |= 8; x ^= 1; x <<= 1
        s = 'a'; s += 'b'; s *= 2
        l = [1]; l += [2]; l += [3]; l *= 2
        d = {'a': 1}; d |= {'b': 'x'}
        st = {1}; st |= {2}; st -= {1}
        t = await get_ticket(key='WEB-1')
        t['labels'] += ['new']
        t['custom']['votes'] += 1
        t['priority'] -= 1
        [x, s, l, d, st, t['labels'], t['custom']['votes'], t['priority']]
        """,
        expected=[22, 'abab', [1, 2, 3, 1, 2, 3], {'a': 1, 'b': 'x'}, [2], ['bug', 'auth', 'new'], 13, 0],
    ),
    _program(
        'lexical_chained_and_swapped_assignments',
        """
        a = b = []
        a.append(1)
        x, y = 1, 'two'
        x, y = y, x
        (p, q), *rest, last = [[1, 2], 3, 4, 5]
        i = j = 0
        i, j = j + 1, i + 2
        [a, b, x, y, p, q, rest, last, i, j]
        """,
        expected=[[1], [1], 'two', 1, 1, 2, [3, 4], 5, 1, 2],
    ),
    _program(
        'lexical_slices_and_steps',
        """
        files = await list_files()
        text = await read_file(path=files[0])
        [files[-1], files[::2][0], files[1:-1:2], text[::-1][:3], files[:2] + files[-1:], text[2:6].upper() * 2]
        """,
        expected=[
            '/src/util/text.py',
            '/README.md',
            ['/data/config.json', '/logs/app.log'],
            '\nsc',
            ['/README.md', '/data/config.json', '/src/util/text.py'],
            'DEMODEMO',
        ],
    ),
    _program(
        'lexical_complex_comprehensions',
        """
        teams = await team_members()
        pairs = [(t, m['name'], s) for t, ms in teams.items() for m in ms if m['hours'] > 33 for s in m['skills'] if s != 'bash']
        index = {s: sorted({n for _, n, k in pairs if k == s}) for _, _, s in pairs}
        matrix = [[1 if s in m['skills'] else 0 for s in ('sql', 'go')] for ms in teams.values() for m in ms]
        [pairs, index, matrix, {**{m['name']: i for i, m in enumerate(teams['core'])}}]
        """,
        expected=[
            [['core', 'Ada', 'python'], ['core', 'Ada', 'sql'], ['infra', 'Cleo', 'sql']],
            {'python': ['Ada'], 'sql': ['Ada', 'Cleo']},
            [[1, 0], [0, 1], [1, 0]],
            {'Ada': 0, 'Bob': 1},
        ],
    ),
    _program(
        'lexical_boolean_arithmetic',
        """
        items = (await list_tickets(project='WEB', page_size=9))['items']
        n = sum([t['status'] == 'open' for t in items])
        parity = (n % 2 == 1) * 'odd' or 'even'
        flags = [bool(t['due']) + ('bug' in t['labels']) for t in items]
        [n, parity, flags, True + 1, not n]
        """,
        expected=[3, 'odd', [2, 0, 2, 0, 1], 2, False],
    ),
    _program(
        'lexical_string_formatting_old_styles',
        """
        t = await get_ticket(key='WEB-1')
        [
            '%s (%d) %.1f%%' % (t['key'], t['priority'], 12.345),
            '{key}: {title:>20}'.format(**t),
            '{0[status]}/{1}'.format(t, len(t['labels'])),
            '%(key)s' % t,
            ' | '.join(str(x) for x in (1, None, [t['key']])),
        ]
        """,
        expected=['WEB-1 (1) 12.3%', 'WEB-1:   Login page crashes', 'open/2', 'WEB-1', "1 | None | ['WEB-1']"],
    ),
]

_SESSIONS = [
    _program(
        'session_pages_collected_across_snippets',
        """
        page = await list_tickets(project='WEB')
        tickets = page['items']
        cursor = page['page']['next_cursor']
        """,
        """
        page = await list_tickets(project='WEB', cursor=cursor)
        tickets += page['items']
        cursor = page['page']['next_cursor']
        print(len(tickets), cursor)
        """,
        """
        while cursor:
            page = await list_tickets(project='WEB', cursor=cursor)
            tickets += page['items']
            cursor = page['page']['next_cursor']
        """,
        """
        by_key = {t['key']: t for t in tickets}
        len(by_key), by_key['WEB-5']['title']
        """,
        expected=[5, 'Redesign'],
    ),
    _program(
        'session_name_changes_its_type_each_time',
        """
        data = await read_file(path='/data/config.json')
        data[:10]
        """,
        """
        import json
        data = json.loads(data)
        list(data)
        """,
        """
        data = data['owners']
        [d['name'] for d in data]
        """,
        """
        data = {d['name']: d['team'] for d in data}
        """,
        """
        data = len(data)
        data + 1
        """,
        expected=3,
    ),
    _program(
        'session_result_replaces_typed_name',
        """
        result = await list_tickets(project='WEB')
        """,
        """
        result = await workspace_stats()
        result['uptime']
        """,
        """
        result = [await find_user(id=1)]
        result[0]['name']
        """,
        """
        result = await read_event(raw='push:main,x')
        result['branch']
        """,
        expected='main',
    ),
    _program(
        'session_helpers_defined_then_called',
        """
        import asyncio
        from datetime import datetime

        PROJECT = 'WEB'

        async def tickets_of(login):
            page = await list_tickets(project=PROJECT, assignee=login, page_size=50)
            return page['items']

        def age(ticket, now=datetime(2024, 3, 1)):
            return (now - datetime.fromisoformat(ticket['created'])).days
        """,
        """
        ada, bob = await asyncio.gather(tickets_of('ada'), tickets_of('bob'))
        {t['key']: age(t) for t in ada + bob}
        """,
        """
        oldest = max(ada + bob, key=age)
        oldest['key']
        """,
        """
        def age(ticket, unit='weeks'):
            days = (datetime(2024, 3, 1) - datetime.fromisoformat(ticket['created'])).days
            return days // 7 if unit == 'weeks' else days

        [age(oldest), age(oldest, unit='days')]
        """,
        expected=[14, 101],
    ),
    _program(
        'session_helper_redefined_with_other_signature',
        """
        async def get(key):
            return await get_ticket(key=key)
        (await get('WEB-1'))['key']
        """,
        """
        async def get(kind, ident):
            if kind == 'user':
                return await find_user(id=ident)
            return await get_ticket(key=ident)
        """,
        """
        u = await get('user', 2)
        t = await get('ticket', 'WEB-2')
        [u['name'], t['key']]
        """,
        """
        get = {'a': 1}
        get['a']
        """,
        expected=1,
    ),
    _program(
        'session_names_assigned_inside_blocks',
        """
        page = await list_tickets(project='WEB', page_size=9)
        for ticket in page['items']:
            if 'bug' in ticket['labels']:
                first_bug = ticket
                break
        try:
            missing = await read_file(path='/x')
        except FileNotFoundError as e:
            problem = str(e)
        if page['page']['has_more']:
            more = True
        else:
            more = False
        with_labels = [label for t in page['items'] for label in t['labels']]
        """,
        """
        [first_bug['key'], problem, more, ticket['key'], len(with_labels)]
        """,
        """
        first_bug = first_bug['key']
        for ticket in ['a', 'b']:
            pass
        first_bug + ticket
        """,
        expected='WEB-1b',
    ),
    _program(
        'session_placeholder_none_filled_later',
        """
        best = None
        results = {'tickets': None, 'user': None}
        config = None
        """,
        """
        results['tickets'] = await search_tickets(query='e')
        results['user'] = await find_user(id=1)
        for t in results['tickets']:
            if best is None or (t['estimate'] or 0) > best['estimate']:
                best = t
        """,
        """
        config = {'owner': results['user']['name'], 'best': best['key']}
        config['hours'] = best['estimate'] + 1
        config
        """,
        expected={'owner': 'Ada', 'best': 'WEB-5', 'hours': 41.0},
    ),
    _program(
        'session_global_modified_by_function',
        """
        cache = {}
        hits = 0
        async def ticket(key):
            global hits
            if key in cache:
                hits += 1
            else:
                cache[key] = await get_ticket(key=key)
            return cache[key]
        """,
        """
        await ticket('WEB-1'); await ticket('WEB-1')
        hits
        """,
        """
        cache['WEB-2'] = {'title': 'faked'}
        cache['n'] = 3
        [(await ticket('WEB-2'))['title'], hits, sorted(cache)]
        """,
        """
        cache = {}
        (await ticket('WEB-2'))['title']
        """,
        expected='Dark mode',
    ),
    _program(
        'session_keys_added_to_results',
        """
        tickets = await search_tickets(query='e', limit=3)
        for t in tickets:
            t['comments'] = await ticket_comments(id=t['key'])
            t['score'] = (t['estimate'] or 0) / t['priority']
        """,
        """
        tickets = sorted(tickets, key=lambda t: -t['score'])
        [(t['key'], round(t['score'], 2), sum(len(c) for c in t['comments'].values())) for t in tickets]
        """,
        """
        slim = [{k: v for k, v in t.items() if k in ('key', 'score')} for t in tickets]
        for s in slim:
            s.pop('score')
            s['tags'] = ['t']
        slim
        """,
        expected=[{'key': 'WEB-3', 'tags': ['t']}, {'key': 'WEB-1', 'tags': ['t']}, {'key': 'WEB-2', 'tags': ['t']}],
    ),
    _program(
        'session_keys_removed_and_rebuilt',
        """
        stats = await workspace_stats()
        """,
        """
        stats = {k: v for k, v in stats.items() if not isinstance(v, dict)}
        stats['uptime'] = round(stats['uptime'])
        """,
        """
        stats.update({'extra': [1], 'last_deploy': None})
        stats.setdefault('users', 0)
        stats['total'] = stats['users'] + stats['tickets']
        stats
        """,
        expected={'users': 3, 'tickets': 5, 'uptime': 100, 'last_deploy': None, 'extra': [1], 'total': 8},
    ),
    _program(
        'session_last_result_used',
        """
        await search_tickets(query='dark')
        """,
        """
        last = _[0]
        last['key']
        """,
        expected='WEB-2',
    ),
    _program(
        'session_imports_are_kept',
        """
        import json
        from collections import Counter, defaultdict
        import re as regex
        """,
        r"""
        text = await read_file(path='/logs/app.log')
        levels = Counter(regex.findall(r'\b(INFO|WARN|ERROR)\b', text))
        """,
        """
        json.dumps(dict(levels), sort_keys=True)
        """,
        """
        import json as j
        groups = defaultdict(set)
        for line in text.splitlines():
            groups[line.split()[2]].add(line[:10])
        j.loads(j.dumps({k: sorted(v) for k, v in groups.items()}))
        """,
        expected={'INFO': ['2024-03-01'], 'ERROR': ['2024-03-01'], 'WARN': ['2024-03-01']},
    ),
    _program(
        'session_dataclass_defined_first',
        """
        from dataclasses import dataclass

        @dataclass
        class Line:
            when: str
            level: str
            rest: str = ''
        """,
        """
        lines = []
        for raw in (await read_file(path='/logs/app.log')).splitlines():
            d, t, level, rest = raw.split(' ', 3)
            lines.append(Line(f'{d}T{t}', level, rest))
        len(lines)
        """,
        """
        def errors(lines: list[Line]) -> list[Line]:
            return [l for l in lines if l.level == 'ERROR']
        [e.rest.split()[0] for e in errors(lines)]
        """,
        """
        @dataclass
        class Line:
            text: str
            n: int
        Line('x', n=2).n + len(lines)
        """,
        expected=6,
    ),
    _program(
        'session_class_redefined_with_more',
        """
        class Cart:
            def __init__(self):
                self.items = []
            def add(self, name, price):
                self.items.append({'name': name, 'unit_price': price})
        cart = Cart()
        cart.add('Pen', 2)
        """,
        """
        inv = await create_invoice(party={'name': 'A'}, items=cart.items)
        inv['total']
        """,
        """
        class Cart:
            def __init__(self, items=None):
                self.items = items or []
            def total(self):
                return sum(i['unit_price'] * i.get('quantity', 1) for i in self.items)
        cart = Cart(inv['items'])
        cart.total()
        """,
        expected=2.0,
    ),
    _program(
        'session_tool_shadowed_then_other_tools',
        """
        query = 'SELECT COUNT(*) AS n FROM users'
        """,
        """
        words = query.split()
        user = await find_user(id=1)
        [words[0], user['name']]
        """,
        expected=['SELECT', 'Ada'],
    ),
    _program(
        'session_builtin_shadowed_then_used',
        """
        list = await list_files(path='/src')
        sum = 0
        for p in list:
            sum += len(p)
        """,
        """
        str = 'x'
        sum += len(str)
        [sum, list[0]]
        """,
        expected=[30, '/src/main.py'],
    ),
    _program(
        'session_annotations_differ',
        """
        result: dict = await workspace_stats()
        count: int = result['users']
        """,
        """
        result: list = await known_tags()
        count: str = f'{count} users'
        """,
        """
        result: str = ', '.join(result)
        f'{count}: {result}'
        """,
        expected='3 users: bug',
    ),
    _program(
        'session_loop_variable_reused',
        """
        for t in (await list_tickets(project='WEB'))['items']:
            print(t['key'])
        """,
        """
        for t in [1, 2, 3]:
            x = t * 2
        """,
        """
        t = f'{t}-{x}'
        t.split('-')
        """,
        expected=['3', '6'],
    ),
    _program(
        'session_filters_built_up',
        """
        filters = {}
        """,
        """
        filters['status'] = ['open']
        """,
        """
        filters['labels'] = ['bug']
        found = await search_tickets(query='', filter=filters)
        """,
        """
        filters['max_priority'] = 1
        kw = {'query': '', 'filter': filters}
        kw['limit'] = 5
        [len(found), len(await search_tickets(**kw))]
        """,
        expected=[2, 1],
    ),
    _program(
        'session_union_result_narrowed_later',
        """
        r = await update_ticket(key='WEB-1', labels=['x'])
        r['status']
        """,
        """
        if r['status'] == 'ok':
            changed = r['changed']
            ticket = r['ticket']
        else:
            print(r['error'])
        """,
        """
        [changed, ticket['labels']]
        """,
        """
        failed = await update_ticket(key='WEB-4')
        failed['error'] if failed['status'] == 'error' else failed['ticket']['key']
        """,
        expected='WEB-4 is closed',
    ),
    _program(
        'session_any_result_everywhere',
        """
        s = await load_settings()
        """,
        """
        s['smtp']['port'] += 1
        hosts = [s['smtp']['host']]
        """,
        """
        regions = await load_settings(section='regions')
        hosts += regions
        s = s['retries'] * len(hosts)
        [s, hosts]
        """,
        expected=[9, ['mail.example.com', 'eu', 'us']],
    ),
    _program(
        'session_long_report',
        """
        tickets = []
        cursor = None
        while True:
            p = await list_tickets(project='WEB', cursor=cursor)
            tickets.extend(p['items'])
            cursor = p['page']['next_cursor']
            if cursor is None: break
        print(f'{len(tickets)} tickets')
        """,
        """
        import asyncio
        from collections import defaultdict

        async def enrich(t):
            comments = await ticket_comments(id=t['key'])
            flat = [c for cs in comments.values() for c in cs]
            return {
                'key': t['key'],
                'owner': (t['assignee'] or {}).get('login'),
                'comments': len(flat),
                'top': max(flat, key=lambda c: c['likes'])['text'] if flat else None,
                'edited': [c['edited'] for c in flat if 'edited' in c],
            }

        rows = await asyncio.gather(*[enrich(t) for t in tickets])
        """,
        """
        by_owner = defaultdict(list)
        for row in rows:
            by_owner[row['owner'] or 'nobody'].append(row)
        ranking = sorted(by_owner.items(), key=lambda kv: (-sum(r['comments'] for r in kv[1]), kv[0]))
        """,
        r"""
        report = '# Report\n\n'
        for i, (owner, items) in enumerate(ranking, 1):
            report += f"{i}. **{owner}** — {len(items)} tickets\n"
            for item in items:
                if item['top']:
                    report += f"   - {item['key']}: “{item['top']}”"
                    report += f" (edited {', '.join(item['edited'])})\n" if item['edited'] else '\n'
        n = write_file(path='/report.md', content=report)
        n == len(report), report.splitlines()[2:4]
        """,
        expected=[True, ['1. **ada** — 2 tickets', '   - WEB-1: “Fix is coming.” (edited 2024-01-11)']],
    ),
]

_FAILURES = [
    _program(
        'failed_lookup_then_names_before_it',
        """
        # fails
        page = await list_tickets(project='WEB')
        keys = [t['key'] for t in page['items']]
        text = await read_file(path='/nope')
        size = len(text)
        """,
        """
        [keys, page['page']['total']]
        """,
        expected=[['WEB-1', 'WEB-2'], 5],
    ),
    _program(
        'failed_then_whole_snippet_sent_again',
        """
        # fails
        import json
        users = {}
        for i in (1, 2, 9):
            u = await find_user(id=i)
            users[u['name']] = u['roles']
        """,
        """
        import json
        users = {}
        for i in (1, 2, 9):
            u = await find_user(id=i)
            if u:
                users[u['name']] = u['roles']
        json.dumps(users)
        """,
        expected='{"Ada": ["admin", "editor"], "Bob": ["editor"]}',
    ),
    _program(
        'failed_after_retyping_a_name',
        """
        data = await list_tickets(project='WEB')
        """,
        """
        # fails
        data = data['items']
        data = [d['key'] for d in data]
        raise ValueError('stop')
        """,
        """
        data[0].lower()
        """,
        expected='web-1',
    ),
    _program(
        'failed_before_retyping_a_name',
        """
        data = await workspace_stats()
        """,
        """
        # fails
        await geocode(place='Atlantis')
        data = [1, 2]
        """,
        """
        data['users']
        """,
        expected=3,
    ),
    _program(
        'failed_loop_leaves_partial_dict',
        """
        results = {}
        """,
        """
        # fails
        for p in ['/README.md', '/src/main.py', '/gone']:
            results[p] = await read_file(path=p)
            last_path = p
        """,
        """
        [sorted(results), last_path]
        """,
        expected=[['/README.md', '/src/main.py'], '/src/main.py'],
    ),
    _program(
        'failed_with_function_and_class_defined',
        """
        # fails
        from dataclasses import dataclass
        from typing import List, Optional

        @dataclass
        class Rec:
            key: str
            n: Optional[int] = None

        def double(x):
            return x * 2

        recs = [Rec('a', 1)]
        boom = recs[5]
        """,
        """
        recs.append(Rec('b'))
        def keys(rs: List[Rec]) -> List[str]:
            return [double(r.key) for r in rs]
        keys(recs)
        """,
        expected=['aa', 'bb'],
    ),
    _program(
        'failed_with_class_used_as_annotation',
        """
        # fails
        class Box:
            def __init__(self, v):
                self.v = v
        x = Box(1)
        1 / 0
        """,
        """
        async def unwrap(b: Box, extra: 'Box | None' = None) -> int:
            return b.v + (extra.v if extra else 0)
        y: Box = Box(2)
        await unwrap(x, extra=y)
        """,
        expected=3,
    ),
    _program(
        'failed_with_imports_used_later',
        """
        # fails
        import re, json
        from collections import Counter
        from datetime import datetime, date
        cfg = json.loads(await read_file(path='/README.md'))
        """,
        r"""
        c = Counter(re.findall(r'\w', 'aab'))
        when: date = datetime(2024, 1, 2).date()
        try:
            json.loads('nope')
        except json.JSONDecodeError as e:
            bad = True
        [c['a'], when.isoformat(), bad, isinstance(when, date)]
        """,
        expected=[2, '2024-01-02', True, True],
    ),
    _program(
        'failed_twice_then_fixed',
        """
        # fails
        r = await update_ticket(key='WEB-4', labels=['x'])
        print(r['ticket']['key'])
        """,
        """
        # fails
        if r['status'] == 'error':
            raise RuntimeError(r['error'])
        """,
        """
        r = await update_ticket(key='WEB-2', labels=['x'])
        r['ticket']['labels']
        """,
        expected=['x'],
    ),
    _program(
        'failed_before_redefinition_of_helper',
        """
        def fmt(x):
            return f'<{x}>'
        """,
        """
        # fails
        oops = {}['a']
        def fmt(x, width):
            return f'{x:>{width}}'
        """,
        """
        fmt('a')
        """,
        expected='<a>',
    ),
    _program(
        'failed_shadowing_of_a_tool',
        """
        # fails
        geocode = await geocode(place='Oslo')
        known_tags = 1 / 0
        """,
        """
        tags = await known_tags()
        [geocode[0], tags]
        """,
        expected=[59.91, ['bug']],
    ),
    _program(
        'failed_inside_gather',
        """
        import asyncio
        """,
        """
        # fails
        a, b = await asyncio.gather(read_file(path='/README.md'), read_file(path='/none'))
        """,
        """
        a = await read_file(path='/README.md')
        b = None
        [len(a), b]
        """,
        expected=[47, None],
    ),
    _program(
        'failed_exception_variable_and_blocks',
        """
        # fails
        for i, t in enumerate(await search_tickets(query='e')):
            try:
                hours = t['estimate'] + 0
            except TypeError as err:
                note = f'{i}: no estimate'
                if (n := i) > 0:
                    raise
        """,
        """
        [note, i, t['key'], n, hours]
        """,
        expected=['1: no estimate', 1, 'WEB-2', 1, 3.5],
    ),
    _program(
        'failed_global_assigned_in_function',
        """
        # fails
        async def init():
            global token, items
            token = 'abc'
            items = await known_tags()
            raise KeyError('x')
        await init()
        """,
        """
        [token.upper(), items]
        """,
        expected=['ABC', ['bug']],
    ),
    _program(
        'failed_then_names_extended',
        """
        # fails
        total = 0
        names = []
        for u in ['Ada', 'Bob', 'Zed']:
            user = await find_user(id=u)
            names.append(user['name'])
            total += len(user['roles'])
        """,
        """
        names.append('Zed?')
        total += 1
        total = f'{total} roles'
        [names, total]
        """,
        """
        # fails
        names = {n: i for i, n in enumerate(names)}
        names['Nobody']
        """,
        """
        names['Ada'] + 1
        """,
        expected=1,
    ),
    _program(
        'failed_union_narrowing_after',
        """
        # fails
        r = await http_get(url='https://example.com/busy')
        body = r['body']
        """,
        """
        wait = r['retry_after'] if not r['ok'] else 0
        r = await http_get(url='https://example.com/b')
        [wait, r['body'][7:11]]
        """,
        expected=[5, 'Beta'],
    ),
    _program(
        'failed_star_and_nested_targets',
        """
        # fails
        d = {}
        (a, [b, *c]), d['x'], e = (1, [2, 3, 4]), 5, 6
        1 / 0
        """,
        """
        a, c = 10, [b, *c]
        [a, b, c]
        """,
        expected=[10, 2, [2, 3, 4]],
    ),
    _program(
        'failed_import_of_module_in_function',
        """
        # fails
        def helper(path):
            import os
            return os.path.basename(path)
        name = helper('/a/b.txt')
        raise ValueError(name)
        """,
        """
        helper(name)
        """,
        expected='b.txt',
    ),
    _program(
        'failed_with_annotated_names',
        """
        # fails
        rows: list[dict] = await query(sql='SELECT name FROM users')
        label: str
        count: int = rows[99]['name']
        """,
        """
        label = rows[0]['name']
        count = str(len(rows))
        label + count
        """,
        expected='Ada4',
    ),
]

_MUTATE = [
    _program(
        'mutate_lists_of_results',
        """
        files = await list_files(path='/src')
        files.append(None)
        files.insert(0, 5)
        files += [{'x': 1}]
        files[1] = files[1].upper()
        tags = await known_tags()
        tags.extend([1, 2.5])
        tickets = await search_tickets(query='dark')
        tickets.append({'key': 'TOTAL', 'title': ''})
        tickets.append('end')
        [files, tags, len(tickets), tickets[1]['key']]
        """,
        expected=[[5, '/SRC/MAIN.PY', '/src/util/text.py', None, {'x': 1}], ['bug', 1, 2.5], 3, 'TOTAL'],
    ),
    _program(
        'mutate_dicts_of_results',
        """
        teams = await team_members()
        teams['new'] = []
        teams['note'] = 'two teams'
        checks = await run_checks(ids=[1])
        checks['total'] = 5
        checks[3] = None
        cols = await table_columns(table='users')
        cols['n'] = len(cols)
        cols.update(extra=['a'])
        comments = await ticket_comments(id='WEB-3')
        comments.setdefault('nobody', 'none')
        comments.pop('bob')
        [sorted(teams), checks['total'] + 1, cols['n'], comments]
        """,
        expected=[['core', 'infra', 'new', 'note'], 6, 4, {'nobody': 'none'}],
    ),
    _program(
        'typed_dict_ways_to_read',
        """
        t = await get_ticket(key='WEB-1')
        wanted = ['key', 'title', 'priority']
        row = [t[k] for k in wanted]
        row2 = {k: t.get(k) for k in wanted + ['nothing']}
        field = 'labels'
        n = len(t[field])
        [row, row2, n, len(t), sorted(t)[:2], 'key' in t, list(t.keys())[0], t.copy()['title'], t == dict(t)]
        """,
        expected=[
            ['WEB-1', 'Login page crashes', 1],
            {'key': 'WEB-1', 'title': 'Login page crashes', 'priority': 1, 'nothing': None},
            2,
            11,
            ['assignee', 'created'],
            True,
            'key',
            'Login page crashes',
            True,
        ],
    ),
    _program(
        'typed_dict_items_values_used',
        """
        t = await get_ticket(key='WEB-1')
        total = 0
        texts = []
        for k, v in t.items():
            if k in ('priority', 'estimate'):
                total += v
            elif k == 'labels':
                texts.append(v[0] + '/' + '-'.join(v))
            elif k == 'assignee':
                texts.append(v['login'])
            elif k == 'title':
                texts.append(v.upper())
        [total, texts, list(t.values())[0].lower()]
        """,
        expected=[4.5, ['LOGIN PAGE CRASHES', 'ada', 'bug/bug-auth'], 'web-1'],
    ),
    _program(
        'typed_dict_converted_to_plain_dict',
        """
        t = await get_ticket(key='WEB-1')
        a = dict(t)
        a['labels'].append('x')
        a['extra'] = 1
        b = {**t, 'n': 1}
        b['labels'].append('y')
        c = t.copy()
        c['new'] = 2
        d = dict(t, owner='me', priority='high')
        e = t | {'labels': 'none'}
        f = {k: v for k, v in t.items()}
        [a['labels'][-1], a['priority'] + a['extra'], b['assignee']['login'], c['new'], d['owner'], e['labels'], f['title'][:5], d['priority']]
        """,
        expected=['y', 2, 'ada', 2, 'me', 'none', 'Login', 'high'],
    ),
    _program(
        'typed_literals_as_keys_and_text',
        """
        page = await list_tickets(project='WEB', page_size=9)
        names = {1: 'High', 2: 'Medium', 3: 'Low'}
        order = ['open', 'in_progress', 'done']
        out = []
        for t in sorted(page['items'], key=lambda t: (order.index(t['status']), t['priority'])):
            icon = {'open': 'o', 'done': 'x'}.get(t['status'], '~')
            out.append(f"{icon} {t['status'].replace('_', ' ').title()} {names[t['priority']]} {['', 'H', 'M', 'L'][t['priority']]}")
        out
        """,
        expected=['o Open High H', 'o Open Medium M', 'o Open Medium M', '~ In Progress Low L', 'x Done Low L'],
    ),
    _program(
        'typed_literals_compared_with_others',
        """
        page = await list_tickets(project='WEB', page_size=9)
        closed = [t for t in page['items'] if t['status'] in ('closed', 'done', 'resolved')]
        new = [t for t in page['items'] if t['status'] == 'new' or t['priority'] == 'high']
        high = [t['key'] for t in page['items'] if str(t['priority']) == '1' or t['priority'] > 5]
        lower = sum(1 for t in page['items'] if t['status'].lower() != 'OPEN')
        [len(closed), len(new), high, lower]
        """,
        expected=[1, 0, ['WEB-1'], 5],
    ),
    _program(
        'typed_text_dates_compared',
        """
        page = await list_tickets(project='WEB', page_size=9)
        from datetime import datetime
        recent = [t['key'] for t in page['items'] if t['created'] >= '2024-01-11']
        by_month = {}
        for t in page['items']:
            by_month.setdefault(t['created'][:7], []).append(t['key'])
        latest = max(t['created'] for t in page['items'])
        when = datetime.fromisoformat(latest.replace('Z', '+00:00')).strftime('%d %b')
        undated = sorted(page['items'], key=lambda t: t['due'] or '9999')
        [recent, by_month, when, undated[0]['key'], latest.split('T')[0]]
        """,
        expected=[
            ['WEB-2', 'WEB-3'],
            {'2024-01': ['WEB-1', 'WEB-2'], '2024-02': ['WEB-3'], '2023-12': ['WEB-4'], '2023-11': ['WEB-5']},
            '03 Feb',
            'WEB-1',
            '2024-02-03',
        ],
    ),
]

_CONTAINERS = [
    _program(
        'containers_nested_tree_by_setdefault',
        """
        root = {}
        for path in await list_files():
            node = root
            *folders, name = path.strip('/').split('/')
            for part in folders:
                node = node.setdefault(part, {})
            node[name] = len(path)
        def depth(d):
            return 1 + max([depth(v) for v in d.values()]) if isinstance(d, dict) and d else 0
        [root['src']['util']['text.py'], depth(root)]
        """,
        expected=[17, 3],
    ),
    _program(
        'containers_placeholders_of_none_and_zero',
        """
        slots = [None] * 3
        slots[0] = 'x'
        slots[1] = {'a': 1}
        grid = [[0] * 3 for _ in range(2)]
        grid[0][1] = 'x'
        grid[1][2] += 1.5
        counts = [0] * 4
        for t in (await list_tickets(project='WEB', page_size=9))['items']:
            counts[t['priority']] += t['estimate'] or 0.5
        [slots, grid, counts, slots[1]['a']]
        """,
        expected=[['x', {'a': 1}, None], [[0, 'x', 0], [0, 0, 1.5]], [0, 3.5, 48.0, 1.0], 1],
    ),
    _program(
        'containers_dict_values_replaced_by_others',
        """
        d = {'a': None, 'b': 0, 'c': ''}
        d['a'] = []
        d['a'].append(1)
        d['b'] = 'text'
        d['c'] = {'x': d['b'].upper()}
        cfg = {'x': []}
        cfg['x'].append({'a': 1})
        cfg['y'] = 2
        cfg['z'] = cfg['y'] + len(cfg['x'])
        [d, cfg, d['c']['x'], cfg['x'][0]['a'] + 1]
        """,
        expected=[{'a': [1], 'b': 'text', 'c': {'x': 'TEXT'}}, {'x': [{'a': 1}], 'y': 2, 'z': 3}, 'TEXT', 2],
    ),
    _program(
        'containers_fromkeys',
        """
        names = ['Ada', 'Bob']
        d = dict.fromkeys(names)
        d['Ada'] = await find_user(id='Ada')
        e = dict.fromkeys(names, 0)
        e['Bob'] += 1.5
        e['Zed'] = 'x'
        unique = list(dict.fromkeys(names + names))
        [d['Ada']['roles'], d['Bob'], e, unique]
        """,
        expected=[['admin', 'editor'], None, {'Ada': 0, 'Bob': 1.5, 'Zed': 'x'}, ['Ada', 'Bob']],
    ),
    _program(
        'containers_defaultdicts_of_each_kind',
        """
        from collections import defaultdict
        ints, floats, sets, dicts, nones = defaultdict(int), defaultdict(float), defaultdict(set), defaultdict(dict), defaultdict(lambda: None)
        for row in await query(sql='SELECT user_id, amount, day FROM sales'):
            ints[row['day']] += row['amount']
            floats[row['user_id']] += row['amount']
            sets[row['user_id']].add(row['day'])
            dicts[row['user_id']][row['day']] = row['amount']
            if nones['best'] is None or row['amount'] > nones['best']['amount']:
                nones['best'] = row
        ints['note'] = 'x'
        [len(ints), round(floats[4], 1), sorted(sets[1]), dicts[2], nones['best']['user_id']]
        """,
        expected=[4, 100.0, ['2024-01-01', '2024-01-02'], {'2024-01-02': 12.0}, 4],
    ),
    _program(
        'containers_counter_with_floats_and_arithmetic',
        """
        from collections import Counter
        hours = Counter()
        for t in (await list_tickets(project='WEB', page_size=9))['items']:
            hours[(t['assignee'] or {}).get('login')] += t['estimate'] or 0
        base = Counter(a=1)
        both = Counter({'a': 2, 'b': 1}) + base
        (name, most), *_ = hours.most_common()
        [name, most, dict(both), sum(hours.values()), sorted(both.items())]
        """,
        expected=['bob', 48.0, {'a': 3, 'b': 1}, 52.0, [['a', 3], ['b', 1]]],
    ),
    _program(
        'containers_deque_as_queue',
        """
        from collections import deque
        tree = await file_tree()
        queue = deque([(tree, '')])
        paths = []
        while queue:
            node, prefix = queue.popleft()
            path = prefix + ('' if prefix else '') + node['name']
            if node['type'] == 'file':
                paths.append(path)
            for child in node['children']:
                queue.append((child, path.rstrip('/') + '/'))
        paths
        """,
        expected=[
            '/README.md',
            '/data/config.json',
            '/data/people.csv',
            '/logs/app.log',
            '/src/main.py',
            '/src/util/text.py',
        ],
    ),
    _program(
        'containers_mixed_tuples_and_lists',
        """
        rec = ('a', 1, [2])
        rec[2].append(3)
        data = [1, 'a', None, [4]]
        total = sum(x for x in data if isinstance(x, int))
        pairs = [('a', 1), ('b', None)]
        filled = {k: (v or 0) + 1 for k, v in pairs}
        i = 1
        text = data[i].upper() + rec[i - 1]
        data[3].append(rec[i])
        [rec, total, filled, text, data]
        """,
        expected=[['a', 1, [2, 3]], 1, {'a': 2, 'b': 1}, 'Aa', [1, 'a', None, [4, 1]]],
    ),
    _program(
        'containers_list_of_pairs_sorted_both_ways',
        """
        scores = [(u['name'], len(u['roles']), u) for u in [await find_user(id=i) for i in (1, 2, 3)]]
        scores.sort(key=lambda s: (s[1], s[0]), reverse=True)
        best_name, best_n, best_user = scores[0]
        by_rank = {rank: name for rank, (name, *_) in enumerate(scores, start=1)}
        [best_name, best_n, best_user['id'], by_rank]
        """,
        expected=['Ada', 2, 1, {'1': 'Ada', '2': 'Cleo', '3': 'Bob'}],
    ),
    _program(
        'containers_state_machine_in_loop',
        """
        node = await file_tree()
        path = []
        while node is not None:
            path.append(node['name'])
            children = node['children']
            node = children[-1] if children else None
        path
        """,
        expected=['/', 'src', 'util', 'text.py'],
    ),
    _program(
        'containers_parse_table_of_text',
        r"""
        text = await read_file(path='/data/people.csv')
        header, *rows = [line.split(',') for line in text.strip().split('\n')]
        records = [dict(zip(header, row)) for row in rows]
        for r in records:
            r['age'] = int(r['age'])
            r['adult'] = r['age'] >= 30
        oldest = max(records, key=lambda r: r['age'])
        [oldest['name'], sum(r['age'] for r in records), [r['name'] for r in records if not r['adult']]]
        """,
        expected=['Bob', 106, ['Cleo']],
    ),
    _program(
        'containers_group_then_aggregate_objects',
        """
        log = await read_file(path='/logs/app.log')
        stats = {}
        for line in log.splitlines():
            date, time, level, message = line.split(' ', 3)
            fields = dict(part.split('=') for part in message.split() if '=' in part)
            s = stats.setdefault(level, {'count': 0, 'hosts': set(), 'ms': [], 'first': None})
            s['count'] += 1
            if 'host' in fields:
                s['hosts'].add(fields['host'])
            if 'ms' in fields:
                s['ms'].append(int(fields['ms']))
            s['first'] = s['first'] or time
        {
            level: {**s, 'hosts': sorted(s['hosts']), 'avg_ms': sum(s['ms']) / len(s['ms']) if s['ms'] else None}
            for level, s in stats.items()
        }
        """,
        expected={
            'INFO': {'count': 1, 'hosts': [], 'ms': [], 'first': '10:00:01', 'avg_ms': None},
            'ERROR': {'count': 2, 'hosts': ['db1', 'db2'], 'ms': [1500, 900], 'first': '10:00:05', 'avg_ms': 1200.0},
            'WARN': {'count': 1, 'hosts': ['db1'], 'ms': [200], 'first': '10:01:00', 'avg_ms': 200.0},
        },
    ),
]

_OBJECTS = [
    _program(
        'objects_attributes_added_and_retyped',
        """
        class Node:
            def __init__(self, name):
                self.name = name
                self.parent = None
                self.children = []

            def add(self, child):
                child.parent = self
                self.children.append(child)
                return child

        root = Node('root')
        leaf = root.add(Node('leaf'))
        leaf.size = 10
        leaf.name = 7
        root.children = tuple(root.children)
        [leaf.parent.name, leaf.size, leaf.name + 1, len(root.children)]
        """,
        expected=['root', 10, 8, 1],
    ),
    _program(
        'objects_state_set_in_other_method',
        """
        class Session:
            user = None

            async def login(self, name):
                self.user = await find_user(id=name)
                self.roles = self.user['roles']
                return self

            def can(self, role):
                return role in self.roles and self.user['name'] != ''

        s = Session()
        await s.login('Ada')
        [s.can('admin'), s.user['id'], s.roles[-1]]
        """,
        expected=[True, 1, 'editor'],
    ),
    _program(
        'objects_dataclass_fields_of_other_types',
        """
        from dataclasses import dataclass

        @dataclass
        class Row:
            key: str
            hours: float
            owner: dict = None

            def label(self):
                return f'{self.key}:{self.hours}'

        rows = [Row(t['key'], t['estimate'], t['assignee']) for t in await search_tickets(query='e', sort=['key'])]
        for r in rows:
            r.hours = r.hours or 'n/a'
            r.note = 'new'
        rows[0].owner = rows[0].owner['login'].upper()
        [rows[1].label(), rows[0].owner, rows[2].note]
        """,
        expected=['WEB-2:n/a', 'ADA', 'new'],
    ),
    _program(
        'objects_dataclass_called_like_a_shown_type',
        """
        from dataclasses import dataclass

        @dataclass
        class Ticket:
            key: str
            bug: bool

        tickets = [Ticket(t['key'], 'bug' in t['labels']) for t in (await list_tickets(project='WEB'))['items']]

        def bugs(items: list[Ticket]) -> list[str]:
            return [i.key for i in items if i.bug]

        bugs(tickets)
        """,
        expected=['WEB-1'],
    ),
    _program(
        'objects_shown_types_as_annotations',
        """
        async def open_of(tickets: list[Ticket]) -> dict[str, Ticket]:
            out: dict[str, Ticket] = {}
            for t in tickets:
                out[t['key']] = t
            return out

        found: list[Ticket] = await search_tickets(query='e')
        first: Ticket | None = found[0] if found else None
        flt: TicketFilter = {'labels': ['ui']}
        [len(await open_of(found)), first['key'], len(await search_tickets(query='', filter=flt))]
        """,
        expected=[5, 'WEB-1', 2],
    ),
    _program(
        'objects_typing_names_without_import',
        """
        async def f(x: Optional[str] = None, y: List[Dict[str, Any]] = None) -> Tuple[int, str]:
            return len(y or []), x or ''

        z: Optional[int] = None
        await f(y=[{'a': 1}])
        """,
        expected=[1, ''],
    ),
]

_FUNCTIONS = [
    _program(
        'functions_same_name_twice_in_one_snippet',
        """
        async def get(key):
            return await get_ticket(key=key)

        a = await get('WEB-1')

        async def get(kind, id):
            return await (find_user(id=id) if kind == 'user' else get_ticket(key=id))

        b = await get('user', 1)
        [a['key'], b['name']]
        """,
        expected=['WEB-1', 'Ada'],
    ),
    _program(
        'functions_variable_holds_several',
        """
        fn = get_ticket
        a = await fn(key='WEB-1')
        fn = find_user
        b = await fn(id=1)
        for fn, kw in [(read_file, {'path': '/README.md'}), (known_tags, {})]:
            c = await fn(**kw)
        [a['key'], b['name'], c]
        """,
        expected=['WEB-1', 'Ada', ['bug']],
    ),
    _program(
        'functions_conditional_lambda',
        """
        mode = 'len'
        key = (lambda p: len(p)) if mode == 'len' else (lambda p: p.count('/'))
        order = sorted(await list_files(), key=key)
        pick = {'first': lambda xs: xs[0], 'last': lambda xs: xs[-1], 'n': len}
        [order[0], pick['last'](order), pick['n'](order), [pick[k](order) for k in ('first', 'n')]]
        """,
        expected=['/README.md', '/src/util/text.py', 6, ['/README.md', 6]],
    ),
    _program(
        'functions_varargs_and_keyword_only',
        """
        def merge(*dicts, sep='-', **extra):
            out = {}
            for d in dicts:
                out.update(d)
            out.update(extra)
            return sep.join(f'{k}={v}' for k, v in out.items())

        user = await find_user(id=3)
        slim = {k: v for k, v in user.items() if k != 'roles'}
        [merge(slim, {'x': 1}), merge(sep='+', *[slim], y=None), merge()]
        """,
        expected=['id=3-name=Cleo-manager_id=2-x=1', 'id=3+name=Cleo+manager_id=2+y=None', ''],
    ),
    _program(
        'functions_default_mutable_and_none',
        """
        def add(item, to=None, seen=set(), tags=()):
            to = [] if to is None else to
            if item not in seen:
                seen.add(item)
                to.append((item, *tags))
            return to

        acc = add('a')
        add('b', acc)
        add('b', to=acc, tags=[1])
        acc
        """,
        expected=[['a'], ['b']],
    ),
    _program(
        'functions_closures_with_state',
        """
        def make_counter(start=0):
            count = start
            def step(by=1):
                nonlocal count
                count += by
                return count
            return step, lambda: count

        step, current = make_counter(10)
        for p in await list_files():
            step(len(p) % 2 + 0.5)
        current()
        """,
        expected=16.0,
    ),
    _program(
        'functions_async_pipeline',
        """
        import asyncio

        async def stage(items, fn, *, parallel=True):
            if parallel:
                return await asyncio.gather(*[fn(i) for i in items])
            return [await fn(i) for i in items]

        async def load(path):
            return {'path': path, 'text': await read_file(path=path)}

        async def count(doc):
            doc['words'] = len(doc['text'].split())
            return doc

        docs = await stage(await list_files(path='/src'), load)
        docs = await stage(docs, count, parallel=False)
        [(d['path'][-7:], d['words']) for d in docs]
        """,
        expected=[['main.py', 9], ['text.py', 7]],
    ),
    _program(
        'functions_pass_tool_or_own',
        """
        async def apply(fn, items):
            out = []
            for item in items:
                r = fn(item)
                out.append(await r if hasattr(r, '__await__') or not isinstance(r, (int, str)) else r)
            return out

        async def length(p):
            return len(await read_file(path=p))

        await apply(length, ['/README.md']) + await apply(len, ['abc'])
        """,
        expected=[47, 3],
    ),
    _program(
        'functions_return_in_all_branches',
        """
        async def status_of(key):
            t = await get_ticket(key=key)
            if t is None:
                return 'missing', None
            elif t['status'] == 'done':
                return 'closed', t
            elif t['due'] and t['due'] < '2024-02-15':
                return 'overdue', t['due']
            return 'open', [t['key']]

        out = [await status_of(k) for k in ('WEB-1', 'WEB-4', 'WEB-5', 'X')]
        kinds = [k for k, _ in out]
        [kinds, out[0][1][:4], out[1][1]['key'], out[2][1][0]]
        """,
        expected=[['overdue', 'closed', 'open', 'missing'], '2024', 'WEB-4', 'WEB-5'],
    ),
    _program(
        'functions_walrus_and_await_mixed',
        """
        if (t := await get_ticket(key='WEB-1')) and (who := t['assignee']):
            mail = who['email']
        elif (n := 3) > 2:
            mail = None
        names = {(await find_user(id=i))['name']: i for i in (1, 2)}
        first = (await list_files())[len(names) - 1]
        text = (await read_file(path=first))[: (await workspace_stats())['users']]
        [mail, names, text]
        """,
        expected=['ada@example.com', {'Ada': 1, 'Bob': 2}, '{"s'],
    ),
    _program(
        'functions_assertions_and_raises',
        """
        async def must(key):
            t = await get_ticket(key=key)
            assert t is not None, f'{key} missing'
            assert isinstance(t, dict) and 'labels' in t
            return t

        try:
            await must('NO-1')
        except AssertionError as e:
            problem = str(e).split(' missing')[0]
        try:
            raise KeyError('k')
        except (KeyError, IndexError) as e:
            problem += f' / {e.args[0]}'
        [(await must('WEB-2'))['key'], problem]
        """,
        expected=['WEB-2', 'NO-1 / k'],
    ),
    _program(
        'functions_generator_expressions_kept',
        """
        files = await list_files()
        sizes = (len(f) for f in files if f.endswith('.py'))
        biggest = max(sizes)
        words = set(w for f in files for w in f.strip('/').split('/'))
        any_log = any('log' in f for f in files)
        [biggest, len(words), any_log, sorted(map(lambda f: f[1:3], files))[0], ','.join(f for f in files[:1])]
        """,
        expected=[17, 10, True, 'RE', '/README.md'],
    ),
    _program(
        'functions_numbers_and_rounding',
        """
        values = [r['amount'] for r in await query(sql='SELECT amount FROM sales ORDER BY amount')]
        mean = sum(values) / len(values)
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        mid = len(values) // 2
        median = values[mid] if len(values) % 2 else (values[mid - 1] + values[mid]) / 2
        import math
        [round(mean, 2), round(math.sqrt(variance), 1), median, f'{mean:,.1f}', f'{mean / 1000:.2%}', int(mean), math.ceil(median), divmod(int(mean), 7)]
        """,
        expected=[33.5, 35.1, 20.0, '33.5', '3.35%', 33, 20, [4, 5]],
    ),
    _program(
        'functions_string_tables',
        r"""
        rows = await query(sql='SELECT name, country, score FROM users ORDER BY id')
        widths = {c: max(len(str(r[c])) for r in rows) for c in rows[0]}
        lines = [' | '.join(str(r[c]).ljust(widths[c]) for c in r) for r in rows]
        sep = '-+-'.join('-' * w for w in widths.values())
        table = '\n'.join([lines[0], sep, *lines[1:]])
        print(table)
        [len(table), table.count('|'), [f"{r['score'] or 0:>6.2f}" for r in rows], f"{'x':*^5}{rows[0]['score']:08.3f}"]
        """,
        expected=[84, 8, ['  9.50', '  7.25', '  0.00', '  5.00'], '**x**0009.500'],
    ),
    _program(
        'functions_json_round_trip',
        """
        import json
        page = await list_tickets(project='WEB')
        text = json.dumps(page, indent=2, ensure_ascii=False)
        again = json.loads(text)
        again['items'][0]['title'] = 'x'
        again['extra'] = [again['page']['total'], None]
        n = write_file(path='/dump.json', content=json.dumps({'rows': [dict(t) for t in page['items']], 'n': len(again['items'])}))
        [again == page, again['extra'], n > 100, json.loads(json.dumps((1, 'a')))]
        """,
        expected=[False, [5, None], True, [1, 'a']],
    ),
    _program(
        'functions_regex_substitution_and_compile',
        r"""
        import re
        pattern = re.compile(r'TODO:\s*(.+)', re.IGNORECASE)
        todos = {}
        for path in await list_files(pattern='*.py'):
            for no, line in enumerate((await read_file(path=path)).split('\n'), 1):
                if m := pattern.search(line):
                    todos.setdefault(path, []).append((no, m.group(1).strip()))
        slug = re.sub(r'[^a-z]+', '-', 'Hello, World! 42'.lower()).strip('-')
        masked = re.sub(r'\d', '#', 'a1b0')
        parts = re.split(r'[,;]\s*', 'a, b;c')
        [todos, slug, masked, parts, bool(re.fullmatch(r'[A-Z]+-\d+', 'WEB-1')), [m.start() for m in re.finditer('o', slug)]]
        """,
        expected=[
            {'/src/main.py': [[5, 'exit code']], '/src/util/text.py': [[2, 'unicode']]},
            'hello-world',
            'a#b#',
            ['a', 'b', 'c'],
            True,
            [4, 7],
        ],
    ),
]

_CHANGED = [
    _program(
        'retyped_dates_parsed_in_place_then_difference',
        """
        from datetime import datetime
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['created'] = datetime.fromisoformat(t['created'])
        tickets.sort(key=lambda t: t['created'])
        span = tickets[-1]['created'] - tickets[0]['created']
        span.days
        """,
        expected=74,
    ),
    _program(
        'retyped_due_parsed_in_helper',
        """
        from datetime import date
        def parse(t):
            t['due'] = date.fromisoformat(t['due']) if t['due'] else None
            return t
        tickets = [parse(t) for t in await search_tickets(query='e')]
        sum(t['due'].month for t in tickets if t['due'])
        """,
        expected=11,
    ),
    _program(
        'retyped_page_items_replaced_by_keys',
        """
        page = await list_tickets(project='WEB')
        page['items'] = [t['key'] for t in page['items']]
        ', '.join(page['items'])
        """,
        expected='WEB-1, WEB-2',
    ),
    _program(
        'added_update_with_new_key',
        """
        stats = await workspace_stats()
        stats.update({'new': 1})
        stats['new']
        """,
        expected=1,
    ),
    _program(
        'added_union_with_dict_literal',
        """
        user = await find_user(id=1)
        info = user | {'active': True}
        info['active']
        """,
        expected=True,
    ),
    _program(
        'added_comments_enriched_by_loop_then_used_elsewhere',
        """
        async def enrich(t):
            t['comments'] = await ticket_comments(id=t['key'])
            return t
        tickets = [await enrich(t) for t in await search_tickets(query='e')]
        sum(len(t['comments']) for t in tickets)
        """,
        expected=3,
    ),
    _program(
        'added_in_one_name_read_in_another',
        """
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['url'] = 'https://x/' + t['key']
        first = tickets[0]
        first['url']
        """,
        expected='https://x/WEB-1',
    ),
    _program(
        'added_by_update_keywords',
        """
        tickets = await search_tickets(query='e')
        for t in tickets:
            t.update(url='https://x/' + t['key'], n=1)
        [t['url'] for t in tickets][0]
        """,
        expected='https://x/WEB-1',
    ),
    _program(
        'added_by_setdefault',
        """
        tickets = await search_tickets(query='e')
        for t in tickets:
            t.setdefault('notes', []).append('x')
        tickets[0]['notes']
        """,
        expected=['x'],
    ),
    _program(
        'added_by_map_in_dict_values',
        """
        by = {t['key']: t for t in await search_tickets(query='e')}
        for k, t in by.items():
            by[k]['seen'] = True
        by['WEB-1']['seen']
        """,
        expected=True,
    ),
    _program(
        'added_by_helper_with_variable',
        """
        def tag(d, key, value):
            d[key] = value
            return d
        u = tag(await find_user(id=1), 'active', True)
        u['active']
        """,
        expected=True,
    ),
    _program(
        'added_by_helper_ignoring_result',
        """
        def tag(d):
            d['active'] = True
        u = await find_user(id=1)
        tag(u)
        u['active']
        """,
        expected=True,
    ),
    _program(
        'retyped_text_total_converted_to_float',
        """
        inv = await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'unit_price': 2}])
        inv['total'] = float(inv['total'])
        inv['total'] * 2
        """,
        expected=4.0,
    ),
    _program(
        'retyped_text_totals_converted_to_float_in_list',
        """
        invs = [await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'unit_price': p}]) for p in (1, 2)]
        for inv in invs:
            inv['total'] = float(inv['total'])
        sum(i['total'] for i in invs), invs[0]['total'] + 1
        """,
        expected=[3.0, 2.0],
    ),
    _program(
        'retyped_nested_body_replaced_by_json',
        """
        import json
        r = await http_get(url='https://example.com/data.json')
        r['body'] = json.loads(r['body'])
        r['body']['rates']['EUR']
        """,
        expected=1,
    ),
    _program(
        'retyped_nested_body_replaced_by_json_in_list',
        """
        import json
        rs = [await http_get(url=u) for u in ('https://example.com/data.json',)]
        for r in rs:
            if r['ok']:
                r['body'] = json.loads(r['body'])
        rs[0]['body']['rates']['EUR']
        """,
        expected=1,
    ),
    _program(
        'retyped_dict_value',
        """
        teams = await team_members()
        for name in teams:
            teams[name] = len(teams[name])
        teams['core'] + 1, max(teams.values())
        """,
        expected=[3, 2],
    ),
    _program(
        'added_by_or_of_results_kept_apart',
        """
        user = await find_user(id=1)
        extra = await get_ticket(key='WEB-1')
        row = {**extra, **user}
        [row['name'], row['title']]
        """,
        expected=['Ada', 'Login page crashes'],
    ),
    _program(
        'joined_coroutines_of_two_tools_in_pairs',
        """
        pairs = [('ticket', get_ticket(key='WEB-1'))]
        pairs.append(('user', find_user(id=1)))
        out = {name: await coro for name, coro in pairs}
        out['user']['name']
        """,
        expected='Ada',
    ),
    _program(
        'branch_helpers_of_two_signatures',
        """
        fancy = True
        if fancy:
            def fmt(x, width):
                return x.rjust(width)
        else:
            def fmt(x):
                return x
        fmt('a', 3)
        """,
        expected='  a',
    ),
    _program(
        'spread_result_with_key_replaced',
        """
        inv = await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'unit_price': 2}])
        again = await create_invoice(party={**inv['party'], 'vat_id': 'V'}, items=[{**i, 'quantity': 3} for i in inv['items']])
        [again['party']['vat_id'], again['total']]
        """,
        expected=['V', '6.0'],
    ),
]

_TOPLEVEL = [
    _program(
        'return_at_top_level',
        """
        tickets = await search_tickets(query='e')
        keys = [t['key'] for t in tickets]
        return keys
        """,
        expected=['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5'],
    ),
    _program(
        'return_at_top_level_early',
        """
        t = await get_ticket(key='WEB-99')
        if t is None:
            return 'no such ticket'
        return t['title']
        """,
        expected='no such ticket',
    ),
    _program(
        'return_at_top_level_then_next_snippet',
        """
        t = await get_ticket(key='WEB-1')
        return t['title']
        """,
        """
        t['key'].lower()
        """,
        expected='web-1',
    ),
    _program(
        'return_at_top_level_in_loop',
        """
        for key in ('WEB-9', 'WEB-2', 'WEB-3'):
            t = await get_ticket(key=key)
            if t:
                return {'first': t['key']}
        return None
        """,
        expected={'first': 'WEB-2'},
    ),
    _program(
        'toplevel_await_of_helper_defined_below_nothing',
        """
        async def go():
            files = await list_files()
            for f in files:
                if f.endswith('.csv'):
                    return f
        result = await go()
        result.split('/')[-1]
        """,
        expected='people.csv',
    ),
    _program(
        'toplevel_if_name_main_asyncio_run',
        """
        import asyncio
        async def main():
            s = await workspace_stats()
            print(f"{s['users']} users")
        if __name__ == "__main__":
            asyncio.run(main())
        """,
        expected=None,
    ),
    _program(
        'toplevel_big_data_literal',
        """
        DATA = [
            {'id': 1, 'name': 'a', 'tags': ['x'], 'score': 1.5, 'meta': {'k': None}},
            {'id': 2, 'name': 'b', 'tags': [], 'score': 2, 'meta': {}},
            {'id': 'three', 'name': None, 'score': 'n/a'},
        ]
        ok = [d for d in DATA if isinstance(d['id'], int)]
        total = sum(d['score'] for d in ok)
        tags = [t for d in DATA for t in d.get('tags', [])]
        names = ', '.join(d['name'] or '?' for d in DATA)
        meta = DATA[0]['meta']['k'] or DATA[1]['meta'].get('z', 7)
        [total, tags, names, meta + 1, DATA[0]['name'].upper(), DATA[0]['id'] + 1]
        """,
        expected=[3.5, ['x'], 'a, b, ?', 8, 'A', 2],
    ),
    _program(
        'toplevel_config_constants',
        """
        CONFIG = {'project': 'WEB', 'limits': {'page': 2, 'max': 10}, 'statuses': ['open', 'done'], 'verbose': True}
        out = {}
        for status in CONFIG['statuses']:
            page = await list_tickets(project=CONFIG['project'], status=status, page_size=CONFIG['limits']['page'])
            out[status] = [t['key'] for t in page['items']][: CONFIG['limits']['max']]
        CONFIG['limits']['page'] += 1
        CONFIG['extra'] = out
        len(CONFIG['extra']), out
        """,
        expected=[2, {'open': ['WEB-1', 'WEB-3'], 'done': ['WEB-4']}],
    ),
    _program(
        'toplevel_jobs_table_of_dicts',
        """
        jobs = [
            {'name': 'bugs', 'tool': search_tickets, 'args': {'query': '', 'filter': {'labels': ['bug']}}},
            {'name': 'files', 'tool': list_files, 'args': {'path': '/src'}},
            {'name': 'stats', 'tool': workspace_stats, 'args': {}},
        ]
        results = {}
        for job in jobs:
            r = await job['tool'](**job['args'])
            results[job['name']] = len(r)
        results
        """,
        expected={'bugs': 2, 'files': 2, 'stats': 5},
    ),
    _program(
        'toplevel_plan_of_updates',
        """
        updates = [('WEB-1', {'status': 'done'}), ('WEB-2', {'assignee': 'bob', 'labels': ['ui']}), ('WEB-4', {'status': 'open'})]
        done, failed = [], {}
        for key, changes in updates:
            res = await update_ticket(key=key, **changes)
            if res['status'] == 'ok':
                done.append((key, res['changed']))
            else:
                failed[key] = res['code']
        {'done': done, 'failed': failed}
        """,
        expected={'done': [['WEB-1', ['status']], ['WEB-2', ['assignee', 'labels']]], 'failed': {'WEB-4': 'conflict'}},
    ),
    _program(
        'toplevel_updates_as_dicts',
        """
        updates = [
            {'key': 'WEB-1', 'status': 'in_progress'},
            {'key': 'WEB-3', 'labels': ['bug', 'db'], 'fields': {'votes': 9}},
        ]
        import asyncio
        results = await asyncio.gather(*[update_ticket(**u) for u in updates])
        [r['changed'] if r['status'] == 'ok' else r['error'] for r in results]
        """,
        expected=[['status'], ['custom', 'labels']],
    ),
    _program(
        'toplevel_conditional_update_of_argument_dict',
        """
        async def find(q, *, bugs_only=False, max_priority=None, after=None):
            flt = {}
            if bugs_only:
                flt['labels'] = ['bug']
            if max_priority:
                flt['max_priority'] = max_priority
            if after:
                flt['created_after'] = after
            args = {'query': q, 'sort': ['key']}
            if flt:
                args['filter'] = flt
            return [t['key'] for t in await search_tickets(**args)]

        [await find(''), await find('', bugs_only=True), await find('e', max_priority=1, after='2024-01-01T00:00:00')]
        """,
        expected=[['WEB-1', 'WEB-2', 'WEB-3', 'WEB-4', 'WEB-5'], ['WEB-1', 'WEB-3'], ['WEB-1']],
    ),
    _program(
        'toplevel_records_with_optional_parts',
        """
        rows = []
        for t in (await list_tickets(project='WEB', page_size=9))['items']:
            row = {'key': t['key']}
            if t['assignee']:
                row['who'] = t['assignee']['login']
                row['mail'] = t['assignee']['email']
            if t['due']:
                row['due'] = t['due']
            row['n'] = len(t['labels'])
            rows.append(row)
        csv_lines = [';'.join(str(r.get(c, '')) for c in ('key', 'who', 'due', 'n')) for r in rows]
        csv_lines, [r['who'] for r in rows if 'who' in r], sum(r['n'] for r in rows)
        """,
        expected=[
            ['WEB-1;ada;2024-02-01;2', 'WEB-2;;;2', 'WEB-3;bob;2024-03-01;2', 'WEB-4;ada;;0', 'WEB-5;bob;2024-06-30;2'],
            ['ada', 'bob', 'ada', 'bob'],
            8,
        ],
    ),
    _program(
        'toplevel_min_max_over_mixed',
        """
        teams = await team_members()
        stats = {
            name: {
                'n': len(ms),
                'lead': next(iter([m['name'] for m in ms if m['role'] == 'lead']), None),
                'hours': sum(m['hours'] for m in ms),
            }
            for name, ms in teams.items()
        }
        busiest = max(stats, key=lambda n: stats[n]['hours'])
        avg = sum(s['hours'] for s in stats.values()) / sum(s['n'] for s in stats.values())
        leads = [s['lead'].upper() for s in stats.values() if s['lead']]
        [busiest, round(avg, 2), leads, stats[busiest]['hours'] - avg > 0]
        """,
        expected=['core', 36.83, ['ADA'], True],
    ),
    _program(
        'toplevel_loop_with_sleep_and_poll',
        """
        import asyncio
        tries = 0
        status = 'open'
        while status != 'done' and tries < 3:
            t = await get_ticket(key='WEB-4')
            status = t['status']
            tries += 1
            if status != 'done':
                await asyncio.sleep(0.01 * tries)
        f'{status} after {tries}'
        """,
        expected='done after 1',
    ),
    _program(
        'toplevel_try_else_finally_nested',
        """
        log = []
        async def attempt(path):
            try:
                try:
                    text = await read_file(path=path)
                except FileNotFoundError:
                    log.append('retry')
                    text = await read_file(path='/README.md')
                else:
                    log.append('direct')
            except Exception as exc:
                log.append(repr(exc))
                raise
            finally:
                log.append('end')
            return text[:6]
        [await attempt('/nope'), await attempt('/src/main.py'), log]
        """,
        expected=['# Demo', 'import', ['retry', 'end', 'direct', 'end']],
    ),
    _program(
        'toplevel_type_name_checks',
        """
        vals = [await workspace_stats(), await list_files(), await read_file(path='/README.md'), await file_exists(path='/x'), 1.5, None]
        kinds = [type(v).__name__ for v in vals]
        sizes = [len(v) if isinstance(v, (dict, list, str)) else v for v in vals]
        same = [type(v) == dict for v in vals]
        [kinds, sizes, same, type(vals[0]) is dict, isinstance(vals[1], list) and vals[1][0]]
        """,
        expected=[
            ['dict', 'list', 'str', 'bool', 'float', 'NoneType'],
            [5, 6, 47, False, 1.5, None],
            [True, False, False, False, False, False],
            True,
            '/README.md',
        ],
    ),
    _program(
        'toplevel_unicode_and_sorting_text',
        r"""
        import unicodedata
        names = ['Ángel', 'zoë', 'Bob', 'émile']
        plain = lambda s: unicodedata.normalize('NFD', s).encode('ascii', 'ignore').decode().lower()
        ordered = sorted(names, key=plain)
        mail = [f'{plain(n)}@example.com' for n in ordered]
        r = send_message(from_='me', to=mail, type='email', body='Grüße 🎉\n' + '\n'.join(f'• {n}' for n in ordered))
        [ordered, r['recipients'], r['message_id']]
        """,
        expected=[['Ángel', 'Bob', 'émile', 'zoë'], 4, 'email-me-35'],
    ),
    _program(
        'toplevel_batches_with_range_and_enumerate',
        """
        ids = list(range(1, 8))
        size = 3
        passed = {}
        for n, i in enumerate(range(0, len(ids), size), start=1):
            chunk = ids[i:i + size]
            checks = await run_checks(ids=chunk)
            passed.update({int(k): v for k, v in checks.items() if v})
            print(f'batch {n}/{-(-len(ids) // size)}: {sum(checks.values())} passed')
        sorted(passed)
        """,
        expected=[2, 4, 6],
    ),
    _program(
        'toplevel_text_building_markdown',
        r"""
        teams = await team_members()
        md = ['| Team | Name | Hours |', '|---|---|---:|']
        for team, ms in sorted(teams.items()):
            for i, m in enumerate(sorted(ms, key=lambda m: -m['hours'])):
                md.append(f"| {team if i == 0 else ''} | {m['name']} | {m['hours']:.1f} |")
        text = '\n'.join(md)
        n = write_file(path='/team.md', content=text)
        n == len(text) and text.count('\n')
        """,
        expected=4,
    ),
    _program(
        'toplevel_dates_grouped_by_week',
        """
        from datetime import datetime, timedelta
        from collections import defaultdict
        weeks = defaultdict(list)
        for t in (await list_tickets(project='WEB', page_size=9))['items']:
            d = datetime.fromisoformat(t['created'])
            monday = (d - timedelta(days=d.weekday())).date()
            weeks[monday].append(t['key'])
        latest = max(weeks)
        [len(weeks), latest.isoformat(), {str(k): len(v) for k, v in sorted(weeks.items())}, (latest - min(weeks)).days // 7]
        """,
        expected=[4, '2024-01-29', {'2023-11-20': 1, '2023-12-25': 1, '2024-01-08': 2, '2024-01-29': 1}, 10],
    ),
    _program(
        'toplevel_flights_with_every_option',
        """
        best = {}
        for cabin in ['economy', 'business', None]:
            for stops in (0, 1, None):
                r = await search_flights(
                    origin='CDG', destination='OSL', day='2024-07-01', cabin=cabin, max_stops=stops,
                    adults=2, children=1, bags=1 if cabin else 0, sort_by='price', descending=False, per_page=10,
                )
                if r['flights']:
                    top = r['flights'][0]
                    best[(cabin or 'any', stops)] = (top['number'], top['price'])
        cheapest = min(best.items(), key=lambda kv: (kv[1][1], str(kv[0])))
        [len(best), cheapest[0][0], cheapest[1][0], f'{cheapest[1][1]:.0f}']
        """,
        expected=[9, 'any', 'LH22', '286'],
    ),
    _program(
        'toplevel_sql_report_pipeline',
        """
        tables = {}
        for name in ['users', 'sales']:
            cols = await table_columns(table=name)
            rows = await query(sql=f'SELECT COUNT(*) AS n FROM {name}')
            tables[name] = {'columns': list(cols), 'rows': rows[0]['n'], 'text': [c for c, ty in cols.items() if ty.upper() == 'TEXT']}
        joined = await query(
            sql='''
                SELECT u.name, COALESCE(SUM(s.amount), 0) AS total
                FROM users u LEFT JOIN sales s ON s.user_id = u.id
                GROUP BY u.id ORDER BY total DESC, u.name LIMIT ?
            ''',
            params=[3],
        )
        top = joined[0]
        share = {r['name']: round(r['total'] / (sum(x['total'] for x in joined) or 1), 3) for r in joined}
        [tables, top['name'], share]
        """,
        expected=[
            {
                'users': {'columns': ['id', 'name', 'country', 'score'], 'rows': 4, 'text': ['name', 'country']},
                'sales': {'columns': ['id', 'user_id', 'amount', 'day'], 'rows': 5, 'text': ['day']},
            },
            'Dan',
            {'Dan': 0.597, 'Ada': 0.331, 'Bob': 0.072},
        ],
    ),
]

_COROUTINES = [
    _program(
        'coroutines_of_several_tools_appended',
        """
        import asyncio
        tasks = [workspace_stats()]
        tasks.append(list_files(path='/src'))
        stats, files = await asyncio.gather(*tasks)
        [stats['users'], len(files)]
        """,
        expected=[3, 2],
    ),
    _program(
        'coroutines_of_several_tools_added_by_key',
        """
        import asyncio
        jobs = {'stats': workspace_stats()}
        jobs['files'] = list_files(path='/src')
        values = dict(zip(jobs, await asyncio.gather(*jobs.values())))
        [values['stats']['users'], len(values['files'])]
        """,
        expected=[3, 2],
    ),
    _program(
        'coroutines_with_hints_of_lists',
        """
        import asyncio
        from typing import Any, Dict, List

        async def fetch_all(coros: List[Any]) -> List[Any]:
            return list(await asyncio.gather(*coros))

        tasks: List[Any] = [get_ticket(key=k) for k in ('WEB-1', 'WEB-2')]
        more: list = []
        more.append(find_user(id=1))
        a = await fetch_all(tasks)
        b = await fetch_all(more + [find_user(id=2)])
        [a[0]['key'], b[1]['name']]
        """,
        expected=['WEB-1', 'Bob'],
    ),
    _program(
        'coroutines_with_hints_of_parameters',
        """
        from typing import Any, Optional

        async def safe(coro: Any, default: Any = None) -> Optional[Any]:
            try:
                return await coro
            except Exception:
                return default

        async def timed(label: str, coro) -> dict:
            value = await coro
            return {'label': label, 'value': value}

        [await safe(read_file(path='/no'), default='-'), (await timed('tags', known_tags()))['value'], len(await safe(list_files()))]
        """,
        expected=['-', ['bug'], 6],
    ),
    _program(
        'coroutines_conditionally_built',
        """
        import asyncio
        async def load(what, which=None):
            if what == 'ticket':
                coro = get_ticket(key=which)
            elif what == 'user':
                coro = find_user(id=which)
            else:
                coro = workspace_stats()
            return await coro
        def start(path):
            return read_file(path=path) if path.endswith('.md') else list_files(path=path)
        r = await asyncio.gather(load('ticket', 'WEB-2'), load('user', 2), load('stats'))
        text, files = await start('/README.md'), await start('/src')
        [r[0]['key'], r[1]['name'], r[2]['users'], text[:3], len(files)]
        """,
        expected=['WEB-2', 'Bob', 3, '# D', 2],
    ),
    _program(
        'coroutines_gather_kept_then_awaited',
        """
        import asyncio
        pending = asyncio.gather(get_me(), known_tags())
        n = (await workspace_stats())['users']
        me, tags = await pending
        batch = asyncio.gather(*[geocode(place=p) for p in ('Oslo', 'Rome')])
        batch = await batch
        [me['login'], tags, n, [lat for lat, lon in batch]]
        """,
        expected=['ada', ['bug'], 3, [59.91, 41.9]],
    ),
    _program(
        'coroutines_gather_imported_by_name',
        """
        from asyncio import gather, sleep
        a, b = await gather(get_me(), known_tags())
        await sleep(0)
        [a['id'], b]
        """,
        expected=[7, ['bug']],
    ),
    _program(
        'coroutines_await_in_generators',
        """
        texts = ''.join(await read_file(path=p) for p in await list_files(path='/src'))
        biggest = max(len(await read_file(path=p)) for p in await list_files())
        there = any(await file_exists(path=p) for p in ('/x', '/README.md'))
        pairs = dict((k, await geocode(place=k)) for k in ('Oslo', 'Rome'))
        a, b = (await find_user(id=i) for i in (1, 2))
        names = [u['name'] for u in (await find_user(id=i) for i in (1, 3))]
        [texts.count('TODO'), biggest, there, pairs['Oslo'][0], a['name'], names]
        """,
        expected=[2, 186, True, 59.91, 'Ada', ['Ada', 'Cleo']],
    ),
]

_PLACEHOLDERS = [
    _program(
        'placeholder_none_set_by_function',
        """
        text = None
        async def load():
            global text
            text = await read_file(path='/README.md')
        await load()
        text.splitlines()[0]
        """,
        expected='# Demo',
    ),
    _program(
        'placeholder_none_set_by_function_then_object',
        """
        client = None
        class Client:
            def __init__(self, project):
                self.project = project
            async def count(self):
                return (await list_tickets(project=self.project))['page']['total']
        def connect(project):
            global client
            client = Client(project)
        connect('WEB')
        await client.count()
        """,
        expected=5,
    ),
    _program(
        'placeholder_empty_text_set_by_function',
        """
        cache = ''
        seen = {}
        async def refresh():
            global cache, seen
            cache = await list_files(path='/src')
            seen = set(cache)
        await refresh()
        cache.append('x')
        seen.add('y')
        [len(cache), len(seen)]
        """,
        expected=[3, 3],
    ),
    _program(
        'placeholder_none_nonlocal',
        """
        async def run():
            best = None
            async def visit(i):
                nonlocal best
                u = await find_user(id=i)
                if best is None or len(u['name']) > len(best):
                    best = u['name']
            for i in (1, 2, 3):
                await visit(i)
            return best.upper()
        await run()
        """,
        expected='CLEO',
    ),
    _program(
        'placeholder_none_in_object',
        """
        class Doc:
            text = None
            def __init__(self, path):
                self.path = path
                self.lines = None
            async def load(self):
                self.text = await read_file(path=self.path)
                self.lines = self.text.splitlines()
                return self
        d = Doc('/README.md')
        e = Doc('/src/main.py')
        e.text = 'x'
        await d.load()
        [d.text.count('#'), d.lines.index('# Demo'), e.text.upper()]
        """,
        expected=[1, 0, 'X'],
    ),
    _program(
        'placeholder_none_over_snippets_set_by_function',
        """
        report = None
        rows = None
        """,
        """
        async def build():
            global report, rows
            rows = await query(sql='SELECT name FROM users')
            report = ', '.join(r['name'] for r in rows)
        await build()
        """,
        """
        [report.split(', ')[0], rows.index({'name': 'Bob'})]
        """,
        expected=['Ada', 1],
    ),
    _program(
        'placeholder_zero_becomes_text',
        """
        count = 0
        for t in (await list_tickets(project='WEB'))['items']:
            count += 1
        count = f'{count} tickets'
        label = 0
        if count:
            label = 'x'
        [count.split()[0], str(label).upper()]
        """,
        expected=['2', 'X'],
    ),
]

_SPREADS = [
    _program(
        'spread_with_computed_keys',
        """
        key = 'name'
        keys = ('name', 'unit_price')
        a = await create_invoice(party={key: 'x'}, items=[{keys[0]: 'Pen', keys[1]: 2}])
        b = await create_invoice(party={k: v for k, v in (('name', 'y'), ('vat_id', None))}, items=[dict(zip(keys, ('Ink', 3)))])
        c = await create_invoice(party={f'na{"me"}': 'z'}, items=[{k: v for k, v in zip(keys, ('Cap', 1))}])
        [a['total'], b['total'], c['total']]
        """,
        expected=['2.0', '3.0', '1.0'],
    ),
    _program(
        'spread_lists_of_records',
        """
        first = {'name': 'Pen', 'unit_price': 2}
        extra = [{'name': 'Ink', 'unit_price': 3}]
        a = await create_invoice(party={'name': 'x'}, items=[first, *extra])
        b = await create_invoice(party={'name': 'x'}, items=[first] * 2 + extra)
        c = await create_invoice(party={'name': 'x'}, items=extra if len(extra) > 3 else [first])
        d = await create_invoice(party={'name': 'x'}, items=[] or extra)
        e = await create_invoice(party=None or {'name': 'x'}, items=[i for i in [first, None] if i])
        [i['total'] for i in (a, b, c, d, e)]
        """,
        expected=['5.0', '7.0', '2.0', '3.0', '2.0'],
    ),
    _program(
        'spread_filter_with_variables',
        """
        labels = None
        flt = {'labels': labels or [], 'max_priority': 2}
        a = await search_tickets(query='', filter={**flt, 'labels': ['bug']})
        b = await search_tickets(query='', filter={k: v for k, v in flt.items() if v})
        c = await search_tickets(query='', filter={'labels': [l for l in ('ui', 'x') if l != 'x'], **({'max_priority': 3} if a else {})})
        [len(a), len(b), len(c)]
        """,
        expected=[2, 3, 2],
    ),
]

_STDLIB = [
    _program(
        'stdlib_keyword_arguments_of_builtins',
        r"""
        print('a', 'b', sep=', ', end='\n', flush=True)
        xs = sorted([3, 1, 2], key=None, reverse=True)
        n = sum([1, 2], start=10)
        pairs = list(enumerate('ab', start=1))
        parts = 'a,b,c'.split(sep=',', maxsplit=1)
        z = list(zip([1], [2], strict=True))
        i = int('ff', base=16)
        d = dict([('a', 1)], b=2)
        m = max([], default=0)
        r = round(2.567, ndigits=1)
        e = 'é'.encode(encoding='utf-8').decode(encoding='utf-8', errors='ignore')
        [xs, n, pairs, parts, z, i, d, m, r, e]
        """,
        expected=[[3, 2, 1], 13, [[1, 'a'], [2, 'b']], ['a', 'b,c'], [[1, 2]], 255, {'a': 1, 'b': 2}, 0, 2.6, 'é'],
    ),
    _program(
        'stdlib_datetime_keywords',
        """
        from datetime import date, datetime, timedelta
        d = datetime(year=2024, month=2, day=29, hour=13, minute=5)
        e = d.replace(hour=0, minute=0) + timedelta(weeks=1, hours=2)
        iso = d.isoformat()
        [e.isoformat(), iso, (date(2024, 3, 1) - d.date()).days, d.strftime('%A %d. %B'), d.timestamp() > 0, datetime.strptime('01/02/2024', '%d/%m/%Y').date().isoformat(), d < e, max(d, e).day]
        """,
        expected=[
            '2024-03-07T02:00:00',
            '2024-02-29T13:05:00',
            1,
            'Thursday 29. February',
            True,
            '2024-02-01',
            True,
            7,
        ],
    ),
    _program(
        'stdlib_json_options',
        r"""
        import json
        text = json.dumps({'b': [1, 2.5, None, True], 'a': 'é'}, sort_keys=True, ensure_ascii=False, separators=(',', ':'))
        back = json.loads(text)
        pretty = json.dumps(back, indent=2).split('\n')
        try:
            json.loads('{bad')
        except json.JSONDecodeError as e:
            err = 'bad json'
        except ValueError:
            err = 'value'
        [text, back['b'][1] + 1, len(pretty), err]
        """,
        expected=['{"a":"é","b":[1,2.5,null,true]}', 3.5, 9, 'bad json'],
    ),
    _program(
        'stdlib_regex_flags_and_groups',
        r"""
        import re
        text = await read_file(path='/logs/app.log')
        rx = re.compile(r'^(?P<day>\S+) (?P<time>\S+) (?P<level>\w+) (?P<rest>.*)$', re.M)
        rows = [m.groupdict() for m in rx.finditer(text)]
        kv = [dict(re.findall(r'(\w+)=(\w+)', r['rest'])) for r in rows]
        m = re.search('error', text, flags=re.I)
        [len(rows), rows[1]['level'], kv[1].get('ms'), m.start() > 0, m.span()[1] - m.span()[0], re.sub(r'(\w+)=(\w+)', r'\2:\1', rows[1]['rest']), re.split('\n', text, maxsplit=1)[0][-6:], re.escape('a.b')]
        """,
        expected=[4, 'ERROR', '1500', True, 5, 'timeout db1:host 1500:ms', 'pid=12', 'a\\.b'],
    ),
    _program(
        'stdlib_math_hash_base64_paths',
        """
        import base64, hashlib, math, os.path
        from pathlib import Path
        digest = hashlib.sha256('x'.encode()).hexdigest()[:8]
        b = base64.b64encode(b'hi').decode('ascii')
        p = Path('/src/util/text.py')
        [digest, b, base64.b64decode(b).decode(), math.isclose(0.1 + 0.2, 0.3), math.log10(1000), os.path.basename('/a/b.txt'), os.path.splitext('b.txt')[1], p.name, p.suffix, p.parent.name, str(Path('/a') / 'b'), math.pi > 3, math.inf > 1]
        """,
        expected=['2d711642', 'aGk=', 'hi', True, 3.0, 'b.txt', '.txt', 'text.py', '.py', 'util', '/a/b', True, True],
    ),
    _program(
        'stdlib_itertools_and_functools',
        """
        from functools import lru_cache, reduce
        from itertools import accumulate, combinations, islice, product, zip_longest, count, repeat
        pairs = list(combinations(['a', 'b', 'c'], 2))
        grid = list(product([1, 2], 'xy'))
        padded = list(zip_longest([1, 2, 3], ['a'], fillvalue='-'))
        running = list(accumulate([1, 2, 3], lambda a, b: a * b))
        [pairs[-1], len(grid), padded[-1], running, list(islice([1, 2, 3], 1, None)), reduce(lambda a, b: a + b, running, 100)]
        """,
        expected=[['b', 'c'], 4, [3, '-'], [1, 2, 6], [2, 3], 109],
    ),
    _program(
        'stdlib_decimal_money',
        """
        from decimal import ROUND_HALF_UP, Decimal
        inv = await create_invoice(party={'name': 'x'}, items=[{'name': 'a', 'unit_price': 19.99, 'quantity': 3}])
        net = Decimal(inv['total'])
        vat = (net * Decimal('0.19')).quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)
        gross = net + vat
        [str(vat), str(gross), float(gross) > 71, f'{gross:.2f}']
        """,
        expected=['11.39', '71.36', True, '71.36'],
    ),
    _program(
        'stdlib_copy_and_bisect',
        """
        import bisect, copy
        t = await get_ticket(key='WEB-1')
        backup = copy.deepcopy(t)
        t['labels'].append('x')
        xs = [1, 3, 5]
        bisect.insort(xs, 4)
        shallow = copy.copy(t)
        shallow['title'] = 'new'
        [len(backup['labels']), len(t['labels']), xs, bisect.bisect_left(xs, 5), t['title'] != shallow['title'], backup['assignee']['login']]
        """,
        expected=[2, 3, [1, 3, 4, 5], 3, True, 'ada'],
    ),
    _program(
        'stdlib_string_methods',
        r"""
        s = '  Hello, World  '
        [s.strip().lower().center(20, '*'), s.lstrip().rstrip(' d'), 'a-b_c'.replace('-', '_').split('_'), 'x'.isalpha(), 'abc'.find('c'), 'abc'.rfind('z'), 'aXbX'.rsplit('X', 1), 'title case'.title(), 'Ab'.swapcase(), 'ab\ncd'.splitlines(), 'a'.zfill(3), '%5.1f|' % 2.25, 'abcabc'.count('bc'), 'k=v'.partition('='), 'x' in s, s.casefold().strip().capitalize(), ','.join(sorted('cab')), 'tést'.encode('utf-8')[:2] == b't\xc3', ord('a'), chr(98), 'a' < 'b', 'ab' * 2, 'abc'[-2:], 'v1.2'.removeprefix('v').removesuffix('.2'), '12'.isdigit()]
        """,
        expected=[
            '****hello, world****',
            'Hello, Worl',
            ['a', 'b', 'c'],
            True,
            2,
            -1,
            ['aXb', ''],
            'Title Case',
            'aB',
            ['ab', 'cd'],
            '00a',
            '  2.2|',
            2,
            ['k', '=', 'v'],
            False,
            'Hello, world',
            'a,b,c',
            True,
            97,
            'b',
            True,
            'abab',
            'bc',
            '1',
            True,
        ],
    ),
]

_MORE = [
    _program(
        'session_longer_than_what_is_checked',
        f"""
        DATA = {_RECORDS}
        len(DATA)
        """,
        f"""
        from dataclasses import dataclass
        from typing import List, Optional

        @dataclass
        class Rec:
            id: int
            name: str

        MORE = {_RECORDS}

        def rec(d: dict) -> Rec:
            return Rec(d['id'], d['name'])
        """,
        """
        recs: List[Rec] = [rec(d) for d in DATA[:2] + MORE[:1]]
        def names(rs: List[Rec], limit: Optional[int] = None) -> List[str]:
            return [r.name for r in rs][:limit]
        names(recs)
        """,
        """
        @dataclass
        class Pair:
            left: Rec
            right: Rec
        p = Pair(recs[0], recs[2])
        [p.left.name, p.right.id, Rec(5, 'x').name]
        """,
        expected=['record number 0', 0, 'x'],
    ),
    _program(
        'session_tool_result_changes_shape_then_helper_uses_it',
        """
        async def load(project):
            page = await list_tickets(project=project, page_size=9)
            return page['items']
        tickets = await load('WEB')
        """,
        """
        for t in tickets:
            t['assignee'] = (t['assignee'] or {}).get('login')
        """,
        """
        owners = [t['assignee'].upper() for t in tickets if t['assignee']]
        owners
        """,
        expected=['ADA', 'BOB', 'ADA', 'BOB'],
    ),
    _program(
        'collision_free_namedtuple_of_computed_fields',
        """
        from collections import namedtuple
        header = ['name', 'age']
        Rec = namedtuple('Rec', header)
        m = Rec('Ada', 36)
        [m.name, m.age, Rec(*['Bob', 1]).name]
        """,
        expected=['Ada', 36, 'Bob'],
    ),
    _program(
        'session_failed_tool_shadow_by_helper',
        """
        # fails
        _get = get_ticket
        async def get_ticket(number):
            return await _get(key=f'WEB-{number}')
        (await get_ticket(1))['nope']
        """,
        """
        (await get_ticket(2))['title']
        """,
        expected='Dark mode',
    ),
    _program(
        'session_own_function_replaces_tool',
        """
        _orig = flaky_rate
        async def flaky_rate(currency, default=1.0):
            try:
                return await _orig(currency=currency)
            except RuntimeError:
                return default
        """,
        """
        a = await flaky_rate('QQQ', default=9)
        b = await flaky_rate('QQQ')
        [a, b]
        """,
        expected=[9, 1.0],
    ),
    _program(
        'function_defined_by_mode',
        """
        mode = 'fast'
        if mode == 'fast':
            async def load(key):
                return {'key': key}
        else:
            async def load(key, retries):
                return await get_ticket(key=key)
        (await load('WEB-1'))['key']
        """,
        expected='WEB-1',
    ),
    _program(
        'function_fallback_in_except',
        """
        try:
            from tools_extra import fmt
        except ImportError:
            def fmt(x):
                return f'<{x}>'
        fmt('a')
        """,
        expected='<a>',
    ),
    _program(
        'names_in_exec_and_locals',
        """
        x = 2
        y = eval('x + 1')
        [y, isinstance(y, int)]
        """,
        expected=[3, True],
    ),
    _program(
        'names_of_comprehension_reused_as_variable',
        """
        t = 'outer'
        keys = [t['key'] for t in await search_tickets(query='e')]
        f'{t}: {len(keys)}'
        """,
        expected='outer: 5',
    ),
    _program(
        'names_of_exception_reused',
        """
        e = 'before'
        try:
            await read_file(path='/no')
        except Exception as e:
            msg = str(e)
        e = 'after'
        [e, msg]
        """,
        expected=['after', 'no such file: /no'],
    ),
    _program(
        'names_of_builtin_classes_as_functions',
        """
        conv = {'int': int, 'float': float, 'str': str, 'list': list, 'bool': bool}
        spec = [('int', '3'), ('float', '2.5'), ('list', 'ab'), ('bool', '')]
        [conv[k](v) for k, v in spec] + [f(2) for f in (str, float)]
        """,
        expected=[3, 2.5, ['a', 'b'], False, '2', 2.0],
    ),
    _program(
        'names_unused_bad_hint',
        """
        def helper(rows: pd.DataFrame, when: dt.datetime = None) -> np.ndarray:
            return len(rows)
        total: Decimal = helper([1, 2])
        total + 1
        """,
        expected=3,
    ),
    _program(
        'awaitable_attribute_and_dunder',
        """
        class Lazy:
            def __init__(self, key):
                self.key = key
            async def get(self):
                return await get_ticket(key=self.key)
        lazies = [Lazy(k) for k in ('WEB-1', 'WEB-2')]
        import asyncio
        loaded = await asyncio.gather(*[l.get() for l in lazies])
        first = await lazies[0].get()
        [t['key'] for t in loaded] + [first['title']]
        """,
        expected=['WEB-1', 'WEB-2', 'Login page crashes'],
    ),
    _program(
        'plain_helper_awaits_inside',
        """
        def load(key):
            return get_ticket(key=key)
        async def title(key):
            return (await load(key))['title']
        coros = [title(k) for k in ('WEB-1', 'WEB-2')]
        [await c for c in coros]
        """,
        expected=['Login page crashes', 'Dark mode'],
    ),
    _program(
        'counters_in_text_progress',
        """
        done = 0
        total = len(await list_files())
        for i, p in enumerate(await list_files()):
            text = await read_file(path=p)
            done += 1
            pct = done * 100 // total
            bar = '#' * (pct // 20) + '.' * (5 - pct // 20)
            print(f'[{bar}] {pct:3d}% {p:<20.15} {len(text):>6,}')
        f'{done}/{total}' if done == total else None
        """,
        expected='6/6',
    ),
    _program(
        'arguments_computed_by_or_and_methods',
        """
        opts = {'project': 'WEB', 'status': None, 'size': '3'}
        page = await list_tickets(
            project=opts.get('project') or 'X',
            status=opts.get('status'),
            page_size=int(opts.get('size', 2)),
            cursor=opts.get('cursor'),
        )
        s = await summarize(text=' '.join(t['title'] for t in page['items']), max_words=len(page['items']) + 1, style=opts.get('style', 'caps'))
        u = await find_user(id=opts.get('uid', 1))
        [len(page['items']), s, u['name']]
        """,
        expected=[3, 'LOGIN PAGE CRASHES DARK', 'Ada'],
    ),
    _program(
        'arguments_from_parsed_text',
        r"""
        import re
        m = re.match(r'(\w+)-(\d+) to (\w+)', 'WEB-1 to done')
        r = await update_ticket(key=f'{m.group(1)}-{m[2]}', status=m.group(3))
        checks = await run_checks(ids=[int(x) for x in re.findall(r'\d+', '1 22 3')])
        days = re.split(r',\s*', 'mon, tue')
        s = await schedule_report(name=m[1].lower(), days=days, hour=int('07'))
        [r['status'], checks, s]
        """,
        expected=['ok', {'1': False, '22': True, '3': False}, 'web@07:mon,tue'],
    ),
    _program(
        'arguments_from_results_of_any',
        """
        settings = await load_settings()
        smtp = settings['smtp']
        me = await get_me()
        r = send_message(from_=me['login'], to=settings['regions'], type='sms' if smtp['port'] == 25 else 'email', body=str(smtp), id=settings.get('id'))
        t = await search_tickets(query=settings['theme'], limit=settings['retries'])
        w = write_file(path=f"/{smtp['host']}", content=settings['theme'] * settings['retries'])
        [r['recipients'], len(t), w]
        """,
        expected=[2, 1, 12],
    ),
    _program(
        'arguments_slices_and_copies_of_results',
        """
        t = await get_ticket(key='WEB-1')
        a = await update_ticket(key=t['key'], labels=t['labels'][:1] + ['x'])
        b = await update_ticket(key=t['key'], labels=[*t['labels'], t['status']], fields=t['custom'])
        c = await update_ticket(key=t['key'], labels=sorted(t['labels'], reverse=True), assignee=t['assignee']['login'], fields={**t['custom'], 'seen': True})
        d = await update_ticket(key=t['key'], fields={'due': t['due'], 'est': t['estimate'], 'p': t['priority']}, status=t['status'])
        [x['changed'] for x in (a, b, c, d)]
        """,
        expected=[['labels'], ['custom', 'labels'], ['assignee', 'custom', 'labels'], ['custom', 'status']],
    ),
]

_NEWER = [
    _program(
        'newer_syntax_key_added_then_read',
        """
        t = await get_ticket(key='WEB-1')
        t['url'] = f'https://x/{t['key']}'
        t['url'][-5:]
        """,
        expected='WEB-1',
    ),
    _program(
        'newer_syntax_in_failed_snippet',
        """
        # fails
        user = await find_user(id=1)
        label = f"{user["name"]}!"
        await read_file(path='/nope')
        """,
        """
        [label, user['id']]
        """,
        expected=['Ada!', 1],
    ),
    _program(
        'newer_syntax_typing_names_without_import',
        """
        async def first(q: str, limit: Optional[int] = None) -> List[str]:
            return [f"{t["key"]}" for t in await search_tickets(query=q)][:limit]
        await first('e', 1)
        """,
        expected=['WEB-1'],
    ),
    _program(
        'newer_syntax_import_guarded',
        """
        try:
            import pandas as pd
        except ImportError:
            pd = None
        t = await get_ticket(key='WEB-1')
        f"{t["key"]}" if pd is None else 0
        """,
        expected='WEB-1',
    ),
    _program(
        'newer_syntax_in_session',
        """
        names = [f"{u["name"]}" for u in [await find_user(id=1)]]
        rows = {}
        """,
        """
        rows["first"] = f"{", ".join(names)}"
        rows
        """,
        expected={'first': 'Ada'},
    ),
    _program(
        'newer_syntax_update_with_keywords',
        """
        t = await get_ticket(key='WEB-1')
        t.update(url=f"https://x/{t["key"]}", seen=True)
        t['url']
        """,
        expected='https://x/WEB-1',
    ),
]

_LONG = [
    _program(
        'long_weekly_ticket_report',
        """
        import asyncio
        from collections import Counter, defaultdict
        from datetime import datetime, timedelta

        PROJECT = "WEB"
        NOW = datetime(2024, 3, 1)

        # 1. Fetch every ticket, page by page
        tickets = []
        cursor = None
        page_count = 0
        while True:
            page = await list_tickets(project=PROJECT, cursor=cursor, page_size=2)
            page_count += 1
            tickets.extend(page["items"])
            if not page["page"]["has_more"]:
                break
            cursor = page["page"]["next_cursor"]
        print(f"Fetched {len(tickets)} tickets in {page_count} pages")

        # 2. Comments of all of them, at once
        comments_list = await asyncio.gather(*[ticket_comments(id=t["key"]) for t in tickets])
        comments_by_key = {}
        for ticket, by_author in zip(tickets, comments_list):
            flat = []
            for author, items in by_author.items():
                for item in items:
                    flat.append({"author": author, "text": item["text"], "likes": item["likes"], "edited": "edited" in item})
            comments_by_key[ticket["key"]] = flat

        # 3. Aggregate
        by_status = Counter(t["status"] for t in tickets)
        by_owner = defaultdict(lambda: {"open": 0, "hours": 0.0, "keys": []})
        overdue = []
        for t in tickets:
            owner = (t["assignee"] or {}).get("login", "unassigned")
            entry = by_owner[owner]
            entry["keys"].append(t["key"])
            entry["hours"] += t["estimate"] or 0
            if t["status"] not in ("done", "wont_fix"):
                entry["open"] += 1
                if t["due"] and datetime.fromisoformat(t["due"]) < NOW:
                    overdue.append((t["key"], (NOW - datetime.fromisoformat(t["due"])).days))

        most_discussed = max(comments_by_key.items(), key=lambda kv: len(kv[1]))
        best_comment = max(
            (c for cs in comments_by_key.values() for c in cs),
            key=lambda c: c["likes"],
            default=None,
        )

        result = {
            "by_status": dict(by_status),
            "owners": {k: v["open"] for k, v in sorted(by_owner.items(), key=lambda kv: (-kv[1]["hours"], kv[0]))},
            "overdue": sorted(overdue, key=lambda x: -x[1]),
            "most_discussed": most_discussed[0],
            "best_comment": best_comment["text"] if best_comment else None,
            "young": [t["key"] for t in tickets if NOW - datetime.fromisoformat(t["created"]) < timedelta(days=60)],
        }
        result
        """,
        expected={
            'by_status': {'open': 3, 'in_progress': 1, 'done': 1},
            'owners': {'bob': 2, 'ada': 1, 'unassigned': 1},
            'overdue': [['WEB-1', 29]],
            'most_discussed': 'WEB-1',
            'best_comment': 'Fix is coming.',
            'young': ['WEB-1', 'WEB-2', 'WEB-3'],
        },
    ),
    Program(
        'long_repository_audit',
        (
            (
                'import asyncio\n'
                'import re\n'
                '\n'
                'async def scan(path):\n'
                '    """Find the TODOs and the imports of one file."""\n'
                '    try:\n'
                '        text = await read_file(path=path)\n'
                '    except FileNotFoundError:\n'
                '        return {"path": path, "error": "missing"}\n'
                '    info = {"path": path, "lines": 0, "todos": [], "imports": set()}\n'
                '    for number, line in enumerate(text.split("\\n"), start=1):\n'
                '        if line.strip():\n'
                '            info["lines"] += 1\n'
                '        match = re.search(r"#\\s*TODO:?\\s*(.*)", line)\n'
                '        if match:\n'
                '            info["todos"].append({"line": number, "text": match.group(1).strip() or "?"})\n'
                '        elif line.startswith("import ") or line.startswith("from "):\n'
                '            info["imports"].add(line.split()[1])\n'
                '    info["imports"] = sorted(info["imports"])\n'
                '    return info\n'
                '\n'
                'paths = await list_files(path="/src", pattern="*.py")\n'
                'paths.append("/src/deleted.py")\n'
                'results = []\n'
                'BATCH = 2\n'
                'for start in range(0, len(paths), BATCH):\n'
                '    chunk = paths[start:start + BATCH]\n'
                '    results.extend(await asyncio.gather(*(scan(p) for p in chunk)))\n'
                '\n'
                'good = [r for r in results if "error" not in r]\n'
                'bad = {r["path"]: r["error"] for r in results if "error" in r}\n'
                '\n'
                'tree = await file_tree(path="/src")\n'
                'def count(node):\n'
                '    if node["type"] == "file":\n'
                '        return 1\n'
                '    return sum(count(child) for child in node.get("children", []))\n'
                '\n'
                'todo_lines = []\n'
                'for r in sorted(good, key=lambda r: (-len(r["todos"]), r["path"])):\n'
                '    for todo in r["todos"]:\n'
                "        todo_lines.append(f\"{r['path']}:{todo['line']}: {todo['text']}\")\n"
                '\n'
                'report = "\\n".join(["# Audit", "", *[f"- {line}" for line in todo_lines]]) + "\\n"\n'
                'written = write_file(path="/audit.md", content=report)\n'
                '\n'
                'summary = {\n'
                '    "files": len(good),\n'
                '    "files_in_tree": count(tree),\n'
                '    "bad": bad,\n'
                '    "imports": sorted({i for r in good for i in r["imports"]}),\n'
                '    "todos": todo_lines,\n'
                '    "ok": written == len(report),\n'
                '}\n'
                'print(summary)\n'
                'summary'
            ),
        ),
        expected={
            'files': 2,
            'files_in_tree': 2,
            'bad': {'/src/deleted.py': 'missing'},
            'imports': ['os'],
            'todos': ['/src/main.py:5: exit code', '/src/util/text.py:2: unicode'],
            'ok': True,
        },
    ),
    Program(
        'long_invoices_of_sales',
        (
            (
                'from dataclasses import dataclass, field\n'
                'from typing import Dict, List, Optional\n'
                '\n'
                '@dataclass\n'
                'class Cart:\n'
                '    customer: str\n'
                '    lines: List[Dict] = field(default_factory=list)\n'
                '    vat_id: Optional[str] = None\n'
                '    discount: float = 0.0\n'
                '\n'
                '    def add(self, name: str, price: float, quantity: int = 1) -> "Cart":\n'
                '        for line in self.lines:\n'
                '            if line["name"] == name and line["unit_price"] == price:\n'
                '                line["quantity"] += quantity\n'
                '                return self\n'
                '        self.lines.append({"name": name, "unit_price": price, "quantity": quantity})\n'
                '        return self\n'
                '\n'
                '    def gross(self) -> float:\n'
                '        return sum(l["unit_price"] * l["quantity"] for l in self.lines) * (1 - self.discount)\n'
                '\n'
                'sales = await query(\n'
                '    sql="""\n'
                '        SELECT u.name AS customer, s.day AS day, s.amount AS amount\n'
                '        FROM sales s\n'
                '        JOIN users u ON u.id = s.user_id\n'
                '        WHERE s.amount >= ?\n'
                '        ORDER BY s.id\n'
                '    """,\n'
                '    params=[1],\n'
                ')\n'
                '\n'
                'carts: Dict[str, Cart] = {}\n'
                'for sale in sales:\n'
                '    name = sale["customer"]\n'
                '    if name not in carts:\n'
                '        carts[name] = Cart(name, discount=0.1 if name == "Ada" else 0)\n'
                '    carts[name].add(f"Order of {sale[\'day\']}", sale["amount"]).add("Handling", 1.5)\n'
                '\n'
                'invoices, problems = [], []\n'
                'for cart in sorted(carts.values(), key=lambda c: -c.gross()):\n'
                '    party = {"name": cart.customer}\n'
                '    if cart.vat_id:\n'
                '        party["vat_id"] = cart.vat_id\n'
                '    try:\n'
                '        invoice = await create_invoice(party=party, items=cart.lines, discount=cart.discount)\n'
                '    except ValueError as e:\n'
                '        problems.append(f"{cart.customer}: {e}")\n'
                '        continue\n'
                '    expected = round(cart.gross(), 2)\n'
                '    if abs(float(invoice["total"]) - expected) > 0.01:\n'
                '        problems.append(f"{cart.customer}: {invoice[\'total\']} != {expected}")\n'
                '    invoices.append(invoice)\n'
                '\n'
                "lines = [f\"{i['number']:<8}{i['party']['name']:<6}{float(i['total']):>9.2f}\" for i in invoices]\n"
                'print("\\n".join(lines))\n'
                '{\n'
                '    "count": len(invoices),\n'
                '    "sum": round(sum(float(i["total"]) for i in invoices), 2),\n'
                '    "largest": invoices[0]["party"]["name"],\n'
                '    "handling": sum(it["quantity"] for i in invoices for it in i["items"] if it["name"] == "Handling"),\n'
                '    "problems": problems,\n'
                '}'
            ),
        ),
        expected={'count': 3, 'sum': 167.55, 'largest': 'Dan', 'handling': 4, 'problems': []},
    ),
    _program(
        'long_triage_of_issues',
        r"""
        import asyncio
        import json
        import re

        OWNER, REPO = "octo", "demo"
        repo = {"owner": OWNER, "repo": REPO}

        me = await get_me()
        print(f"Working as {me['login']}")

        issues = []
        after = None
        for _ in range(10):
            kwargs = {**repo, "perPage": 2, "orderBy": "CREATED_AT", "direction": "ASC"}
            if after is not None:
                kwargs["after"] = after
            response = await list_issues(**kwargs)
            issues.extend(response.get("issues", []))
            page_info = response.get("pageInfo") or {}
            if not page_info.get("hasNextPage"):
                break
            after = page_info.get("endCursor")

        async def details(issue):
            number = issue["number"]
            comments, labels = await asyncio.gather(
                issue_read(method="get_comments", issue_number=number, **repo),
                issue_read(method="get_labels", issue_number=number, **repo),
            )
            refs = [int(n) for n in re.findall(r"#(\d+)", issue.get("body") or "")]
            return {
                **issue,
                "comments": comments,
                "labels": [label["name"] for label in labels],
                "refs": refs,
            }

        detailed = await asyncio.gather(*[details(i) for i in issues])
        by_number = {d["number"]: d for d in detailed}

        actions = []
        for d in detailed:
            title = d["title"].lower()
            labels = set(d["labels"])
            if "crash" in title and "p1" not in labels:
                labels.add("p1")
                done = await update_issue_labels(issue_number=d["number"], labels=sorted(labels), **repo)
                actions.append(("label", d["number"], done["labels"]))
            if d["state"] == "OPEN" and not d["comments"]:
                new = await issue_write(method="update", issue_number=d["number"], assignees=[me["login"]], **repo)
                actions.append(("assign", d["number"], new["assignees"]))
            for ref in d["refs"]:
                if ref in by_number and by_number[ref]["state"] == "OPEN":
                    actions.append(("linked", d["number"], ref))

        stats = {"total": len(detailed), "open": sum(1 for d in detailed if d["state"] == "OPEN")}
        stats["share"] = f"{stats['open'] / stats['total']:.0%}"
        print(json.dumps(stats))
        {"actions": actions, "stats": stats, "most": max(detailed, key=lambda d: len(d["comments"]))["number"]}
        """,
        expected={
            'actions': [['label', 1, ['bug', 'p1']], ['linked', 1, 2], ['assign', 2, ['ada']], ['linked', 3, 1]],
            'stats': {'total': 4, 'open': 3, 'share': '75%'},
            'most': 4,
        },
    ),
    _program(
        'long_flight_search_with_fallbacks',
        '''
        import asyncio
        from datetime import date, timedelta

        start = date(2024, 7, 1)
        days = [(start + timedelta(days=n)).isoformat() for n in range(2)]
        preferences = [
            {"cabin": "business", "max_price": 300},
            {"cabin": "business", "max_price": 900, "max_stops": 0},
            {"cabin": "economy"},
        ]

        async def first_match(day, budget=None):
            """The first preference that has any flights."""
            for rank, prefs in enumerate(preferences, start=1):
                args = dict(prefs)
                if budget is not None:
                    args["max_price"] = min(budget, args.get("max_price", budget))
                found = await search_flights(origin="CDG", destination="OSL", day=day, per_page=5, **args)
                flights = found["flights"]
                if not flights:
                    continue
                flights.sort(key=lambda f: (f["stops"], f["price"]))
                best = flights[0]
                return {
                    "day": day,
                    "rank": rank,
                    "flight": best["number"],
                    "price": best["price"],
                    "hours": round(best["minutes"] / 60, 1),
                    "direct": best["stops"] == 0,
                    "departs": best["departs"].split("T")[1][:5],
                }
            return None

        options = await asyncio.gather(*[first_match(d) for d in days], *[first_match(d, budget=100) for d in days])
        options = [o for o in options if o]
        cheapest = min(options, key=lambda o: (o["price"], o["day"]))
        by_rank = {}
        for o in options:
            by_rank.setdefault(o["rank"], []).append(f"{o['flight']}@{o['price']:.0f}")

        (lat1, lon1), (lat2, lon2) = await asyncio.gather(geocode(place="Paris"), geocode(place="Oslo"))
        distance = ((lat1 - lat2) ** 2 + (lon1 - lon2) ** 2) ** 0.5

        message = (
            f"Cheapest: {cheapest['flight']} on {cheapest['day']} at {cheapest['departs']} "
            f"for {cheapest['price']:.2f} ({'direct' if cheapest['direct'] else 'with stops'})"
        )
        receipt = send_message(from_="travel-bot", to=["ada@example.com"], type="email", body=message)
        [message, by_rank, round(distance, 1), receipt["delivered"]]
        ''',
        expected=[
            'Cheapest: LH22 on 2024-07-01 at 06:30 for 95.50 (with stops)',
            {'2': ['AF12@410', 'AF12@410'], '3': ['LH22@96', 'LH22@96']},
            13.9,
            True,
        ],
    ),
    _program(
        'long_log_analysis',
        r"""
        import json
        import re
        from collections import defaultdict
        from datetime import datetime

        text = await read_file(path='/logs/app.log')
        pattern = re.compile(r'^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (INFO|WARN|ERROR) (\w+)(.*)$')

        events = []
        skipped = 0
        for raw in text.splitlines():
            m = pattern.match(raw)
            if not m:
                skipped += 1
                continue
            day, clock, level, what, rest = m.groups()
            fields = {}
            for part in rest.split():
                key, _, value = part.partition('=')
                fields[key] = int(value) if value.isdigit() else value
            events.append({'at': datetime.fromisoformat(f'{day}T{clock}'), 'level': level, 'what': what, **fields})

        # Abstände zwischen den Ereignissen
        gaps = [(b['at'] - a['at']).total_seconds() for a, b in zip(events, events[1:])]
        longest = max(gaps) if gaps else 0

        hosts = defaultdict(lambda: {'n': 0, 'ms': [], 'levels': set()})
        for e in events:
            if 'host' not in e:
                continue
            h = hosts[e['host']]
            h['n'] += 1
            h['ms'].append(e['ms'])
            h['levels'].add(e['level'])

        summary = {}
        for host, h in sorted(hosts.items()):
            ms = sorted(h['ms'])
            summary[host] = {
                'n': h['n'],
                'avg': sum(ms) / len(ms),
                'max': ms[-1],
                'bad': 'ERROR' in h['levels'],
            }

        worst = sorted(summary.items(), key=lambda kv: kv[1]['max'], reverse=True)[0]
        errors = [e for e in events if e['level'] == 'ERROR']
        first_error, *other_errors = errors
        saved = write_file(path='/summary.json', content=json.dumps(summary, sort_keys=True))
        [worst[0], worst[1]['max'], longest, skipped, first_error['at'].strftime('%H:%M'), len(other_errors), saved > 0]
        """,
        expected=['db1', 1500, 90.0, 0, '10:00', 1, True],
    ),
    _program(
        'long_webhook_dispatch',
        '''
        from collections import Counter

        RAW = """
        push:main,a1,b2
        review:ada!
        ping:
        push:dev,c3
        review:bob
        push:main,d4,e5,f6
        """

        counts = Counter()
        branches = {}
        approvals = {}
        errors = []

        def on_push(event):
            branch = branches.setdefault(event['branch'], {'commits': 0, 'last': None})
            branch['commits'] += len(event['commits'])
            branch['last'] = event['commits'][-1] if event['commits'] else branch['last']

        def on_review(event):
            approvals[event['reviewer']] = event['approved']

        handlers = {'push': on_push, 'review': on_review}

        for number, raw in enumerate(RAW.strip().splitlines(), start=1):
            event = await read_event(raw=raw.strip())
            kind = event['kind']
            counts[kind] += 1
            handler = handlers.get(kind)
            if handler is None:
                errors.append(f'{number}: nobody handles {kind!r}')
                continue
            handler(event)

        ready = [b for b, info in branches.items() if info['commits'] > 1]
        if ready and any(approvals.values()):
            approvers = [name for name, yes in approvals.items() if yes]
            text = f"{', '.join(ready)} approved by {' and '.join(approvers)}"
            receipt = send_message(from_='ci', to=approvers, type='sms', body=text, id=f'merge-{len(text)}')
            outcome = receipt['message_id']
        else:
            outcome = None

        {
            'counts': dict(counts.most_common()),
            'branches': branches,
            'outcome': outcome,
            'errors': errors,
        }
        ''',
        expected={
            'counts': {'push': 3, 'review': 2, 'ping': 1},
            'branches': {'main': {'commits': 5, 'last': 'f6'}, 'dev': {'commits': 1, 'last': 'c3'}},
            'outcome': 'merge-20',
            'errors': ["3: nobody handles 'ping'"],
        },
    ),
    _program(
        'long_metrics_alerts',
        r"""
        import asyncio
        from datetime import datetime, timedelta

        NAMES = ['cpu', 'memory', 'io']
        THRESHOLDS = {'cpu': 5, 'memory': 6.5}
        start = datetime(2024, 1, 1)

        async def series(name, step='6h', days=1):
            points = await time_series(
                name=name,
                start=start.isoformat(),
                end=(start + timedelta(days=days)).isoformat(),
                step=step,
            )
            return [(datetime.fromisoformat(at), value) for at, value in points]

        all_series = dict(zip(NAMES, await asyncio.gather(*[series(n) for n in NAMES])))

        alerts = []
        stats = {}
        for name, points in all_series.items():
            values = [v for _, v in points]
            mean = sum(values) / len(values)
            spread = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
            stats[name] = {'mean': round(mean, 2), 'sd': round(spread, 2), 'max': max(values)}
            limit = THRESHOLDS.get(name) or mean + spread
            streak = 0
            for at, value in points:
                streak = streak + 1 if value > limit else 0
                if streak == 1:
                    alerts.append({'name': name, 'at': at, 'value': value, 'over': round(value - limit, 2)})

        alerts.sort(key=lambda a: (a['at'], -a['over']))
        grouped = {}
        for alert in alerts:
            grouped.setdefault(alert['at'].hour, []).append(alert['name'])

        daily = await series('cpu', step='1d', days=3)
        trend = [round(b[1] - a[1], 1) for a, b in zip(daily, daily[1:])]
        table = '\n'.join(f"{n:<8}{s['mean']:>6.2f}{s['sd']:>6.2f}{s['max']:>5.0f}" for n, s in stats.items())
        print(table)
        [stats['io'], grouped, trend, alerts[0]['over'] if alerts else None, len(table.split('\n'))]
        """,
        expected=[
            {'mean': 5.0, 'sd': 2.74, 'max': 9.0},
            {'6': ['io'], '12': ['cpu'], '18': ['memory']},
            [-3.0, 7.0],
            1.26,
            3,
        ],
    ),
    _program(
        'long_people_merge',
        """
        import csv
        import json

        people = list(csv.DictReader((await read_file(path='/data/people.csv')).splitlines()))
        config = json.loads(await read_file(path='/data/config.json'))
        users_by_name = {}
        for name in [p['name'] for p in people]:
            user = await find_user(id=name)
            if user is None:
                print('unknown:', name)
                continue
            users_by_name[name] = user
        scores = {row['name']: row['score'] for row in await query(sql='SELECT name, score FROM users')}
        teams = await team_members()
        team_of = {m['name']: (team, m) for team, members in teams.items() for m in members}
        owners = {o['name']: o.get('team') for o in config['owners']}

        merged = []
        for person in people:
            name = person['name']
            user = users_by_name.get(name) or {}
            team, member = team_of.get(name, (None, None))
            record = {
                'name': name,
                'age': int(person['age']),
                'city': person['city'],
                'roles': user.get('roles', []),
                'team': team or owners.get(name),
                'skills': member['skills'] if member else [],
                'score': scores.get(name),
            }
            if user.get('manager_id'):
                boss = await find_user(id=user['manager_id'])
                record['boss'] = boss['name'] if boss else None
            merged.append(record)

        coords = {}
        for city in sorted({r['city'] for r in merged}):
            try:
                coords[city] = await geocode(place=city)
            except Exception:
                coords[city] = None

        for r in merged:
            place = coords.get(r['city'])
            r['lat'] = place[0] if place else None
            r['label'] = f"{r['name']} ({r['age']}, {r.get('boss', 'no boss')})"

        located = [r for r in merged if r['lat'] is not None]
        rated = sorted((r for r in merged if r['score'] is not None), key=lambda r: -r['score'])
        [
            [r['label'] for r in merged],
            max(located, key=lambda r: r['lat'])['city'],
            [(r['name'], r['score']) for r in rated],
            sorted({s for r in merged for s in r['skills']}),
        ]
        """,
        expected=[
            ['Ada (36, no boss)', 'Bob (41, Ada)', 'Cleo (29, Bob)'],
            'Oslo',
            [['Ada', 9.5], ['Bob', 7.25]],
            ['bash', 'go', 'python', 'sql'],
        ],
    ),
    _program(
        'long_bulk_update_with_retries',
        r"""
        import asyncio

        plan = {
            'WEB-1': {'status': 'in_progress', 'fields': {'reviewed': True}},
            'WEB-2': {'assignee': 'ada'},
            'WEB-4': {'labels': ['chore']},
            'WEB-9': {'status': 'done'},
        }
        MAX_ATTEMPTS = 2
        log = []

        async def apply(key, changes):
            attempt = 0
            while attempt < MAX_ATTEMPTS:
                attempt += 1
                result = await update_ticket(key=key, **changes)
                if result['status'] == 'ok':
                    log.append(f'{key} ok after {attempt}')
                    return {'key': key, 'ok': True, 'changed': result['changed']}
                code = result['code']
                if code == 'not_found':
                    break
                if code == 'conflict':
                    log.append(f"{key} conflict: {result['error']}")
                    await asyncio.sleep(0)
                    changes = {k: v for k, v in changes.items() if k != 'labels'}
            else:
                return {'key': key, 'ok': False, 'reason': 'gave up'}
            return {'key': key, 'ok': False, 'reason': result['error']}

        outcomes = await asyncio.gather(*[apply(k, c) for k, c in plan.items()])
        ok = [o for o in outcomes if o['ok']]
        failed = {o['key']: o['reason'] for o in outcomes if not o['ok']}
        touched = sorted({c for o in ok for c in o['changed']})

        before = {k: await get_ticket(key=k) for k in plan}
        missing = [k for k, t in before.items() if t is None]
        open_now = [t['key'] for t in before.values() if t and t['status'] == 'open']
        closed = await close_tickets(tickets=[t for t in before.values() if t], resolution='wont_fix')
        print(*log, sep='\n')
        [[o['key'] for o in ok], failed, touched, missing, open_now, len(closed), len(log)]
        """,
        expected=[
            ['WEB-1', 'WEB-2'],
            {'WEB-4': 'gave up', 'WEB-9': 'no ticket WEB-9'},
            ['assignee', 'custom', 'status'],
            ['WEB-9'],
            ['WEB-1'],
            3,
            4,
        ],
    ),
    _program(
        'long_small_model_style',
        r"""
        # Step 1: get the list of files
        files = await list_files()
        print("files:", files)

        # Step 2: initialise the result variables
        total_size = 0
        largest_file = None
        largest_size = 0
        extension_count = {}

        # Step 3: loop over the files
        for file in files:
            # read the file content
            content = await read_file(path=file)
            size = len(content)
            print("file:", file, "size:", size)
            # add to total
            total_size = total_size + size
            # check if largest
            if size > largest_size:
                largest_size = size
                largest_file = file
            # get extension
            if "." in file:
                ext = file.split(".")[-1]
            else:
                ext = "none"
            # count extension
            if ext in extension_count:
                extension_count[ext] = extension_count[ext] + 1
            else:
                extension_count[ext] = 1

        # Step 4: compute the average
        if len(files) > 0:
            average = total_size / len(files)
        else:
            average = 0

        # Step 5: sort the extensions
        sorted_extensions = []
        for key in extension_count:
            sorted_extensions.append([key, extension_count[key]])
        sorted_extensions.sort(key=lambda item: item[1], reverse=True)

        # Step 6: build final answer
        final_answer = ""
        final_answer += "Total size: " + str(total_size) + "\n"
        final_answer += "Average: " + str(round(average, 1)) + "\n"
        final_answer += "Largest: " + largest_file + " (" + str(largest_size) + ")\n"
        final_answer += "Top: " + sorted_extensions[0][0]
        print(final_answer)
        final_answer
        """,
        expected='Total size: 585\nAverage: 97.5\nLargest: /logs/app.log (186)\nTop: py',
    ),
]

MORE_CORRECT: list[Program] = [
    *_PAGING,
    *_RETRIES,
    *_ACCUMULATE,
    *_UNIONS,
    *_HELPERS,
    *_GATHERING,
    *_OPTIONAL,
    *_INPUTS,
    *_LEXICAL,
    *_SESSIONS,
    *_FAILURES,
    *_MUTATE,
    *_CONTAINERS,
    *_OBJECTS,
    *_FUNCTIONS,
    *_CHANGED,
    *_TOPLEVEL,
    *_COROUTINES,
    *_PLACEHOLDERS,
    *_SPREADS,
    *_STDLIB,
    *_MORE,
    *_NEWER,
    *_LONG,
]

KNOWN_FALSE_ALARMS: list[Program] = [
    _program(
        'defensive_hasattr_and_getattr',
        """
        user = await find_user(id=1)
        name = user.name if hasattr(user, 'name') else user['name']
        roles = getattr(user, 'roles', None) or user['roles']
        [name, roles]
        """,
        expected=['Ada', ['admin', 'editor']],
    ),
    _program(
        'lexical_conditional_definitions',
        """
        size = (await workspace_stats())['users']
        if size > 2:
            def fmt(x): return f'many ({x})'
            label = 'many'
        else:
            def fmt(x, y): return f'few ({x}{y})'
        for i in range(size):
            last = i
        try:
            parsed = int('12')
        except ValueError:
            parsed = None
        with_default = parsed if parsed is not None else 0
        [fmt(size), label, last, with_default]
        """,
        expected=['many (3)', 'many', 2, 12],
    ),
    _program(
        'session_helper_uses_global_set_later',
        """
        async def show():
            return f'{prefix}{(await find_user(id=uid))["name"]}'
        """,
        """
        prefix = '> '
        uid = 1
        await show()
        """,
        """
        uid = 'Bob'
        prefix = f'{uid[0]} '
        await show()
        """,
        expected='B Bob',
    ),
    _program(
        'session_helper_calls_helper_of_later_snippet',
        """
        async def outer(x):
            return await inner(x, 1)
        """,
        """
        async def inner(x, n):
            return [x] * n
        await outer('a')
        """,
        """
        async def inner(x, n):
            return {'x': x, 'n': n}
        (await outer('b'))['n']
        """,
        expected=1,
    ),
    _program(
        'failed_redefinition_of_helper',
        """
        def fmt(x):
            return f'<{x}>'
        """,
        """
        # fails
        def fmt(x, width):
            return f'{x:>{width}}'
        fmt('a', 'wide')
        """,
        """
        fmt('a', 4)
        """,
        expected='   a',
    ),
    _program(
        'failed_match_and_walrus_and_comprehension',
        """
        # fails
        match await read_event(raw='push:main,a,b'):
            case {'kind': 'push', 'commits': [first, *others], **left}:
                found = [y for v in others if (y := v.upper())]
        raise RuntimeError('later')
        """,
        """
        [first, others, left['branch'], found, y]
        """,
        expected=['a', ['b'], 'main', ['B'], 'B'],
    ),
    _program(
        'mutate_fields_of_result_to_other_types',
        """
        from datetime import datetime
        t = await get_ticket(key='WEB-1')
        t['created'] = datetime.fromisoformat(t['created'])
        t['due'] = t['due'] or 'none'
        t['labels'] = ', '.join(t['labels'])
        t['assignee'] = t['assignee']['login']
        t['status'] = 'archived!'
        t['estimate'] = f"{t['estimate']}h"
        year = t['created'].year
        [year, t['labels'].upper(), t['assignee'].title(), t['status'], t['estimate'][:3]]
        """,
        expected=[2024, 'BUG, AUTH', 'Ada', 'archived!', '3.5'],
    ),
    _program(
        'mutate_nested_lists_of_results',
        """
        page = await list_tickets(project='WEB')
        page['items'] = [t['key'] for t in page['items']]
        page['page']['total'] = str(page['page']['total'])
        first = page['items'][0].lower()
        page['items'][0] = {'key': first}
        page['items'].append(None)
        [page['items'][0]['key'], page['page']['total'] + '!', len(page['items'])]
        """,
        expected=['web-1', '5!', 3],
    ),
    _program(
        'mutate_rows_in_loop',
        """
        teams = await team_members()
        for team, members in teams.items():
            for m in members:
                m['skills'] = '/'.join(m['skills'])
                m['team'] = team
                m['hours'] = round(m['hours'])
                m['role'] = m['role'].upper()
        rows = [m for ms in teams.values() for m in ms]
        [(m['name'], m['skills'].title(), m['team'], m['role']) for m in rows if m['hours'] > 33]
        """,
        expected=[['Ada', 'Python/Sql', 'core', 'LEAD'], ['Cleo', 'Sql/Bash', 'infra', 'OPS']],
    ),
    _program(
        'mutate_stats_numbers',
        """
        stats = await workspace_stats()
        stats['users'] += 0.5
        stats['users'] = str(stats['users'])
        stats['by_status']['total'] = sum(stats['by_status'].values())
        stats['by_status']['note'] = 'x'
        stats |= {'new': 1}
        [stats['users'], stats['by_status'], stats['new']]
        """,
        expected=['3.5', {'open': 3, 'in_progress': 1, 'done': 1, 'total': 5, 'note': 'x'}, 1],
    ),
    _program(
        'typed_dicts_merged',
        """
        user = await find_user(id=1)
        stats = await workspace_stats()
        both = {**user, **stats}
        also = user | stats
        rows = [{**u, 'stats': stats} for u in [user]]
        [both['name'], both['users'] + 1, also['uptime'], rows[0]['stats']['users'], rows[0]['roles'][0]]
        """,
        expected=['Ada', 4, 99.95, 3, 'admin'],
    ),
    _program(
        'retyped_dates_parsed_in_place_then_max',
        """
        from datetime import datetime
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['created'] = datetime.fromisoformat(t['created'])
        newest = max(tickets, key=lambda t: t['created'])
        newest['created'].strftime('%d %b')
        """,
        expected='03 Feb',
    ),
    _program(
        'retyped_assignee_flattened_then_used',
        """
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['assignee'] = t['assignee']['login'] if t['assignee'] else 'nobody'
        sorted({t['assignee'].upper() for t in tickets})
        """,
        expected=['ADA', 'BOB', 'NOBODY'],
    ),
    _program(
        'retyped_skills_joined_then_len_and_split',
        """
        members = (await team_members())['core']
        for m in members:
            m['skills'] = ','.join(m['skills'])
        [m['skills'].split(',')[0] for m in members]
        """,
        expected=['python', 'go'],
    ),
    _program(
        'retyped_page_items_replaced_then_methods',
        """
        page = await list_tickets(project='WEB')
        page['items'] = [t['key'] for t in page['items']]
        [k.lower() for k in page['items']]
        """,
        expected=['web-1', 'web-2'],
    ),
    _program(
        'retyped_page_items_replaced_by_dict',
        """
        page = await list_tickets(project='WEB')
        page['items'] = {t['key']: t for t in page['items']}
        page['items']['WEB-1']['title'], list(page['items'].values())[0]['key']
        """,
        expected=['Login page crashes', 'WEB-1'],
    ),
    _program(
        'added_or_operator_between_results',
        """
        user = await find_user(id=1)
        stats = await workspace_stats()
        info = user | stats
        info['uptime']
        """,
        expected=99.95,
    ),
    _program(
        'added_ior_with_new_key',
        """
        stats = await workspace_stats()
        stats |= {'new': 1}
        stats['new']
        """,
        expected=1,
    ),
    _program(
        'added_through_variable',
        """
        tickets = await search_tickets(query='e')
        for name in ('url', 'slug'):
            for t in tickets:
                t[name] = name + t['key']
        tickets[0]['slug']
        """,
        expected='slugWEB-1',
    ),
    _program(
        'retyped_priority_mapped_to_text',
        """
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['priority'] = {1: 'high', 2: 'medium', 3: 'low'}[t['priority']]
        [t['priority'].upper() for t in tickets]
        """,
        expected=['HIGH', 'LOW', 'MEDIUM', 'LOW', 'MEDIUM'],
    ),
    _program(
        'retyped_amount_converted_to_text',
        """
        flights = (await search_flights(origin='A', destination='B', day='2024-07-01'))['flights']
        for f in flights:
            f['price'] = f"{f['price']:.2f} EUR"
        [f['price'].split()[0] for f in flights]
        """,
        expected=['95.50', '120.00'],
    ),
    _program(
        'retyped_via_enumerate_index',
        """
        tickets = await search_tickets(query='e')
        for i, t in enumerate(tickets):
            tickets[i] = t['key']
        [t.lower() for t in tickets][0]
        """,
        expected='web-1',
    ),
    _program(
        'retyped_dict_value_string_ops',
        """
        teams = await team_members()
        for name, ms in teams.items():
            teams[name] = ', '.join(m['name'] for m in ms)
        teams['core'].upper()
        """,
        expected='ADA, BOB',
    ),
    _program(
        'retyped_sort_by_converted_key_in_place',
        """
        from datetime import datetime
        flights = (await search_flights(origin='A', destination='B', day='2024-07-01'))['flights']
        for f in flights:
            f['departs'] = datetime.fromisoformat(f['departs'])
            f['hour'] = f['departs'].hour
        first = min(flights, key=lambda f: f['departs'])
        first['departs'].hour, first['hour']
        """,
        expected=[6, 6],
    ),
    _program(
        'joined_coroutines_of_two_tools_by_plus',
        """
        import asyncio
        tasks = [get_ticket(key='WEB-1')]
        tasks += [find_user(id=1)]
        ticket, user = await asyncio.gather(*tasks)
        user['name']
        """,
        expected='Ada',
    ),
    _program(
        'joined_coroutines_by_setdefault',
        """
        jobs = {}
        jobs.setdefault('tags', known_tags())
        await jobs['tags']
        """,
        expected=['bug'],
    ),
    _program(
        'joined_coroutines_replaced_by_results_in_dict',
        """
        texts = {p: read_file(path=p) for p in ('/README.md', '/src/main.py')}
        for p in texts:
            texts[p] = await texts[p]
        {p: len(t) for p, t in texts.items()}
        """,
        expected={'/README.md': 47, '/src/main.py': 65},
    ),
    _program(
        'joined_coroutines_replaced_by_results_in_list',
        """
        jobs = [get_ticket(key=k) for k in ('WEB-1', 'WEB-2')]
        for i, job in enumerate(jobs):
            jobs[i] = await job
        [t['title'] for t in jobs]
        """,
        expected=['Login page crashes', 'Dark mode'],
    ),
    _program(
        'branch_helpers_of_two_signatures_by_size',
        """
        tickets = await search_tickets(query='e')
        if len(tickets) > 3:
            async def note(t):
                return t['key']
        else:
            async def note(t, comments):
                return t['key'], comments
        await note(tickets[0])
        """,
        expected='WEB-1',
    ),
    _program(
        'spread_one_record_into_party',
        """
        base = {'name': 'ACME'}
        inv = await create_invoice(party={**base, 'vat_id': 'X'}, items=[])
        inv['party']['name']
        """,
        expected='ACME',
    ),
    _program(
        'spread_row_into_items',
        """
        rows = await query(sql='SELECT name, score AS unit_price FROM users WHERE score > 7')
        inv = await create_invoice(party={'name': 'x'}, items=[{**row, 'quantity': 2} for row in rows])
        inv['total']
        """,
        expected='33.5',
    ),
    _program(
        'spread_union_of_dicts_into_party',
        """
        base = {'name': 'ACME'}
        inv = await create_invoice(party=base | {'vat_id': 'Z'}, items=[])
        inv['party']['vat_id']
        """,
        expected='Z',
    ),
    _program(
        'hint_of_text_for_what_is_a_list',
        """
        from dataclasses import dataclass
        @dataclass
        class Entry:
            key: str
            tags: str = ''
        e = Entry('a', ['x'])
        e.tags.append('y')
        e.tags
        """,
        expected=['x', 'y'],
    ),
    _program(
        'hint_of_helper_is_wrong',
        """
        async def load(path) -> str:
            return {'path': path, 'text': await read_file(path=path)}
        doc = await load('/README.md')
        doc.get('path')
        """,
        expected='/README.md',
    ),
    _program(
        'coroutines_of_several_tools_extended',
        """
        import asyncio
        tasks = [get_ticket(key=k) for k in ('WEB-1', 'WEB-2')]
        tasks += [find_user(id=1)]
        tasks.extend([file_exists(path='/x'), known_tags()])
        tasks.insert(0, get_me())
        me, t1, t2, u, there, tags = await asyncio.gather(*tasks)
        [me['login'], t1['key'], t2['key'], u['name'], there, tags]
        """,
        expected=['ada', 'WEB-1', 'WEB-2', 'Ada', False, ['bug']],
    ),
    _program(
        'coroutines_in_dict_updated',
        """
        import asyncio
        jobs = dict(me=get_me())
        jobs.update(tags=known_tags())
        jobs.setdefault('there', file_exists(path='/README.md'))
        for p in ('Oslo', 'Rome'):
            jobs[p] = geocode(place=p)
        done = dict(zip(jobs.keys(), await asyncio.gather(*jobs.values())))
        [done['me']['login'], done['tags'], done['there'], done['Rome'][0]]
        """,
        expected=['ada', ['bug'], True, 41.9],
    ),
    _program(
        'coroutines_in_pairs_awaited_later',
        """
        import asyncio
        pairs = [(k, get_ticket(key=k)) for k in ('WEB-1', 'WEB-3')]
        pairs.append(('user', find_user(id=3)))
        done = [(name, await coro) for name, coro in pairs]
        records = [{'name': n, 'coro': read_file(path=n)} for n in ('/README.md',)]
        records.append({'name': 'tags', 'coro': known_tags()})
        values = await asyncio.gather(*[r['coro'] for r in records])
        for r, v in zip(records, values):
            r['coro'] = None
            r['value'] = v
        [[n for n, _ in done], done[2][1]['name'], len(records[0]['value']), records[1]['value']]
        """,
        expected=[['WEB-1', 'WEB-3', 'user'], 'Cleo', 47, ['bug']],
    ),
    _program(
        'coroutines_replaced_by_their_results',
        """
        import asyncio
        results = {p: read_file(path=p) for p in ('/README.md', '/src/main.py')}
        for p in results:
            results[p] = await results[p]
        data = [geocode(place='Oslo'), geocode(place='Rome')]
        data = await asyncio.gather(*data)
        one = get_ticket(key='WEB-1')
        one = await one
        [{p: len(t) for p, t in results.items()}, data[1][0], one['key']]
        """,
        expected=[{'/README.md': 47, '/src/main.py': 65}, 41.9, 'WEB-1'],
    ),
    _program(
        'coroutines_plain_helper_with_hint_of_result',
        """
        def fetch(key: str) -> dict:
            return get_ticket(key=key)

        t = await fetch('WEB-1')
        t['title']
        """,
        expected='Login page crashes',
    ),
    _program(
        'placeholder_hint_says_other_type',
        """
        from dataclasses import dataclass
        from datetime import datetime

        @dataclass
        class Entry:
            key: str
            when: str
            tags: str = ''

        e = Entry('a', datetime(2024, 1, 2), ['x'])
        e.tags.append('y')
        def year(entry: str) -> int:
            return entry.when.year
        def shape(value: list) -> str:
            return {'n': len(value)}
        [year(e), e.tags, shape('abc').get('n')]
        """,
        expected=[2024, ['x', 'y'], 3],
    ),
    _program(
        'spread_defaults_into_records',
        """
        base = {'name': 'Pen', 'unit_price': 2}
        inv = await create_invoice(party={'name': 'x'}, items=[{**base, 'quantity': q} for q in (1, 2)])
        inv['total']
        """,
        expected='6.0',
    ),
    _program(
        'spread_whole_record_variable',
        """
        base = {'name': 'ACME', 'vat_id': 'X'}
        a = await create_invoice(party={**base}, items=[])
        b = await create_invoice(party={**base, 'vat_id': None}, items=[])
        c = await create_invoice(party=dict(base), items=[])
        d = await create_invoice(party=dict(base, vat_id='Y'), items=[])
        e = await create_invoice(party=base | {'vat_id': 'Z'}, items=[])
        [i['party']['vat_id'] for i in (a, b, c, d, e)]
        """,
        expected=['X', None, 'X', 'Y', 'Z'],
    ),
    _program(
        'spread_of_json_and_rows',
        """
        import json
        party = json.loads('{"name": "ACME"}')
        rows = await query(sql="SELECT name, score AS unit_price FROM users WHERE score > 7")
        a = await create_invoice(party={**party}, items=[{**r} for r in rows])
        b = await create_invoice(party={'vat_id': 'q', **party}, items=rows)
        c = await create_invoice(party=party, items=[{**r, 'quantity': 2} for r in rows] + [dict(r) for r in rows])
        [a['total'], b['party']['vat_id'], c['total']]
        """,
        expected=['16.75', 'q', '50.25'],
    ),
    _program(
        'spread_github_files_and_labels',
        """
        meta = {'confidence': 'LOW', 'is_suggestion': True}
        r = await update_issue_labels(owner='o', repo='r', issue_number=1, labels=[{**meta, 'name': n} for n in ('a', 'b')])
        file = {'path': 'a.py', 'content': 'x'}
        p = await push_files(owner='o', repo='r', branch='main', message='m', files=[file, {**file, 'path': 'b.py'}])
        args = {'owner': 'o', 'repo': 'r'}
        f = await set_issue_fields(**args, issue_number=1, fields=[{'field_id': k, 'text_value': v} for k, v in {'A': 'x'}.items()])
        [r['labels'], p['files'], f['updated']]
        """,
        expected=[['a', 'b'], 2, ['A']],
    ),
    _program(
        'stdlib_namedtuple_of_computed_fields',
        r"""
        from collections import namedtuple
        header, *rows = [l.split(',') for l in (await read_file(path='/data/people.csv')).strip().split('\n')]
        Person = namedtuple('Person', header)
        people = [Person(*row) for row in rows]
        Point = namedtuple('Point', 'x y z', defaults=[0])
        [people[0].name, people[1].city, Point(1, 2).z, Point(x=1, y=2, z=3)[2], people[2].age]
        """,
        expected=['Ada', 'Oslo', 0, 3, '29'],
    ),
    _program(
        'collision_own_class_called_like_shown_type',
        """
        class Page:
            def __init__(self, url, body):
                self.url = url
                self.body = body
            def title(self):
                return self.body.split('<title>')[1].split('<')[0]
        pages = []
        for name in 'ab':
            r = await http_get(url=f'https://example.com/{name}')
            if r['ok']:
                pages.append(Page(name, r['body']))
        for p in pages:
            p.links = p.body.count('href')
        [(p.url, p.title(), p.links) for p in pages]
        """,
        expected=[['a', 'Alpha', 2], ['b', 'Beta', 0]],
    ),
    _program(
        'collision_own_dataclass_called_like_shown_type',
        """
        from dataclasses import dataclass
        @dataclass
        class User:
            name: str
            roles: list
        users = [User(u['name'], u['roles']) for u in [await find_user(id=i) for i in (1, 2)]]
        for u in users:
            u.label = u.name.upper()
        [u.label for u in users]
        """,
        expected=['ADA', 'BOB'],
    ),
    _program(
        'collision_own_namedtuple_called_like_shown_type',
        """
        from collections import namedtuple
        header = ['name', 'age']
        Member = namedtuple('Member', header)
        m = Member('Ada', 36)
        [m.name, m.age]
        """,
        expected=['Ada', 36],
    ),
    _program(
        'collision_own_function_called_like_shown_type',
        """
        def Invoice(n):
            return {'n': n}
        class Stats: pass
        s = Stats()
        s.total = Invoice(2)['n'] + 1
        s.total
        """,
        expected=3,
    ),
    _program(
        'session_rows_converted_in_first_used_in_third',
        """
        from datetime import datetime
        tickets = await search_tickets(query='e')
        for t in tickets:
            t['created'] = datetime.fromisoformat(t['created'])
        """,
        """
        latest = max(tickets, key=lambda t: t['created'])
        """,
        """
        latest['created'].year
        """,
        expected=2024,
    ),
    _program(
        'session_failure_then_conversion_used',
        """
        tickets = await search_tickets(query='e')
        """,
        """
        # fails
        for t in tickets:
            t['labels'] = '/'.join(t['labels'])
            t['n'] = len(t['labels'])
        tickets[99]
        """,
        """
        [t['labels'].upper() for t in tickets if t['n'] > 0][0]
        """,
        expected='BUG/AUTH',
    ),
    _program(
        'session_failed_with_keys_added',
        """
        t = await get_ticket(key='WEB-1')
        """,
        """
        # fails
        t['owner'] = t['assignee']['login']
        t['score'] = t['estimate'] / 0
        """,
        """
        t['owner']
        """,
        expected='ada',
    ),
    _program(
        'session_failed_class_redefined',
        """
        class Box:
            def __init__(self, a):
                self.a = a
        """,
        """
        # fails
        class Box:
            def __init__(self, a, b):
                self.a, self.b = a, b
        1 / 0
        """,
        """
        Box(1, 2).b
        """,
        expected=2,
    ),
    _program(
        'session_failed_function_gets_keyword',
        """
        async def load(key):
            return await get_ticket(key=key)
        """,
        """
        # fails
        async def load(key, full=False):
            t = await get_ticket(key=key)
            return t if full else t['title']
        (await load('WEB-1'))['key']
        """,
        """
        [await load('WEB-1'), (await load('WEB-2', full=True))['key']]
        """,
        expected=['Login page crashes', 'WEB-2'],
    ),
    _program(
        'function_redefined_in_branches_of_loop',
        """
        outs = []
        for mode in ('plain', 'wide'):
            if mode == 'plain':
                def render(x):
                    return x
            else:
                def render(x, width=5):
                    return x.rjust(width)
            outs.append(render('ab'))
        outs, render('z', 3)
        """,
        expected=[['ab', '   ab'], '  z'],
    ),
    _program(
        'newer_syntax_text_in_angle_brackets',
        """
        u = await find_user(id=1)
        f"<li>{u["name"]}</li>"
        """,
        expected='<li>Ada</li>',
    ),
]
"""Correct programs that an early version refused; `known.STILL_REFUSED` names those that still are."""

KNOWN_CRASHES: list[Program] = [
    _program(
        'coroutine_kept_for_next_snippet',
        """
        pending = find_user(id=1)
        jobs = [geocode(place=p) for p in ('Oslo', 'Rome')]
        """,
        """
        user = await pending
        user['name']
        """,
        expected='Ada',
    ),
]
"""Programs that pass the type check and end the run of the agent with an error."""
