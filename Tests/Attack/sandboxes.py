"""Sandboxes: the ways in which a program can be confined and still reach the bus."""

import os, shutil
from attack import HERE, PYTHON, Skip

APPLICATION = "org.evil.App"
INFO = f"""[Application]
name={APPLICATION}
runtime=runtime/org.freedesktop.Platform/x86_64/23.08

[Instance]
instance-id=4711
flatpak-version=1.14.10
session-bus-proxy=true

[Context]
shared=ipc;
"""


def info_file():
    """Returns a descriptor of the file with the facts about the sandbox, as Flatpak passes it to bwrap."""
    descriptor = os.memfd_create("info")
    os.write(descriptor, INFO.encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def bwrap(session, info, *options):
    """Returns the start of a command that runs a program in a sandbox, without the session's files but `shared`."""
    for program in ["bwrap", "xdg-dbus-proxy"]:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    shared = f"{session.root}/shared"
    command = ["bwrap", "--unshare-ipc", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for name in ["bin", "lib", "lib64", "sbin"]:
        command += ["--symlink", f"usr/{name}", f"/{name}"]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", shared, shared]
    command += ["--ro-bind", HERE, HERE]
    if info is not None:
        command += ["--ro-bind-data", str(info), "/.flatpak-info"]
    return command + list(options)


def proxy(session, *talk):
    """Starts the proxy of a sandbox as Flatpak does: in a sandbox too, with the facts in its root. Returns its socket."""
    path = f"{session.root}/run/proxy-{next(session.numbers)}"
    read, write = os.pipe()
    info = info_file()
    command = bwrap(session, info, "--bind", f"{session.root}/run", f"{session.root}/run")
    session.start(*command, "xdg-dbus-proxy", f"--fd={write}", session.environment["DBUS_SESSION_BUS_ADDRESS"], path,
                  "--filter", *(f"--talk={name}" for name in talk), pass_fds=[write, info])
    os.close(write)
    os.close(info)
    if not os.read(read, 1):
        raise RuntimeError("xdg-dbus-proxy does not start")
    session.kept = getattr(session, "kept", []) + [read]
    return path


def flatpak(session):
    """Returns a caller in a Flatpak's sandbox, which reaches the router alone, through the proxy."""
    return confined(session, proxy(session, "org.openurl.Router1"), True)


def bound(session):
    """Returns a caller in a Flatpak's sandbox with the socket of the whole bus (`--socket=session-bus`)."""
    return confined(session, f"{session.root}/run/bus", True)


def bare(session):
    """Returns a caller in a sandbox of bwrap without the facts of Flatpak."""
    return confined(session, f"{session.root}/run/bus", False)


def confined(session, socket, has_info):
    info = info_file()
    command = bwrap(session, info if has_info else None, "--unshare-user", "--unshare-pid", "--bind", socket, "/bus")
    client = session.client(*command, pass_fds=[info], environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus"})
    os.close(info)
    if client.ask(do="can", file=f"{session.root}/log").get("ok") is not False:
        raise RuntimeError(f"the sandbox is none: {session.log_text()[-300:]}")
    return client


def user_namespace(session):
    """Returns a caller in a user namespace alone."""
    return session.client("unshare", "--user", "--map-root-user")


def mount_namespace(session):
    """Returns a caller in a mount namespace alone."""
    return session.client("unshare", *([] if os.getuid() == 0 else ["--user", "--map-root-user"]), "--mount")


KINDS = {"a Flatpak": flatpak, "a sandbox with the bus's socket": bound, "a bare bwrap": bare,
         "a user namespace": user_namespace, "a mount namespace": mount_namespace}
