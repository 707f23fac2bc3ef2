"""Wrong programs: the type check must refuse the last snippet of each and point at the mistake."""

from __future__ import annotations

from textwrap import dedent

from .program import WrongProgram


def _wrong(name: str, *snippets: str, line: int, mentions: str) -> WrongProgram:
    return WrongProgram(name, tuple(dedent(snippet).strip('\n') for snippet in snippets), line, mentions)


_UNKNOWN_FUNCTION = [
    _wrong(
        'unknown_function__misspelt_tool',
        """
        weather = await get_wether(city='Paris')
        weather['temperature']
        """,
        line=1,
        mentions='get_wether',
    ),
    _wrong(
        'unknown_function__invented_tool',
        """
        orders = await list_orders(customer_id=1)
        for order in orders:
            await cancel_order(order_id=order['id'])
        """,
        line=3,
        mentions='cancel_order',
    ),
    _wrong(
        'unknown_function__in_gather',
        """
        import asyncio

        results = await asyncio.gather(
            get_weather(city='Paris'),
            find_customers(name='Ada'),
        )
        """,
        line=5,
        mentions='find_customers',
    ),
    _wrong(
        'unknown_function__sequential_tool_misspelt',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        subject = f"Hello {customer['name']}"
        receipt = send_mail(to=customer['email'], subject=subject)
        """,
        line=2,
        mentions='send_mail',
    ),
    _wrong(
        'unknown_function__own_helper_misspelt',
        """
        def summarize(orders):
            return {'count': len(orders)}
        """,
        """
        orders = await list_orders(customer_id=1)
        summary = summarise(orders)
        summary['count']
        """,
        line=2,
        mentions='summarise',
    ),
    _wrong(
        'unknown_function__inside_helper_of_third_snippet',
        """
        import json
        """,
        """
        report = json.loads(await get_report(name='sales'))
        """,
        """
        async def revenue():
            total = 0
            for q in report['quarters']:
                total += await convert(amount=q['revenue'], source='EUR', target='USD')
            return total

        await revenue()
        """,
        line=4,
        mentions='convert',
    ),
    _wrong(
        'unknown_function__module_not_imported',
        """
        orders = await list_orders(customer_id=1)
        print(json.dumps(orders))
        """,
        line=2,
        mentions='json',
    ),
    _wrong(
        'unknown_function__variable_misspelt',
        """
        orders = await list_orders(customer_id=1)
        totals = [o['total'] for o in orders]
        """,
        """
        average = sum(totals) / len(totals)
        print(averge)
        """,
        line=2,
        mentions='averge',
    ),
]

_UNKNOWN_KEY = [
    _wrong(
        'unknown_key__misspelt',
        """
        weather = await get_weather(city='Paris')
        weather['tempature']
        """,
        line=2,
        mentions='tempature',
    ),
    _wrong(
        'unknown_key__nested',
        """
        weather = await get_weather(city='Paris')
        where = weather['coordinates']
        (where['lat'], where['lng'])
        """,
        line=3,
        mentions='lng',
    ),
    _wrong(
        'unknown_key__on_element_of_list',
        """
        orders = await list_orders(customer_id=1)
        total = 0
        for order in orders:
            total += order['amount']
        total
        """,
        line=4,
        mentions='amount',
    ),
    _wrong(
        'unknown_key__in_comprehension',
        """
        products = await search_products(query='')
        names = [p['title'] for p in products if p['price'] < 30]
        names
        """,
        line=2,
        mentions='title',
    ),
    _wrong(
        'unknown_key__in_f_string',
        """
        customer = await find_customer(name='Ada')
        print('found')
        f"{customer['name']} <{customer['mail']}>"
        """,
        line=3,
        mentions='mail',
    ),
    _wrong(
        'unknown_key__in_lambda',
        """
        products = await search_products(query='')
        best = max(products, key=lambda p: p['stars'] or 0)
        """,
        line=2,
        mentions='stars',
    ),
    _wrong(
        'unknown_key__of_gather_result',
        """
        import asyncio

        cities = ['Paris', 'Oslo']
        results = await asyncio.gather(*[get_weather(city=c) for c in cities])
        sum(r['temp'] for r in results)
        """,
        line=5,
        mentions='temp',
    ),
    _wrong(
        'unknown_key__of_unpacked_gather_result',
        """
        import asyncio

        weather, customer = await asyncio.gather(get_weather(city='Paris'), find_customer(name='Ada'))
        print(customer['name'])
        weather['name']
        """,
        line=5,
        mentions='name',
    ),
    _wrong(
        'unknown_key__of_result_of_sequential_tool',
        """
        receipt = send_email(to='a@example.com', subject='Hi')
        if receipt['success']:
            print('sent')
        """,
        line=2,
        mentions='success',
    ),
    _wrong(
        'unknown_key__of_variable_from_earlier_snippet',
        """
        order = (await list_orders(customer_id=1))[0]
        """,
        """
        print(order['status'])
        order['items']
        """,
        line=2,
        mentions='items',
    ),
    _wrong(
        'unknown_key__of_list_from_earlier_snippet',
        """
        products = await search_products(query='', category='toy')
        """,
        """
        cheap = [p for p in products if p['price'] < 30]
        """,
        """
        labels = []
        for p in cheap:
            labels.append(p['label'])
        """,
        line=3,
        mentions='label',
    ),
    _wrong(
        'unknown_key__of_optional_from_earlier_snippet',
        """
        customer = await find_customer(name='Ada')
        customer['name']
        """,
        """
        if customer is not None:
            points = customer['loyalty_points']
        """,
        line=2,
        mentions='loyalty_points',
    ),
    _wrong(
        'unknown_key__of_recursive_result',
        """
        tree = await category_tree()
        tree['children'][0]['subcategories']
        """,
        line=2,
        mentions='subcategories',
    ),
    _wrong(
        'unknown_key__of_call_in_one_expression',
        """
        print((await get_weather(city='Oslo'))['humidity'])
        print((await get_weather(city='Oslo'))['wind'])
        """,
        line=2,
        mentions='wind',
    ),
    _wrong(
        'unknown_key__read_as_attribute',
        """
        weather = await get_weather(city='Paris')
        weather.temperature
        """,
        line=2,
        mentions='temperature',
    ),
    _wrong(
        'unknown_key__read_as_attribute_in_later_snippet',
        """
        orders = await list_orders(customer_id=1)
        """,
        """
        shipped = [o for o in orders if o['status'] == 'shipped']
        totals = [o.total for o in shipped]
        """,
        line=2,
        mentions='total',
    ),
]

_ARGUMENT_NAME = [
    _wrong(
        'argument_misspelt__required',
        """
        weather = await get_weather(town='Paris')
        """,
        line=1,
        mentions='town',
    ),
    _wrong(
        'argument_misspelt__optional',
        """
        weather = await get_weather(city='Paris', units='fahrenheit')
        weather['temperature']
        """,
        line=1,
        mentions='units',
    ),
    _wrong(
        'argument_misspelt__on_own_line',
        """
        lines = [{'sku': 'B1', 'quantity': 1}]
        order = await place_order(
            customer_id=1,
            lines=lines,
            address={'street': 'S', 'city': 'C'},
            fast=True,
        )
        """,
        line=6,
        mentions='fast',
    ),
    _wrong(
        'argument_misspelt__in_later_snippet',
        """
        import asyncio
        ids = [(await find_customer(name=n))['id'] for n in ('Ada', 'Bob')]
        """,
        """
        order_lists = await asyncio.gather(*[list_orders(customer=i) for i in ids])
        sum(len(orders) for orders in order_lists)
        """,
        line=1,
        mentions='customer',
    ),
    _wrong(
        'argument_misspelt__of_sequential_tool',
        """
        text = 'done'
        send_email(to='a@example.com', subject='Hi', message=text)
        """,
        line=2,
        mentions='message',
    ),
    _wrong(
        'argument_missing__only_one',
        """
        n = await count_words(text='a b')
        weather = await get_weather()
        """,
        line=2,
        mentions='city',
    ),
    _wrong(
        'argument_missing__one_of_three',
        """
        usd = await convert_currency(amount=10, target='USD')
        """,
        line=1,
        mentions='source',
    ),
    _wrong(
        'argument_missing__of_sequential_tool',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        body = f"Hi {customer['name']}"
        send_email(to=customer['email'], body=body)
        """,
        line=2,
        mentions='subject',
    ),
    _wrong(
        'argument_missing__in_helper_of_third_snippet',
        """
        wanted = {'B1': 1}
        """,
        """
        lines = [{'sku': k, 'quantity': v} for k, v in wanted.items()]
        """,
        """
        async def buy(customer_id):
            return await place_order(customer_id=customer_id, lines=lines)

        await buy(1)
        """,
        line=2,
        mentions='address',
    ),
    _wrong(
        'argument_missing__of_own_helper',
        """
        async def spent(customer_id, status):
            return sum(o['total'] for o in await list_orders(customer_id=customer_id, status=status))
        """,
        """
        a = await spent(1, 'shipped')
        b = await spent(1)
        """,
        line=2,
        mentions='status',
    ),
    _wrong(
        'argument_extra__unknown_option',
        """
        products = await search_products(query='book', sort_by='price')
        """,
        line=1,
        mentions='sort_by',
    ),
    _wrong(
        'argument_extra__tool_without_options',
        """
        reports = {}
        for name in ['sales', 'regions']:
            reports[name] = await get_report(name=name, format='json')
        """,
        line=3,
        mentions='format',
    ),
    _wrong(
        'argument_extra__in_later_snippet',
        """
        tree = await category_tree()
        """,
        """
        root = tree['children'][0]['name']
        subtree = await category_tree(root=root, depth=2)
        """,
        line=2,
        mentions='depth',
    ),
]

