"""Correct programs as models write them: the type check must never refuse one of these."""

from __future__ import annotations

from textwrap import dedent

from .program import Program


def _program(name: str, *snippets: str, expected: object) -> Program:
    return Program(name, tuple(dedent(snippet).strip('\n') for snippet in snippets), expected)


_OPTIONAL_WITHOUT_TEST = [
    _program(
        'optional_result_subscripted',
        """
        customer = await find_customer(name='Ada')
        customer['email']
        """,
        expected='ada@example.com',
    ),
    _program(
        'optional_result_passed_on',
        """
        customer = await find_customer(name="Ada")
        orders = await list_orders(customer_id=customer["id"], status="shipped")
        [o["id"] for o in orders]
        """,
        expected=[101, 103],
    ),
    _program(
        'optional_nested_member_without_test',
        """
        ada = await find_customer(name='Ada')
        bonus = ada['loyalty']['points'] // 100
        f"{ada['name']} ({ada['loyalty']['level']}): {bonus}"
        """,
        expected='Ada (gold): 12',
    ),
    _program(
        'optional_str_passed_as_str',
        """
        customer = await find_customer(name='Cleo')
        receipt = send_email(to=customer['email'], subject='Hello', body=f"Dear {customer['name']}")
        receipt['length']
        """,
        expected=9,
    ),
    _program(
        'optional_str_methods_without_test',
        """
        ada = await find_customer(name='Ada')
        user, domain = ada['email'].split('@')
        {'user': user.upper(), 'domain': domain}
        """,
        expected={'user': 'ADA', 'domain': 'example.com'},
    ),
    _program(
        'optional_results_of_gather_without_test',
        """
        import asyncio

        names = ['Ada', 'Bob', 'Cleo']
        customers = await asyncio.gather(*[find_customer(name=n) for n in names])
        ids = [c['id'] for c in customers]
        {c['name']: len(c['tags']) for c in customers} | {'ids': ids}
        """,
        expected={'Ada': 2, 'Bob': 0, 'Cleo': 1, 'ids': [1, 2, 3]},
    ),
    _program(
        'optional_rating_in_arithmetic',
        """
        toys = await search_products(query='', category='toy')
        total = 0
        for toy in toys:
            total += toy['rating']
        round(total / len(toys), 2)
        """,
        expected=4.4,
    ),
    _program(
        'optional_rating_as_sort_key',
        """
        products = await search_products(query='t')
        best = max(products, key=lambda p: p['rating'])
        ranked = sorted(products, key=lambda p: p['rating'], reverse=True)
        [best['name'], [p['sku'] for p in ranked]]
        """,
        expected=['Teddy Bear', ['T2', 'T1']],
    ),
    _program(
        'optional_datetime_parsed',
        """
        from datetime import datetime

        orders = await list_orders(customer_id=1, status='shipped')
        hours = []
        for order in orders:
            placed = datetime.fromisoformat(order['placed_at'])
            shipped = datetime.fromisoformat(order['shipped_at'])
            hours.append(round((shipped - placed).total_seconds() / 3600, 1))
        hours
        """,
        expected=[45.5, 26.8],
    ),
    _program(
        'next_with_none_default_subscripted',
        """
        orders = await list_orders(customer_id=1)
        pending = next(iter([o for o in orders if o['status'] == 'pending']), None)
        pending['lines'][0]['note']
        """,
        expected='gift',
    ),
    _program(
        'best_starts_as_none',
        """
        import asyncio

        cities = ['Paris', 'London', 'Madrid']
        warmest = None
        for w in await asyncio.gather(*[get_weather(city=c) for c in cities]):
            if warmest is None or w['temperature'] > warmest['temperature']:
                warmest = w
        warmest['city']
        """,
        expected='Madrid',
    ),
    _program(
        'optional_tested_first',
        """
        customer = await find_customer(name='Nobody')
        if customer is None:
            result = {'found': False}
        else:
            result = {'found': True, 'email': customer['email']}
        result
        """,
        expected={'found': False},
    ),
    _program(
        'optional_with_or_fallback',
        """
        bob = await find_customer(name='Bob')
        email = bob['email'] or 'no email'
        loyalty = (bob.get('loyalty') or {}).get('points', 0)
        f'{email}: {loyalty}'
        """,
        expected='no email: 0',
    ),
    _program(
        'optional_in_helper_across_snippets',
        """
        async def lookup(name):
            c = await find_customer(name=name)
            return c
        """,
        """
        ada = await lookup('Ada')
        cleo = await find_customer(name='Cleo')
        ada['tags'] + cleo['tags']
        """,
        """
        len(set(ada['tags']) & set(cleo['tags']))
        """,
        expected=1,
    ),
    _program(
        'optional_members_iterated_and_compared',
        """
        ada = await find_customer(name='Ada')
        shouted = [tag.upper() for tag in ada['tags']]
        rich = ada['loyalty']['points'] > 1000 and 'vip' in ada['tags']
        toys = [p['sku'] for p in await search_products(query='t', category='toy') if p['rating'] > 4.5]
        for tag in ada['tags']:
            shouted.append(tag[0])
        [shouted, rich, toys]
        """,
        expected=[['VIP', 'EARLY', 'v', 'e'], True, ['T2']],
    ),
    _program(
        'optional_with_empty_dict_fallback',
        """
        nobody = (await find_customer(name='Nobody') or {}).get('email')
        ada = await find_customer(name='Ada')
        level = ada.get('loyalty', {}).get('level')
        [nobody, level]
        """,
        expected=[None, 'gold'],
    ),
    _program(
        'optional_result_given_a_loose_annotation',
        """
        customer: dict = await find_customer(name='Ada')
        email: str = customer['email']
        cleo_email: str = (await find_customer(name='Cleo'))['email']
        items: int = await get_setting(key='max_items')
        [email.split('@')[0], cleo_email[:4], items + 1]
        """,
        expected=['ada', 'cleo', 4],
    ),
    _program(
        'previous_item_starts_as_none',
        """
        from datetime import datetime

        previous = None
        gaps = []
        for order in await list_orders(customer_id=1):
            if previous:
                a = datetime.fromisoformat(previous['placed_at'])
                gaps.append((datetime.fromisoformat(order['placed_at']) - a).days)
            previous = order
        [gaps, previous['id']]
        """,
        expected=[[40, 9], 103],
    ),
    _program(
        'global_none_filled_by_function',
        """
        cache = None
        current = None

        async def load():
            global cache, current
            if cache is None:
                cache = await search_products(query='')
            current = cache[0]

        await load()
        cache[1]['name'] + current['sku']
        """,
        expected='Cook BookB1',
    ),
    _program(
        'global_none_filled_in_later_snippet',
        """
        customer = None
        """,
        """
        async def login(name):
            global customer
            customer = await find_customer(name=name)

        await login('Cleo')
        """,
        """
        customer['email'].upper()
        """,
        expected='CLEO@EXAMPLE.ORG',
    ),
]

