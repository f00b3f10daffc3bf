#!/usr/bin/env python3
"""Through a pooler that gives each transaction another connection: a program and the command line do what they do without.

Usage: pooler_test.py PATH_TO_PAWL PATH_TO_HOST
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import serve

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "deploy"))
import rolling_host  # noqa: E402

PAWL = HOST = None
PATIENCE_S = 60
STORE_FAILED = 6


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith(("PG", "PAWL_STORE"))}


def pawl(*words, url):
    done = subprocess.run([PAWL, *words, "--store", url], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env=environment(), stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class Pooler:
    """PgBouncer in front of a server, with fewer connections to it than any of its clients has."""

    def __init__(self, server, more=""):
        program = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if program is None:
            raise RuntimeError("pgbouncer is not installed; on Debian: apt-get install pgbouncer (or: make deps)")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-pooler-"))
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            self.port = place.getsockname()[1]
        config = self.directory / "pgbouncer.ini"
        config.write_text(f"""[databases]
* = host={server.directory} port={server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
{more}
""", encoding="utf-8")
        words = [program, "-q", str(config)]
        if os.geteuid() == 0:
            user = serve.account()
            os.chmod(self.directory, 0o755)
            words[1:1] = ["-u", user.pw_name]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.close()
                    raise RuntimeError("pgbouncer does not start") from None

    def url(self, parameters):
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable{parameters}"

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory)


class ThroughAPooler(unittest.TestCase):
    def setUp(self):
        self.server = serve.Server()
        self.addCleanup(self.server.close)
        self.pooler = Pooler(self.server)
        self.addCleanup(self.pooler.close)
        self.url = self.pooler.url("&prepare=off")

    def test_runs_are_done(self):
        first = rolling_host.Host(HOST, self.url, environment())
        self.addCleanup(first.end)
        second = rolling_host.Host(HOST, self.url, environment())
        self.addCleanup(second.end)
        first.do("start same mine 50")
        for i in range(10):
            code, _, err = pawl("start", "same", "--id", f"other-{i}", "-i", str(i), url=self.url)
            self.assertEqual((code, err), (0, ""))
        first.process.kill()  # Others take over what it held, when its lease is over.
        second.do("go mine 0 50")
        for i in range(10):
            code, _, err = pawl("signal", f"other-{i}", "go", url=self.url)
            self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(second.do("wait mine 0 50")), 50)
        for i in range(10):
            code, out, err = pawl("result", f"other-{i}", url=self.url)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("1 1", out)
        code, out, err = pawl("db", "check", url=self.url)
        self.assertEqual(code, 0, out + err)

    def test_who_prepares_is_told_what_to_do(self):
        code, _, err = pawl("list", url=self.pooler.url(""))
        self.assertEqual(code, STORE_FAILED)
        self.assertIn("add prepare=off to the store's URL", err)
        self.assertEqual(len(err.splitlines()), 1)

    # It would have been taken for a server, and nothing would have been heard of others.
    def test_a_pooler_that_drops_options_is_noticed(self):
        pooler = Pooler(self.server, "ignore_startup_parameters = options")
        self.addCleanup(pooler.close)
        code, _, err = pawl("list", url=pooler.url(""))
        self.assertEqual(code, STORE_FAILED)
        self.assertIn("a pooler in between drops the options", err)
        self.assertIn("add prepare=off to the store's URL", err)
        code, _, err = pawl("start", "kind", "--id", "r", url=pooler.url("&prepare=off"))
        self.assertNotIn("pooler", err)


if __name__ == "__main__":
    PAWL, HOST = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
