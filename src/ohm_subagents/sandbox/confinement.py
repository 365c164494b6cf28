"""A script: become a command within limits, and with Landlock where that is asked.

`python -I -S confinement.py <policy as JSON> <program> <arguments…>`, standard library only, since it runs before each
command. The policy has `limits`, by the name of a resource, and `landlock`: the paths to `read`, to `write` and to use
as `devices`, and whether there is a `network`; null leaves the command to another mechanism.

What Landlock does not know is taken away by a filter of system calls: sockets, other processes, namespaces, keys.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from typing import Final, NoReturn

_NOT_RUN: Final = 126
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_SET_SECCOMP = 38, 24, 22
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION: Final = 0x20080522
_JOIN_SESSION_KEYRING: Final = 1

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # of Landlock, alike on all machines
_READ_FILE, _READ_DIR, _EXECUTE, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 0, 1 << 1
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_READING: Final = _READ_FILE | _READ_DIR | _EXECUTE
_OF_FILES: Final = _READ_FILE | _EXECUTE | _WRITE_FILE | _TRUNCATE | _IOCTL
_TCP: Final = 0b11
_SCOPES: Final = 0b11
"""Abstract sockets, and signals."""

_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARGUMENT = 0, 4, 16
_NEW_NAMESPACES: Final = 0x7E020000
_TYPING: Final = (0x5412, 0x541C)
"""`TIOCSTI` and `TIOCLINUX`: they type into the terminal of another."""
_UNIX_SOCKET, _VM_SOCKET = 1, 40

_REFUSED: Final = {
    "x86_64": (
        *(101, 310, 311, 165, 166, 155, 272, 308, 246, 321, 298, 323, 250, 248, 249, 29, 30, 64, 68, 240, 425),
        *(304, 163, 169, 175, 313, 176, 312),
    ),
    "aarch64": (
        *(117, 270, 271, 40, 39, 41, 97, 268, 104, 280, 241, 282, 219, 217, 218, 194, 196, 190, 186, 180, 425),
        *(265, 89, 142, 105, 273, 106, 272),
    ),
}
"""ptrace, memory of others, mounts, namespaces, kexec, bpf, perf, userfaultfd, keys, System V and POSIX queues,
io_uring; file handles, acct, reboot, modules, kcmp."""
_NUMBERS: Final = {
    "x86_64": {
        "arch": 0xC000003E,
        "socket": 41,
        "clone": 56,
        "clone3": 435,
        "ioctl": 16,
        "prlimit": 302,
        "keyctl": 250,
    },
    "aarch64": {
        "arch": 0xC00000B7,
        "socket": 198,
        "clone": 220,
        "clone3": 435,
        "ioctl": 29,
        "prlimit": 261,
        "keyctl": 219,
    },
}
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> NoReturn:
    """Confine this process, and become the command."""
    policy, command = json.loads(arguments[0]), arguments[1:]
    try:
        _limit(policy["limits"])
        _leave_keys()
        if policy["landlock"] is not None:
            _confine(policy["landlock"])
        os.execvpe(command[0], command, _environment())  # noqa: S606  no shell is what we want
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(_NOT_RUN)


def _environment() -> dict[bytes, bytes]:
    """As it was given to us: without a locale, Python adds one to `os.environ`."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  pathlib takes longer to import than all of the rest
        entries = file.read().split(b"\0")
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries) if name}


def _limit(limits: dict[str, int]) -> None:
    """Set limits, at most to those that hold already."""
    for name, value in limits.items():
        what = getattr(resource, name)
        hard = resource.getrlimit(what)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (most, most))


def _leave_keys() -> None:
    """Begin a keyring of its own: that of the session may hold the keys of the user. Not every kernel has any."""
    numbers = _NUMBERS.get(os.uname().machine)
    if numbers is not None:
        _LIBC.syscall(numbers["keyctl"], _JOIN_SESSION_KEYRING, None)


def abi() -> int:
    """Return the version of Landlock that the kernel has; 0 for none."""
    version: int = _LIBC.syscall(_CREATE, None, 0, 1)
    return max(0, version)


def is_known() -> bool:
    """Return True if the system calls of this machine can be filtered."""
    return os.uname().machine in _NUMBERS


def _confine(policy: dict[str, list[str]]) -> None:
    version, has_network = abi(), bool(policy["network"])
    handled = (1 << 13) - 1 | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled |= _IOCTL if version >= 5 else 0
    network = _TCP if version >= 4 and not has_network else 0
    ruleset = struct.pack("=QQQ", handled, network, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _called(_LIBC.syscall(_CREATE, ruleset, size, 0))
    for access, paths in (
        (_READING, policy["read"]),
        (_READING | handled & ~_IOCTL, policy["write"]),
        (_READ_FILE | _WRITE_FILE | _IOCTL, policy["devices"]),
    ):
        for path in paths:
            _permit(rules, path, access & handled)
    _drop_capabilities()
    _called(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _called(_LIBC.syscall(_RESTRICT, rules, 0))
    os.close(rules)
    _filter(has_network=has_network)


def _permit(rules: int, path: str, access: int) -> None:
    """Allow a path and all below it; one that is not there needs no permission."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(f"/proc/self/fd/{handle}"):
            access &= _OF_FILES
        _called(_LIBC.syscall(_ADD, rules, 1, struct.pack("=Qi", access, handle), 0))
    finally:
        os.close(handle)


def _drop_capabilities() -> None:
    """Give up the rights of root, for good; its files are still its own."""
    for capability in range(64):
        _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _LIBC.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)
    _called(_LIBC.capset(header, nothing))


def _filter(*, has_network: bool) -> None:
    """Refuse the system calls of which Landlock knows nothing, to this process and all that it starts."""
    machine = os.uname().machine
    numbers = _NUMBERS[machine]
    program = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, numbers["arch"]), (_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, _NR)]
    program += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _REFUSE)]
    for number in _REFUSED[machine]:
        program += _if(number, [(_RETURN, 0, 0, _REFUSE)])
    program += _if(numbers["clone3"], [(_RETURN, 0, 0, _UNKNOWN)])  # its flags cannot be read; clone is used instead
    program += _if(numbers["clone"], _on_argument(0, _ANY_BIT, _NEW_NAMESPACES))
    program += _if(numbers["ioctl"], [one for request in _TYPING for one in _on_argument(1, _EQUAL, request)])
    program += _if(numbers["prlimit"], [(_LOAD, 0, 0, _ARGUMENT), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _REFUSE)])
    families = [one for family in (_UNIX_SOCKET, _VM_SOCKET) for one in _on_argument(0, _EQUAL, family)]
    program += _if(numbers["socket"], families if has_network else [(_RETURN, 0, 0, _REFUSE)])
    program += [(_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    loaded = struct.pack("@HP", len(program), ctypes.addressof(code))
    _called(_LIBC.prctl(_PR_SET_SECCOMP, 2, loaded, 0, 0))


def _if(number: int, then: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Do this for a system call; the number is loaded again behind it."""
    return [(_EQUAL, 0, len(then) + 1, number), *then, (_LOAD, 0, 0, _NR)]


def _on_argument(index: int, test: int, value: int) -> list[tuple[int, int, int, int]]:
    """Refuse the call if the low half of an argument passes the test."""
    return [(_LOAD, 0, 0, _ARGUMENT + 8 * index), (test, 0, 1, value), (_RETURN, 0, 0, _REFUSE)]


def _called(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