_DICTS = [
    _program(
        'dict_literal_built_first',
        """
        address = {'street': '1 Main St', 'city': 'Paris'}
        lines = [{'sku': 'B1', 'quantity': 2}, {'sku': 'H1', 'quantity': 1}]
        order = await place_order(customer_id=1, lines=lines, address=address)
        order['total']
        """,
        expected=50.0,
    ),
    _program(
        'dict_filled_step_by_step_then_passed',
        """
        address = {}
        address['street'] = '5 Rue X'
        address['city'] = 'Lyon'
        address['postcode'] = '69001'

        line = dict(sku='T1', quantity=1)
        line['note'] = 'wrap it'
        order = await place_order(customer_id=2, lines=[line], address=address, express=True)
        [order['total'], order['address']['postcode'], order['lines'][0].get('note')]
        """,
        expected=[55.0, '69001', 'wrap it'],
    ),
    _program(
        'lines_from_comprehension',
        """
        wanted = {'B1': 1, 'T2': 3}
        lines = [{'sku': sku, 'quantity': qty} for sku, qty in wanted.items()]
        order = await place_order(
            customer_id=3,
            lines=lines,
            address={'street': '9 Long Rd', 'city': 'London', 'postcode': None},
        )
        order['total']
        """,
        expected=72.5,
    ),
    _program(
        'lines_appended_to_empty_list',
        """
        lines = []
        for product in await search_products(query='', max_price=25):
            if 'soft' in product['tags'] or product['category'] == 'book':
                lines.append({'sku': product['sku'], 'quantity': 2})
        home = {'street': 'S', 'city': 'C'}
        order = await place_order(customer_id=1, lines=lines, address=home)
        {'id': order['id'], 'total': order['total'], 'count': len(order['lines'])}
        """,
        expected={'id': 901, 'total': 65.0, 'count': 2},
    ),
    _program(
        'lines_of_an_earlier_order_passed_on',
        """
        previous = (await list_orders(customer_id=1))[0]
        again = await place_order(
            customer_id=previous['customer_id'],
            lines=previous['lines'],
            address={'street': 'Same', 'city': 'Paris'},
        )
        again['total'] == previous['total']
        """,
        expected=True,
    ),
    _program(
        'dict_spread_into_call',
        """
        params = {'city': 'Madrid', 'unit': 'fahrenheit'}
        weather = await get_weather(**params)
        weather['temperature']
        """,
        expected=84.2,
    ),
    _program(
        'dict_of_mixed_types_spread_into_call',
        """
        defaults = {"query": "", "max_price": 30, "category": "book"}
        books = await search_products(**defaults)
        tools = await search_products(**{**defaults, "category": "tool"})
        [p["name"] for p in books + tools]
        """,
        expected=['Blue Book', 'Cook Book', 'Hammer'],
    ),
    _program(
        'list_of_dicts_spread_into_gather',
        """
        import asyncio

        requests = [
            {'amount': 100, 'source': 'EUR', 'target': 'USD'},
            {'amount': 8.0, 'source': 'GBP', 'target': 'EUR'},
        ]
        await asyncio.gather(*[convert_currency(**r) for r in requests])
        """,
        expected=[125.0, 10.0],
    ),
    _program(
        'dict_spread_mixed_with_keywords',
        """
        base = {'source': 'EUR', 'target': 'GBP'}
        a = await convert_currency(amount=10, **base)
        b = await convert_currency(amount=20.5, **base)
        round(a + b, 2)
        """,
        expected=24.4,
    ),
    _program(
        'conditional_kwargs_spread',
        """
        category = None
        kwargs = {'query': 'book'}
        if category:
            kwargs['category'] = category
        kwargs['max_price'] = 20
        [p['sku'] for p in await search_products(**kwargs)]
        """,
        expected=['B1'],
    ),
    _program(
        'key_added_to_result',
        """
        weather = await get_weather(city='Oslo')
        weather['label'] = 'cold' if weather['temperature'] < 10 else 'mild'
        weather['label']
        """,
        expected='cold',
    ),
    _program(
        'keys_added_to_results_in_loop',
        """
        orders = await list_orders(customer_id=1)
        for order in orders:
            order['item_count'] = sum(line['quantity'] for line in order['lines'])
            order['late'] = order['shipped_at'] is None
        [(o['item_count'], o['late']) for o in orders][-1][0] + sum(1 for o in orders if o['late'])
        """,
        expected=3,
    ),
    _program(
        'keys_added_with_update_and_setdefault',
        """
        products = await search_products(query='', category='tool')
        hammer = products[0]
        hammer.update({'stock': 4, 'price': round(hammer['price'] * 0.9, 2)})
        hammer.setdefault('discounted', True)
        {k: hammer[k] for k in ('price', 'stock', 'discounted')}
        """,
        expected={'price': 22.5, 'stock': 4, 'discounted': True},
    ),
    _program(
        'value_of_result_replaced_by_other_type',
        """
        order = (await list_orders(customer_id=1, limit=1))[0]
        order['total'] = f"{order['total']:.2f} EUR"
        order['lines'] = [line['sku'] for line in order['lines']]
        order['total'] + ' ' + ','.join(order['lines'])
        """,
        expected='57.50 EUR B1,T1',
    ),
    _program(
        'result_spread_into_new_dict',
        """
        w = await get_weather(city='London')
        enriched = {**w, 'rain': w['conditions'] == 'rainy', 'humidity': f"{w['humidity']}%"}
        [enriched['rain'], enriched['humidity'], enriched['city']]
        """,
        expected=[True, '85%', 'London'],
    ),
    _program(
        'dicts_merged_with_pipe',
        """
        first = await label_product(sku='B1', labels={'color': 'blue', 'shelf': 'A'})
        second = await label_product(sku='B1', labels={'shelf': 'B'})
        merged = first | second
        merged |= {'checked': 'yes'}
        extra = merged | {'count': 2}
        [merged['shelf'], len(extra)]
        """,
        expected=['B', 5],
    ),
    _program(
        'result_merged_with_pipe',
        """
        paris = await get_weather(city='Paris')
        report = paris | {'mood': 'fine', 'score': 7}
        report['mood'] + str(report['score'])
        """,
        expected='fine7',
    ),
    _program(
        'stats_dict_of_mixed_values',
        """
        stats = {'count': 0, 'total': 0, 'names': [], 'cheapest': None}
        for p in await search_products(query=''):
            stats['count'] += 1
            stats['total'] += p['price']
            stats['names'].append(p['name'])
            if stats['cheapest'] is None or p['price'] < stats['cheapest']['price']:
                stats['cheapest'] = p
        stats['cheapest'] = stats['cheapest']['sku']
        stats['names'] = ', '.join(stats['names'][:2])
        stats
        """,
        expected={'count': 5, 'total': 132.5, 'names': 'Blue Book, Cook Book', 'cheapest': 'B1'},
    ),
    _program(
        'grouped_with_setdefault',
        """
        groups = {}
        for product in await search_products(query=''):
            groups.setdefault(product['category'], []).append(product['name'])
        groups['toy']
        """,
        expected=['Toy Train', 'Teddy Bear'],
    ),
    _program(
        'grouped_with_membership_test',
        """
        by_status = {}
        for order in await list_orders(customer_id=1):
            status = order['status']
            if status not in by_status:
                by_status[status] = {'count': 0, 'revenue': 0.0, 'ids': []}
            by_status[status]['count'] += 1
            by_status[status]['revenue'] += order['total']
            by_status[status]['ids'].append(order['id'])
        by_status
        """,
        expected={
            'shipped': {'count': 2, 'revenue': 117.5, 'ids': [101, 103]},
            'pending': {'count': 1, 'revenue': 25.0, 'ids': [102]},
        },
    ),
    _program(
        'counted_with_get_default',
        """
        counts = {}
        for p in await search_products(query=''):
            for tag in p['tags']:
                counts[tag] = counts.get(tag, 0) + 1
        top = max(counts, key=lambda tag: counts.get(tag))
        [top, counts[top], counts.get('missing', 0)]
        """,
        expected=['paper', 2, 0],
    ),
    _program(
        'defaultdict_and_counter',
        """
        from collections import Counter, defaultdict

        spent = defaultdict(float)
        tags = Counter()
        detail = defaultdict(lambda: {'n': 0, 'skus': []})
        for p in await search_products(query=''):
            spent[p['category']] += p['price']
            tags.update(p['tags'])
            detail[p['category']]['n'] += 1
            detail[p['category']]['skus'].append(p['sku'])
        [dict(spent), tags.most_common(1)[0][0], detail['book']]
        """,
        expected=[
            {'book': 42.5, 'toy': 65.0, 'tool': 25.0},
            'paper',
            {'n': 2, 'skus': ['B1', 'B2']},
        ],
    ),
    _program(
        'result_get_with_default',
        """
        order = (await list_orders(customer_id=1))[1]
        notes = [line.get('note', '-') for line in order['lines']]
        shipped = order.get('shipped_at', 'never') or 'not yet'
        street = (order.get('address') or {}).get('street', 'unknown')
        [notes, shipped, street, order.get('discount', 0)]
        """,
        expected=[['gift'], 'not yet', 'unknown', 0],
    ),
    _program(
        'result_key_from_variable',
        """
        w = await get_weather(city='Madrid')
        summary = {}
        for field in ['city', 'temperature', 'humidity']:
            summary[field] = w[field]
        lines = [f'{key}={value}' for key, value in summary.items()]
        '; '.join(lines)
        """,
        expected='city=Madrid; temperature=29.0; humidity=40',
    ),
    _program(
        'result_iterated_as_dict',
        """
        coords = (await get_weather(city='Paris'))['coordinates']
        total = 0
        for key, value in coords.items():
            total += value
        [sorted(coords.keys()), round(total, 1), 'lat' in coords, list(coords.values())[0]]
        """,
        expected=[['lat', 'lon'], 51.3, True, 48.9],
    ),
    _program(
        'dict_of_str_built_with_str_calls',
        """
        product = (await search_products(query='hammer'))[0]
        labels = {k: str(v) for k, v in product.items() if k != 'tags'}
        labelled = await label_product(sku=product['sku'], labels=labels)
        labelled['price']
        """,
        expected='25.0',
    ),
    _program(
        'nested_dict_literal_updated',
        """
        summary = {'meta': {'runs': 0}, 'data': {}}
        for city in ('Paris', 'Oslo'):
            w = await get_weather(city=city)
            summary['data'][city] = {'t': w['temperature'], 'wet': w['humidity'] > 66}
            summary['meta']['runs'] += 1
        summary['meta']['done'] = True
        summary
        """,
        expected={
            'meta': {'runs': 2, 'done': True},
            'data': {'Paris': {'t': 18.5, 'wet': True}, 'Oslo': {'t': 8.0, 'wet': False}},
        },
    ),
    _program(
        'own_dict_appended_to_result_list',
        """
        orders = await list_orders(customer_id=1)
        orders.append({'id': 1, 'total': 7.5})
        orders.insert(0, {'id': 2, 'total': 1, 'draft': True})
        orders += [{'id': 3, 'total': 0}]
        everything = orders + [{'id': 4, 'total': 2}]
        [sum(o['total'] for o in everything), orders[0].get('draft')]
        """,
        expected=[153.0, True],
    ),
    _program(
        'other_values_assigned_to_keys_of_result',
        """
        order = (await list_orders(customer_id=1))[0]
        order['status'] = 'archived'
        order['shipped_at'] = None
        order['lines'][0]['price'] = 12.5
        order['lines'].append({'sku': 'gift card'})
        order['id'] = str(order['id'])
        [order['id'], order['status'], order['lines'][0]['price'], len(order['lines'])]
        """,
        expected=['101', 'archived', 12.5, 3],
    ),
    _program(
        'keys_popped_from_result',
        """
        w = await get_weather(city='Paris')
        coords = w.pop('coordinates')
        w.pop('unknown', None)
        city = w.pop('city')
        copy = w.copy()
        copy['city'] = city.lower()
        plain = dict(w)
        plain['extra'] = [coords['lat']]
        [city, copy['city'], 'coordinates' in w, plain['extra'], len(w)]
        """,
        expected=['Paris', 'paris', False, [48.9], 4],
    ),
    _program(
        'result_values_unpacked',
        """
        w = await get_weather(city='Oslo')
        lat, lon = w['coordinates'].values()
        texts = {k: w[k] for k in w if isinstance(w[k], str)}
        ranked = sorted(w['coordinates'].items(), key=lambda kv: kv[1])
        [lat + lon, list(texts), ranked[0][0]]
        """,
        expected=[70.7, ['city', 'unit', 'conditions'], 'lon'],
    ),
    _program(
        'dicts_of_different_shape_in_one_list',
        """
        import asyncio

        async def safe_weather(city):
            try:
                w = await get_weather(city=city)
                return {'city': city, 'temperature': w['temperature']}
            except Exception as e:
                return {'city': city, 'error': str(e)}

        results = await asyncio.gather(*[safe_weather(c) for c in ['Paris', 'Nowhere']])
        good = [r for r in results if 'error' not in r]
        bad = [r for r in results if r.get('error')]
        first = results[0]
        [good[0]['temperature'], bad[0]['error'] != '', first['temperature'], len(results[1])]
        """,
        expected=[18.5, True, 18.5, 2],
    ),
    _program(
        'number_dict_gets_other_numbers_and_text',
        """
        totals = {'shipped': 0, 'pending': 0}
        for o in await list_orders(customer_id=1):
            totals[o['status']] += o['total']
        totals['cancelled'] = None
        totals['note'] = 'done'
        totals['by_id'] = {}
        totals['by_id'][101] = 'x'
        [totals['shipped'], totals['note'].upper(), len(totals)]
        """,
        expected=[117.5, 'DONE', 5],
    ),
]

