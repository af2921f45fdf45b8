"""Rows in and out: CSV, JSON Lines, Parquet, data frames, pipes; columns, clocks and errors."""

from calibrant.tables.atomic import replacing as replacing
from calibrant.tables.errors import InputError as InputError
from calibrant.tables.files import read as read
from calibrant.tables.live import follow as follow
from calibrant.tables.row_errors import RowError as RowError
from calibrant.tables.table import Column as Column
from calibrant.tables.table import Table as Table
from calibrant.tables.writing import write as write
