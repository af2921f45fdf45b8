"""Small files as users have them: what is read from each, or the remedy that the error names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
from typing import NamedTuple

import pyarrow

NAN = math.nan
SCORES, OUTCOMES = [0.25, 0.5, 0.75], [1.0, 0.0, 1.0]
PLAIN = "day,score,y\nmon,0.25,1\ntue,0.5,0\nwed,0.75,1\n"
COMMAS = "day;score;y\nmon;0,25;1\ntue;0,5;0\nwed;0,75;1\n"
OBJECTS = [f'{{"score": {s}, "y": {y:.0f}}}' for s, y in zip(SCORES, OUTCOMES, strict=True)]


def packed_zstd(text: str) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text.encode())
    return sink.getvalue().to_pybytes()


def outcomes(*cells: str) -> str:
    """A file with these cells as outcomes."""
    return "score,y\n" + "".join(f"0.5,{cell}\n" for cell in cells)


def scores(*cells: str) -> str:
    """A file with these cells as scores, between semicolons."""
    return "score;y\n" + "".join(f"{cell};1\n" for cell in cells)


class Good(NamedTuple):
    """A file, and what is read from it."""

    content: str | bytes
    outcomes: list[float] = OUTCOMES
    scores: list[float] = SCORES
    delimiter: str | None = None
    positive: str | None = None
    kind: str = "probability"


HALVES = [0.5, 0.5]
GOOD = {
    # what separates the columns
    "commas.csv": Good(PLAIN),
    "semicolons.csv": Good(PLAIN.replace(",", ";")),
    "tabs.csv": Good(PLAIN.replace(",", "\t")),
    "tabs.tsv": Good(PLAIN.replace(",", "\t")),
    "bars.csv": Good(PLAIN.replace(",", "|")),
    "tabs.txt": Good(PLAIN.replace(",", "\t")),
    "no suffix": Good(PLAIN.replace(",", ";")),
    "spaces, said.csv": Good(PLAIN.replace(",", " "), delimiter=" "),
    "carets, said.csv": Good(PLAIN.replace(",", "^"), delimiter="^"),
    "tab, said.csv": Good(PLAIN.replace(",", "\t"), delimiter="tab"),
    "declared.csv": Good("sep=;\r\n" + PLAIN.replace(",", ";")),
    "a comma in a name.csv": Good('"day, or so";score;y\nmon;0.25;1\ntue;0.5;0\nwed;0.75;1\n'),
    "a bar in a name.csv": Good("day|UTC,score,y\nmon,0.25,1\ntue,0.5,0\nwed,0.75,1\n"),
    "bars in cells.csv": Good("day,score,y\na|b|c,0.25,1\na|b,0.5,0\na,0.75,1\n"),
    "semicolons in cells.csv": Good('day,score,y\n"a;b",0.25,1\n;,0.5,0\n;;,0.75,1\n'),
    "ambiguous, said.csv": Good("a,b;score;y\n1,2;0.25;1\n", [1.0], [0.25], delimiter=";"),
    # decimal commas
    "decimal commas.csv": Good(COMMAS),
    "decimal commas.tsv": Good(COMMAS.replace(";", "\t")),
    "decimal commas and bars.csv": Good(COMMAS.replace(";", "|")),
    "commas in one column.csv": Good(
        "p;score;y\n0,1;0.25;1\n0,2;0.5;0\n0,3;0.75;1\n"
    ),
    "some whole.csv": Good(scores("0", "0,5", "1"), [1, 1, 1], [0, 0.5, 1]),
    "no zero.csv": Good(scores(",5", "1,"), [1, 1], [0.5, 1]),
    "comma and exponent.csv": Good(scores("2,5e-1"), [1], [0.25]),
    "quoted commas.csv": Good('score;y\n"0,5";"1"\n', [1], [0.5]),
    "margins with commas.csv": Good(scores("-3,5", "+12,25"), [1, 1], [-3.5, 12.25], kind="margin"),
    "one column with commas.csv": Good("score;y\n0,5;0,25\n", [0.25], [0.5]),
    # bytes
    "mark.csv": Good(b"\xef\xbb\xbf" + PLAIN.encode()),
    "mark and quotes.csv": Good(b'\xef\xbb\xbf"score";"y"\n0,5;1\n', [1], [0.5]),
    "utf-16.csv": Good(PLAIN.encode("utf-16")),
    "utf-16 of a spreadsheet.txt": Good(
        b"\xff\xfe" + COMMAS.replace(";", "\t").replace("\n", "\r\n").encode("utf-16-le")
    ),
    "utf-16 big.csv": Good(b"\xfe\xff" + PLAIN.encode("utf-16-be")),
    "windows.csv": Good(PLAIN.replace("\n", "\r\n")),
    "old mac.csv": Good(PLAIN.replace("\n", "\r")),
    "no end.csv": Good(PLAIN.rstrip()),
    "blank lines.csv": Good("\n\n" + PLAIN.replace("\n", "\n\n")),
    "spaces.csv": Good("day , score, y \nmon, 0.25 , 1\ntue,0.5 ,0\nwed, 0.75,1 \n"),
    "long cell.csv": Good(f"note,score,y\n{'x' * 200_000},0.25,1\n", [1], [0.25]),
    "lines in cells.csv": Good('note,score,y\n"a\nb",0.25,1\n', [1], [0.25]),
    # missing outcomes
    "missing.csv": Good(
        "score,y\n" + "".join(f"0.5,{w}\n" for w in ["", " ", "NA", "N/A", "n/a", "NaN", "nan"])
        + "".join(f"0.5,{w}\n" for w in ["null", "NULL", "None", "-", "1"]),
        [NAN] * 11 + [1], [0.5] * 12,
    ),
    "missing among words.csv": Good(outcomes("yes", "NA"), [1, NAN], HALVES),
    "missing with commas.csv": Good("score;y\n0,5;\n0,5;1\n", [NAN, 1], HALVES),
    "a group called NA.csv": Good("group,score,y\nNA,0.5,1\n", [1], [0.5]),
    # outcomes in words
    "true.csv": Good(outcomes("true", "FALSE"), [1, 0], HALVES),
    "t.csv": Good(outcomes("t", "F"), [1, 0], HALVES),
    "yes.csv": Good(outcomes("Yes", "no"), [1, 0], HALVES),
    "y.csv": Good(outcomes("Y", "n"), [1, 0], HALVES),
    "words and numbers.csv": Good(outcomes("yes", "0"), [1, 0], HALVES),
    "floats.csv": Good(outcomes("1.0", "0.0"), [1, 0], HALVES),
    "fraud.csv": Good(outcomes("fraud", "fine"), [1, 0], HALVES, positive="fraud"),
    "three values.csv": Good(
        outcomes("fraud", "fine", "", "odd"), [1, 0, NAN, 0], [0.5] * 4, positive="fraud"
    ),
    "minus one.csv": Good(outcomes("-1", "1"), [0, 1], HALVES, positive="1"),
    "minus one as a float.csv": Good(outcomes("-1.0", "1.0"), [0, 1], HALVES, positive="1"),
    "one and two.csv": Good(outcomes("1", "2"), [0, 1], HALVES, positive="2"),
    "reversed.csv": Good(outcomes("1", "0"), [0, 1], HALVES, positive="0"),
    "no as positive.csv": Good(outcomes("yes", "no"), [0, 1], HALVES, positive="no"),
    # JSON
    "lines.jsonl": Good("\n".join(OBJECTS)),
    "array.json": Good(f"[{', '.join(OBJECTS)}]"),
    "tall array.json": Good("[\n  " + ",\n  ".join(OBJECTS) + "\n]\n"),
    "lines.json": Good("\n".join(OBJECTS)),
    "array.jsonl": Good(f"[{', '.join(OBJECTS)}]"),
    "array without suffix": Good(f" [{', '.join(OBJECTS)}]"),
    "array with a mark.json": Good(b"\xef\xbb\xbf[" + ",".join(OBJECTS).encode() + b"]"),
    "words.json": Good('[{"score": 0.5, "y": "fraud"}, {"score": "0.5", "y": "ok"}]', [1, 0],
                       HALVES, positive="fraud"),
    "missing.json": Good('[{"score": 0.5, "y": NaN}, {"score": 0.5}, {"score": 1, "y": true}]',
                         [NAN, NAN, 1], [0.5, 0.5, 1]),
    # packed
    "a.csv.gz": Good(gzip.compress(PLAIN.encode())),
    "a.csv.bz2": Good(bz2.compress(PLAIN.encode())),
    "a.csv.xz": Good(lzma.compress(PLAIN.encode())),
    "a.csv.zst": Good(packed_zstd(PLAIN)),
    "a.json.xz": Good(lzma.compress(f"[{', '.join(OBJECTS)}]".encode())),
    "a.tsv.bz2": Good(bz2.compress(PLAIN.replace(",", "\t").encode())),
    "packed though not named so.csv": Good(bz2.compress(COMMAS.encode())),
    "a column called BZh.csv": Good("BZh,score,y\n1,0.5,1\n", [1], [0.5]),
}  # fmt: skip

BAD = {
    "two delimiters.csv": ("a,score;y\n1,0.5;1\n", "separated by ',' or by ';': say which (--del"),
    "a cut row.csv": (PLAIN[:-4], "separated by ','; is the file cut short?"),
    "other delimiter.csv": (PLAIN.replace(",", "^"), "'day^score^y', separated by ','"),
    "decimal commas.csv": (scores('"0,5"').replace(";", ","), "need columns separated by ';'"),
    "bare decimal commas.csv": ("y\n0,5\n", "for decimal commas say --delimiter ';'"),
    "both marks.csv": (scores("0.5", "0,5"), "with decimal commas or with decimal points"),
    "thousands.csv": (scores("1.234,5"), "without marks between thousands"),
    "percent.csv": (scores("25%"), "write 0.25 for 25%"),
    "underscore.csv": (scores("0_1"), "got '0_1', must be a finite number"),
    "other digits.csv": (scores("٠.٥"), "must be a finite number"),
    "hexadecimal.csv": (scores("0x1"), "must be a finite number"),
    "infinite.csv": (scores("inf"), "must be a finite number"),
    "missing score.csv": (scores("0.5", "NA"), "line 3, column 'score': the value is missing"),
    "fraud.csv": (outcomes("fraud"), "name the one that counts as 1 (--positive)"),
    "minus one.csv": (outcomes("-1", "1"), "name the one that counts as 1 (--positive)"),
    "maybe.csv": (outcomes("yes", "maybe"), "name the one that counts as 1 (--positive)"),
    "no names.csv": ("0.5,1\n0.5,0\n", "add a line of names"),
    "comment.csv": ("# made today\n" + PLAIN, "remove the lines that begin with '#'"),
    "latin.csv": ("score,y,ü\n".encode("latin-1"), "iconv -f WINDOWS-1252 -t UTF-8"),
    "no mark.csv": (PLAIN.encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8"),
    "book.xlsx": (b"PK\x03\x04 xl/workbook.xml", "save the sheet as CSV"),
    "book though not named so.csv": (b"PK\x03\x04 xl/workbook.xml", "save the sheet as CSV"),
    "book.xls": (b"\xd0\xcf\x11\xe0", "save the sheet as CSV"),
    "book.ods": (b"PK\x03\x04", "save the sheet as CSV"),
    "a.zip": (b"PK\x03\x04", "unpack it (unzip)"),
    "columns.json": ('{"score": [0.5], "y": [1]}', "write one object per line, or one array"),
    "tall object.json": ('{\n "score": 0.5\n}', "write one object per line, or one array"),
    "numbers.json": ("[1, 0]", "write one object per line, or one array"),
    "empty.json": ("[]", "the array is empty"),
    "cut.json": ('[{"score": 0.5', "is not a whole JSON array"),
    "key twice.json": ('[{"y": 1, "y": 0}]', "duplicate key 'y'"),
    "cut.csv.bz2": (bz2.compress(PLAIN.encode())[:-3], "the file is cut short"),
    "cut.csv.xz": (lzma.compress(PLAIN.encode())[:-3], "the file is cut short"),
    "cut.csv.zst": (packed_zstd(PLAIN)[:-3], "the file is cut short"),
    "plain.csv.xz": (PLAIN, "the name says xz, but the content is not xz"),
}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