_NUMBERS = [
    _program(
        'int_literal_for_float',
        """
        await convert_currency(amount=40, source='EUR', target='USD')
        """,
        expected=50.0,
    ),
    _program(
        'int_variable_for_float',
        """
        amounts = [10, 20, 30]
        converted = []
        for amount in amounts:
            converted.append(await convert_currency(amount=amount, source='EUR', target='USD'))
        sum(converted)
        """,
        expected=75.0,
    ),
    _program(
        'int_results_for_float',
        """
        n = await count_words(text='one two three four')
        price = await convert_currency(amount=n, source='USD', target='EUR')
        cheap = await search_products(query='', max_price=len('abcdefghij') * 2)
        [price, len(cheap)]
        """,
        expected=[3.2, 2],
    ),
    _program(
        'int_in_dict_literal_for_float',
        """
        prices = {'coffee': 3, 'cake': 4.5, 'water': 0}
        total = 0
        for item, price in prices.items():
            total += await convert_currency(amount=price, source='EUR', target='USD')
        round(total, 2)
        """,
        expected=9.37,
    ),
    _program(
        'int_accumulator_becomes_float',
        """
        total = 0
        count = 0
        for order in await list_orders(customer_id=1):
            total += order['total']
            count += 1
        average = total / count if count else 0
        {'total': total, 'average': round(average, 1)}
        """,
        expected={'total': 142.5, 'average': 47.5},
    ),
    _program(
        'min_max_sum_any_all',
        """
        orders = await list_orders(customer_id=1)
        totals = [o['total'] for o in orders]
        {
            'min': min(totals),
            'max': max(totals),
            'sum': sum(totals),
            'range': max(totals) - min(totals),
            'any': any(t > 59 for t in totals),
            'all': all(o['lines'] for o in orders),
            'abs': abs(round(min(totals) - max(totals))),
        }
        """,
        expected={'min': 25.0, 'max': 60.0, 'sum': 142.5, 'range': 35.0, 'any': True, 'all': True, 'abs': 35},
    ),
    _program(
        'min_max_of_empty_with_default',
        """
        orders = await list_orders(customer_id=3)
        newest = max(orders, key=lambda o: o['placed_at'], default=None)
        lowest = min((o['total'] for o in orders), default=0)
        [newest, lowest, sum([o['total'] for o in orders], 0.0)]
        """,
        expected=[None, 0, 0.0],
    ),
    _program(
        'max_with_default_none_subscripted',
        """
        orders = await list_orders(customer_id=1)
        newest = max(orders, key=lambda o: o['placed_at'], default=None)
        newest['id']
        """,
        expected=103,
    ),
    _program(
        'rounding_and_math',
        """
        import math

        here = (await get_weather(city='Paris'))['coordinates']
        there = (await get_weather(city='London'))['coordinates']
        distance = math.sqrt((here['lat'] - there['lat']) ** 2 + (here['lon'] - there['lon']) ** 2)
        [round(distance, 2), math.ceil(distance), math.floor(distance), math.isclose(math.hypot(3, 4), 5)]
        """,
        expected=[3.61, 4, 3, True],
    ),
    _program(
        'list_of_ints_from_results',
        """
        orders = await list_orders(customer_id=1)
        quantities = [line['quantity'] for order in orders for line in order['lines']]
        await average_score(scores=quantities)
        """,
        expected=1.25,
    ),
    _program(
        'list_of_ints_from_range_and_rounding',
        """
        scores = list(range(1, 5)) + [round(4.6), int('7')]
        a = await average_score(scores=scores)
        b = await average_score(scores=[int(x) for x in '10 20 30'.split()])
        c = await average_score(scores=sorted({3, 1, 2})[:2])
        [round(a, 2), b, c]
        """,
        expected=[3.67, 20.0, 1.5],
    ),
    _program(
        'chained_comparisons',
        """
        import asyncio

        cities = ['Paris', 'London', 'Madrid', 'Oslo']
        weathers = await asyncio.gather(*[get_weather(city=c) for c in cities])
        pleasant = [w['city'] for w in weathers if 10 < w['temperature'] <= 20]
        humid = [w['city'] for w in weathers if 60 <= w['humidity'] < 80 and not w['conditions'] == 'rainy']
        pleasant, humid = humid, pleasant
        [pleasant, humid]
        """,
        expected=[['Paris', 'Oslo'], ['Paris', 'London']],
    ),
    _program(
        'int_and_divmod_arithmetic',
        """
        n = await count_words(text='the quick brown fox jumps over the lazy dog')
        full, rest = divmod(n, 4)
        pages = n // 4 + (1 if n % 4 else 0)
        ratio = n / 4
        [full, rest, pages, ratio, n ** 2, float(n), str(n) + ' words']
        """,
        expected=[2, 1, 3, 2.25, 81, 9.0, '9 words'],
    ),
]

_LITERALS = [
    _program(
        'literal_from_loop_over_strings',
        """
        temperatures = {}
        for unit in ['celsius', 'fahrenheit']:
            w = await get_weather(city='London', unit=unit)
            temperatures[unit] = w['temperature']
        temperatures
        """,
        expected={'celsius': 14.0, 'fahrenheit': 57.2},
    ),
    _program(
        'literal_from_list_variable',
        """
        categories = ['book', 'toy', 'tool']
        counts = {}
        for category in categories:
            counts[category] = len(await search_products(query='', category=category))
        counts
        """,
        expected={'book': 2, 'toy': 2, 'tool': 1},
    ),
    _program(
        'literal_from_gather_comprehension',
        """
        import asyncio

        statuses = ["pending", "shipped", "cancelled"]
        results = await asyncio.gather(*[list_orders(customer_id=1, status=s) for s in statuses])
        {s: len(r) for s, r in zip(statuses, results)}
        """,
        expected={'pending': 1, 'shipped': 2, 'cancelled': 0},
    ),
    _program(
        'literal_from_str_parameter',
        """
        async def temperature(city: str, unit: str = 'celsius') -> float:
            w = await get_weather(city=city, unit=unit)
            return w['temperature']

        round(await temperature('Oslo', 'fahrenheit') - await temperature('Oslo'), 1)
        """,
        expected=38.4,
    ),
    _program(
        'literal_from_dict_value',
        """
        config = {'city': 'Paris', 'unit': 'fahrenheit', 'runs': 2}
        units_by_country = {'FR': 'celsius', 'US': 'fahrenheit'}
        a = await get_weather(city=config['city'], unit=config['unit'])
        b = await get_weather(city='Paris', unit=units_by_country['FR'])
        [a['temperature'], b['temperature']]
        """,
        expected=[65.3, 18.5],
    ),
    _program(
        'literal_from_ternary_and_str_method',
        """
        prefer_metric = False
        unit = 'celsius' if prefer_metric else 'fahrenheit'
        w = await get_weather(city='Paris', unit=unit)
        kind = 'BOOK'.lower()
        books = await search_products(query='', category=kind)
        [w['unit'], len(books)]
        """,
        expected=['fahrenheit', 2],
    ),
    _program(
        'literal_from_result',
        """
        first = (await search_products(query='train'))[0]
        similar = await search_products(query='', category=first['category'])
        [p['sku'] for p in similar if p['sku'] != first['sku']]
        """,
        expected=['T2'],
    ),
    _program(
        'literal_from_annotated_str',
        """
        status: str = 'shipped'
        options: dict[str, str] = {'status': 'pending'}
        a = await list_orders(customer_id=1, status=status)
        b = await list_orders(customer_id=1, status=options['status'])
        c = await list_orders(customer_id=1, status=None)
        [len(a), len(b), len(c)]
        """,
        expected=[2, 1, 3],
    ),
    _program(
        'literal_compared_with_other_strings',
        """
        w = await get_weather(city='Madrid')
        if w['conditions'] == 'snowy':
            advice = 'stay home'
        elif w['conditions'] in ('sunny', 'clear'):
            advice = 'go out'
        else:
            advice = 'take a coat'
        advice
        """,
        expected='go out',
    ),
]

