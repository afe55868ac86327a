"""Filters of system calls: what no worker needs is refused with EPERM.

The filter is a list of comparisons in the kernel's classic BPF. Calls of another architecture end the process, because
their numbers mean something else. Sources: ``<linux/seccomp.h>``, ``<linux/filter.h>``, the kernel's tables of calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import Final

from stepcore.isolation.kernel import CLONE_NEW, CLONE_THREAD, IS_LINUX, MACHINE, syscall
from stepcore.isolation.policy import Isolation

_SET_MODE_FILTER: Final = 1
_AUDIT_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP: Final = {"x86_64": 317, "aarch64": 277}
_X32: Final = 0x40000000  # bit of the numbers of x86_64's second table

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15
_JUMP_GREATER_EQUAL: Final = 0x35
_JUMP_ANY_BIT: Final = 0x45
_AND: Final = 0x54
_RETURN: Final = 0x06
_KILL: Final = 0x80000000
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_NR, _ARCH = 0, 4

_SOCK_STREAM: Final = 1
_SOCK_SEQPACKET: Final = 5
_SOCK_TYPE_MASK: Final = 0xF
# IPv4, IPv6, and the routing tables that looking up names needs. No unix sockets: behind them are the user's services.
_NET_FAMILIES: Final = (2, 10, 16)
# TIOCSTI and TIOCLINUX type into the user's terminal; FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION (with
# ext4's own) and FS_IOC_ENABLE_VERITY change files that may only be read.
_COMMANDS: Final = (0x5412, 0x541C, 0x40086602, 0x401C5820, 0x40087602, 0x40086604, 0x40806685, 0x8901, 0x8902)
# F_SETOWN and F_SETOWN_EX, as FIOSETOWN and SIOCSPGRP above, let the kernel send signals to other processes. F_SETLEASE
# lets everybody else who opens a file wait, F_NOTIFY tells what happens in a folder.
_FILE_COMMANDS: Final = (8, 15, 1024, 1026)

# name: (x86_64, aarch64); -1 where the architecture has no such call.
_NUMBERS: Final[dict[str, tuple[int, int]]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467), "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "acct": (163, 89), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "statmount": (457, 457), "listmount": (458, 458),
    # the kernel
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142), "syslog": (103, 116),
    "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1), "uselib": (134, -1), "personality": (135, 92),
    "vhangup": (153, 58), "lsm_set_self_attr": (460, 460),
    # the machine's clock and name
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162),
    # owners of files
    "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1), "fchownat": (260, 54),
    # with conditions, or in some profiles only
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "socketpair": (53, 199), "ioctl": (16, 29),
    "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "utime": (132, -1),
    "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "mknod": (133, -1), "mknodat": (259, 33),
    "setpriority": (141, 140), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30), "setsid": (112, 157),
    "file_setattr": (469, 469), "prlimit64": (302, 261), "mmap": (9, 222), "memfd_create": (319, 279),
    "fcntl": (72, 25),
    "memfd_secret": (447, 447), "map_shadow_stack": (453, 453), "vmsplice": (278, 75),
}  # fmt: skip

_NEVER: Final = tuple(_NUMBERS)[: tuple(_NUMBERS).index("clone")]
_NETWORK: Final = ("connect", "bind", "listen", "accept", "accept4")
# Memory that is no file's and that no limit of a process counts: what a map with MAP_ANONYMOUS and MAP_SHARED has, and
# one that grows like a stack (MAP_GROWSDOWN).
_SHARED_ANONYMOUS: Final = 0x21
_GROWS_DOWN: Final = 0x100
_SHARED: Final = ("shmget", "shmat", "msgget", "semget", "mq_open")
# What vmsplice put into a pipe stays there, a large page as a whole, when no process maps it any more.
_WITHOUT_FILE: Final = ("memfd_create", "memfd_secret", "map_shadow_stack", "vmsplice")
_PROGRAMS: Final = ("execve", "execveat", "fork", "vfork")
# Numbers of processes are reused, and other processes of the user run under the same user id.
_SIGNALS: Final = ("rt_sigqueueinfo", "rt_tgsigqueueinfo", "tkill", "pidfd_open", "pidfd_send_signal")
_OF_PROCESSES: Final = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")
_ATTRIBUTES: Final = (
    "chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr",
    "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "setxattrat", "removexattrat", "mknod", "mknodat",
    "file_setattr",
)  # fmt: skip
_SCHEDULING: Final = ("sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set", "setpriority")


def available() -> bool:
    """Return whether this kernel takes filters, and one can be made for this machine."""
    if not (IS_LINUX and sys.maxsize > 2**32 and MACHINE in _AUDIT_ARCH):
        return False
    try:  # without a filter: a kernel that knows the operation complains about the address only
        syscall("seccomp", _SECCOMP[MACHINE], _SET_MODE_FILTER, 0, None)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


def restrict(isolation: Isolation, guardian: int = 0) -> None:
    """Refuse this thread, and what it starts from now on, all calls that ``isolation`` does not need; for good.

    ``guardian`` is a process that may be sent no signals; 0 where it cannot be seen. Needs ``no_new_privs``.

    Raises:
        OSError: the kernel refuses it.
    """
    code = b"".join(struct.pack("=HBBI", *step) for step in program(isolation, MACHINE, os.getpid(), guardian))
    steps = ctypes.create_string_buffer(code, len(code))
    description = struct.pack("@HP", len(code) // 8, ctypes.addressof(steps))
    syscall("seccomp", _SECCOMP[MACHINE], _SET_MODE_FILTER, 0, ctypes.c_char_p(description))


def numbers(machine: str) -> dict[str, int]:
    """Return the numbers of the calls that a filter looks at, by their names."""
    column = tuple(_AUDIT_ARCH).index(machine)
    return {name: found[column] for name, found in _NUMBERS.items() if found[column] >= 0}


class _Steps:
    """A filter in the making; each method takes the call whose number is loaded."""

    def __init__(self, machine: str) -> None:
        self.steps: list[tuple[int, int, int, int]] = []
        self._numbers = numbers(machine)

    def add(self, code: int, value: int, then: int = 0, otherwise: int = 0) -> None:
        self.steps.append((code, then, otherwise, value & 0xFFFFFFFF))

    def refuse(self, name: str, error: int = errno.EPERM) -> None:
        """Refuse a call whatever its arguments are."""
        number = self._numbers.get(name)
        if number is not None:
            self.add(_JUMP_EQUAL, number, 0, 1)
            self.add(_RETURN, _ERRNO | error)

    def argument(self, name: str, index: int, body: list[tuple[int, int, int, int]]) -> None:
        """Run ``body`` on the lower half of an argument of the call ``name``; it decides, or falls off its end."""
        number = self._numbers.get(name)
        if number is not None:
            self.add(_JUMP_EQUAL, number, 0, len(body) + 2)
            self.add(_LOAD, 16 + 8 * index)
            self.steps.extend((code, then, otherwise, value & 0xFFFFFFFF) for code, value, then, otherwise in body)
            self.add(_RETURN, _ALLOW)

    def only(self, name: str, index: int, values: tuple[int, ...], mask: int | None = None) -> None:
        """Refuse a call unless the lower half of an argument is one of ``values``."""
        body = [(_AND, mask, 0, 0)] if mask is not None else []
        for place, value in enumerate(values):
            body.append((_JUMP_EQUAL, value, len(values) - place, 0))
        body.append((_RETURN, _ERRNO | errno.EPERM, 0, 0))
        self.argument(name, index, body)

    def unless(self, name: str, index: int, values: tuple[int, ...]) -> None:
        """Refuse a call if the lower half of an argument is one of ``values``."""
        refused = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
        self.argument(name, index, [step for value in values for step in ((_JUMP_EQUAL, value, 0, 1), refused)])


def program(isolation: Isolation, machine: str, pid: int, guardian: int = 0) -> list[tuple[int, int, int, int]]:
    """Return the filter as a list of (code, jump if true, jump if false, value)."""
    is_text = isolation.profile == "text"
    made = _Steps(machine)
    made.add(_LOAD, _ARCH)
    made.add(_JUMP_EQUAL, _AUDIT_ARCH[machine], 1, 0)
    made.add(_RETURN, _KILL)
    made.add(_LOAD, _NR)
    if machine == "x86_64":
        made.add(_JUMP_GREATER_EQUAL, _X32, 0, 1)
        made.add(_RETURN, _KILL)
    for name in (*_NEVER, *_SCHEDULING, *_SHARED):
        made.refuse(name)
    for name in _WITHOUT_FILE:  # as if the kernel had none: libraries then use a file
        made.refuse(name, errno.ENOSYS)
    if not isolation.network:
        for name in ("socket", *_NETWORK):
            made.refuse(name)
    else:
        made.only("socket", 0, _NET_FAMILIES)
    if is_text:
        for name in (*_PROGRAMS, *_SIGNALS, *_ATTRIBUTES, "setsid"):
            made.refuse(name)
        made.only("kill", 0, (pid, -pid))
        made.only("tgkill", 0, (pid,))
    elif guardian:
        made.refuse("pidfd_send_signal")  # a folder of /proc names a process, too
        for name in _OF_PROCESSES:
            made.unless(name, 0, (guardian, -guardian, -1))
    made.unless("fcntl", 1, _FILE_COMMANDS)
    for name in ("prlimit64", "sched_setaffinity"):
        made.only(name, 0, (0, pid))
    # A pair of datagram sockets can still address others.
    made.only("socketpair", 1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPE_MASK)
    made.refuse("clone3", errno.ENOSYS)  # its flags are in memory, where no filter looks; the C library then uses clone
    refused = (_RETURN, _ERRNO | errno.EPERM, 0, 0)
    namespaces = [(_JUMP_ANY_BIT, CLONE_NEW, 0, 1), refused]
    if is_text:
        namespaces += [(_JUMP_ANY_BIT, CLONE_THREAD, 1, 0), refused]
    made.argument("clone", 0, namespaces)
    maps = [
        (_JUMP_ANY_BIT, _GROWS_DOWN, 3, 0), (_AND, _SHARED_ANONYMOUS, 0, 0),
        (_JUMP_EQUAL, _SHARED_ANONYMOUS, 1, 0), (_RETURN, _ALLOW, 0, 0), refused,
    ]  # fmt: skip
    made.argument("mmap", 3, maps)
    made.unless("ioctl", 1, _COMMANDS)
    made.add(_RETURN, _ALLOW)
    return made.steps
