"""Arguments follow from the signature: kept, shown, saved, and read back; never written."""

import inspect
import pickle
from copy import deepcopy
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest

from calibrant import (
    Decider,
    Epoch,
    EventForecaster,
    Fleet,
    Interval,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
    Refined,
)
from calibrant.experiments.groups import FORECASTER_GROUPS
from calibrant.forecasters.named import FORECASTERS, make
from calibrant.forecasters.rivals import ExponentialWindow, FosterHart, RunningMean
from calibrant.partitions import Partition
from calibrant.saving import Savable


def test_arguments_can_be_read_and_not_written():
    forecaster = Interval(5, horizon=100, seed=3)
    assert (forecaster.intervals, forecaster.partition, forecaster.horizon) == (5, None, 100)
    for name in inspect.signature(Interval).parameters:
        with pytest.raises(AttributeError):
            setattr(forecaster, name, 1)


def test_a_call_that_does_not_fit_the_signature_is_refused():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'cells'"):
        FosterHart(cells=3)
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments"):
        FosterHart(3, 4)


@pytest.mark.parametrize(
    ("forecaster", "shown"),
    [
        (FosterHart(np.int64(5), seed=np.uint8(2)), "FosterHart(gaps=5, seed=2)"),
        (ExponentialWindow(np.float32(0.5)), "ExponentialWindow(halflife=0.5, seed=0)"),
        (ExponentialWindow(Fraction(1, 2)), "ExponentialWindow(halflife=0.5, seed=0)"),
        (Refined(deviation=Fraction(3, 2)), "deviation=1.5"),
        (Epoch(np.str_("kl")), "Epoch(measure='kl', seed=0)"),
        (
            Recalibrator("logit", seed=5, capacity=7),
            "Recalibrator(kind='logit', seed=5, capacity=7, when_full='expire', "
            "max_groups=1000000, silence=None, after=None, hold=None, monitor=False)",
        ),
        (
            MulticlassRecalibrator(3, "logit", seed=5, capacity=7),
            "MulticlassRecalibrator(classes=[0, 1, 2], kind='logit', seed=5, capacity=7, "
            "when_full='expire', max_groups=1000, silence=None, after=None, hold=None, "
            "monitor=False)",
        ),
    ],
)
def test_numbers_of_any_type_can_be_saved(forecaster, shown):
    assert shown in repr(type(forecaster).from_bytes(forecaster.to_bytes()))


class Shifted(FosterHart):
    """A subclass with a signature of its own, in another order."""

    def __init__(self, shift, *, gaps=4, seed=0):
        super().__init__(gaps + shift, seed=seed)


class Named(RunningMean):
    """A subclass with the signature that it inherits."""


def test_subclasses():
    forecaster = Shifted(2, seed=1)
    assert (forecaster.shift, forecaster.gaps, forecaster.seed) == (2, 4, 1)
    assert repr(Shifted.from_bytes(forecaster.to_bytes())) == "Shifted(shift=2, gaps=4, seed=1)"
    assert repr(Named(3)) == "Named(seed=3)"


class Plain(Savable):
    """Something without a kernel, which has a slot for what it was given."""

    __slots__ = ("_given",)

    def __init__(self, kind, *, size=3):
        pass


def test_a_class_without_a_kernel():
    assert Plain("a")._given == {"kind": "a", "size": 3}
    assert (Plain("a").kind, Plain("a", size=np.int8(4)).size) == ("a", 4)
    assert str(inspect.signature(Plain)) == "(kind, *, size=3)"
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'kind'"):
        Plain()


def test_names_and_groups_follow_from_the_classes():
    """The order of those that stand in the tables of the docs, whoever joins them."""
    paper = ["epoch", "epoch-kl", "interval:horizon=T", "swap:horizon=T", "refined", "restarting"]
    rivals = [
        "foster-hart:horizon=T", "running-mean", "sliding-window", "exponential-window",
        "foster-vohra:horizon=T", "foster-1999:horizon=T", "abernethy-bartlett-hazan:horizon=T",
        "k29:horizon=T", "k29-star:horizon=T", "aosa:horizon=T",
    ]  # fmt: skip
    every = ["zoom", *paper, *rivals]
    for group, known in (("all", every), ("paper", paper), ("rivals", rivals)):
        assert [spec for spec in FORECASTER_GROUPS[group] if spec in every] == known
    assert [spec.partition(":")[0] for spec in FORECASTER_GROUPS["all"]] == list(FORECASTERS)
    assert repr(make("epoch-kl", seed=2)) == repr(make("epoch:measure=kl", seed=2))