_HELPERS = [
    _program(
        'untyped_sync_helper',
        """
        def summarize(orders):
            total = sum(o['total'] for o in orders)
            return {'n': len(orders), 'total': total, 'ids': [o['id'] for o in orders]}

        summary = summarize(await list_orders(customer_id=1))
        summary['total'] / summary['n']
        """,
        expected=47.5,
    ),
    _program(
        'untyped_async_helper_in_gather',
        """
        import asyncio

        async def spending(name):
            customer = await find_customer(name=name)
            orders = await list_orders(customer_id=customer['id'])
            return name, sum(o['total'] for o in orders)

        results = await asyncio.gather(*[spending(n) for n in ['Ada', 'Bob', 'Cleo']])
        totals = dict(results)
        sorted(totals.items(), key=lambda kv: kv[1], reverse=True)[0][0]
        """,
        expected='Ada',
    ),
    _program(
        'loosely_annotated_helpers',
        """
        def index_by(items: list, key: str) -> dict:
            return {item[key]: item for item in items}

        def names(products: list[dict]) -> list[str]:
            return [p['name'] for p in products]

        def most_expensive(products: list[dict]) -> dict:
            return max(products, key=lambda p: p['price'])

        products = await search_products(query='')
        by_sku = index_by(products, 'sku')
        [by_sku['T1']['name'], names(products)[-1], most_expensive(products)['sku']]
        """,
        expected=['Toy Train', 'Hammer', 'T1'],
    ),
    _program(
        'helpers_annotated_with_typing',
        """
        from typing import Any, Dict, List, Optional, Tuple

        async def load(name: str) -> Optional[Dict[str, Any]]:
            return await find_customer(name=name)

        def split(orders: List[Dict[str, Any]]) -> Tuple[List[Dict], List[Dict]]:
            done = [o for o in orders if o['status'] == 'shipped']
            rest = [o for o in orders if o['status'] != 'shipped']
            return done, rest

        customer = await load('Ada')
        done, rest = split(await list_orders(customer_id=customer['id']))
        [len(done), len(rest)]
        """,
        expected=[2, 1],
    ),
    _program(
        'list_of_dict_annotations_on_variables',
        """
        orders: list[dict] = await list_orders(customer_id=1)
        rows: list[dict] = []
        cache: dict[str, dict] = {}
        for order in orders:
            rows.append({'id': order['id'], 'skus': [line['sku'] for line in order['lines']]})
            cache[str(order['id'])] = order
        rows[0]['skus'].append('extra')
        [rows[0], cache['102']['status']]
        """,
        expected=[{'id': 101, 'skus': ['B1', 'T1', 'extra']}, 'pending'],
    ),
    _program(
        'annotated_results_of_gather',
        """
        import asyncio
        from typing import Any

        async def main() -> list[dict[str, Any]]:
            weathers: list[dict[str, Any]] = await asyncio.gather(
                get_weather(city='Paris'), get_weather(city='Oslo')
            )
            result: list[dict[str, Any]] = [{'city': w['city'], 'ok': w['temperature'] > 10} for w in weathers]
            return result

        await main()
        """,
        expected=[{'city': 'Paris', 'ok': True}, {'city': 'Oslo', 'ok': False}],
    ),
    _program(
        'none_default_for_str_parameter',
        """
        async def cheapest(query: str = '', category: str = None, limit: int = None) -> list:
            products = await search_products(query=query, category=category)
            products.sort(key=lambda p: p['price'])
            return products[:limit]

        everything = await cheapest()
        toys = await cheapest(category='toy', limit=1)
        [everything[0]['sku'], len(everything), toys[0]['sku']]
        """,
        expected=['B1', 5, 'T2'],
    ),
    _program(
        'none_assigned_to_annotated_variable',
        """
        best: dict = None
        name: str = None
        for product in await search_products(query='', max_price=30.0):
            if best is None or product['price'] > best['price']:
                best = product
                name = product['name']
        [best['sku'], name]
        """,
        expected=['B2', 'Cook Book'],
    ),
    _program(
        'mutable_default_none_in_helper',
        """
        def collect(node, found=None):
            if found is None:
                found = []
            found.append(node['name'])
            for child in node['children']:
                collect(child, found)
            return found

        tree = await category_tree()
        collect(tree)
        """,
        expected=['all', 'leisure', 'book', 'toy', 'tool'],
    ),
    _program(
        'nested_function_with_recursion',
        """
        async def total_products(root):
            tree = await category_tree(root=root)

            def walk(node: dict) -> int:
                return node['products'] + sum(walk(child) for child in node['children'])

            return walk(tree)

        [await total_products('leisure'), await total_products(None)]
        """,
        expected=[5, 6],
    ),
    _program(
        'recursive_result_walked_with_stack',
        """
        stack = [(await category_tree(), 0)]
        depths = {}
        while stack:
            node, depth = stack.pop()
            depths[node['name']] = depth
            stack.extend((child, depth + 1) for child in node['children'])
        [max(depths.values()), depths['toy']]
        """,
        expected=[2, 2],
    ),
    _program(
        'recursive_result_indexed',
        """
        tree = await category_tree()
        first = tree['children'][0]['children'][0]
        products = await search_products(query='', category=first['name'])
        [first['products'], len(products)]
        """,
        expected=[2, 2],
    ),
    _program(
        'closure_with_nonlocal_and_global',
        """
        calls = 0

        async def tracked(city):
            global calls
            calls += 1
            return await get_weather(city=city)

        def make_counter():
            n = 0
            def bump(by=1):
                nonlocal n
                n += by
                return n
            return bump

        bump = make_counter()
        for c in ['Paris', 'Oslo']:
            bump((await tracked(c))['humidity'])
        [calls, bump(0)]
        """,
        expected=[2, 135],
    ),
    _program(
        'helper_with_args_and_kwargs',
        """
        async def safe(fn, *args, **kwargs):
            try:
                return await fn(*args, **kwargs)
            except Exception:
                return None

        good = await safe(get_weather, city='Oslo')
        bad = await safe(get_weather, city='Atlantis')
        [good['temperature'], bad]
        """,
        expected=[8.0, None],
    ),
    _program(
        'tools_kept_in_dict',
        """
        actions = {'words': count_words, 'report': get_report}
        n = await actions['words'](text='a b c')
        text = await actions['report'](name='regions')
        [n, len(text) > 5]
        """,
        expected=[3, True],
    ),
    _program(
        'main_function_with_asyncio_run',
        """
        import asyncio

        async def main():
            paris, oslo = await asyncio.gather(get_weather(city='Paris'), get_weather(city='Oslo'))
            return paris['temperature'] - oslo['temperature']

        result = asyncio.run(main())
        print(f'Difference: {result}')
        result
        """,
        expected=10.5,
    ),
    _program(
        'main_function_awaited',
        '''
        async def main():
            """Find the customers with loyalty points."""
            result = []
            for name in ('Ada', 'Bob', 'Cleo'):
                customer = await find_customer(name=name)
                if not customer or not customer.get('loyalty'):
                    continue
                result.append({'name': customer['name'], 'points': customer['loyalty']['points']})
            return result

        if __name__ == '__main__':
            found = await main()
        found
        ''',
        expected=[{'name': 'Ada', 'points': 1200}],
    ),
    _program(
        'helper_returns_different_types',
        """
        def parse(text: str):
            if text.isdigit():
                return int(text)
            if '.' in text:
                return float(text)
            if text in ('yes', 'no'):
                return text == 'yes'
            return None if text == '' else text

        values = [parse(t) for t in ['12', '1.5', 'yes', '', 'abc']]
        total = parse('12') + parse('1.5')
        [values, total, await average_score(scores=[parse('4'), parse('6')])]
        """,
        expected=[[12, 1.5, True, None, 'abc'], 13.5, 5.0],
    ),
    _program(
        'int_annotation_on_helper_that_sums_floats',
        """
        def revenue(orders: list[dict]) -> int:
            return sum(o['total'] for o in orders)

        async def email_of(name: str) -> str:
            customer = await find_customer(name=name)
            return customer['email']

        [revenue(await list_orders(customer_id=1)), await email_of('Ada')]
        """,
        expected=[142.5, 'ada@example.com'],
    ),
    _program(
        'decorator',
        """
        def logged(fn):
            def wrapper(*args, **kwargs):
                result = fn(*args, **kwargs)
                log.append((len(args), result))
                return result
            return wrapper

        log = []

        @logged
        def double(x):
            return x * 2

        double(await count_words(text='a b'))
        log[0][1]
        """,
        expected=4,
    ),
    _program(
        'helper_used_before_its_definition',
        """
        async def main():
            return [await area(n) for n in ('Ada', 'Bob')] + [LIMIT]

        async def area(name):
            customer = await find_customer(name=name)
            return len(customer['tags'])

        LIMIT = 10
        await main()
        """,
        expected=[2, 0, 10],
    ),
    _program(
        'lambdas_kept_in_dict',
        """
        fetchers = {
            'paris': lambda: get_weather(city='Paris'),
            'words': lambda: count_words(text='a b'),
        }
        formats = {'temperature': lambda v: f'{v:.1f}', 'humidity': lambda v: f'{v}%', 'city': lambda v: v.upper()}
        w = await fetchers['paris']()
        [formats['temperature'](w['temperature']), formats['humidity'](w['humidity']), await fetchers['words']()]
        """,
        expected=['18.5', '70%', 2],
    ),
    _program(
        'typing_names_without_import',
        """
        async def shipped(customer_id: int) -> List[Dict[str, Any]]:
            rows: List[Dict[str, Any]] = await list_orders(customer_id=customer_id)
            return [r for r in rows if r['status'] == 'shipped']

        len(await shipped(1))
        """,
        expected=2,
    ),
    _program(
        'int_annotations_on_float_values',
        """
        total: int = 0
        temperatures: dict[str, int] = {}
        for o in await list_orders(customer_id=1):
            total += o['total']
        for city in ['Paris', 'Oslo']:
            temperatures[city] = (await get_weather(city=city))['temperature']
        [total, temperatures['Paris']]
        """,
        expected=[142.5, 18.5],
    ),
    _program(
        'top_level_return',
        """
        orders = await list_orders(customer_id=1)
        return {'count': len(orders), 'first': orders[0]['id']}
        """,
        expected={'count': 3, 'first': 101},
    ),
]

_FUNCTIONAL = [
    _program(
        'map_and_filter',
        """
        products = await search_products(query='')
        cheap = list(filter(lambda p: p['price'] < 30, products))
        names = list(map(lambda p: p['name'].upper(), cheap))
        prices = map(lambda p: p['price'], cheap)
        [names, sum(prices), list(map(str, [1, 2]))]
        """,
        expected=[['BLUE BOOK', 'TEDDY BEAR', 'HAMMER'], 57.5, ['1', '2']],
    ),
    _program(
        'map_over_async_helper_in_gather',
        """
        import asyncio

        async def words(text):
            return await count_words(text=text)

        texts = ['a b', 'c', 'd e f']
        counts = await asyncio.gather(*map(words, texts))
        doubled = await asyncio.gather(*map(lambda t: words(t + ' ' + t), texts))
        [max(counts), sum(doubled)]
        """,
        expected=[3, 12],
    ),
    _program(
        'filter_none_and_truthy',
        """
        import asyncio

        found = await asyncio.gather(*[find_customer(name=n) for n in ['Ada', 'Zoe', 'Bob']])
        known = list(filter(None, found))
        emails = list(filter(None, [c['email'] for c in known]))
        with_email = [c for c in known if c['email']]
        [len(known), emails, with_email[0]['email'].endswith('.com')]
        """,
        expected=[2, ['ada@example.com'], True],
    ),
    _program(
        'sorted_with_lambda_keys',
        """
        products = await search_products(query='')
        by_price = sorted(products, key=lambda p: p['price'])
        by_two = sorted(products, key=lambda p: (p['category'], -p['price']))
        by_rating = sorted(products, key=lambda p: p['rating'] or 0, reverse=True)
        products.sort(key=lambda p: len(p['name']))
        [by_price[0]['sku'], [p['sku'] for p in by_two], by_rating[0]['sku'], products[0]['sku']]
        """,
        expected=['B1', ['B2', 'B1', 'H1', 'T1', 'T2'], 'T2', 'H1'],
    ),
    _program(
        'sorted_dict_items',
        """
        import json

        regions = json.loads(await get_report(name='regions'))
        ranked = sorted(regions.items(), key=lambda item: item[1], reverse=True)
        top_name, top_value = ranked[0]
        ordered = dict(sorted(regions.items()))
        [top_name, top_value, list(ordered), sorted(regions, key=lambda r: regions[r])[0], max(regions.values())]
        """,
        expected=['south', 25, ['east', 'north', 'south'], 'east', 25],
    ),
    _program(
        'zip_enumerate_reversed',
        """
        import asyncio

        cities = ['Paris', 'Oslo', 'Madrid']
        weathers = await asyncio.gather(*[get_weather(city=city) for city in cities])
        lines = []
        for i, (city, w) in enumerate(zip(cities, weathers), start=1):
            lines.append(f"{i}. {city}: {w['temperature']:.1f}")
        pairs = list(zip(cities, reversed(cities)))
        [lines, pairs[0][1], list(reversed(lines))[0][0]]
        """,
        expected=[['1. Paris: 18.5', '2. Oslo: 8.0', '3. Madrid: 29.0'], 'Madrid', '3'],
    ),
    _program(
        'comprehensions_of_all_kinds',
        """
        orders = await list_orders(customer_id=1)
        skus = {line['sku'] for o in orders for line in o['lines']}
        totals = {o['id']: o['total'] for o in orders if o['total'] > 30}
        matrix = [[line['quantity'] for line in o['lines']] for o in orders]
        flat = [q for row in matrix for q in row]
        longest = max(len(row) for row in matrix)
        [sorted(skus), {str(k): v for k, v in totals.items()}, flat, longest]
        """,
        expected=[['B1', 'B2', 'H1', 'T1'], {'101': 57.5, '103': 60.0}, [1, 1, 1, 2], 2],
    ),
    _program(
        'await_in_comprehensions',
        """
        cities = ['Paris', 'Oslo']
        weathers = [await get_weather(city=c) for c in cities]
        temperatures = {c: (await get_weather(city=c))['temperature'] for c in cities}
        words = sum([await count_words(text=t) for t in ('a b', 'c')])
        [weathers[1]['humidity'], temperatures, words]
        """,
        expected=[65, {'Paris': 18.5, 'Oslo': 8.0}, 3],
    ),
    _program(
        'reduce_and_partial',
        """
        import asyncio
        from functools import partial, reduce

        to_usd = partial(convert_currency, source='EUR', target='USD')
        values = await asyncio.gather(*[to_usd(amount=a) for a in [1, 2, 3]])
        product = reduce(lambda acc, v: acc * v, values, 1)
        [sum(values), round(product, 4)]
        """,
        expected=[7.5, 11.7188],
    ),
    _program(
        'itertools_groupby_and_chain',
        """
        from itertools import chain, groupby

        products = sorted(await search_products(query=''), key=lambda p: p['category'])
        grouped = {k: [p['sku'] for p in g] for k, g in groupby(products, key=lambda p: p['category'])}
        tags = list(chain.from_iterable(p['tags'] for p in products))
        merged = list(chain(grouped['book'], grouped['tool']))
        [grouped, len(tags), merged]
        """,
        expected=[{'book': ['B1', 'B2'], 'tool': ['H1'], 'toy': ['T1', 'T2']}, 8, ['B1', 'B2', 'H1']],
    ),
    _program(
        'set_operations',
        """
        ada = await find_customer(name='Ada')
        cleo = await find_customer(name='Cleo')
        a = set(ada['tags'])
        b = set(cleo['tags']) | {'new'}
        a.add('reader')
        seen = set()
        for tag in ada['tags'] + cleo['tags']:
            if tag not in seen:
                seen.add(tag)
        {
            'both': sorted(a & b),
            'only_a': sorted(a - b),
            'either': len(a | b),
            'one': sorted(a ^ b),
            'subset': {'vip'} <= a,
            'seen': sorted(seen),
        }
        """,
        expected={
            'both': ['early'],
            'only_a': ['reader', 'vip'],
            'either': 4,
            'one': ['new', 'reader', 'vip'],
            'subset': True,
            'seen': ['early', 'vip'],
        },
    ),
    _program(
        'slicing',
        """
        orders = await list_orders(customer_id=1)
        top = sorted(orders, key=lambda o: o['total'])[-2:]
        months = [o['placed_at'][5:7] for o in orders]
        day = orders[0]['placed_at'][:10]
        backwards = orders[::-1]
        batches = [months[i:i + 2] for i in range(0, len(months), 2)]
        [[o['id'] for o in top], months, day, backwards[0]['id'], batches]
        """,
        expected=[[101, 103], ['03', '04', '04'], '2024-03-01', 103, [['03', '04'], ['04']]],
    ),
    _program(
        'star_unpacking',
        """
        books = await search_products(query='', category='book')
        toys = await search_products(query='', category='toy')
        everything = [*books, *toys, {'sku': 'X', 'name': 'Extra', 'price': 1}]
        first, *others = everything
        *_, last = others
        skus = (*[b['sku'] for b in books], 'end')
        [first['sku'], len(others), last['name'], skus[-1], max(*[1, 2, 3])]
        """,
        expected=['B1', 4, 'Extra', 'end', 3],
    ),
    _program(
        'walrus',
        """
        import re

        if (customer := await find_customer(name='Ada')) and (email := customer['email']):
            domain = email.split('@')[1]
        else:
            domain = None
        if m := re.search(r'(\\w+)\\.com', domain):
            host = m.group(1)
        long = [n for name in ['ab', 'abcd'] if (n := len(name)) > 2]
        [domain, host, long]
        """,
        expected=['example.com', 'example', [4]],
    ),
    _program(
        'lists_flattened_with_sum',
        """
        import asyncio

        order_lists = await asyncio.gather(*[list_orders(customer_id=i) for i in range(1, 4)])
        orders = sum(order_lists, [])
        tags = sum([p['tags'] for p in await search_products(query='')], [])
        unique = list(dict.fromkeys(tags))
        [len(orders), orders[-1]['id'], len(tags), unique[:3]]
        """,
        expected=[4, 201, 8, ['paper', 'blue', 'wood']],
    ),
    _program(
        'unzipped_with_star',
        """
        pairs = [(p['name'], p['price']) for p in await search_products(query='', category='book')]
        names, prices = zip(*pairs)
        best = max((p['price'], p['sku']) for p in await search_products(query=''))
        ratings = sorted((p['rating'] or 0, p['sku']) for p in await search_products(query=''))
        [names[0], sum(prices), best[1], ratings[0][1]]
        """,
        expected=['Blue Book', 42.5, 'T1', 'B2'],
    ),
    _program(
        'counter_over_results',
        """
        from collections import Counter

        orders = await list_orders(customer_id=1)
        statuses = Counter(o['status'] for o in orders)
        skus = Counter()
        for o in orders:
            for line in o['lines']:
                skus[line['sku']] += line['quantity']
        {'statuses': dict(statuses), 'top': list(skus.most_common(1)[0]), 'missing': statuses['lost']}
        """,
        expected={'statuses': {'shipped': 2, 'pending': 1}, 'top': ['B2', 2], 'missing': 0},
    ),
]

