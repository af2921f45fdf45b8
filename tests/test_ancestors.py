"""A public class is made of few parts: a reader must not visit many places to know one."""

import importlib
import inspect
import pkgutil

import calibrant

#: A kernel, with what it derives from, counts as one.
KERNELS = "calibrant._kernels"
MOST = 3


def public_modules():
    """Return the package, and those in it whose names say that they are for users."""
    found = [calibrant]
    for module in pkgutil.walk_packages(calibrant.__path__, "calibrant."):
        if module.ispkg and not any(part.startswith("_") for part in module.name.split(".")):
            try:
                found.append(importlib.import_module(module.name))
            except ImportError as error:
                if "pip install" not in str(error):  # else an extra is not there
                    raise
    return found


def exported_classes():
    """Return the classes of ours that public packages export."""
    return {
        each
        for module in public_modules()
        for name, each in inspect.getmembers(module, inspect.isclass)
        if name[0] != "_" and each.__module__.startswith("calibrant.")
    }


def ancestors(each):
    """Return what a class derives from, of ours."""
    ours = [base for base in each.__mro__[1:] if base.__module__.startswith("calibrant.")]
    kernels = [base for base in ours if base.__module__.startswith(KERNELS)]
    return [base for base in ours if base not in kernels] + kernels[:1]


def test_no_public_class_has_more_than_three_ancestors():
    classes = exported_classes()
    assert {calibrant.Fleet, calibrant.Recalibrator, calibrant.Zoom, calibrant.Monitor} <= classes
    many = {
        each.__qualname__: [base.__name__ for base in ancestors(each)]
        for each in classes
        if len(ancestors(each)) > MOST
    }
    assert many == {}
