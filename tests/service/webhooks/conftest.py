"""What the tests of webhooks share: a receiver on this machine."""

import pytest

from service.webhooks.receiver import Receiver


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.close()