_GATHER = [
    _program(
        'gather_with_comprehension',
        """
        import asyncio

        cities = ["Paris", "London", "Madrid", "Oslo"]
        results = await asyncio.gather(*[get_weather(city=city) for city in cities])
        sum(r["temperature"] for r in results) / len(results)
        """,
        expected=17.375,
    ),
    _program(
        'gather_with_generator',
        """
        import asyncio

        texts = {'a': 'one two', 'b': 'three'}
        counts = await asyncio.gather(*(count_words(text=t) for t in texts.values()))
        dict(zip(texts, counts))
        """,
        expected={'a': 2, 'b': 1},
    ),
    _program(
        'gather_of_different_tools_unpacked',
        """
        import asyncio

        weather, customer, orders, words = await asyncio.gather(
            get_weather(city='Paris'),
            find_customer(name='Ada'),
            list_orders(customer_id=1),
            count_words(text='hello big world'),
        )
        [weather['humidity'] + words, customer['name'], orders[0]['lines'][0]['sku']]
        """,
        expected=[73, 'Ada', 'B1'],
    ),
    _program(
        'gather_of_different_tools_indexed',
        """
        import asyncio

        results = await asyncio.gather(get_weather(city='Oslo'), search_products(query='book'))
        temperature = results[0]['temperature']
        first = results[1][0]
        f"{temperature} {first['name']} {len(results)}"
        """,
        expected='8.0 Blue Book 2',
    ),
    _program(
        'gather_of_two_starred_lists',
        """
        import asyncio

        cities = ['Paris', 'Oslo']
        names = ['Ada', 'Bob']
        results = await asyncio.gather(
            *[get_weather(city=c) for c in cities],
            *[find_customer(name=n) for n in names],
        )
        weathers, customers = results[:len(cities)], results[len(cities):]
        [[w['temperature'] for w in weathers], [c['id'] for c in customers]]
        """,
        expected=[[18.5, 8.0], [1, 2]],
    ),
    _program(
        'gather_of_list_of_mixed_tasks',
        """
        import asyncio

        tasks = []
        tasks.append(get_weather(city='Paris'))
        tasks.append(count_words(text='a b c'))
        tasks.append(find_customer(name='Bob'))
        results = await asyncio.gather(*tasks)
        [results[0]['city'], results[1] + 1, results[2]['name']]
        """,
        expected=['Paris', 4, 'Bob'],
    ),
    _program(
        'gather_of_list_of_mixed_tasks_unpacked',
        """
        import asyncio

        tasks = [list_orders(customer_id=1), find_customer(name='Ada'), get_setting(key='currency')]
        orders, customer, currency = await asyncio.gather(*tasks)
        f"{customer['name']}: {sum(o['total'] for o in orders)} {currency}"
        """,
        expected='Ada: 142.5 USD',
    ),
    _program(
        'gather_in_two_stages',
        """
        import asyncio

        customers = await asyncio.gather(find_customer(name='Ada'), find_customer(name='Bob'))
        order_lists = await asyncio.gather(*[list_orders(customer_id=c['id']) for c in customers])
        report = {}
        for customer, orders in zip(customers, order_lists):
            report[customer['name']] = [o['status'] for o in orders]
        report
        """,
        expected={'Ada': ['shipped', 'pending', 'shipped'], 'Bob': ['cancelled']},
    ),
    _program(
        'gather_zipped_into_dict',
        """
        import asyncio

        keys = ['currency', 'max_items', 'missing']
        values = await asyncio.gather(*[get_setting(key=k) for k in keys])
        settings = dict(zip(keys, values))
        settings['missing'] = settings['missing'] or 'default'
        settings
        """,
        expected={'currency': 'USD', 'max_items': 3, 'missing': 'default'},
    ),
    _program(
        'coroutine_started_first_awaited_later',
        """
        paris_task = get_weather(city='Paris')
        oslo_task = get_weather(city='Oslo')
        paris = await paris_task
        oslo = await oslo_task
        paris['temperature'] > oslo['temperature']
        """,
        expected=True,
    ),
    _program(
        'nested_gather_in_helpers',
        """
        import asyncio

        async def profile(name):
            customer = await find_customer(name=name)
            orders, weather = await asyncio.gather(
                list_orders(customer_id=customer['id'], limit=2),
                get_weather(city='London'),
            )
            return {'name': name, 'orders': len(orders), 'rain': weather['conditions'] == 'rainy'}

        profiles = await asyncio.gather(*[profile(n) for n in ('Ada', 'Cleo')])
        [p['orders'] for p in profiles]
        """,
        expected=[2, 0],
    ),
    _program(
        'await_inside_expressions',
        """
        print((await get_weather(city='Paris'))['temperature'])
        total = (await count_words(text='a b')) + (await count_words(text='c'))
        email = (await find_customer(name='Ada'))['email'].split('@')[0]
        flag = (await get_setting(key='beta')) is True and await count_words(text='x') == 1
        [total, email, flag, len(await list_orders(customer_id=1))]
        """,
        expected=[3, 'ada', True, 3],
    ),
    _program(
        'sequential_tool_among_async_tools',
        """
        import asyncio

        customers = await asyncio.gather(*[find_customer(name=n) for n in ['Ada', 'Bob', 'Cleo']])
        receipts = []
        for c in customers:
            if not c['email']:
                continue
            receipts.append(send_email(to=c['email'], subject=f"Hi {c['name']}"))
        [r['id'] for r in receipts if r['accepted']]
        """,
        expected=['ada@example.com/Hi Ada', 'cleo@example.org/Hi Cleo'],
    ),
    _program(
        'sequential_tool_in_comprehension',
        """
        addresses = ['a@x.org', 'broken', 'c@x.org']
        ok = [a for a in addresses if send_email(to=a, subject='S', body='B' * 3)['accepted']]
        status = {a: 'sent' if a in ok else 'failed' for a in addresses}
        status
        """,
        expected={'a@x.org': 'sent', 'broken': 'failed', 'c@x.org': 'sent'},
    ),
]

