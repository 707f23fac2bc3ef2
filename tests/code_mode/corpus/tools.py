"""The tools which the programs of the corpus call."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import json
from datetime import datetime, timedelta
from typing import Literal, NotRequired

from pydantic import BaseModel, Field
from pydantic_ai import Tool
from typing_extensions import TypedDict

Unit = Literal['celsius', 'fahrenheit']
Conditions = Literal['sunny', 'cloudy', 'rainy']
ProductCategory = Literal['book', 'toy', 'tool']
OrderStatus = Literal['pending', 'shipped', 'cancelled']


class Coordinates(TypedDict):
    """A place on the globe."""

    lat: float
    lon: float


class Weather(TypedDict):
    """The weather of one city."""

    city: str
    temperature: float
    unit: Unit
    conditions: Conditions
    humidity: int
    coordinates: Coordinates


class Loyalty(BaseModel):
    """Membership in the loyalty scheme."""

    level: Literal['silver', 'gold']
    points: int


class Customer(BaseModel):
    """A customer of the shop."""

    id: int
    name: str
    email: str | None = None
    tags: list[str] = Field(default_factory=list[str])
    loyalty: Loyalty | None = None


class Product(BaseModel):
    """A product of the shop."""

    sku: str
    name: str
    price: float
    category: ProductCategory
    rating: float | None
    tags: list[str]


class OrderLine(TypedDict):
    """One line of an order."""

    sku: str
    quantity: int
    note: NotRequired[str]


class Address(BaseModel):
    """Where an order goes to."""

    street: str
    city: str
    postcode: str | None = None


class Order(BaseModel):
    """An order of a customer."""

    id: int
    customer_id: int
    status: OrderStatus
    total: float
    placed_at: datetime
    shipped_at: datetime | None
    lines: list[OrderLine]
    address: Address | None = None


class EmailReceipt(TypedDict):
    """Proof that an email was sent."""

    id: str
    accepted: bool
    length: int


class Event(BaseModel):
    """An event in the calendar."""

    title: str
    start: datetime
    end: datetime
    attendees: list[str]


class Category(BaseModel):
    """A category and the categories below it."""

    name: str
    products: int
    children: 'list[Category]'


_WEATHER: dict[str, tuple[float, Conditions, int, float, float]] = {
    'Paris': (18.5, 'cloudy', 70, 48.9, 2.4),
    'London': (14.0, 'rainy', 85, 51.5, -0.1),
    'Madrid': (29.0, 'sunny', 40, 40.4, -3.7),
    'Oslo': (8.0, 'cloudy', 65, 59.9, 10.8),
}

_CUSTOMERS = [
    Customer(
        id=1,
        name='Ada',
        email='ada@example.com',
        tags=['vip', 'early'],
        loyalty=Loyalty(level='gold', points=1200),
    ),
    Customer(id=2, name='Bob'),
    Customer(id=3, name='Cleo', email='cleo@example.org', tags=['early']),
]

_PRODUCTS = [
    Product(sku='B1', name='Blue Book', price=12.5, category='book', rating=4.5, tags=['paper', 'blue']),
    Product(sku='B2', name='Cook Book', price=30.0, category='book', rating=None, tags=['paper']),
    Product(sku='T1', name='Toy Train', price=45.0, category='toy', rating=4.0, tags=['wood', 'red']),
    Product(sku='T2', name='Teddy Bear', price=20.0, category='toy', rating=4.8, tags=['soft']),
    Product(sku='H1', name='Hammer', price=25.0, category='tool', rating=3.9, tags=['steel', 'heavy']),
]

_ORDERS = [
    Order(
        id=101,
        customer_id=1,
        status='shipped',
        total=57.5,
        placed_at=datetime(2024, 3, 1, 10, 30),
        shipped_at=datetime(2024, 3, 3, 8, 0),
        lines=[{'sku': 'B1', 'quantity': 1}, {'sku': 'T1', 'quantity': 1}],
    ),
    Order(
        id=102,
        customer_id=1,
        status='pending',
        total=25.0,
        placed_at=datetime(2024, 4, 10, 16, 45),
        shipped_at=None,
        lines=[{'sku': 'H1', 'quantity': 1, 'note': 'gift'}],
    ),
    Order(
        id=103,
        customer_id=1,
        status='shipped',
        total=60.0,
        placed_at=datetime(2024, 4, 20, 9, 15),
        shipped_at=datetime(2024, 4, 21, 12, 0),
        lines=[{'sku': 'B2', 'quantity': 2}],
    ),
    Order(
        id=201,
        customer_id=2,
        status='cancelled',
        total=20.0,
        placed_at=datetime(2024, 2, 14, 8, 0),
        shipped_at=None,
        lines=[{'sku': 'T2', 'quantity': 1}],
    ),
]

_RATES = {'EUR': 1.0, 'USD': 1.25, 'GBP': 0.8}

_REPORTS = {
    'sales': {
        'title': 'Sales 2024',
        'owner': {'name': 'Ada', 'email': None},
        'quarters': [
            {'quarter': 1, 'revenue': 100.5, 'cost': 80},
            {'quarter': 2, 'revenue': 120.0, 'cost': 70},
            {'quarter': 3, 'revenue': 90.0, 'cost': 95.5},
        ],
    },
    'regions': {'north': 10, 'south': 25, 'east': 5},
}

_SETTINGS: dict[str, str | int | bool | list[str]] = {
    'currency': 'USD',
    'max_items': 3,
    'beta': True,
    'admins': ['ada', 'cleo'],
}

_CATEGORIES = Category(
    name='all',
    products=0,
    children=[
        Category(
            name='leisure',
            products=1,
            children=[Category(name='book', products=2, children=[]), Category(name='toy', products=2, children=[])],
        ),
        Category(name='tool', products=1, children=[]),
    ],
)


def get_weather(city: str, unit: Unit = 'celsius') -> Weather:
    """Get the current weather of a city; fails for an unknown city."""
    if city not in _WEATHER:
        raise ValueError(f'unknown city: {city}')
    temperature, conditions, humidity, lat, lon = _WEATHER[city]
    if unit == 'fahrenheit':
        temperature = round(temperature * 1.8 + 32, 1)
    return {
        'city': city,
        'temperature': temperature,
        'unit': unit,
        'conditions': conditions,
        'humidity': humidity,
        'coordinates': {'lat': lat, 'lon': lon},
    }


def find_customer(name: str) -> Customer | None:
    """Find a customer by name."""
    return next((customer for customer in _CUSTOMERS if customer.name.lower() == name.lower()), None)


def list_orders(customer_id: int, status: OrderStatus | None = None, limit: int = 10) -> list[Order]:
    """List the orders of a customer, oldest first."""
    found = [o for o in _ORDERS if o.customer_id == customer_id and (status is None or o.status == status)]
    return found[:limit]


def place_order(customer_id: int, lines: list[OrderLine], address: Address, express: bool = False) -> Order:
    """Place an order for a customer."""
    prices = {product.sku: product.price for product in _PRODUCTS}
    total = sum(prices[line['sku']] * line['quantity'] for line in lines) + (10 if express else 0)
    return Order(
        id=900 + customer_id,
        customer_id=customer_id,
        status='pending',
        total=total,
        placed_at=datetime(2024, 5, 1, 12, 0),
        shipped_at=None,
        lines=lines,
        address=address,
    )


def search_products(
    query: str, max_price: float | None = None, category: ProductCategory | None = None
) -> list[Product]:
    """Search the products whose name contains the query."""
    return [
        product
        for product in _PRODUCTS
        if query.lower() in product.name.lower()
        and (max_price is None or product.price <= max_price)
        and (category is None or product.category == category)
    ]


def label_product(sku: str, labels: dict[str, str]) -> dict[str, str]:
    """Put labels on a product and get all its labels."""
    return {'sku': sku, **labels}


def convert_currency(amount: float, source: str, target: str) -> float:
    """Convert an amount of money; fails for an unknown currency."""
    for code in (source, target):
        if code not in _RATES:
            raise ValueError(f'unknown currency: {code}')
    return round(amount / _RATES[source] * _RATES[target], 2)


def get_report(name: str) -> str:
    """Get a report as JSON text."""
    return json.dumps(_REPORTS[name])


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def average_score(scores: list[int]) -> float:
    """Compute the average of some scores."""
    return sum(scores) / len(scores)


def schedule_event(
    title: str, start: datetime, duration_minutes: int = 30, attendees: list[str] | None = None
) -> Event:
    """Put an event into the calendar."""
    return Event(
        title=title, start=start, end=start + timedelta(minutes=duration_minutes), attendees=list(attendees or [])
    )


def get_setting(key: str) -> str | int | bool | list[str] | None:
    """Get a setting of the shop."""
    return _SETTINGS.get(key)


def category_tree(root: str | None = None) -> Category:
    """Get the tree of product categories."""
    pending = [_CATEGORIES]
    while pending:
        node = pending.pop()
        if root is None or node.name == root:
            return node
        pending.extend(node.children)
    raise ValueError(f'unknown category: {root}')


def lookup_metadata(key: str):  # noqa: ANN201  # the result of a tool without a return annotation is Any
    """Look up metadata of any shape."""
    if key == 'warehouse':
        return {'name': 'North', 'shelves': [3, 1, 2], 'open': True}
    if key == 'regions':
        return ['north', 'south']
    return None


def send_email(to: str, subject: str, body: str = '') -> EmailReceipt:
    """Send an email."""
    return {'id': f'{to}/{subject}', 'accepted': '@' in to, 'length': len(body)}


TOOLS: list[Tool[None]] = [
    Tool(get_weather),
    Tool(find_customer),
    Tool(list_orders),
    Tool(place_order),
    Tool(search_products),
    Tool(label_product),
    Tool(convert_currency),
    Tool(get_report),
    Tool(count_words),
    Tool(average_score),
    Tool(schedule_event),
    Tool(get_setting),
    Tool(category_tree),
    Tool(lookup_metadata),
    Tool(send_email, sequential=True),
]
