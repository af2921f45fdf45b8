"""The same jobs without calibrant, against which it is timed."""

import numpy as np
from river.linear_model import LogisticRegression


class NumpyFosterHart:
    """Foster and Hart's forecaster with NumPy, one vectorised search a round."""

    def __init__(self, gaps, seed=0):
        self.points = np.linspace(0, 1, gaps + 1)
        self.bias = np.zeros(gaps + 1)
        self.random = np.random.default_rng(seed)
        self.at = 0

    def predict(self):
        even = np.flatnonzero(self.bias == 0)
        if len(even):
            self.at = even[0]
        else:
            low = np.flatnonzero((self.bias[:-1] < 0) & (self.bias[1:] > 0))[0]
            down, up = -self.bias[low], self.bias[low + 1]
            self.at = low + (self.random.random() >= up / (down + up))
        return self.points[self.at]

    def update(self, outcome):
        self.bias[self.at] += self.points[self.at] - outcome


class RiverPair:
    """River's logistic regression, one predict and one learn a round: the field's usual pair."""

    def __init__(self):
        self.model = LogisticRegression()
        self.features = {"a": 1.0, "b": 0.5}

    def predict(self):
        return self.model.predict_proba_one(self.features)

    def update(self, outcome):
        self.model.learn_one(self.features, bool(outcome))
