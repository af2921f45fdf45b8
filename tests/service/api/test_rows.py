"""The fast way to read a body and the careful one agree, on whatever comes."""

import json
import random

import pytest

from calibrant.service.api.rows import parse, parse_with_care
from calibrant.service.problems import Problem

VALUES = (
    "1", "-0", "0.1", "5e-324", "1e308", "1e400", "-1e400", "123456789012345678901234567890", "1.0",
    "0.1000000000000000055511151231257827", "9007199254740993", "9007199254740993.0", "true",
    "false", "null", "NaN", "Infinity", "01", ".5", "1.", "+1", '"a"', '"a:b"', '"\\u0041"',
    '"\\ud800"', '"\\ud83c\\udfb2"', '"\\u0000"', '"\x00"', '"\t"', '"\\x"', '"ü"', "{}", "[]",
    '{"a": 1}', '{"a": 1, "a": 2}', '["a:b"]', "'a'", "", "1 2", "/* */ 1",
)  # fmt: skip
KEYS = ('"id"', '"score"', '"at"', '"\\u0069d"', '"a:b"', '""', "id")


def some_object(chance):
    pairs = (f"{chance.choice(KEYS)}: {chance.choice(VALUES)}" for _ in range(chance.randrange(4)))
    return "{" + ", ".join(pairs) + "}"


def some_body(chance):
    rows = [some_object(chance) for _ in range(chance.randrange(1, 4))]
    rows += chance.choices(VALUES, k=chance.choice((0, 0, 0, 1)))
    chance.shuffle(rows)
    text = chance.choice((f"[{','.join(rows)}]", rows[0], f" {rows[0]}\n", rows[0] + "]"))
    body = text.encode(chance.choice(("utf-8", "utf-8", "utf-8", "utf-16", "latin-1")))
    return body[: chance.randrange(len(body) + 1)] if chance.random() < 0.1 else body


def read(way, body):
    """Return what a body holds, with types and order, or what is wrong with it."""
    try:
        return repr(way(body))
    except Problem as problem:
        return str(problem)


def test_both_ways_agree_on_hostile_bodies():
    chance, is_fine = random.Random(1), []
    for _ in range(20_000):
        body = some_body(chance)
        expected = read(parse_with_care, body)
        assert read(parse, body) == expected, body
        is_fine.append(expected[0] in "[{")
    assert sum(is_fine) > 1000


def test_both_ways_agree_on_numbers():
    chance = random.Random(2)
    texts = [repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 300)) for _ in range(5000)]
    texts += ["0." + str(chance.getrandbits(200)) for _ in range(5000)]
    body = json.dumps([{"score": 0}] * len(texts)).replace("0}", "%s}").encode() % tuple(
        text.encode() for text in texts
    )
    assert parse(body) == parse_with_care(body)


@pytest.mark.parametrize("body", [b'{"id": 1, "id": 1}', b'[{"id": 1}, {"id": 1, "id": 2}]'])
def test_a_field_named_twice_is_refused(body):
    with pytest.raises(Problem, match="names a field twice"):
        parse(body)
