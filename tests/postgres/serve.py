#!/usr/bin/env python3
"""A PostgreSQL server for tests of the command line: own directory, ends with the process that started it.

    with Server() as server:
        subprocess.run([..., "--store", server.url()])

As a program it prints the URL of a server and runs it until its standard input ends:  serve.py [--tcp] [--fsync] [--set NAME=VALUE]
"""

import argparse
import ctypes
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

PATIENCE_S = 60
PR_SET_PDEATHSIG = 1


def programs():
    """Returns the directory of the server's programs."""
    given = os.environ.get("PAWL_POSTGRES_BIN")
    if given:
        return pathlib.Path(given)
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)), None)
    if found is None:
        raise RuntimeError("no PostgreSQL server is installed; on Debian: apt-get install postgresql-15 (or: make deps)")
    return pathlib.Path(found).resolve().parent  # A link may lead to one program only.


def account():
    """Returns the user to run as: servers refuse to run as root. None: oneself."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise RuntimeError("neither a user postgres nor nobody to run a server as")


def end_with_parent(parent):
    """Runs in the child, after the change of user, which would forget it. SIGQUIT also ends what a server has started."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
    if os.getppid() != parent:
        os._exit(126)


class Server:
    """Started at once; stop(), kill() and start() again as needed."""

    def __init__(self, tcp=False, fsync=False, settings=None):
        self.tcp = tcp
        self.settings = {"fsync": "on" if fsync else "off", "shared_buffers": "16MB"} | (settings or {})
        self.process = None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-postgres-"))
        try:
            if (user := account()) is not None:
                os.chown(self.directory, user.pw_uid, user.pw_gid)
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                self.port = listener.getsockname()[1]
            initdb = self._spawn("initdb", "-D", self.directory / "data", "-U", "postgres", "--auth=trust", "--no-sync",
                                 "--encoding=UTF8", "--locale=C")
            if initdb.wait() != 0:
                raise RuntimeError("initdb failed: " + self.log())
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database="postgres", **parameters):
        """Returns the URL of a store there, by the socket."""
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        host = urllib.parse.quote(str(self.directory), safe="")
        return f"postgresql://postgres@{host}:{self.port}/{database}{query}"

    def tcp_url(self, database="postgres", user="postgres"):
        """Returns the URL by the loopback port."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self):
        settings = {"port": self.port, "unix_socket_directories": self.directory,
                    "listen_addresses": "127.0.0.1" if self.tcp else ""} | self.settings
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        deadline = time.monotonic() + PATIENCE_S
        self.process = self._spawn("postgres", "-D", self.directory / "data", *words)
        while subprocess.run([programs() / "pg_isready", "-q", "-h", self.directory, "-p", str(self.port)],
                             check=False).returncode != 0:
            if self.process.poll() is not None:
                # After kill(), processes of the one before may still have the shared memory.
                if "pre-existing shared memory block" not in self.log():
                    raise RuntimeError("the server ended while it started: " + self.log())
                self.process = self._spawn("postgres", "-D", self.directory / "data", *words)
            if time.monotonic() > deadline:
                raise RuntimeError("the server does not start: " + self.log())
            time.sleep(0.01)

    def stop(self, how="fast"):
        """Ends it: smart, fast or immediate."""
        self.process.send_signal({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[how])
        self.process.wait()

    def kill(self):
        """Ends all its processes at once."""
        pid = self.process.pid
        os.kill(pid, signal.SIGSTOP)  # So that it starts no more.
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def query(self, sql, database="postgres"):
        """Runs SQL as the superuser and returns what psql prints, unaligned and without headings."""
        done = subprocess.run([programs() / "psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url(database)],
                              check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"'{sql}' failed: {done.stderr}")
        return done.stdout.strip()

    def copy_to(self, directory):
        """Copies its files there while it runs."""
        subprocess.run([programs() / "pg_basebackup", "-D", directory, "-X", "stream", "-c", "fast", "-d", self.url()],
                       check=True)

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.stop("immediate")
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _spawn(self, program, *arguments):
        user, parent = account(), os.getpid()

        # In the child. Popen's own user= comes before it in some versions of Python and after it in others.
        def prepare():
            if user is not None:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            end_with_parent(parent)

        with open(self.directory / "log", "ab") as log:
            return subprocess.Popen([programs() / program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, cwd=self.directory, preexec_fn=prepare)


class Copy(Server):
    """A server on the copied files of another one, which are taken away: "recovery.signal" for one that recovers as the
    settings say, "standby.signal" for one that follows."""

    def __init__(self, origin, files, signal_file, settings=None):  # pylint: disable=super-init-not-called
        self.tcp = origin.tcp
        self.settings = origin.settings | (settings or {})
        self.process = None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-postgres-"))
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        try:
            shutil.move(files, self.directory / "data")
            (self.directory / "data" / signal_file).touch()
            (self.directory / "data").chmod(0o700)
            if (user := account()) is not None:
                subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", self.directory], check=True)
            self.start()
        except BaseException:
            self.close()
            raise


def main():
    parser = argparse.ArgumentParser(description="Runs a PostgreSQL server for tests until its standard input ends.")
    parser.add_argument("--tcp", action="store_true", help="also on a loopback port")
    parser.add_argument("--fsync", action="store_true", help="what is committed survives a power failure")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, e.g. shared_buffers=128MB")
    arguments = parser.parse_args()
    settings = dict(setting.split("=", 1) for setting in arguments.set)
    with Server(tcp=arguments.tcp, fsync=arguments.fsync, settings=settings) as server:
        print(server.url(), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
