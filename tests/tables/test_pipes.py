"""Pipes: each outcome as soon as its line arrives."""

from __future__ import annotations

import os
import threading

import pytest

from calibrant.tables import InputError, follow


def lines(text: str) -> list[bytes]:
    return text.encode().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("1\n0\n0.5\n", None),
        ("\n1\r\n\r\n0\r\n 0.5 \n\n", None),
        ("true\nFalse\n0.5", None),
        ("\ufeffy\n1\n0\n0.5\n", "taking 'y'"),
        ('day,"y"\n"mon, or so",1\ntue,"0"\nwed,0.5\n', "taking 'y'"),
        ('{"day": "mon", "y": 1}\n\n{"y": false}\n{"y": 0.5}\n', "taking 'y'"),
        ('{"y": 1}\n{"y": 0}\n{"y": "0.5"}\n', "taking 'y'"),
    ],
)
def test_every_kind_of_line(text, note):
    notes: list[str] = []
    assert list(follow(lines(text), announce=notes.append)) == [1.0, 0.0, 0.5]
    assert [n.split("named, ")[1] for n in notes] == ([] if note is None else [note])
    assert list(follow(lines(text))) == [1.0, 0.0, 0.5]


def test_a_column_may_be_named():
    text = "y,label\n1,0\n"
    assert list(follow(lines(text), outcome="label")) == [0.0]
    with pytest.raises(InputError, match="may be 'y', 'label'"):
        list(follow(lines(text)))
    with pytest.raises(InputError, match="there is no column 'z'; the columns are 'y', 'label'"):
        list(follow(lines(text), outcome="z"))


def test_an_answer_does_not_wait_for_the_next_line():
    asked = []

    def source():
        for line in (b"a,y\n", b"1,1\n", b"2,0\n"):
            asked.append(line)
            yield line

    outcomes = follow(source(), outcome="y")
    assert next(outcomes) == 1.0
    assert asked == [b"a,y\n", b"1,1\n"]
    assert next(outcomes) == 0.0
    assert len(asked) == 3


def test_over_a_real_pipe():
    reading, writing = os.pipe()
    answered = threading.Event()

    def sender():
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for line in (b"1\n", b"0\n", b"1\n"):
                answered.clear()
                pipe.write(line)
                # Without an answer to this line the next is never sent, and the test would hang.
                assert answered.wait(30)

    thread = threading.Thread(target=sender)
    thread.start()
    received = []
    with os.fdopen(reading, "rb") as pipe:
        for y in follow(pipe):
            received.append(y)
            answered.set()
    thread.join()
    assert received == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "before", "message"),
    [
        ("", 0, "standard input: there were no lines"),
        ("\n\n", 0, "there were no lines"),
        ("a,y\n", 0, "there are no rows below the columns 'a', 'y'"),
        ("1\n0\nnan\n", 2, "line 3, column 'outcome': the value is missing ('nan')"),
        ("1\n\n-0.1\n", 1, "line 3, column 'outcome': got '-0.1'"),
        ("1.1\n", 0, "line 1, column 'outcome': got '1.1'"),
        ("1\nabc\n", 1, "line 2, column 'outcome': got 'abc'"),
        ("1\n0,1\n", 1, "line 2, column 'outcome': got '0,1'"),
        ("1,0\n", 0, "line 1: must hold the names of the columns"),
        ("y,y\n1,1\n", 0, "'y' occurs more than once"),
        ("a,y\n1,1\n1,\n", 1, "line 3, column 'y': the value is missing"),
        ("a,y\n1,1\n1\n", 1, "line 3: has 1 field, must have 2"),
        ("a,y\n1,1\n1,0,1\n", 1, "line 3: has 3 fields, must have 2"),
        ('a,y\n1,1\n"1,0\n', 1, "line 3: is not a CSV row"),
        ('{"y": 1}\n{"y": 2}\n', 1, "line 2, column 'y': got 2"),
        ('{"y": 1}\n{"z": 1}\n', 1, "line 2, column 'y': the value is missing"),
        ('{"y": 1}\n{"y":\n', 1, "line 2: is not a whole JSON value"),
        ('{"y": 1}\n1\n', 1, "line 2: must be a JSON object"),
    ],
)
def test_bad_lines(text, before, message):
    outcomes = follow(lines(text))
    for _ in range(before):
        next(outcomes)
    with pytest.raises(InputError) as caught:
        next(outcomes)
    assert message in str(caught.value)


def test_bad_bytes():
    with pytest.raises(InputError, match="line 2: must be UTF-8 text, got the byte 0xff"):
        list(follow([b"1\n", b"\xff\n"]))


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_first_line_shows_what_separates_the_columns(delimiter):
    text = f"day{delimiter}y\nmon{delimiter}1\ntue{delimiter}0,5\n"
    notes: list[str] = []
    assert list(follow(lines(text), announce=notes.append)) == [1.0, 0.5]
    assert "columns are separated by" in notes[0]


def test_what_separates_the_columns_and_what_counts_may_be_said():
    assert list(follow(lines("a^y\n1^0\n"), delimiter="^")) == [0.0]
    assert list(follow(lines("sep=;\na;y\n1;0\n"))) == [0.0]
    text = "y\nfraud\nfine\n"
    assert list(follow(lines(text), positive="fraud")) == [1.0, 0.0]
    with pytest.raises(InputError, match="line 1: the columns may be separated by ',' or by ';'"):
        list(follow(lines("a,b;y\n1,2;0\n")))


def test_what_cannot_be_read_line_by_line_names_the_cure():
    with pytest.raises(InputError, match="iconv -f UTF-16 -t UTF-8"):
        list(follow(["y\n1\n".encode("utf-16")]))
    with pytest.raises(InputError, match="write one object per line"):
        list(follow([b'[{"y": 1}]\n']))


def test_a_long_cell():
    assert list(follow([b"a,y\n", b"x" * 200_000 + b",1\n"])) == [1.0]
