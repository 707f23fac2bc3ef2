CREATE TABLE markets (
    country TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    currency TEXT NOT NULL,
    promise_days INTEGER NOT NULL -- working days
);

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    country TEXT NOT NULL REFERENCES markets,
    article TEXT NOT NULL,
    price REAL NOT NULL, -- in the market's currency
    ordered_on TEXT NOT NULL -- ISO dates
);

CREATE TABLE shipments (
    order_id INTEGER PRIMARY KEY REFERENCES orders,
    carrier TEXT NOT NULL,
    shipped_on TEXT NOT NULL,
    delivered_on TEXT NOT NULL
);
