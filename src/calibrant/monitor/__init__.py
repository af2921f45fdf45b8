"""Is it still calibrated? An alarm that may be looked at every round.

`Monitor` watches predictions and their outcomes. It rings once an episode, says in which range of
predictions or in which group, in which direction and since when, and notices when the episode is
over. How often it rings falsely is bounded, however often one looks: see docs/monitor.md.
`gain_evidence` asks another question: whether recalibrated probabilities are better than the scores
they came from. `SideBySide` is what ``Recalibrator(monitor=True)`` watches with.

Read `monitor` (the rounds), `episodes` (what is found), `bands` (what is known of each range), then
`arrivals` (outcomes that come late), `clock` (times) and `saving`.
"""

from calibrant.monitor.bands import Band as Band
from calibrant.monitor.episodes import Episode as Episode
from calibrant.monitor.gain import gain_evidence as gain_evidence
from calibrant.monitor.monitor import Monitor as Monitor
from calibrant.monitor.numbers import NumberEpisode as NumberEpisode
from calibrant.monitor.numbers import NumberMonitor as NumberMonitor
from calibrant.monitor.side_by_side import SideBySide as SideBySide
