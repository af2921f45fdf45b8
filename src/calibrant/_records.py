"""Arrays of records as rows of numbers, and back.

NumPy's own functions for this live in a module that imports masked arrays, which takes a tenth as
long as the whole of NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def structured_to_unstructured(
    records: npt.NDArray[np.void], dtype: npt.DTypeLike = np.float64
) -> npt.NDArray[Any]:
    """Return one row a record: the numbers of its fields, in their order."""
    columns = [
        np.asarray(records[name], dtype).reshape(*records.shape, int(np.prod(field[0].shape)))
        for name, field in (records.dtype.fields or {}).items()
    ]
    return np.concatenate(columns, axis=-1)


def unstructured_to_structured(
    rows: npt.NDArray[Any], dtype: np.dtype[np.void]
) -> npt.NDArray[np.void]:
    """Return the records whose numbers these rows are."""
    records, at = np.empty(rows.shape[:-1], dtype), 0
    for name in dtype.names or ():
        field = records[name]  # a view, with the shape of the field
        size = int(np.prod(dtype[name].shape))
        field[...] = rows[..., at : at + size].reshape(field.shape)
        at += size
    return records