_REASSIGNMENT = [
    _program(
        'variable_reassigned_to_other_type',
        """
        data = await get_report(name='regions')
        import json
        data = json.loads(data)
        data = sorted(data.items())
        data = data[0]
        list(data)
        """,
        expected=['east', 5],
    ),
    _program(
        'result_name_reused_for_every_call',
        """
        result = await get_weather(city='Paris')
        a = result['temperature']
        result = await list_orders(customer_id=1)
        b = result[0]['id']
        result = await count_words(text='x y')
        c = result * 2
        result = f'{a} {b} {c}'
        result
        """,
        expected='18.5 101 4',
    ),
    _program(
        'loop_variable_reused_for_other_type',
        """
        parts = []
        for item in await search_products(query='book'):
            parts.append(item['name'])
        for item in ['x', 'y']:
            parts.append(item.upper())
        for item in range(2):
            parts.append(str(item + 1))
        item = {'done': True}
        ' '.join(parts)
        """,
        expected='Blue Book Cook Book X Y 1 2',
    ),
    _program(
        'variable_reassigned_across_snippets',
        """
        result = await get_weather(city='Oslo')
        orders = 'none yet'
        """,
        """
        result = await search_products(query='hammer')
        orders = await list_orders(customer_id=1)
        result[0]['price'] + orders[0]['total']
        """,
        """
        result = str(result[0]['price'])
        orders = {o['id']: o for o in orders}
        result + ' ' + orders[102]['status']
        """,
        expected='25.0 pending',
    ),
    _program(
        'list_turned_into_dict_and_back',
        """
        products = await search_products(query='')
        products = {p['sku']: p for p in products}
        products = {k: v['price'] for k, v in products.items() if v['price'] >= 25}
        products = list(products)
        products = ', '.join(products)
        products
        """,
        expected='B2, T1, H1',
    ),
    _program(
        'parameter_reassigned_in_helper',
        """
        def clean(value):
            value = value.strip()
            value = value.split(',')
            value = [int(v) for v in value]
            return value

        def total(orders: list):
            orders = [o['total'] for o in orders]
            orders = sum(orders)
            return orders

        [await average_score(scores=clean(' 1,2,3 ')), total(await list_orders(customer_id=1))]
        """,
        expected=[2.0, 142.5],
    ),
    _program(
        'none_list_filled_by_index',
        """
        cities = ['Paris', 'Oslo']
        slots = [None] * len(cities)
        for i, city in enumerate(cities):
            slots[i] = (await get_weather(city=city))['temperature']
        grid = [[0] * 2 for _ in range(2)]
        grid[0][1] = slots[0]
        grid[1][0] = 'x'
        [slots, grid]
        """,
        expected=[[18.5, 8.0], [[0, 18.5], ['x', 0]]],
    ),
    _program(
        'empty_literals_filled_with_mixed_values',
        """
        items = []
        items.append(await get_weather(city='Paris'))
        items.append('text')
        items.extend([1, 2.5, None])
        lookup = {}
        lookup['a'] = 1
        lookup['b'] = [2]
        lookup['b'].append(3)
        lookup['c'] = {'d': {}}
        lookup['c']['d']['e'] = items[0]['city']
        [len(items), lookup]
        """,
        expected=[5, {'a': 1, 'b': [2, 3], 'c': {'d': {'e': 'Paris'}}}],
    ),
    _program(
        'list_literal_extended_by_other_types',
        """
        row = ['name', 'total']
        row.append(3)
        row += [None, 4.5]
        rows = [{'id': 1}]
        rows.append({'id': 'two', 'extra': [1]})
        rows[0]['name'] = 'first'
        table = {'head': 'x'}
        table['count'] = len(row)
        table['rows'] = rows
        [row[2:], table['rows'][0], table['count']]
        """,
        expected=[[3, None, 4.5], {'id': 1, 'name': 'first'}, 5],
    ),
    _program(
        'tool_name_reused_for_its_result',
        """
        count_words = await count_words(text='a b c')
        count_words + 1
        """,
        expected=4,
    ),
    _program(
        'builtin_names_reused',
        """
        orders = await list_orders(customer_id=1)
        sum = 0
        for o in orders:
            id = o['id']
            sum += o['total']
        list = [o['id'] for o in orders]
        max = list[-1]
        input = {'type': 'x'}
        type = input['type']
        [sum, id == max, type]
        """,
        expected=[142.5, True, 'x'],
    ),
]

_SESSIONS = [
    _program(
        'variables_from_earlier_snippet',
        """
        cities = ['Paris', 'Madrid']
        weathers = [await get_weather(city=c) for c in cities]
        """,
        """
        hottest = max(weathers, key=lambda w: w['temperature'])
        hottest['city']
        """,
        expected='Madrid',
    ),
    _program(
        'functions_and_imports_from_earlier_snippets',
        """
        import asyncio
        import json
        from datetime import datetime as dt

        def to_day(text: str) -> str:
            return dt.fromisoformat(text).strftime('%Y-%m-%d')
        """,
        """
        async def days(customer_id):
            return [to_day(o['placed_at']) for o in await list_orders(customer_id=customer_id)]
        """,
        """
        first, second = await asyncio.gather(days(1), days(2))
        json.dumps({'first': first[0], 'second': second})
        """,
        expected='{"first": "2024-03-01", "second": ["2024-02-14"]}',
    ),
    _program(
        'function_redefined_with_other_signature',
        """
        def show(order):
            return order['id']

        orders = await list_orders(customer_id=1)
        show(orders[0])
        """,
        """
        def show(order, currency, digits=2):
            return f"{order['id']}: {order['total']:.{digits}f} {currency}"

        show(orders[1], await get_setting(key='currency'))
        """,
        expected='102: 25.00 USD',
    ),
    _program(
        'accumulator_across_snippets',
        """
        log = []
        totals = {}
        """,
        """
        w = await get_weather(city='Paris')
        log.append(w['city'])
        totals['humidity'] = w['humidity']
        """,
        """
        w = await get_weather(city='Oslo')
        log.append(w['temperature'])
        totals['humidity'] += w['humidity']
        totals['seen'] = log
        totals
        """,
        expected={'humidity': 135, 'seen': ['Paris', 8.0]},
    ),
    _program(
        'loop_and_with_names_used_in_later_snippet',
        """
        for order in await list_orders(customer_id=1):
            last_id = order['id']
            if order['status'] == 'pending':
                pending = order
        """,
        """
        [last_id, order['id'], pending['total']]
        """,
        expected=[103, 103, 25.0],
    ),
    _program(
        'names_bound_in_branches_used_later',
        """
        beta = await get_setting(key='beta')
        if beta:
            mode = 'new'
        else:
            mode = 'old'
            reason = 'disabled'
        try:
            rate = await convert_currency(amount=1, source='EUR', target='XYZ')
        except Exception as e:
            error = str(e)
        """,
        """
        f"{mode}: {'XYZ' in error}"
        """,
        expected='new: True',
    ),
    _program(
        'key_added_in_earlier_snippet',
        """
        products = await search_products(query='', category='toy')
        for p in products:
            p['discounted'] = p['price'] / 2
        """,
        """
        sum(p['discounted'] for p in products)
        """,
        expected=32.5,
    ),
    _program(
        'snippet_without_value_then_value',
        """
        print('fetching')
        """,
        """
        import re
        pattern = re.compile(r'^B')
        """,
        """
        skus = [p['sku'] for p in await search_products(query='') if pattern.match(p['sku'])]
        """,
        """
        skus
        """,
        expected=['B1', 'B2'],
    ),
    _program(
        'same_import_and_name_in_every_snippet',
        """
        import json
        report = json.loads(await get_report(name='sales'))
        """,
        """
        import json
        report = json.dumps(report['owner'])
        """,
        """
        import json
        report = json.loads(report)
        report['name']
        """,
        expected='Ada',
    ),
]

_JSON_AND_ANY = [
    _program(
        'json_loads_result_navigated',
        """
        import json

        report = json.loads(await get_report(name='sales'))
        profits = {}
        for q in report['quarters']:
            profits[f"Q{q['quarter']}"] = q['revenue'] - q['cost']
        best = max(profits, key=lambda k: profits[k])
        [best, profits[best], report['owner']['email'] is None, report.get('notes', 'none')]
        """,
        expected=['Q2', 50.0, True, 'none'],
    ),
    _program(
        'json_loads_values_passed_to_tools',
        """
        import json

        report = json.loads(await get_report(name='sales'))
        costs = [round(q['cost']) for q in report['quarters']]
        owner = await find_customer(name=report['owner']['name'])
        usd = await convert_currency(amount=report['quarters'][0]['cost'], source='EUR', target='USD')
        [await average_score(scores=costs[:2]), owner['id'], usd]
        """,
        expected=[75.0, 1, 100.0],
    ),
    _program(
        'json_loads_with_annotations',
        """
        import json
        from typing import Any

        raw: str = await get_report(name='regions')
        regions: dict[str, int] = json.loads(raw)
        loose: dict[str, Any] = json.loads(raw)
        total: int = sum(regions.values())
        share = {k: round(v / total, 3) for k, v in regions.items()}
        loose['extra'] = [1]
        [share, await average_score(scores=list(regions.values())) > 13]
        """,
        expected=[{'north': 0.25, 'south': 0.625, 'east': 0.125}, True],
    ),
    _program(
        'results_passed_to_json_dumps',
        """
        import json

        orders = await list_orders(customer_id=2)
        text = json.dumps(orders, indent=2)
        compact = json.dumps({'orders': orders, 'n': len(orders)}, sort_keys=True)
        words = await count_words(text=json.dumps({'a': 1, 'b': None}))
        ['"cancelled"' in text, json.loads(compact)['n'], words]
        """,
        expected=[True, 1, 4],
    ),
    _program(
        'json_text_as_email_body',
        """
        import json

        w = await get_weather(city='Oslo')
        body = json.dumps(w)
        receipt = send_email(to='ops@example.com', subject='weather', body=body)
        receipt['length'] == len(body)
        """,
        expected=True,
    ),
    _program(
        'untyped_result_navigated',
        """
        meta = await lookup_metadata(key='warehouse')
        regions = await lookup_metadata(key='regions')
        shelves = sorted(meta['shelves'])
        [shelves, meta['name'].lower(), regions[0].title(), meta['open'] and len(regions)]
        """,
        expected=[[1, 2, 3], 'north', 'North', 2],
    ),
    _program(
        'untyped_result_passed_on',
        """
        meta = await lookup_metadata(key='warehouse')
        score = await average_score(scores=meta['shelves'])
        words = await count_words(text=meta['name'])
        nothing = await lookup_metadata(key='?')
        if nothing is None:
            score += 1
        [score, words]
        """,
        expected=[3.0, 1],
    ),
    _program(
        'json_decode_error_caught',
        """
        import json

        def parse(text):
            try:
                return json.loads(text)
            except json.JSONDecodeError:
                return None

        good = parse(await get_report(name='regions'))
        bad = parse('{oops')
        [good['south'], bad]
        """,
        expected=[25, None],
    ),
    _program(
        'isinstance_narrowing',
        """
        keys = ['currency', 'max_items', 'beta', 'admins', 'nothing']
        described = []
        for key in keys:
            value = await get_setting(key=key)
            if isinstance(value, bool):
                described.append('bool')
            elif isinstance(value, (int, float)):
                described.append(value + 1)
            elif isinstance(value, str):
                described.append(value.lower())
            elif isinstance(value, list):
                described.append(len(value))
            else:
                described.append(None)
        described
        """,
        expected=['usd', 4, 'bool', 2, None],
    ),
    _program(
        'isinstance_dict_and_list',
        """
        def count_leaves(value):
            if isinstance(value, dict):
                return sum(count_leaves(v) for v in value.values())
            if isinstance(value, list):
                return sum(count_leaves(v) for v in value)
            return 1

        orders = await list_orders(customer_id=1, limit=1)
        result = orders[0] if isinstance(orders, list) and orders else orders
        if isinstance(result, dict):
            leaves = count_leaves(result)
        leaves
        """,
        expected=11,
    ),
    _program(
        'union_result_used_without_test',
        """
        limit = await get_setting(key='max_items')
        currency = await get_setting(key='currency')
        orders = await list_orders(customer_id=1, limit=limit)
        usd = await convert_currency(amount=orders[0]['total'], source='EUR', target=currency)
        [len(orders), usd, limit * 2, currency.lower()]
        """,
        expected=[3, 71.88, 6, 'usd'],
    ),
    _program(
        'union_list_iterated_without_test',
        """
        admins = await get_setting(key='admins')
        found = []
        for name in admins:
            customer = await find_customer(name=name)
            found.append(customer['id'])
        event = await schedule_event(title='Sync', start='2024-06-01T10:00:00', attendees=admins)
        [found, len(event['attendees']), ' & '.join(admins)]
        """,
        expected=[[1, 3], 2, 'ada & cleo'],
    ),
]