SPANS = [5, 2.5, np.int64(5), np.float32(2.5), "30d", timedelta(days=30), np.timedelta64(90, "m")]
SPANS += [timedelta(microseconds=1), np.timedelta64(1, "ns")]
WATCHES = [True, {"every": 1000}, {"every": np.int64(1000), "tolerance": np.float64(0.01)}]
ACCEPTED = [
    *((make, {"silence": 0, "after": span}) for make in (Recalibrator, Fleet) for span in SPANS),
    *((make, {"hold": span}) for make in (Recalibrator, Fleet) for span in SPANS),
    *((MulticlassRecalibrator, {"classes": 3, "hold": span}) for span in SPANS),
    *((make, {"monitor": watch}) for make in (Recalibrator, Fleet) for watch in WATCHES),
    *((EventForecaster, {"monitor": watch}) for watch in WATCHES),
    *((make, {"capacity": np.int32(7), "seed": np.uint64(7)}) for make in (Recalibrator, Fleet)),
    (EventForecaster, {"periods": np.array([7, 24]), "ahead": np.int8(2)}),
    *((Decider, {"budget": 0.1, "per": span}) for span in SPANS[4:]),
    (Decider, {"recall": 0.5, "explore": 0.1, "per": np.int64(1000), "band": np.float32(0.5)}),
]  # fmt: skip


@pytest.mark.parametrize(("make", "arguments"), ACCEPTED)
def test_what_a_constructor_accepts_is_saved_and_restored(make, arguments):
    learner = make(**arguments)
    blob = learner.to_bytes()
    for again in (make.from_bytes(blob), pickle.loads(pickle.dumps(learner)), deepcopy(learner)):
        assert again.to_bytes() == blob
        assert repr(again) == repr(learner)


@pytest.mark.parametrize("make", [Recalibrator, Fleet])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"capacity": 10**30}, "capacity must be an integer in"),
        ({"silence": 0, "after": 10**400}, "after must be a positive number"),
        ({"hold": 10**400}, "hold must be a positive number"),
        ({"hold": timedelta(0)}, "hold must be a positive number"),
        ({"hold": np.timedelta64("NaT", "s")}, "hold must be a positive number"),
        ({"seed": 10**30}, "seed must be an integer in"),
        ({"seed": np.timedelta64(90, "m")}, "seed must be an integer in"),
    ],
)
def test_numbers_beyond_any_use_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (EventForecaster, "periods"),
        (NumberRecalibrator, "bounds"),
        (MulticlassRecalibrator, "classes"),
    ],
)
def test_what_has_a_length_and_no_items_is_refused(make, name):
    with pytest.raises(ValueError, match=f"{name} must be .* got <Partition"):
        make(**{name: Partition((0.0, 0.5, 1.0))})


@pytest.mark.parametrize("name", [np.int64(3), np.uint8(3), np.str_("x")])
@pytest.mark.parametrize(
    ("make", "row"),
    [
        (Recalibrator, 0.3),
        (lambda: MulticlassRecalibrator(3, monitor=True), [0.2, 0.3, 0.5]),
        (lambda: NumberRecalibrator(monitor=True), 0.3),
    ],
)
def test_groups_with_names_of_numpy_are_saved_and_restored(make, row, name):
    learner = make()
    learner.predict(row, id=1, by=name)
    learner.predict_many([row, row], ids=[2, 3], by=[name, None])
    learner.update_many([1, 1], ids=[1, 2])
    learner.run([row], [1], by=np.array([name]))
    assert learner.groups == {name.item() if name != "x" else "x": 3}
    assert [type(each) for each in learner.groups] == [str if name == "x" else int]
    assert type(learner).from_bytes(learner.to_bytes()).to_bytes() == learner.to_bytes()
