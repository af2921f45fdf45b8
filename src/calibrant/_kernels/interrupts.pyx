"""Ctrl-C is deferred while state changes.

Compiled code is interrupted only where it checks for signals. If Python code runs
between two changes that belong together (groups, monitors, functions of NumPy that are written in
Python), Ctrl-C could occur between them. So after `hold`, SIGINT is only recorded, and `release` raises
it: the call is then complete, and interrupted afterwards. Long calls do not hold signals:
they check for them where they can go back (`all_or_nothing`).

SIGINT is recorded by a handler that runs first and passes the signal on unless signals are held:
changing handlers in each step would cost as much as the step. It is installed in front of the
handler that is found first: Python's, or one that another library (polars) installed in front of
Python's. `signal.signal` installs Python's handler again; so `hold` checks for this, at most a few
hundred times a second. A handler that another library installs later is left alone: it calls ours,
or is removed soon.

Only the main thread runs signal handlers, so only this thread holds them. Windows has no `sigaction`:
there, a call with groups or monitors can still be interrupted in between.
"""

from cpython.exc cimport PyErr_CheckSignals

import os
import signal
import threading

cdef extern from *:
    """
    #ifdef _WIN32
    static volatile int signals_held = 0, signals_came = 0;
    static int signals_look(void) { return 0; }
    static void signals_place(void) {}
    static void signals_raise(void) {}
    #else
    #include <signal.h>
    #include <time.h>
    static volatile sig_atomic_t signals_held = 0, signals_came = 0;
    static struct sigaction signals_next; /* the handler that signals are passed on to */
    static void (*signals_python)(int) = NULL;
    static int signals_placed = 0;
    static time_t signals_second = -1;
    static long signals_tick = -1;

    static void signals_handle(int number, siginfo_t *info, void *context) {
        if (signals_held)
            signals_came = 1;
        else if (signals_next.sa_flags & SA_SIGINFO)
            signals_next.sa_sigaction(number, info, context);
        else
            signals_next.sa_handler(number);
    }

    /* Whether it is time to check the handler. */
    static int signals_look(void) {
        struct timespec now;
    #ifdef CLOCK_MONOTONIC_COARSE
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    #else
        clock_gettime(CLOCK_MONOTONIC, &now);
        now.tv_nsec -= now.tv_nsec % 4000000;
    #endif
        if (now.tv_nsec == signals_tick && now.tv_sec == signals_second)
            return 0;
        signals_tick = now.tv_nsec;
        signals_second = now.tv_sec;
        return 1;
    }

    /* Python's handler takes nothing but the number; it is the first such handler. */
    static void signals_place(void) {
        struct sigaction now;
        if (sigaction(SIGINT, NULL, &now) != 0)
            return;
        if (now.sa_flags & SA_SIGINFO) {
            if (signals_placed)
                return;
        } else {
            if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN
                    || (signals_python != NULL && now.sa_handler != signals_python))
                return;
            signals_python = now.sa_handler;
        }
        signals_next = now;
        signals_placed = 1;
        now.sa_sigaction = signals_handle;
        now.sa_flags |= SA_SIGINFO;
        sigaction(SIGINT, &now, NULL);
    }

    static void signals_raise(void) { raise(SIGINT); }
    #endif
    """
    int signals_held, signals_came
    int signals_look() noexcept nogil
    void signals_place() noexcept nogil
    void signals_raise() noexcept nogil

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept nogil

cdef unsigned long main = threading.main_thread().ident
cdef Py_ssize_t depth = 0


def _forked():
    """Continue in a child, which has only the thread that forked."""
    global main, depth
    global signals_held
    if PyThread_get_thread_ident() != main:
        main, depth, signals_held = PyThread_get_thread_ident(), 0, 0


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_forked)


cdef int hold() except -1:
    """Defer SIGINT until `release`; an earlier one is raised, and nothing is held."""
    global depth, signals_held
    if PyThread_get_thread_ident() != main:
        return 0
    if depth:
        depth += 1
        return 0
    if signals_look() and callable(signal.getsignal(signal.SIGINT)):
        signals_place()
    depth = signals_held = 1
    try:
        PyErr_CheckSignals()
    except BaseException:
        release()
        raise
    return 0


cdef int release() noexcept:
    """End a `hold`; a SIGINT that arrived meanwhile is raised now."""
    global depth, signals_held, signals_came
    if PyThread_get_thread_ident() != main:
        return 0
    depth -= 1
    if depth == 0:
        signals_held = 0
        if signals_came:
            signals_came = 0
            signals_raise()
    return 0


cdef class Uninterrupted:
    """The same for Python code: ``with uninterrupted:``."""

    def __enter__(self):
        hold()

    def __exit__(self, *error):
        release()


uninterrupted = Uninterrupted()


def is_held():
    """Return whether SIGINT is deferred now, in this thread."""
    return depth > 0 and PyThread_get_thread_ident() == main
