"""A stream's rows as a Parquet file, streamed from the store while it is in use."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from calibrant.service.api.requests import Name, service_of
from calibrant.service.problems import Problem
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.keys import keys_of_text

router = APIRouter(prefix="/v1/streams")

PARQUET = "application/vnd.apache.parquet"
#: Rows of one row group.
PORTION = 50_000
TYPES = {
    "sequence": "int64", "id": "string", "score": "double", "by": "string", "key": "string",
    "at": "double", "due": "double", "deadline": "double", "probability": "double",
    "smooth": "double", "outcome": "double", "outcome_at": "double", "outcome_sequence": "int64",
}  # fmt: skip
KEY, SCORE = list(TYPES).index("key"), list(TYPES).index("score")


@router.get(
    "/{name}/export",
    response_class=Response,
    responses={200: {"content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def get_export(name: Name, request: Request) -> Response:
    """All predictions with the outcomes that came, as a Parquet file."""
    service = service_of(request)
    stream = service.owner.stream(name)
    try:
        import pyarrow  # noqa: F401, PLC0415 - only this route needs it
    except ImportError:
        raise Problem(503, "an export needs pyarrow: pip install 'calibrant[parquet]'") from None
    rows = service.store.export(stream.number, PORTION)
    return StreamingResponse(
        parquet(rows, stream.definition),
        media_type=PARQUET,
        headers={"content-disposition": f'attachment; filename="{name}.parquet"'},
    )


def parquet(portions: Iterator[list[tuple[Any, ...]]], definition: Definition) -> Iterator[bytes]:
    """Return the pieces of a Parquet file; the columns of the stream's kind come last."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    own = definition.of_kind.exported([], [], definition)
    types = TYPES | dict.fromkeys(own, "double")
    schema = pa.schema([(name, getattr(pa, kind)() if kind != "double" else pa.float64())
                        for name, kind in types.items()])  # fmt: skip
    sink = Pieces()
    with pq.ParquetWriter(sink, schema) as writer:
        for rows in portions:
            *columns, predicted = [list(column) for column in zip(*rows, strict=True)]
            columns[KEY] = shown_keys(columns[KEY])
            columns += definition.of_kind.exported(columns[SCORE], predicted, definition).values()
            writer.write_table(pa.table(columns, schema=schema))
            yield sink.take()
    yield sink.take()


def shown_keys(keys: list[str | None]) -> list[str | None]:
    """Return keys as text: what is logged is JSON."""
    if all(key is None for key in keys):
        return keys
    return [str(key) for key in keys_of_text([key or "null" for key in keys])]


class Pieces(io.RawIOBase):
    """A file that is only written to; what was written is taken piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._written = 0

    def write(self, piece: Any) -> int:
        """Keep a piece until it is taken."""
        self._pieces.append(bytes(piece))
        self._written += len(self._pieces[-1])
        return len(self._pieces[-1])

    def take(self) -> bytes:
        """Return what was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def tell(self) -> int:
        """Return how much was written in all."""
        return self._written

    def writable(self) -> bool:
        """Whether it can be written to."""
        return True
