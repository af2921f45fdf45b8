"""One stream: its definition, its engine, which is driven by a log, and its views.

Read `definition`, then `engine`, `stream` and `owner`, the thread that processes all streams.
`snapshots` limit how much is replayed at a start, `verification` replays everything, and `views`
are what the API returns.
"""
