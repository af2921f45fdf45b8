"""What others do, behind the same contract.

Each class names the source of its rule. They are here to be compared with: none of them adapts
to how the world changes.
"""

from calibrant.forecasters.rivals.foster_hart import FosterHart as FosterHart
from calibrant.forecasters.rivals.running_mean import RunningMean as RunningMean
