"""Requests that are invalid in some way, or read-only: bytes on a connection, from a seed."""

import base64
import gzip
import json
import random

SETTINGS = {"plain": {}, "timed": {"silence": 0, "after": "30d"}, "clocked": {"clock": "client"},
            "keyed": {"keyed": True},
            "keyed-watched": {"keyed": True, "watch_keys": True, "hold": "30d"},
            "acting": {"act": {"cost_of_acting": 1, "cost_of_missing": 4}},
            "numbers": {"kind": "number", "levels": [0.1, 0.5, 0.9]},
            "classes": {"kind": "classes", "classes": ["a", "b", "c"]}}  # fmt: skip
#: Of kinds other than scores: the field that is predicted from, what it may hold, and an outcome.
FIELDS = {"numbers": ("forecast", 0.5, 0.4), "classes": ("scores", [0.2, 0.3, 0.5], "a")}
SCORE = ("score", 0.5, 1)
PATHS = [f"/v1/streams/{name}/{kind}" for name in SETTINGS for kind in ("predictions", "outcomes")]
VIEWS = ("", "/scorecard", "/reliability", "/map", "/episodes", "/pending", "/groups", "/history",
         "/keys", "/keys/4", "/keys/%00", "/miscalibrated_keys", "/events", "/export")  # fmt: skip
#: Values that no field of a row takes.
BAD = [
    None, True, [], {}, [[]], "", "NaN", "\0", "\ud800", "x" * 201, "x" * 50_000, -1, 1.0000001,
    1e308, -1e308, 10**400, -(10**30), 2**63, 2**64, -0.5, {"id": "a"}, ["a"], "0.5", "١",
]  # fmt: skip
#: And values that further fields do not take.
BAD_OF = {
    "scores": [[], [0.2, 0.8], [0.2, 0.3, 0.6], [True, 0, 0], ["0.2", 0.3, 0.5], [None] * 3,
               [10**400, 0, 0], [[0.2], 0.3, 0.5], [0.5] * 10_000, {"a": 1}, [-0.5, 0.5, 1]],
    "quantiles": [[], [1], [1, 2], [3, 2, 1], [1, 2, 10**400], [1, None, 2], [0.1] * 200, 5, "a"],
    "levels": [[], [0.5], [0, 0.5, 1], [0.9, 0.5, 0.1], [0.1, 0.5, 10**400], [True] * 3, {}],
    "scale": [0, -1, 1e300, 10**400, "1", [1], True],
}  # fmt: skip
TRICKS = [
    "..", ".", "%2e%2e", "%00", "%2f", "s%2fpredictions", "..%2f..%2fetc%2fpasswd", "\\", "%5c..",
    "%ff%fe", "%u0000", "'; DROP TABLE streams; --", "{name}", "plain%20", "PLAIN", "plain;x=1",
    "%E2%80%AEplain", "%D0%B0", "plain%0d%0aset-cookie:%20a", "x" * 101, "x" * 9000, "-", "_a", "",
    "plain%00", "%70lain%2F", "💥", "plain#", "*",
]  # fmt: skip
QUERIES = ["limit", "points", "bins", "level", "by", "key", "sort", "start", "after", "format",
           "unknown"]  # fmt: skip
QUERY_VALUES = ["-1", "nan", "1e9", "9" * 40, "", "%00", "a", "0x10", "inf", "1" * 5000, "٣", "[]"]


