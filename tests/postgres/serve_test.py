#!/usr/bin/env python3
"""Tests the server that Python tests use: it keeps its data over ends of all kinds, and ends with who started it."""

import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import serve  # noqa: E402


class ServeTest(unittest.TestCase):
    def test_data_survives(self):
        with serve.Server(tcp=True) as server:
            server.query("CREATE DATABASE shop")
            server.query("CREATE TABLE t(k int8)", "shop")
            for how in (server.stop, lambda: server.stop("immediate"), server.kill):
                server.query("INSERT INTO t VALUES (1)", "shop")
                how()
                server.start()
            self.assertEqual(server.query("SELECT count(*) FROM t", "shop"), "3")
            self.assertEqual(server.query("SHOW fsync"), "off")
            self.assertIn(str(server.port), server.tcp_url())
            with self.assertRaisesRegex(RuntimeError, "division by zero"):
                server.query("SELECT 1/0")
            directory = server.directory
        self.assertFalse(directory.exists())

    def test_ends_with_its_starter(self):
        program = pathlib.Path(serve.__file__)
        starter = subprocess.Popen([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        url = starter.stdout.readline().strip()
        directory = pathlib.Path(serve.urllib.parse.unquote(url.split("@")[1].split(":")[0]))
        postmaster = int((directory / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0])
        starter.send_signal(signal.SIGKILL)
        starter.communicate()
        deadline = time.monotonic() + serve.PATIENCE_S
        while (directory / "data" / "postmaster.pid").exists():
            self.assertLess(time.monotonic(), deadline, f"the server {postmaster} still runs")
            time.sleep(0.01)
        serve.shutil.rmtree(directory)


if __name__ == "__main__":
    unittest.main()