_ARGUMENT_TYPE = [
    _wrong(
        'argument_type__str_for_int',
        """
        orders = await list_orders(customer_id='Ada')
        """,
        line=1,
        mentions='customer_id',
    ),
    _wrong(
        'argument_type__str_result_for_int',
        """
        customer = (await search_products(query='hammer'))[0]
        orders = await list_orders(customer_id=customer['name'])
        """,
        line=2,
        mentions='customer_id',
    ),
    _wrong(
        'argument_type__int_for_str',
        """
        n = await count_words(text=12345)
        """,
        line=1,
        mentions='text',
    ),
    _wrong(
        'argument_type__int_result_for_str',
        """
        order = (await list_orders(customer_id=1))[0]
        """,
        """
        print(order['total'])
        customer = await find_customer(name=order['customer_id'])
        """,
        line=2,
        mentions='name',
    ),
    _wrong(
        'argument_type__list_for_str',
        """
        weathers = await get_weather(city=['Paris', 'Oslo'])
        """,
        line=1,
        mentions='city',
    ),
    _wrong(
        'argument_type__list_result_for_str',
        """
        customer = await find_customer(name='Ada')
        tags = (await search_products(query='hammer'))[0]['tags']
        """,
        """
        body = ', '.join(tags)
        n = await count_words(text=tags)
        """,
        line=2,
        mentions='text',
    ),
    _wrong(
        'argument_type__dict_for_str',
        """
        receipt = send_email(
            to='a@example.com',
            subject='Weather',
            body={'city': 'Paris'},
        )
        """,
        line=4,
        mentions='body',
    ),
    _wrong(
        'argument_type__result_for_str',
        """
        weather = await get_weather(city='Paris')
        """,
        """
        n = await count_words(text=weather)
        """,
        line=1,
        mentions='text',
    ),
    _wrong(
        'argument_type__str_for_list',
        """
        event = await schedule_event(title='Sync', start='2024-06-01T10:00:00', attendees='ada, bob')
        """,
        line=1,
        mentions='attendees',
    ),
    _wrong(
        'argument_type__list_of_str_for_list_of_int',
        """
        scores = 'one two three'.split()
        average = await average_score(scores=scores)
        """,
        line=2,
        mentions='scores',
    ),
    _wrong(
        'argument_type__int_for_list',
        """
        n = await count_words(text='a b c')
        """,
        """
        words = n * 2
        """,
        """
        average = await average_score(scores=words)
        """,
        line=1,
        mentions='scores',
    ),
    _wrong(
        'argument_type__list_for_dict',
        """
        labels = await label_product(sku='B1', labels=['blue', 'paper'])
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'argument_type__dict_of_lists_for_dict_of_str',
        """
        labels = await label_product(sku='B1', labels={'colors': ['blue', 'white']})
        """,
        line=1,
        mentions='labels',
    ),
    _wrong(
        'argument_type__str_for_float',
        """
        usd = await convert_currency(amount='ten euros', source='EUR', target='USD')
        """,
        line=1,
        mentions='amount',
    ),
    _wrong(
        'argument_type__str_for_model',
        """
        lines = [{'sku': 'B1', 'quantity': 1}]
        """,
        """
        order = await place_order(customer_id=1, lines=lines, address='1 Main St, Paris')
        """,
        line=1,
        mentions='address',
    ),
    _wrong(
        'argument_type__coroutine_for_str',
        """
        n = await count_words(text=get_report(name='sales'))
        """,
        line=1,
        mentions='text',
    ),
]

_LITERAL = [
    _wrong(
        'literal__wrong_constant',
        """
        weather = await get_weather(city='Paris', unit='kelvin')
        """,
        line=1,
        mentions='unit',
    ),
    _wrong(
        'literal__wrong_case',
        """
        weather = await get_weather(city='Paris', unit='Celsius')
        """,
        line=1,
        mentions='unit',
    ),
    _wrong(
        'literal__wrong_constant_for_optional_literal',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        done = await list_orders(customer_id=customer['id'], status='shipped')
        late = await list_orders(customer_id=customer['id'], status='delayed')
        """,
        line=2,
        mentions='status',
    ),
    _wrong(
        'literal__plural_constant_in_gather',
        """
        import asyncio
        """,
        """
        books, toys = await asyncio.gather(
            search_products(query='', category='book'),
            search_products(query='', category='toys'),
        )
        """,
        line=3,
        mentions='category',
    ),
    _wrong(
        'literal__int_for_literal',
        """
        ids = [o['id'] for o in await list_orders(customer_id=1)]
        """,
        """
        done = await list_orders(customer_id=1, status=ids[0])
        """,
        line=1,
        mentions='status',
    ),
]

