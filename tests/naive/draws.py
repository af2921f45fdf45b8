"""The draws, as whole numbers in plain Python: SplitMix64 as its authors print it, stepped."""

MASK = 2**64 - 1


def scramble(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Draws:
    """One uniform number per round; `skip` passes a round that needs none."""

    def __init__(self, seed):
        self.state = scramble(seed)

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return (scramble(self.state) >> 11) / 2**53

    def choose(self, points, weights):
        """Return the drawn point of a distribution; every round uses up one number."""
        u = self.uniform()
        for point, weight in zip(points[:-1], weights[:-1], strict=True):
            u -= weight
            if u < 0:
                return point
        return points[-1]
