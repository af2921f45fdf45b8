"""One stream: its definition, the engine that a log drives, and what is replayed and shown of it.

Read `definition`, then `engine`, `stream` and `owner`, the thread that works on all streams.
`snapshots` bound how much a start replays, `verification` replays everything, and `views` are what
the API shows.
"""