_POSITIONAL = [
    _wrong(
        'positional__one_argument',
        """
        n = 1
        weather = await get_weather('Paris')
        """,
        line=2,
        mentions='positional',
    ),
    _wrong(
        'positional__several_arguments',
        """
        usd = await convert_currency(10, 'EUR', 'USD')
        """,
        line=1,
        mentions='positional',
    ),
    _wrong(
        'positional__mixed_with_keyword',
        """
        orders = await list_orders(customer_id=1)
        """,
        """
        sku = orders[0]['lines'][0]['sku']
        labels = await label_product(sku, labels={'sold': 'yes'})
        """,
        line=2,
        mentions='positional',
    ),
    _wrong(
        'positional__sequential_tool',
        """
        receipt = send_email('a@example.com', subject='Hi')
        """,
        line=1,
        mentions='positional',
    ),
]

_MISSING_AWAIT = [
    _wrong(
        'missing_await__subscripted',
        """
        temperature = get_weather(city='Paris')['temperature']
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'missing_await__subscripted_later',
        """
        city = 'Paris'
        weather = get_weather(city=city)
        print('got it')
        weather['temperature']
        """,
        line=4,
        mentions='await',
    ),
    _wrong(
        'missing_await__iterated',
        """
        total = 0
        for order in list_orders(customer_id=1):
            total += order['total']
        """,
        line=2,
        mentions='await',
    ),
    _wrong(
        'missing_await__iterated_in_comprehension',
        """
        limit = 30
        """,
        """
        names = [p['name'] for p in search_products(query='') if p['price'] < limit]
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'missing_await__compared',
        """
        if count_words(text='a b c') > 2:
            print('long')
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'missing_await__added',
        """
        texts = ['a b', 'c']
        """,
        """
        total = 0
        for text in texts:
            total = total + count_words(text=text)
        """,
        line=3,
        mentions='await',
    ),
    _wrong(
        'missing_await__len',
        """
        n = len(list_orders(customer_id=1))
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'missing_await__method_called',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        lines = get_report(name='sales').splitlines()
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'missing_await__own_async_helper',
        """
        async def cheapest():
            products = await search_products(query='')
            return min(products, key=lambda p: p['price'])
        """,
        """
        first = await cheapest()
        cheapest()['name']
        """,
        line=2,
        mentions='await',
    ),
    _wrong(
        'missing_await__gather',
        """
        import asyncio

        cities = ['Paris', 'Oslo']
        results = asyncio.gather(*[get_weather(city=c) for c in cities])
        [r['city'] for r in results]
        """,
        line=5,
        mentions='await',
    ),
    _wrong(
        'missing_await__gather_subscripted',
        """
        import asyncio
        """,
        """
        results = asyncio.gather(get_weather(city='Paris'), count_words(text='a'))
        results[0]['city']
        """,
        line=2,
        mentions='await',
    ),
    _wrong(
        'missing_await__precedence_of_subscript',
        """
        orders = await list_orders(customer_id=1)
        email = await find_customer(name='Ada')['email']
        """,
        line=2,
        mentions='await',
    ),
]

