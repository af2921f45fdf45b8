"""One small table, in the formats that it can be read from."""

import io
import json

import pyarrow
import pyarrow.parquet

DAYS, SCORES, OUTCOMES = ["mon", "tue", "wed"], [0.25, 0.5, 1.0], [1, 0, 1]
CSV = "day,score,outcome\nmon,0.25,1\ntue,0.5,0\nwed,1.0,1\n"
JSONL = "".join(
    json.dumps({"day": d, "score": s, "outcome": y}) + "\n"
    for d, s, y in zip(DAYS, SCORES, OUTCOMES, strict=True)
)
FRAME = {"day": DAYS, "score": SCORES, "outcome": OUTCOMES}


def parquet_bytes(columns: dict[str, list[object]] = FRAME) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()
