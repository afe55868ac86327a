"""What the operating system keeps away from a worker: files, network, other processes, new privileges.

Owners describe with :class:`Isolation` what a worker may do; the worker calls :func:`stepcore.isolation.enter.enter`
while it has one thread and has imported nothing of what it will run. Standard library only.

Why a layer of our own: of the bindings for Python one covers Landlock alone, in development releases up to 2025,
another wraps a libseccomp that has to be installed, and none knows namespaces; bubblewrap is a program that most
machines lack. What is needed is a dozen system calls, so they are made here through :mod:`ctypes`, one module for each
layer: :mod:`.namespaces`, :mod:`.mounts`, :mod:`.landlock`, :mod:`.seccomp`,
:mod:`.memory`. Each is used as far as the kernel grants it, and :class:`Report` says what is in force.
"""

from stepcore.isolation.policy import (
    LAYERS,
    OVER_MEMORY,
    TEXT,
    Isolation,
    IsolationLayer,
    Profile,
    Report,
    isolation_for,
    unprotected,
)

__all__ = [
    "LAYERS",
    "OVER_MEMORY",
    "TEXT",
    "Isolation",
    "IsolationLayer",
    "Profile",
    "Report",
    "isolation_for",
    "unprotected",
]
