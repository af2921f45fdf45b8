"""Limits of what a client may send."""

#: Rows of one request's list, and of one batch of NDJSON.
MOST_ROWS = 10_000
#: Characters of an id, of a group and of a key.
LONGEST_ID = 200
#: Bytes of a body that is read as a whole, and of one line of NDJSON.
MOST_BYTES = 8 * 2**20
LONGEST_LINE = 4096
#: Rows that may be queued; more are refused for the moment.
MOST_QUEUED = 200_000
#: Ids that one request erases.
MOST_ERASED = 100
#: Classes of a stream.
MOST_CLASSES = 1000
#: Keys that can be paged through.
MOST_KEYS = 2**32
#: Streams of one service.
MOST_STREAMS = 10_000
#: A stream's name: it is used in addresses, files and labels of metrics.
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME_IN_WORDS = "1 to 100 letters, digits, dots, dashes or underscores, a letter or digit first"
#: Seconds by which a row may be ahead of the server's clock.
AHEAD = 86_400.0
#: Seconds from 1970 to the years 1 and 9999.
EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
