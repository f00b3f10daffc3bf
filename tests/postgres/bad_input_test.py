#!/usr/bin/env python3
"""What people get wrong about PostgreSQL, as they see it: each gets one sentence that says what to do, the right exit code,
and nothing is changed by it. By the command line, and by a program that works.

Usage: bad_input_test.py PATH_TO_PAWL PATH_TO_HOST
"""

import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import serve

PAWL = HOST = None
STORE_FAILED, USAGE = 6, 2


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith(("PG", "PAWL_STORE"))}


def pawl(*words, url, timeout=60):
    done = subprocess.run([PAWL, *words, "--store", url], capture_output=True, text=True, timeout=timeout, check=False,
                          env=environment(), stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def host(url):
    """A program that would work there."""
    done = subprocess.run([HOST, url], capture_output=True, text=True, timeout=60, check=False, env=environment(),
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class OldServer:
    """Says that it is PostgreSQL 12, and nothing else."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.url = f"postgresql://me@127.0.0.1:{self.socket.getsockname()[1]}/db?sslmode=disable&gssencmode=disable"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                peer.recv(4096)
                status = b"".join(b"S" + struct.pack("!i", len(text) + 4) + text
                                  for text in (b"server_version\x0012.4\0", b"server_encoding\0UTF8\0"))
                peer.sendall(b"R" + struct.pack("!ii", 8, 0) + status + b"Z" + struct.pack("!i", 5) + b"I")
                peer.recv(4096)

    def close(self):
        self.socket.close()


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = serve.Server(tcp=True)
        cls.addClassCleanup(cls.server.close)
        hba = cls.server.directory / "data" / "pg_hba.conf"
        hba.write_text("local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n", encoding="ascii")
        cls.server.query("SELECT pg_reload_conf()")
        cls.server.query("CREATE ROLE me LOGIN PASSWORD 'right'")
        cls.server.query("CREATE DATABASE mine OWNER me")
        cls.server.query("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        cls.server.query("CREATE DATABASE theirs")
        cls.port = cls.server.port

    def by_password(self, password="right", database="mine", port=None):
        return f"postgresql://me:{password}@127.0.0.1:{port or self.port}/{database}"

    def as_me(self, database, **parameters):
        return self.server.url(database, **parameters).replace("//postgres@", "//me@")

    def one_sentence(self, text, *parts):
        self.assertEqual(text.count("\n"), 1, text)
        for part in parts:
            self.assertIn(part, text)
        self.assertNotIn("right", text.replace("this right", "").replace("rights", ""), "the password")

    def refused(self, url, *parts, code=STORE_FAILED):
        """By both, with the same words."""
        found, out, err = pawl("list", url=url)
        self.assertEqual((found, out), (code, ""), err)
        self.one_sentence(err, *parts)
        found, out, err = host(url)
        self.assertEqual((found, out), (1, ""), err)
        self.one_sentence(err, *parts)

    def test_urls(self):
        for url, part in (("postgresql://me@host:port/db", 'invalid integer value "port"'),
                          ("postgresql://me@host:99999/db", "invalid port number"),
                          ("postgresql://me@host/db?sslmode=yes", 'invalid sslmode value: "yes"'),
                          ("postgresql://me@host/db?target_session_attrs=master", "invalid target_session_attrs value"),
                          ("postgresql://me@127.0.0.1/db?shema=x", "of Pawl there are namespace, schema, prepare"),
                          ("postgresql://me@127.0.0.1/db?schema=a-b", "the schema is a name of up to 63 letters"),
                          ("postgresql://me@127.0.0.1/db?namespace=", "the namespace is empty"),
                          ("postgresql://me:a@b@127.0.0.1/db", "write '@' as %40"),
                          ("postgresql:/me", "begins with sqlite: or postgres://")):
            with self.subTest(url):
                self.refused(url, part, code=USAGE)

    def test_nobody_there(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            self.refused(self.by_password(port=closed.getsockname()[1]), "cannot connect to",
                         "check that the server runs and can be reached there")
        self.refused("postgresql://me@no-such-host.invalid/db", "cannot connect to",
                     "check that the server runs and can be reached there")

    def test_who(self):
        self.refused(self.by_password("wrong"), "28P01", "check the user and its password")
        self.refused(self.by_password().replace(":right", ""), "no password supplied", "check the user and its password")
        self.refused(self.by_password(database="nothing"), "3D000", "create the database or correct its name in the URL")

    def test_no_schema(self):
        code, _, err = pawl("list", url=self.as_me("mine", schema="missing"))
        self.assertEqual(code, STORE_FAILED)
        self.one_sentence(err, "has no schema 'missing' of Pawl", "a program that may change it makes it")
        self.assertEqual(self.server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'missing'", "mine"), "0")

    def test_no_right_to_create(self):
        code, _, err = host(self.as_me("theirs"))
        self.assertEqual(code, 1)
        self.one_sentence(err, "permission denied for database theirs", "42501", "grant the user this right")
        self.assertEqual(self.server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'pawl'", "theirs"), "0")

    def test_a_schema_of_ones_own_is_enough(self):
        self.server.query("CREATE SCHEMA given AUTHORIZATION me", "theirs")
        self.assertEqual(host(self.as_me("theirs", schema="given")), (0, "ready\n", ""))

    def test_no_right_to_read(self):
        self.assertEqual(host(self.server.url("theirs", schema="closed"))[:2], (0, "ready\n"))
        self.refused(self.as_me("theirs", schema="closed"), "permission denied for", "42501", "grant the user this right")
        self.server.query("GRANT USAGE ON SCHEMA closed TO me; GRANT SELECT ON closed.pawl_schema TO me", "theirs")
        self.refused(self.as_me("theirs", schema="closed"), "permission denied for", "42501", "grant the user this right")
        # Reading is not writing.
        self.server.query("GRANT SELECT ON ALL TABLES IN SCHEMA closed TO me", "theirs")
        self.assertEqual(pawl("list", url=self.as_me("theirs", schema="closed")), (0, "", ""))
        code, _, err = pawl("start", "same", "--id", "a", url=self.as_me("theirs", schema="closed"))
        self.assertEqual(code, STORE_FAILED)
        self.one_sentence(err, "permission denied for", "42501", "grant the user this right")
        self.assertEqual(self.server.query("SELECT count(*) FROM closed.pawl_run", "theirs"), "0")

    def test_a_newer_schema(self):
        url = self.as_me("mine", schema="newer")
        self.assertEqual(host(url)[0], 0)
        self.server.query("INSERT INTO newer.pawl_schema(version) VALUES(99)", "mine")
        self.refused(url, "has version 99", "use a newer Pawl")

    def test_a_namespace_that_is_not_there(self):
        url = self.as_me("mine", schema="spaces")
        self.assertEqual(host(url)[0], 0)
        code, _, err = pawl("list", url=url + "&namespace=other")
        self.assertEqual(code, STORE_FAILED)
        self.one_sentence(err, "has no namespace 'other'", "a program that opens it there makes it")

    def test_another_encoding(self):
        self.refused(self.server.url("latin"), "has the encoding LATIN1", "created with ENCODING 'UTF8'")

    def test_an_old_server(self):
        old = OldServer()
        self.addCleanup(old.close)
        self.refused(old.url, "is PostgreSQL 12; Pawl needs version 13 or later")

    def test_a_server_that_only_reads(self):
        url = self.as_me("mine", schema="frozen")
        self.assertEqual(host(url)[0], 0)
        self.server.query("ALTER DATABASE mine SET default_transaction_read_only = on")
        self.addCleanup(self.server.query, "ALTER DATABASE mine RESET default_transaction_read_only")
        self.assertEqual(pawl("list", url=url), (0, "", ""))
        code, _, err = pawl("start", "same", "--id", "a", url=url)
        self.assertEqual(code, STORE_FAILED)
        self.one_sentence(err, "25006", "this server only reads", "target_session_attrs=read-write")
        code, _, err = host(self.as_me("mine", schema="not_made"))
        self.assertEqual(code, 1)
        self.one_sentence(err, "25006", "this server only reads")

    def test_a_standby(self):
        url = self.as_me("mine", schema="followed")
        self.assertEqual(host(url)[0], 0)
        files = pathlib.Path(tempfile.mkdtemp(prefix="pawl-copy-"))
        self.addCleanup(shutil.rmtree, files)
        self.server.copy_to(files / "data")
        standby = serve.Copy(self.server, files / "data", "standby.signal", {"primary_conninfo": self.server.url()})
        self.addCleanup(standby.close)
        there = standby.url("mine", schema="followed").replace("//postgres@", "//me@")
        self.assertEqual(pawl("list", url=there), (0, "", ""))
        code, _, err = pawl("start", "same", "--id", "a", url=there)
        self.assertEqual(code, STORE_FAILED)
        self.one_sentence(err, "25006", "this server only reads", "target_session_attrs=read-write")
        code, _, err = host(there)
        self.assertEqual(code, 1)
        self.one_sentence(err, "25006", "this server only reads")
        # With both in the URL, the one that writes is found.
        hosts = ",".join(urllib.parse.quote(str(each.directory), safe="") + f":{each.port}"
                         for each in (standby, self.server))
        both = f"postgresql://me@{hosts}/mine?schema=followed&target_session_attrs=read-write"
        self.assertEqual(pawl("start", "same", "--id", "a", url=both)[0], 0)
        self.assertEqual(host(both)[:2], (0, "ready\n"))

    def test_a_database_that_goes_while_somebody_works(self):
        self.server.query("CREATE DATABASE brief OWNER me")
        url = self.as_me("brief")
        with subprocess.Popen([HOST, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment()) as worker:
            self.assertEqual(worker.stdout.readline(), "ready\n")
            self.assertEqual(pawl("start", "same", "--id", "a", url=url)[0], 0)
            self.server.query("DROP DATABASE brief WITH (FORCE)")
            code, _, err = pawl("list", url=url)
            self.assertEqual(code, STORE_FAILED)
            self.one_sentence(err, "3D000", "create the database or correct its name in the URL")
            # Whoever asks it is told, and it ends when it is told to.
            out, err = worker.communicate("start same b 1\n", timeout=60)
            self.assertEqual((worker.returncode, out), (1, ""), err)
            self.assertIn("create the database or correct its name in the URL", err)


if __name__ == "__main__":
    PAWL, HOST = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