_TEXT = [
    _program(
        'f_strings_with_nested_quotes',
        """
        w = await get_weather(city="Paris")
        a = f"{w['city']}: {w['temperature']}C"
        b = f'{w["city"]}: {w["humidity"]}%'
        c = f"{w['conditions'].upper()!r} {'wet' if w['humidity'] > 60 else 'dry'}"
        [a, b, c]
        """,
        expected=['Paris: 18.5C', 'Paris: 70%', "'CLOUDY' wet"],
    ),
    _program(
        'f_strings_with_same_quotes',
        """
        w = await get_weather(city='Paris')
        f'{w['city']} {', '.join(sorted(w['coordinates']))} {f'{w['temperature']:.2f}'}'
        """,
        expected='Paris lat, lon 18.50',
    ),
    _program(
        'f_strings_with_format_specs',
        """
        total = 0
        rows = []
        for p in await search_products(query='', category='toy'):
            rows.append(f"{p['name']:<12}|{p['price']:>8.2f}|{p['rating']:.1f}")
            total += p['price']
        rows.append(f"{'Total':<12}|{total:>8,.2f}")
        rows.append(f'{total/132.5:.1%} {len(rows)=} {total:08.2f}')
        '\\n'.join(rows)
        """,
        expected=(
            'Toy Train   |   45.00|4.0\nTeddy Bear  |   20.00|4.8\nTotal       |   65.00\n49.1% len(rows)=3 00065.00'
        ),
    ),
    _program(
        'f_string_with_inner_comprehension',
        """
        orders = await list_orders(customer_id=1)
        f"Orders: {', '.join(f'#{o["id"]} ({len(o["lines"])})' for o in orders if o['total'] > 30)}"
        """,
        expected='Orders: #101 (2), #103 (1)',
    ),
    _program(
        'format_and_percent',
        """
        w = await get_weather(city='Madrid')
        a = '{} is {:.0f} degrees'.format(w['city'], w['temperature'])
        b = '%s: %d%%' % (w['city'], w['humidity'])
        c = 'Lat {lat}, lon {lon}'.format(**w['coordinates'])
        [a, b, c]
        """,
        expected=['Madrid is 29 degrees', 'Madrid: 40%', 'Lat 40.4, lon -3.7'],
    ),
    _program(
        'str_methods',
        """
        p = (await search_products(query='teddy'))[0]
        name = p['name']
        slug = name.lower().replace(' ', '-').strip()
        head, _, tail = slug.partition('-')
        words = [w.capitalize() for w in slug.split('-')]
        {
            'slug': slug,
            'tail': tail,
            'words': ' '.join(words),
            'check': name.startswith('Te') and name.endswith(('ar', 'xx')) and 'dd' in name,
            'count': name.count('d'),
            'find': name.find('Bear'),
            'pad': p['sku'].zfill(4) + head[:1].upper() * 3,
            'rev': name[::-1].swapcase(),
        }
        """,
        expected={
            'slug': 'teddy-bear',
            'tail': 'bear',
            'words': 'Teddy Bear',
            'check': True,
            'count': 2,
            'find': 6,
            'pad': '00T2TTT',
            'rev': 'RAEb YDDEt',
        },
    ),
    _program(
        'multi_line_strings',
        '''
        customer = await find_customer(name='Cleo')
        body = f"""Dear {customer['name']},

        your tags: {', '.join(customer['tags'])}
        Regards"""
        template = (
            'First line\\n'
            f"Second {customer['id']}"
        )
        lines = body.splitlines()
        receipt = send_email(to=customer['email'], subject='Tags', body=template)
        [len(lines), lines[0], receipt['length']]
        ''',
        expected=[4, 'Dear Cleo,', 19],
    ),
    _program(
        'regex_groups_without_test',
        r"""
        import re

        ada = await find_customer(name='Ada')
        match = re.match(r'(?P<user>[^@]+)@(\w+)\.(\w+)', ada['email'])
        host = re.search(r'@(.+)$', ada['email']).group(1)
        [match.group('user'), match.groups()[1], host, re.fullmatch(r'\d+', '12').group()]
        """,
        expected=['ada', 'example', 'example.com', '12'],
    ),
    _program(
        'regex_functions',
        r"""
        import re

        text = 'Order 101 and order 103, total: 57.50 + 60.00'
        ids = [int(x) for x in re.findall(r'[Oo]rder (\d+)', text)]
        amounts = [float(m.group(0)) for m in re.finditer(r'\d+\.\d+', text)]
        cleaned = re.sub(r'[^a-z]+', ' ', text.lower()).strip()
        pattern = re.compile(r'(\w+):', re.IGNORECASE)
        orders = [o for o in await list_orders(customer_id=1) if o['id'] in ids]
        parts = re.split(r'[,+]\s*', text)
        [ids, sum(amounts), sum(o['total'] for o in orders), cleaned[:9], pattern.findall(text), parts[1]]
        """,
        expected=[[101, 103], 117.5, 117.5, 'order and', ['total'], 'total: 57.50 '],
    ),
    _program(
        'text_counted_by_tool_and_by_hand',
        """
        text = (
            "It's a test, isn't it? "
            'She said "yes" twice.'
        )
        n = await count_words(text=text)
        words = [w.strip('.,?"').lower() for w in text.split()]
        longest = sorted(words, key=len, reverse=True)[0]
        vowels = sum(1 for ch in text if ch in 'aeiou')
        [n == len(words), longest, vowels]
        """,
        expected=[True, "isn't", 10],
    ),
    _program(
        'comments_and_printing',
        """
        # Step 1: fetch the orders
        orders = await list_orders(customer_id=1)  # all of them
        print('Found', len(orders), 'orders', sep=' ', end='!\\n')

        # Step 2: print each one
        for o in orders:
            print(f"{o['id']}: {o['total']}")
            print(o)
        print()
        print('Totals:', *[o['total'] for o in orders])
        # Step 3: nothing to return
        len(orders)  # the result
        """,
        expected=3,
    ),
    _program(
        'printing_as_last_statement',
        """
        w = await get_weather(city='Paris')
        print(f"The temperature is {w['temperature']}")
        """,
        expected=None,
    ),
]

_DATES = [
    _program(
        'datetime_strings_parsed',
        """
        from datetime import datetime, timedelta

        orders = await list_orders(customer_id=1)
        dates = [datetime.fromisoformat(o['placed_at']) for o in orders]
        gaps = [(b - a).days for a, b in zip(dates, dates[1:])]
        cutoff = datetime(2024, 4, 1)
        recent = [o['id'] for o, d in zip(orders, dates) if d >= cutoff]
        due = (dates[0] + timedelta(days=30)).strftime('%d.%m.%Y')
        [gaps, recent, due, max(dates).isoformat()]
        """,
        expected=[[40, 9], [102, 103], '31.03.2024', '2024-04-20T09:15:00'],
    ),
    _program(
        'datetime_with_z_suffix_and_strptime',
        """
        from datetime import datetime

        event = await schedule_event(title='Call', start='2024-06-01T10:00:00Z', duration_minutes=45)
        start = datetime.fromisoformat(event['start'].replace('Z', '+00:00'))
        end = datetime.fromisoformat(event['end'].replace('Z', '+00:00'))
        day = datetime.strptime('2024-06-03', '%Y-%m-%d')
        [(end - start).total_seconds() / 60, start.hour, day.weekday(), str(day.date())]
        """,
        expected=[45.0, 10, 0, '2024-06-03'],
    ),
    _program(
        'event_start_from_isoformat',
        """
        from datetime import datetime, timedelta

        start = datetime(2024, 6, 1, 9, 0)
        starts = [start + timedelta(hours=i) for i in range(3)]
        events = [
            await schedule_event(title=f'Slot {i}', start=s.isoformat(), attendees=['ada'])
            for i, s in enumerate(starts)
        ]
        [e['end'] for e in events]
        """,
        expected=['2024-06-01T09:30:00', '2024-06-01T10:30:00', '2024-06-01T11:30:00'],
    ),
    _program(
        'datetime_result_passed_on',
        """
        orders = await list_orders(customer_id=1, status='shipped')
        first = await schedule_event(title='Follow up', start=orders[0]['shipped_at'])
        second = await schedule_event(title='Next', start=first['end'], attendees=None)
        second['end'][11:16]
        """,
        expected='09:00',
    ),
    _program(
        'grouped_by_month',
        """
        from datetime import date, datetime

        monthly = {}
        for o in await list_orders(customer_id=1):
            d = datetime.fromisoformat(o['placed_at']).date()
            key = (d.year, d.month)
            monthly.setdefault(key, 0)
            monthly[key] += o['total']
        late = [k for k in monthly if date(k[0], k[1], 1) > date(2024, 3, 15)]
        [{f'{y}-{m:02d}': v for (y, m), v in monthly.items()}, len(late)]
        """,
        expected=[{'2024-03': 57.5, '2024-04': 85.0}, 1],
    ),
]