class Sender:
    """Hostile requests from a seed; `make` returns the kind and the bytes of the next."""

    def __init__(self, seed, tokens):
        self.random, self.tokens = random.Random(seed), tokens
        self.kinds = {
            name.removeprefix("make_"): getattr(self, name)
            for name in sorted(dir(self))
            if name.startswith("make_")
        }

    def make(self):
        kind = self.random.choice(list(self.kinds))
        return kind, self.kinds[kind]()

    def request(self, method, path, body=b"", token="good", **headers):
        fields = {
            "host": "localhost",
            "connection": "close",
            "content-type": "application/json",
            "content-length": str(len(body)),
        }
        if token is not None:
            fields["authorization"] = f"Bearer {self.tokens.get(token, token)}"
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode(errors="surrogatepass") + body

    def row(self, path):
        """Return a good row for a path, of an id that nobody has."""
        row = {"id": f"hostile {self.random.getrandbits(60)}", "at": 1.7e9}
        name, score, outcome = fields_of(path.split("/")[3])
        if path.endswith("outcomes"):
            return row | {"outcome": outcome}
        return row | {name: score} | ({"key": "shop 4"} if "/keyed" in path else {})

    def posted(self, body, path=None, **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.request("POST", path or self.random.choice(PATHS), body, **headers)

    # -- the kinds --------------------------------------------------------------------------------

    def make_cut_json(self):
        path = self.random.choice(PATHS)
        text = json.dumps([self.row(path) for _ in range(3)]).encode()
        return self.posted(text[: self.random.randrange(len(text))], path)

    def make_spoiled_json(self):
        path = self.random.choice(PATHS)
        text = bytearray(json.dumps([self.row(path)]).encode())
        text[self.random.choice((0, 1, len(text) - 1))] = self.random.choice(b"\x00\xff\x80}]x,")
        return self.posted(bytes(text) + b"\x01", path)

    def make_wrong_value(self):
        """One field of one row of many is wrong: none of the rows may be done."""
        path = self.random.choice(PATHS)
        rows = [self.row(path) for _ in range(self.random.randrange(1, 20))]
        stream, names = path.split("/")[3], [name for name in rows[0] if name != "at"]
        if "forecast" in names:
            names += ["quantiles", "levels", "scale"]
        name, row = self.random.choice(names), self.random.choice(rows)
        bad = [each for each in BAD if not is_fine(name, each, stream)]
        row[name] = self.random.choice(BAD_OF.get(name, bad))
        if name == "levels":
            row["quantiles"] = [1, 2, 3]
        return self.posted(rows, path)

    def make_wrong_field(self):
        path = self.random.choice(PATHS)
        row = self.row(path)
        if self.random.random() < 0.5:
            del row[self.random.choice([name for name in row if name != "at"])]
        else:
            row[self.random.choice(("label", "__proto__", "", "key", "sequence", "\x7f"))] = 1
        return self.posted(row, path)

    def make_huge_number(self):
        digits = self.random.choice((309, 400, 4300, 4301, 100_000))
        number = self.random.choice(("9" * digits, "-" + "9" * digits, f"1e{digits}"))
        name = self.random.choice(('"score"', '"outcome"'))
        path = PATHS[0] if name == '"score"' else PATHS[1]
        return self.posted(f'{{"id": "a", {name}: {number}}}'.encode(), path)

    def make_no_number(self):
        word = self.random.choice(("NaN", "Infinity", "-Infinity", "nan", "undefined", "0x1", "01"))
        return self.posted(f'{{"id": "a", "score": {word}}}'.encode(), PATHS[0])

    def make_deep(self):
        depth = self.random.choice((500, 1000, 5000, 100_000))
        start, end = self.random.choice(((b"[", b"]"), (b'{"a":', b"}")))
        tail = end * depth if self.random.random() < 0.5 else b""
        return self.posted(start * depth + b"1" * bool(tail) + tail)

    def make_wrong_shape(self):
        shape = self.random.choice((5, "a", None, True, [], [[]], [1], {}, [{}], [None], [[{}]]))
        return self.posted(shape)

    def make_twice(self):
        again = self.random.choice(("id", "score"))
        return self.posted(f'{{"id": "a", "score": 0.5, "{again}": 0.25}}'.encode(), PATHS[0])

    def make_many_rows(self):
        return self.posted(b"[" + b",".join([b"{}"] * self.random.choice((10_001, 30_000))) + b"]")

    def make_bad_lines(self):
        body = self.random.choice((b"[1]\n", b"x" * 5000, b"{}\n" * 5, b"\xff\n", b"{\n}\n"))
        return self.posted(body, content_type="application/x-ndjson")

    def make_other_content(self):
        kinds = ("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data")
        kind = self.random.choice((*kinds, "x" * 999))
        path = self.random.choice(PATHS)
        return self.posted(self.row(path), path, content_type=kind)

    def make_wrong_token(self):
        good = self.tokens["good"]
        token = self.random.choice(
            (None, "expired", "", good[:-1], good + "x", good.upper(), "cal__", "cal_" + "x" * 9000,
             "cal_é_é", good.replace("_", "-"), "None", "read", "elsewhere")
        )  # fmt: skip
        path = self.random.choice(PATHS)
        return self.posted(self.row(path), path, token=token)

    def make_basic_token(self):
        word = base64.b64encode(f"any:{self.tokens['good']}".encode()).decode()
        word = self.random.choice((word, word[:-3], "%%%", "", "é"))
        path = self.random.choice(PATHS)
        return self.posted(self.row(path), path, token=None, authorization=f"Basic {word}")

    def make_path_trick(self):
        name = self.random.choice(TRICKS).replace(" ", "%20")
        view = self.random.choice((*VIEWS, "/predictions", "/outcomes", "/../plain/predictions"))
        method = self.random.choice(("GET", "POST", "PUT"))
        body = b"" if method == "GET" else b'{"id": "a", "score": 0.5}'
        return self.request(method, f"/v1/streams/{name}{view}", body)

    def make_wild_path(self):
        path = self.random.choice(
            ("//v1/streams", "/v1//streams", "/v1/streams/", "/static/../settings.py", "/static//x",
             "/static/%2e%2e/%2e%2e/settings.py", "/static/%00", "http://evil/v1/streams", "*",
             "/%", "/?" + "a" * 60_000, "/streams/" + "%f0" * 500, "/streams/%00", "/v1")
        )  # fmt: skip
        return self.request(self.random.choice(("GET", "HEAD", "OPTIONS", "DELETE")), path)

    def make_query(self):
        name, value = self.random.choice(QUERIES), self.random.choice(QUERY_VALUES)
        views = [view for view in VIEWS if view not in ("/events", "/export")]
        stream = self.random.choice(list(SETTINGS))
        return self.request(
            "GET", f"/v1/streams/{stream}{self.random.choice(views)}?{name}={value}"
        )

    def make_events_query(self):
        value = self.random.choice(QUERY_VALUES)
        path = f"/v1/events?format=json&after={value}"
        return self.request("GET", path, last_event_id=self.random.choice(("-1", "9" * 400, "²")))

    def make_settings(self):
        name = self.random.choice(list(SETTINGS))
        setting = self.random.choice(
            ("kind", "seed", "silence", "after", "hold", "groups", "capacity", "tolerance", "every",
             "clock", "keyed", "watch_keys", "act", "levels", "periods", "bounds", "classes",
             "no_such")
        )  # fmt: skip
        bad = self.random.choice(
            ([], {}, "\0", -5, 10**400, "9" * 5000 + "d", 1e308, "é", [10**400, 1], [[0.5]],
             {"budget": 10**400}, {"costs": [[0, 1], [10**400, 0]]}, {"precision": "x"})
        )  # fmt: skip
        return self.request("PUT", f"/v1/streams/{name}", json.dumps({setting: bad}).encode())

    def make_method(self):
        method = self.random.choice(
            ("DELETE", "PATCH", "TRACE", "CONNECT", "BREW", "post", "x" * 99)
        )
        path = self.random.choice(PATHS)
        return self.request(method, path, json.dumps(self.row(path)).encode())

    def make_bad_head(self):
        path = self.random.choice(PATHS)
        body = json.dumps(self.row(path)).encode()
        good = self.request("POST", path, body)
        return self.random.choice(
            (
                good.replace(b"HTTP/1.1", b"HTTP/1.x"),
                good.replace(b"HTTP/1.1", b""),
                good.replace(b"content-length", b"content-length: 7\r\ncontent-length"),
                self.posted(body, path, content_length="-1"),
                self.posted(body, path, content_length="9" * 30),
                self.posted(body, path, content_length="1_0"),
                self.posted(body, path, transfer_encoding="gzip, chunked"),
                self.posted(body, path, content_type="a" * 70_000),
                good.replace(b"host: localhost\r\n", b""),
                b"\x16\x03\x01\x02\x00" + good,
                good.replace(b"\r\n", b"\x00\r\n", 2),
            )
        )

    def make_smuggled(self):
        """A body in chunks that has a length too, or chunks that are none."""
        path = self.random.choice(PATHS)
        body = json.dumps(self.row(path)).encode()
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        size, broken = str(len(body)), self.random.choice((b"-1\r\n", b"zz\r\n", b"1;\0\r\n"))
        return self.random.choice(
            (
                self.posted(body, path, transfer_encoding="chunked"),
                self.posted(chunks, path, transfer_encoding="chunked", content_length=size),
                self.posted(chunks, path, transfer_encoding="chunked", content_length="4"),
                self.posted(broken + chunks, path, transfer_encoding="chunked"),
            )
        )

    def make_encoded(self):
        path = self.random.choice(PATHS)
        body = json.dumps(self.row(path)).encode()
        coding = self.random.choice(("gzip", "br", "deflate", "x" * 5000, "identity, gzip"))
        body = self.random.choice((body, gzip.compress(body), gzip.compress(bytes(10**7))))
        return self.posted(body, path, content_encoding=coding)

    def make_cut_off(self):
        """The body ends before its length: there may be no answer at all."""
        path = self.random.choice(PATHS)
        body = json.dumps(self.row(path)).encode()
        return self.posted(body, path, content_length=str(len(body) + 10))


def fields_of(stream):
    """Return the field that is predicted from, what it may hold, and an outcome."""
    return FIELDS.get(stream, SCORE)


def is_fine(name, value, stream):
    """Whether a field takes a value that others do not."""
    if stream == "numbers" and name in ("forecast", "outcome"):
        is_number = type(value) in (int, float) and abs(value) <= 10**250
        return is_number or (value is None and name == "forecast")
    if name == "outcome" and value is True and stream != "classes":
        return True
    is_text = isinstance(value, str) and value not in ("", "\0", "\ud800") and len(value) <= 200
    is_integer = type(value) is int and abs(value) <= 2**53
    return (name in ("id", "key") and is_text) or (name == "id" and is_integer)