_AWAIT_OF_SEQUENTIAL_TOOL = [
    _wrong(
        'await_of_sequential_tool__statement',
        """
        receipt = await send_email(to='a@example.com', subject='Hi')
        receipt['id']
        """,
        line=1,
        mentions='await',
    ),
    _wrong(
        'await_of_sequential_tool__in_later_snippet',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        body = f"Hi {customer['name']}"
        if customer['email']:
            await send_email(to=customer['email'], subject='Hi', body=body)
        """,
        line=3,
        mentions='await',
    ),
    _wrong(
        'await_of_sequential_tool__in_helper',
        """
        emails = ['a@example.com', 'b@example.com']
        """,
        """
        async def notify(address):
            result = await send_email(to=address, subject='News')
            return result['accepted']
        """,
        line=2,
        mentions='await',
    ),
]

_IMPORT = [
    _wrong(
        'import__numpy_as',
        """
        import numpy as np

        orders = await list_orders(customer_id=1)
        np.mean([o['total'] for o in orders])
        """,
        line=1,
        mentions='numpy',
    ),
    _wrong(
        'import__pandas_after_other_imports',
        """
        import json
        import asyncio
        import pandas as pd

        pd.DataFrame(await search_products(query=''))
        """,
        line=3,
        mentions='pandas',
    ),
    _wrong(
        'import__requests_in_later_snippet',
        """
        weather = await get_weather(city='Paris')
        """,
        """
        print(weather['city'])
        import requests
        requests.get('https://example.com').text
        """,
        line=2,
        mentions='requests',
    ),
    _wrong(
        'import__from_third_party',
        """
        from pydantic import BaseModel

        customer = await find_customer(name='Ada')
        """,
        line=1,
        mentions='pydantic',
    ),
    _wrong(
        'import__inside_function',
        """
        orders = await list_orders(customer_id=1)
        """,
        """
        def average(values):
            import numpy
            return numpy.mean(values)

        average([o['total'] for o in orders])
        """,
        line=2,
        mentions='numpy',
    ),
    _wrong(
        'import__statistics',
        """
        import statistics

        statistics.mean([o['total'] for o in await list_orders(customer_id=1)])
        """,
        line=1,
        mentions='statistics',
    ),
    _wrong(
        'import__from_heapq',
        """
        products = await search_products(query='')
        """,
        """
        from heapq import nlargest
        nlargest(2, products, key=lambda p: p['price'])
        """,
        line=1,
        mentions='heapq',
    ),
    _wrong(
        'import__from_enum',
        """
        import re
        from enum import Enum
        """,
        line=2,
        mentions='enum',
    ),
    _wrong(
        'import__submodule_of_urllib',
        """
        customer = await find_customer(name='Ada')
        from urllib.parse import quote
        quote(customer['name'])
        """,
        line=2,
        mentions='urllib',
    ),
    _wrong(
        'import__name_missing_in_collections',
        """
        import json
        from collections import OrderedDict

        OrderedDict(json.loads(await get_report(name='regions')))
        """,
        line=2,
        mentions='OrderedDict',
    ),
    _wrong(
        'import__name_missing_in_functools',
        """
        from functools import wraps
        """,
        line=1,
        mentions='wraps',
    ),
    _wrong(
        'import__member_missing_in_asyncio',
        """
        import asyncio
        """,
        """
        cities = ['Paris', 'Oslo']
        tasks = [asyncio.create_task(get_weather(city=c)) for c in cities]
        """,
        line=2,
        mentions='create_task',
    ),
]

_ATTRIBUTE = [
    _wrong(
        'attribute__push_on_list',
        """
        names = []
        for p in await search_products(query=''):
            names.push(p['name'])
        """,
        line=3,
        mentions='push',
    ),
    _wrong(
        'attribute__length_of_result_list',
        """
        orders = await list_orders(customer_id=1)
        """,
        """
        first = orders[0]
        count = orders.length
        """,
        line=2,
        mentions='length',
    ),
    _wrong(
        'attribute__contains_on_str',
        """
        report = await get_report(name='sales')
        found = report.contains('Ada')
        """,
        line=2,
        mentions='contains',
    ),
    _wrong(
        'attribute__trim_on_str_of_result',
        """
        weather = await get_weather(city='Paris')
        """,
        """
        weather['city'].trim()
        """,
        line=1,
        mentions='trim',
    ),
    _wrong(
        'attribute__map_on_list',
        """
        products = await search_products(query='')
        """,
        """
        cheap = [p for p in products if p['price'] < 30]
        """,
        """
        cheap.map(lambda p: p['name'])
        """,
        line=1,
        mentions='map',
    ),
    _wrong(
        'attribute__keys_on_list',
        """
        orders = await list_orders(customer_id=1)
        lines = orders[0]['lines']
        [key for key in lines.keys()]
        """,
        line=3,
        mentions='keys',
    ),
]

_DICT_LITERAL = [
    _wrong(
        'dict_literal__misspelt_key',
        """
        order = await place_order(
            customer_id=1,
            lines=[{'sku': 'B1', 'qty': 1}],
            address={'street': 'S', 'city': 'C'},
        )
        """,
        line=3,
        mentions='qty',
    ),
    _wrong(
        'dict_literal__misspelt_key_of_model',
        """
        lines = [{'sku': 'B1', 'quantity': 1}]
        """,
        """
        order = await place_order(customer_id=1, lines=lines, address={'street': 'S', 'town': 'C'})
        """,
        line=1,
        mentions='town',
    ),
    _wrong(
        'dict_literal__unknown_optional_key',
        """
        order = await place_order(
            customer_id=1,
            lines=[
                {'sku': 'B1', 'quantity': 1},
                {'sku': 'T1', 'quantity': 1, 'comment': 'gift'},
            ],
            address={'street': 'S', 'city': 'C'},
        )
        """,
        line=5,
        mentions='comment',
    ),
    _wrong(
        'dict_literal__missing_key',
        """
        home = {'street': 'S', 'city': 'C'}
        await place_order(customer_id=1, lines=[{'sku': 'B1'}], address=home)
        """,
        line=2,
        mentions='quantity',
    ),
    _wrong(
        'dict_literal__missing_key_of_model',
        """
        customer = await find_customer(name='Ada')
        """,
        """
        lines = [{'sku': 'B1', 'quantity': 1}]
        order = await place_order(customer_id=customer['id'], lines=lines, address={'street': 'S'})
        """,
        line=2,
        mentions='city',
    ),
    _wrong(
        'dict_literal__missing_key_in_comprehension',
        """
        products = await search_products(query='', category='toy')
        """,
        """
        home = {'street': 'S', 'city': 'C'}
        await place_order(customer_id=1, lines=[{'sku': p['sku']} for p in products], address=home)
        """,
        line=2,
        mentions='quantity',
    ),
    _wrong(
        'dict_literal__wrong_value_type',
        """
        order = await place_order(
            customer_id=1,
            lines=[{'sku': 'B1', 'quantity': 'two'}],
            address={'street': 'S', 'city': 'C'},
        )
        """,
        line=3,
        mentions='quantity',
    ),
]

WRONG: list[WrongProgram] = [
    *_UNKNOWN_FUNCTION,
    *_UNKNOWN_KEY,
    *_ARGUMENT_NAME,
    *_ARGUMENT_TYPE,
    *_LITERAL,
    *_POSITIONAL,
    *_MISSING_AWAIT,
    *_AWAIT_OF_SEQUENTIAL_TOOL,
    *_IMPORT,
    *_ATTRIBUTE,
    *_DICT_LITERAL,
]