_CONTROL_FLOW = [
    _program(
        'try_except_around_call',
        """
        results = {}
        for city in ['Paris', 'Atlantis', 'Oslo']:
            try:
                w = await get_weather(city=city)
                results[city] = w['temperature']
            except Exception as e:
                results[city] = None
                print(f'Failed for {city}: {e}')
        results
        """,
        expected={'Paris': 18.5, 'Atlantis': None, 'Oslo': 8.0},
    ),
    _program(
        'try_except_else_finally',
        """
        attempts = 0
        try:
            value = await convert_currency(amount=10, source='EUR', target='???')
        except (KeyError, ZeroDivisionError):
            outcome = 'unexpected'
        except Exception as exc:
            outcome = type(exc).__name__ != ''
        else:
            outcome = value
        finally:
            attempts += 1
        [outcome, attempts]
        """,
        expected=[True, 1],
    ),
    _program(
        'try_except_with_fallback_value',
        """
        async def rate(target):
            try:
                return await convert_currency(amount=1, source='EUR', target=target)
            except ValueError as e:
                return {'error': str(e)}
            except Exception as e:
                return {'error': repr(e)}

        rates = [await rate(t) for t in ('USD', 'XXX', 'GBP')]
        good = [r for r in rates if not isinstance(r, dict)]
        bad = [r for r in rates if isinstance(r, dict) and 'error' in r]
        [good, len(bad)]
        """,
        expected=[[1.25, 0.8], 1],
    ),
    _program(
        'try_binds_result_used_after',
        """
        try:
            weather = await get_weather(city='Madrid')
        except Exception:
            weather = None
        try:
            tree = await category_tree(root='nope')
        except Exception as e:
            tree = {'name': 'fallback', 'children': []}
        weather['conditions'] + ' ' + tree['name']
        """,
        expected='sunny fallback',
    ),
    _program(
        'raise_and_catch_own_error',
        """
        def check(order):
            if order['total'] > 50:
                raise ValueError(f"order {order['id']} too large")
            return order['id']

        ok, failed = [], []
        for order in await list_orders(customer_id=1):
            try:
                ok.append(check(order))
            except ValueError as e:
                failed.append(str(e))
        [ok, failed]
        """,
        expected=[[102], ['order 101 too large', 'order 103 too large']],
    ),
    _program(
        'while_loop_with_retry',
        """
        targets = ['???', '!!!', 'GBP']
        attempt = 0
        result = None
        while result is None and attempt < 5:
            try:
                result = await convert_currency(amount=100, source='EUR', target=targets[attempt])
            except Exception:
                pass
            attempt += 1
        [result, attempt]
        """,
        expected=[80.0, 3],
    ),
    _program(
        'while_true_with_break_and_continue',
        """
        queue = ['all']
        visited = []
        while True:
            if not queue:
                break
            name = queue.pop(0)
            if name in visited:
                continue
            visited.append(name)
            node = await category_tree(root=name)
            queue += [child['name'] for child in node['children']]
        visited
        """,
        expected=['all', 'leisure', 'tool', 'book', 'toy'],
    ),
    _program(
        'for_else',
        """
        for order in await list_orders(customer_id=1):
            if order['status'] == 'cancelled':
                message = f"cancelled: {order['id']}"
                break
        else:
            message = 'none cancelled'

        for p in await search_products(query=''):
            if p['price'] > 40:
                found = p
                break
        else:
            found = None
        [message, found['name']]
        """,
        expected=['none cancelled', 'Toy Train'],
    ),
    _program(
        'ternaries_and_boolean_operators',
        """
        bob = await find_customer(name='Bob')
        w = await get_weather(city='London')
        contact = bob['email'] if bob and bob['email'] else None
        level = 'high' if w['humidity'] > 80 else 'mid' if w['humidity'] > 50 else 'low'
        tags = bob['tags'] or ['untagged']
        greeting = contact and f'mail {contact}' or 'call'
        [contact, level, tags, greeting, not bob['tags']]
        """,
        expected=[None, 'high', ['untagged'], 'call', True],
    ),
    _program(
        'match_statement',
        """
        labels = []
        for order in await list_orders(customer_id=1):
            match order['status']:
                case 'shipped':
                    labels.append('done')
                case 'pending' | 'new':
                    labels.append('open')
                case _:
                    labels.append('?')
        match await get_setting(key='max_items'):
            case int(n):
                labels.append(n)
            case str(s):
                labels.append(s.upper())
            case None:
                labels.append(0)
        labels
        """,
        expected=['done', 'open', 'done', 3],
    ),
    _program(
        'early_return_and_guard',
        """
        async def describe(name):
            customer = await find_customer(name=name)
            if not customer:
                return f'{name}: unknown'
            orders = await list_orders(customer_id=customer['id'])
            if not orders:
                return f'{name}: no orders'
            newest = orders[-1]
            return f"{name}: {newest['id']}"

        [await describe(n) for n in ('Ada', 'Cleo', 'Zed')]
        """,
        expected=['Ada: 103', 'Cleo: no orders', 'Zed: unknown'],
    ),
    _program(
        'assert_statements',
        """
        customer = await find_customer(name='Ada')
        assert customer is not None, 'customer missing'
        assert isinstance(customer['tags'], list) and customer['tags']
        orders = await list_orders(customer_id=customer['id'])
        assert len(orders) == 3
        customer['tags'][0]
        """,
        expected='vip',
    ),
    _program(
        'tuple_keys_and_nested_unpacking',
        """
        pairs = [('Paris', ('celsius', 1)), ('Oslo', ('fahrenheit', 2))]
        table = {}
        for city, (unit, weight) in pairs:
            w = await get_weather(city=city, unit=unit)
            table[city, unit] = w['temperature'] * weight
        (a, b), c = list(table)[0], table['Oslo', 'fahrenheit']
        x = y = 0
        x, y = y + 1, x + 2
        [a, b, c, x, y]
        """,
        expected=['Paris', 'celsius', 92.8, 1, 2],
    ),
    _program(
        'index_searched_by_hand',
        """
        orders = await list_orders(customer_id=1)
        position = -1
        for i in range(len(orders)):
            if orders[i]['status'] == 'pending':
                position = i
        ids = [o['id'] for o in orders]
        ids.insert(0, 100)
        ids.remove(101)
        popped = ids.pop()
        [position, ids.index(102), popped, ids, ids.count(100), 102 in ids]
        """,
        expected=[1, 1, 103, [100, 102], 1, True],
    ),
]

_CHAINS = [
    _program(
        'results_indexed_and_passed_on',
        """
        orders = await list_orders(customer_id=1)
        sku = orders[0]['lines'][0]['sku']
        product = [p for p in await search_products(query='') if p['sku'] == sku][0]
        labels = await label_product(sku=product['sku'], labels={'first_tag': product['tags'][0]})
        price = await convert_currency(amount=product['price'], source='EUR', target='USD')
        [labels, price]
        """,
        expected=[{'sku': 'B1', 'first_tag': 'paper'}, 15.62],
    ),
    _program(
        'nested_calls',
        """
        words = await count_words(text=(await get_report(name='regions')))
        orders = await list_orders(customer_id=(await find_customer(name='Ada'))['id'], limit=words - 4)
        first = (await search_products(query=(await search_products(query='cook'))[0]['name'][:4]))[0]
        [words, len(orders), first['sku']]
        """,
        expected=[6, 2, 'B2'],
    ),
    _program(
        'product_order_email_flow',
        """
        products = await search_products(query='', max_price=26, category='toy')
        customer = await find_customer(name='Ada')
        order = await place_order(
            customer_id=customer['id'],
            lines=[{'sku': p['sku'], 'quantity': i + 1, 'note': f'no. {i}'} for i, p in enumerate(products)],
            address={'street': 'Main 1', 'city': 'Oslo'},
        )
        price = await convert_currency(amount=order['total'], source='EUR', target='GBP')
        mail = send_email(
            to=customer['email'],
            subject=f"Order {order['id']}",
            body=f"Total {price:.2f} GBP for {len(order['lines'])} item(s)",
        )
        [mail['id'], mail['accepted']]
        """,
        expected=['ada@example.com/Order 901', True],
    ),
    _program(
        'result_fields_as_arguments',
        """
        old = (await list_orders(customer_id=1, status='pending'))[0]
        new = await place_order(
            customer_id=old['customer_id'],
            lines=[{'sku': line['sku'], 'quantity': line['quantity'] + 1} for line in old['lines']],
            address={'street': 'S', 'city': (await get_weather(city='Paris'))['city']},
            express=old['status'] == 'pending',
        )
        copy = await place_order(customer_id=2, lines=new['lines'], address=new['address'])
        [new['total'], copy['total'], copy['address']['city']]
        """,
        expected=[60.0, 50.0, 'Paris'],
    ),
    _program(
        'first_and_last_of_filtered_results',
        """
        products = await search_products(query='')
        paper = [p for p in products if 'paper' in p['tags']]
        rated = [p['rating'] for p in products if p['rating'] is not None]
        average = sum(rated) / len(rated)
        above = [p['name'] for p in products if (p['rating'] or 0) > average]
        [paper[-1]['name'], round(average, 2), above]
        """,
        expected=['Cook Book', 4.3, ['Blue Book', 'Teddy Bear']],
    ),
    _program(
        'json_navigated_in_one_expression',
        """
        import json

        revenue = json.loads(await get_report(name='sales'))['quarters'][0]['revenue']
        usd = await convert_currency(amount=revenue, source='EUR', target='USD')
        _ = await get_weather(city='Paris'); a = 1; b = 2
        print('-' * 20)
        [revenue, usd, a + b]
        """,
        expected=[100.5, 125.62, 3],
    ),
]

_CLASSES = [
    _program(
        'dataclass_collects_results',
        """
        from dataclasses import dataclass, field

        @dataclass
        class Summary:
            name: str
            total: float = 0
            ids: list = field(default_factory=list)

            def add(self, order):
                self.total += order['total']
                self.ids.append(order['id'])

        summary = Summary('Ada')
        for order in await list_orders(customer_id=1):
            summary.add(order)
        [summary.name, summary.total, summary.ids]
        """,
        expected=['Ada', 142.5, [101, 102, 103]],
    ),
    _program(
        'plain_class_with_async_method',
        """
        class Converter:
            def __init__(self, source, target='USD'):
                self.source = source
                self.target = target
                self.cache = {}

            async def convert(self, amount):
                if amount not in self.cache:
                    self.cache[amount] = await convert_currency(
                        amount=amount, source=self.source, target=self.target
                    )
                return self.cache[amount]

            def __repr__(self):
                return f'{self.source}->{self.target}'

        c = Converter('EUR')
        values = [await c.convert(a) for a in (1, 2, 1)]
        [values, len(c.cache), repr(c)]
        """,
        expected=[[1.25, 2.5, 1.25], 2, 'EUR->USD'],
    ),
    _program(
        'class_from_earlier_snippet',
        """
        from dataclasses import dataclass

        @dataclass
        class Item:
            sku: str
            price: float

            def label(self) -> str:
                return f'{self.sku}@{self.price:.1f}'
        """,
        """
        items = [Item(p['sku'], p['price']) for p in await search_products(query='', category='book')]
        items.append(Item(sku='X', price=3))
        """,
        """
        items.sort(key=lambda i: i.price)
        [i.label() for i in items]
        """,
        expected=['X@3.0', 'B1@12.5', 'B2@30.0'],
    ),
    _program(
        'class_named_like_a_result_type',
        """
        from dataclasses import dataclass

        @dataclass
        class Order:
            number: int
            amount: float

        class Product:
            def __init__(self, name):
                self.title = name

        orders = [Order(o['id'], o['total']) for o in await list_orders(customer_id=1)]
        products = [Product(p['name']) for p in await search_products(query='hammer')]
        Weather = await get_weather(city='Paris')
        [orders[0].number, sum(o.amount for o in orders), products[0].title, Weather['city']]
        """,
        """
        again = Order(number=1, amount=2.5)
        fresh = await list_orders(customer_id=2)
        [again.amount, fresh[0]['total'], Order(2, 3).number, Product('x').title]
        """,
        expected=[2.5, 20.0, 2, 'x'],
    ),
    _program(
        'attribute_starts_as_none',
        """
        class Tracker:
            best = None

            def __init__(self):
                self.last = None
                self.seen = {}

            def feed(self, product):
                if self.best is None or product['price'] > self.best['price']:
                    self.best = product
                self.last = product
                self.seen[product['sku']] = True

        tracker = Tracker()
        for p in await search_products(query=''):
            tracker.feed(p)
        [tracker.best['name'], tracker.last['sku'], len(tracker.seen)]
        """,
        expected=['Toy Train', 'H1', 5],
    ),
]

CORRECT: list[Program] = [
    *_OPTIONAL_WITHOUT_TEST,
    *_DICTS,
    *_NUMBERS,
    *_LITERALS,
    *_HELPERS,
    *_FUNCTIONAL,
    *_GATHER,
    *_REASSIGNMENT,
    *_SESSIONS,
    *_JSON_AND_ANY,
    *_TEXT,
    *_DATES,
    *_CONTROL_FLOW,
    *_CHAINS,
    *_CLASSES,
]
