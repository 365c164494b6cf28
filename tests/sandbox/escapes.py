"""A program that tries to get out of its sandbox in every known way, and tells what came of each.

`python escapes.py <facts as JSON>` prints the evidence of each attempt that succeeded, by name. The facts name what is
outside: `outer` with a `secret` and a repository `repo`, a process `victim`, and where it listens.
Nothing here harms a machine when it succeeds. Standard library only; each attempt is a process of its own.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
ATTEMPTS = {}
AT_FDCWD, EXCHANGE = -100, 2
MACHINE = os.uname().machine
CALLS = {
    "x86_64": {"setns": 308, "unshare": 272, "renameat2": 316, "shmget": 29, "vm_readv": 310, "pidfd": 434},
    "aarch64": {"setns": 268, "unshare": 97, "renameat2": 276, "shmget": 194, "vm_readv": 270, "pidfd": 434},
}.get(MACHINE, {})
PATIENCE_S = 5


class Outside:
    """The places that a program in a sandbox must not reach."""

    def __init__(self, facts):
        self.__dict__.update(facts)
        self.secret = f"{self.outer}/secret"
        self.repo = f"{self.outer}/repo"

    def new(self, name):
        return f"{self.outer}/{name}"


def attempt(function):
    ATTEMPTS[function.__name__.replace("_", " ")] = function
    return function


def called(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(100_000)


def written(path, mode="a"):
    with open(path, mode) as file:
        file.write("escaped")
    return "written"


def git(*words, env=None, cwd=None):
    command = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **(env or {})}, cwd=cwd, check=False)
    return done.stdout or b"done" if done.returncode == 0 else None


# Reading


@attempt
def read_a_file_by_its_path(out):
    return read(out.secret)


@attempt
def read_a_file_by_a_relative_path(out):
    return read(os.path.relpath(out.secret))


@attempt
def read_through_a_symbolic_link(out):
    os.symlink(out.secret, "link-to-read")
    return read("link-to-read")


@attempt
def read_through_a_hard_link(out):
    os.link(out.secret, "hard-link")
    return read("hard-link")


@attempt
def list_a_directory(out):
    return " ".join(os.listdir(out.outer)) if "secret" in os.listdir(out.outer) else None


@attempt
def look_up_the_size_of_a_file(out):
    return f"{os.stat(out.secret).st_size}"


@attempt
def read_the_passwords_of_the_system(_out):
    return read("/etc/shadow")


@attempt
def read_an_inherited_descriptor(out):
    found = [fd for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")]
    texts = [os.pread(fd, 1000, 0) for fd in found if os.path.isfile(f"/proc/self/fd/{fd}")]
    return next((text for text in texts if out.token.encode() in text), None)


@attempt
def read_the_environment_of_a_process(out):
    return read(f"/proc/{out.victim}/environ")


@attempt
def read_the_command_line_of_a_process(out):
    return read(f"/proc/{out.victim}/cmdline")


@attempt
def read_the_memory_of_a_process(out):
    first = read(f"/proc/{out.victim}/maps").split(b"-")[0]
    with open(f"/proc/{out.victim}/mem", "rb") as file:
        file.seek(int(first, 16))
        return file.read(16)


@attempt
def go_through_the_root_of_a_process(out):
    return read(f"/proc/{out.victim}/root{out.secret}")


@attempt
def go_through_the_root_of_the_first_process(out):
    return read(f"/proc/1/root{out.secret}")


@attempt
def go_through_the_directory_of_a_process(out):
    return read(f"/proc/{out.victim}/cwd/secret")


@attempt
def go_through_a_descriptor_of_a_process(out):
    return read(f"/proc/{out.victim}/fd/{out.held}")


@attempt
def trace_a_process(out):
    called(LIBC.ptrace(0x4206, out.victim, 0, 0))  # this kind does not stop it
    return "attached"


@attempt
def copy_the_memory_of_a_process(out):
    buffer = ctypes.create_string_buffer(8)
    parts = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    return f"{called(LIBC.syscall(CALLS['vm_readv'], out.victim, parts, 1, parts, 1, 0))}"


@attempt
def take_a_descriptor_of_a_process(out):
    handle = called(LIBC.syscall(CALLS["pidfd"], out.victim, 0))
    return os.pread(called(LIBC.syscall(438, handle, out.held, 0)), 100, 0)


@attempt
def change_the_root(out):
    os.chroot(f"/proc/{out.victim}/root")
    return read(out.secret)


@attempt
def mount_a_directory(out):
    os.mkdir("mounted")
    called(LIBC.mount(out.outer.encode(), b"mounted", None, 4096, None))
    return read("mounted/secret")


@attempt
def mount_a_disk(_out):
    os.mkdir("disk")
    called(LIBC.mount(b"/dev/vda", b"disk", b"ext4", 1, None))
    return "mounted"


@attempt
def begin_a_user_namespace(_out):
    return f"{called(LIBC.syscall(CALLS['unshare'], 0x10000000))}"


@attempt
def join_the_namespace_of_a_process(out):
    handle = os.open(f"/proc/{out.victim}/ns/mnt", os.O_RDONLY)
    return f"{called(LIBC.syscall(CALLS['setns'], handle, 0))}"


@attempt
def read_shared_memory(out):
    handle = called(LIBC.syscall(CALLS["shmget"], out.shared, 0, 0))
    return f"{handle}"


@attempt
def read_a_file_of_shared_memory(out):
    return read(f"/dev/shm/{out.in_memory}")


@attempt
def open_a_disk_or_the_memory(_out):
    for name in ("vda", "sda", "nvme0n1", "mem", "kmsg", "port"):
        try:
            os.close(os.open(f"/dev/{name}", os.O_RDONLY))
        except OSError:
            continue
        return name
    return None


@attempt
def make_a_device(_out):
    os.mknod("memory", 0o600 | 0o020000, os.makedev(1, 1))
    os.close(os.open("memory", os.O_RDONLY))
    return "opened"


# The network and sockets


def heard(family, kind, address, said=b""):
    with socket.socket(family, kind) as connection:
        connection.settimeout(2)
        connection.connect(address)
        if said:
            connection.send(said)
        return connection.recv(100)


@attempt
def connect_to_a_port_of_this_machine(out):
    return heard(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", out.port))


@attempt
def send_a_datagram_as_a_question_for_a_name(out):
    return heard(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", out.datagrams), b"secret.example")


@attempt
def connect_to_a_socket_by_its_path(out):
    return heard(socket.AF_UNIX, socket.SOCK_STREAM, f"{out.outer}/socket")


@attempt
def connect_to_an_abstract_socket(out):
    return heard(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{out.abstract}")


@attempt
def open_a_raw_socket_to_another_machine(_out):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as connection:
        connection.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("127.0.0.2", 0))
    return "sent"


@attempt
def open_a_socket_to_the_hypervisor(_out):
    with socket.socket(40, socket.SOCK_STREAM) as connection:
        connection.settimeout(1)
        connection.connect((2, 1))
    return "connected"


# Writing


@attempt
def write_a_new_file(out):
    return written(out.new("new"))


@attempt
def write_a_file_that_is_there(out):
    return written(out.secret)


@attempt
def write_through_a_symbolic_link(out):
    os.symlink(out.secret, "link-to-write")
    return written("link-to-write")


@attempt
def write_through_a_link_that_is_swapped_in_a_race(out):
    os.mkdir("real")
    os.symlink(out.outer, "fake")
    swapper = os.fork()
    if not swapper:
        for _ in range(3000):
            LIBC.syscall(CALLS["renameat2"], AT_FDCWD, b"real", AT_FDCWD, b"fake", EXCHANGE)
        os._exit(0)
    for number in range(300):
        try:
            written("real/raced" if number % 2 else "fake/raced")
        except OSError:
            continue
    os.waitpid(swapper, 0)
    return "written" if os.path.exists(out.new("raced")) else None


@attempt
def exchange_a_file_with_one_outside(out):
    written("mine")
    return f"{called(LIBC.syscall(CALLS['renameat2'], AT_FDCWD, b'mine', AT_FDCWD, out.secret.encode(), EXCHANGE))}"


@attempt
def move_a_file_out(out):
    written("moved")
    os.rename("moved", out.new("moved"))
    return "moved"


@attempt
def move_a_file_in(out):
    os.rename(out.secret, "taken")
    return read("taken")


@attempt
def remove_a_file(out):
    os.unlink(out.secret)
    return "removed"


@attempt
def empty_a_file(out):
    os.truncate(out.secret, 0)
    return "emptied"


@attempt
def make_a_directory(out):
    os.mkdir(out.new("directory"))
    return "made"


@attempt
def make_a_link(out):
    os.symlink("/", out.new("link"))
    return "made"


@attempt
def make_a_pipe(out):
    os.mkfifo(out.new("pipe"))
    return "made"


@attempt
def change_the_mode_of_a_file(out):
    os.chmod(out.secret, 0o604)
    return "changed"


@attempt
def change_the_owner_of_a_file(out):
    os.chown(out.secret, os.getuid(), os.getgid())
    return "changed"


@attempt
def change_the_times_of_a_file(out):
    os.utime(out.secret, (1, 1))
    return "changed"


@attempt
def write_to_the_disk_of_the_machine(_out):
    os.close(os.open("/dev/vda", os.O_WRONLY))
    return "opened"


@attempt
def write_to_the_system(_out):
    os.close(os.open("/usr/bin/env", os.O_WRONLY))
    return "opened"


@attempt
def set_where_the_kernel_dumps_cores(_out):
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    return "opened"


@attempt
def command_the_kernel_by_a_key(_out):
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))
    return "opened"


@attempt
def leave_its_group_of_limits(_out):
    for name in ("", "unified/", "memory/", "pids/"):
        if os.access(f"/sys/fs/cgroup/{name}cgroup.procs", os.W_OK):
            os.close(os.open(f"/sys/fs/cgroup/{name}cgroup.procs", os.O_WRONLY))
            return name
    return None


# Git


@attempt
def show_a_file_with_git_in_another_directory(out):
    return git("-C", out.repo, "show", "HEAD:a.txt")


@attempt
def show_a_file_with_the_directory_of_git_in_a_variable(out):
    return git("show", "HEAD:private.txt", env={"GIT_DIR": f"{out.repo}/.git"})


@attempt
def commit_in_the_parent(out):
    return git("-C", out.repo, "commit", "--allow-empty", "-qm", "escaped")


@attempt
def stage_a_file_in_the_parent(out):
    env = {"GIT_DIR": f"{out.repo}/.git", "GIT_WORK_TREE": "."}
    return git("update-index", "--add", "--cacheinfo", f"100644,{out.blob},escaped", env=env)


@attempt
def switch_the_branch_of_the_parent(out):
    return git("-C", out.repo, "checkout", "-q", "-b", "escaped")


@attempt
def make_a_branch_in_the_parent(out):
    return git(f"--git-dir={out.repo}/.git", "branch", "escaped-branch")


@attempt
def push_to_the_parent(_out):
    return git("push", "-q", "origin", "HEAD:refs/heads/pushed")


@attempt
def make_a_worktree_of_the_parent(out):
    return git("-C", out.repo, "worktree", "add", "-q", f"{os.getcwd()}/tree")


@attempt
def bring_the_parent_as_a_submodule(out):
    return git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", out.repo, "sub")


@attempt
def write_into_the_objects_of_the_parent(out):
    return written(f"{out.repo}/.git/objects/escaped")


@attempt
def make_the_objects_of_the_parent_writable(out):
    called(LIBC.mount(None, f"{out.repo}/.git/objects".encode(), None, 32 | 4096, None))
    return written(f"{out.repo}/.git/objects/escaped")


@attempt
def plant_a_hook(_out):
    return written(".git/hooks/post-checkout")


@attempt
def uncover_the_hooks(_out):
    called(LIBC.umount2(b".git/hooks", 2))
    return "uncovered"


@attempt
def name_a_program_in_the_settings_of_git(_out):
    return git("config", "core.fsmonitor", "/bin/true")


@attempt
def put_another_repository_in_place(_out):
    os.rename(".git", ".git-moved")
    os.rename(".git-moved", ".git")
    return "moved"


# Processes


@attempt
def signal_a_process(out):
    os.kill(out.victim, 0)
    return "signalled"


@attempt
def signal_a_process_by_a_handle(out):
    signal.pidfd_send_signal(called(LIBC.syscall(CALLS["pidfd"], out.victim, 0)), 0)
    return "signalled"


@attempt
def slow_a_process_down(out):
    os.setpriority(os.PRIO_PROCESS, out.victim, 19)
    return "slowed"


@attempt
def limit_a_process(out):
    return f"{resource.prlimit(out.victim, resource.RLIMIT_NOFILE)}"


@attempt
def have_a_process_killed_first(out):
    os.close(os.open(f"/proc/{out.victim}/oom_score_adj", os.O_WRONLY))
    return "opened"


@attempt
def type_into_a_terminal(_out):
    import fcntl

    for name in ("/dev/tty", *(f"/dev/pts/{number}" for number in range(4))):
        try:
            fcntl.ioctl(os.open(name, os.O_RDWR | os.O_NOCTTY), 0x5412, b"#")
        except OSError:
            continue
        return name
    return None


@attempt
def become_root(out):
    if os.getuid() == 0:
        return None
    os.setuid(0)
    return "root"


@attempt
def lift_a_limit(_out):
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "lifted"


def evidence(function, out):
    """Run an attempt in a process of its own; return what it has got hold of, None for nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(PATIENCE_S)
        try:
            found = function(out)
            if found:
                os.write(writing, found if isinstance(found, bytes) else found.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        found = file.read()
    os.waitpid(child, 0)
    return found.decode(errors="replace")[:2000] if found else None


def main(facts):
    os.close(2)
    out = Outside(json.loads(facts))
    found = {name: evidence(function, out) for name, function in ATTEMPTS.items()}
    print(json.dumps({name: text for name, text in found.items() if text is not None}))


if __name__ == "__main__":
    main(sys.argv[1])
