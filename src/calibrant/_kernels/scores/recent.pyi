ORDERS: tuple[int, ...]
RECENT_PARTS: dict[str, int]
