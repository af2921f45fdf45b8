"""scikit-learn classifiers that stay calibrated, and their diagrams. Needs the extra ``sklearn``.

`OnlineCalibratedClassifier`, in `classifier`, wraps a classifier, or a frozen one that is deployed
already, and follows it batch by batch. `OnlineCalibratedRegressor`, in `regressor`, does so for the
prediction intervals of a regressor. `CalibrationDisplay`, in `display`, draws what was predicted
beside what was observed.
"""

try:
    import sklearn.frozen  # noqa: F401 - the newest part that is needed
except ImportError as error:
    raise ImportError(
        "calibrant.integrations.sklearn needs scikit-learn 1.6 or newer: "
        "pip install 'calibrant[sklearn]'"
    ) from error

from calibrant.integrations.sklearn.classifier import (
    OnlineCalibratedClassifier,
)
from calibrant.integrations.sklearn.display import CalibrationDisplay
from calibrant.integrations.sklearn.regressor import (
    OnlineCalibratedRegressor,
)

__all__ = [
    "CalibrationDisplay",
    "OnlineCalibratedClassifier",
    "OnlineCalibratedRegressor",
]
