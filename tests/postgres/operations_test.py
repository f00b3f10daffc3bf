#!/usr/bin/env python3
"""Does what docs/operations.md says, with the SQL that stands there.

Usage: operations_test.py PATH_TO_PAWL PATH_TO_HOST PATH_TO_OPERATIONS_MD
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import serve

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "deploy"))
import rolling_host  # noqa: E402

PAWL = HOST = PAGE = None


def blocks(name):
    """The SQL of the page that is marked so."""
    found = re.findall(rf"<!-- test: {name} -->\n```sql\n(.*?)```", PAGE, re.DOTALL)
    if not found:
        raise RuntimeError(f"the page has nothing marked '{name}'")
    return found


class Host(rolling_host.Host):
    """A program that works."""

    def __init__(self, url):
        super().__init__(HOST, url)


def pawl_signal(url, run):
    return subprocess.run([PAWL, "signal", run, "go", "null", "--store", url], capture_output=True, check=False).returncode


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.archive = pathlib.Path(tempfile.mkdtemp(prefix="pawl-archive-"))
        cls.addClassCleanup(shutil.rmtree, cls.archive)
        if (user := serve.account()) is not None:
            shutil.chown(cls.archive, user.pw_uid, user.pw_gid)
        cls.server = serve.Server(settings={"archive_mode": "on", "wal_level": "replica",
                                            "archive_command": f"cp %p {cls.archive}/%f"})
        cls.addClassCleanup(cls.server.close)
        for statement in blocks("create")[0].split(";\n"):  # Databases are not made in a transaction.
            if statement:
                cls.server.query(statement)
        # The program that is started first, as the owner.
        with Host(cls.url("pawl_owner")) as first:
            assert first.stop() == 0
        cls.sql("pawl_owner", blocks("grant")[0])
        cls.server.query(blocks("views")[0], "shop")

    @classmethod
    def url(cls, role, database="shop"):
        return cls.server.url(database).replace("//postgres@", f"//{role}@")

    @classmethod
    def sql(cls, role, text, database="shop"):
        done = subprocess.run([serve.programs() / "psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", text,
                               cls.url(role, database)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def pawl(self, role, *words, code=0, database="shop"):
        done = subprocess.run([PAWL, *words, "--store", self.url(role, database)], capture_output=True, text=True, check=False,
                              timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_the_worker_works_and_the_reader_reads(self):
        with Host(self.url("pawl_worker")) as worker:
            worker.do("start", "same", "roles", 3)
            worker.do("go", "roles", 0, 3)
            self.assertEqual(len(worker.do("wait", "roles", 0, 3)), 3)
            count = self.server.query("SELECT count(*) FROM pg_stat_activity WHERE usename = 'pawl_worker'")
            self.assertEqual(count, "3", "connections of a process")
            self.assertEqual(worker.stop(), 0)
        for words in (("list",), ("stats",), ("workers",), ("tasks",), ("describe", "roles-0"), ("why", "roles-0"),
                      ("history", "roles-0"), ("count", "--status", "completed")):
            with self.subTest(words):
                self.pawl("pawl_reader", *words)
        self.assertIn("grant the user this right", self.pawl("pawl_reader", "start", "same", "--id", "mine", code=6))
        self.pawl("pawl_worker", "start", "same", "--id", "mine")
        self.pawl("pawl_worker", "terminate", "mine")
        self.pawl("pawl_worker", "delete", "mine")
        with self.assertRaisesRegex(RuntimeError, "must be owner"):
            self.sql("pawl_worker", "ALTER TABLE pawl.pawl_run ADD x int")
        with self.assertRaisesRegex(RuntimeError, "permission denied"):
            self.sql("pawl_reader", "DELETE FROM pawl.pawl_run")
        self.assertNotEqual(self.sql("dashboard", "SELECT count(*) FROM pawl.pawl_runs WHERE input IS NOT NULL"), "")
        with self.assertRaisesRegex(RuntimeError, "permission denied"):
            self.sql("dashboard", "SELECT * FROM pawl.pawl_run")
        with self.assertRaisesRegex(RuntimeError, "permission denied"):
            self.sql("dashboard", "SELECT * FROM pawl.pawl_history")

    def test_the_owner_brings_an_older_schema_up_to_date(self):
        self.server.query("CREATE DATABASE older OWNER pawl_owner TEMPLATE template0 ENCODING 'UTF8'")
        with Host(self.url("pawl_owner", "older")) as first:
            first.do("start", "same", "early", 1)
            self.assertEqual(first.stop(), 0)
        self.sql("pawl_owner", blocks("grant")[0], "older")
        self.server.query("DELETE FROM pawl.pawl_schema WHERE version > 1; ALTER TABLE pawl.pawl_namespace DROP COLUMN seal; DROP VIEW pawl.pawl_runs, pawl.pawl_tags, "
                          "pawl.pawl_history, pawl.pawl_state, pawl.pawl_state_changes, pawl.pawl_tasks, pawl.pawl_inboxes, "
                          "pawl.pawl_workers; DROP TABLE pawl.pawl_status_name, pawl.pawl_event_name; "
                          "DROP FUNCTION pawl.pawl_text", "older")
        with self.assertRaisesRegex(RuntimeError, r"has the older version 1, .* start a program as the role that owns"):
            Host(self.url("pawl_worker", "older"))
        self.assertIn("has an older schema of Pawl", self.pawl("pawl_reader", "list", code=6, database="older"))
        self.assertEqual(self.server.query("SELECT max(version) FROM pawl.pawl_schema", "older"), "1")
        with Host(self.url("pawl_owner", "older")) as first:
            self.assertEqual(first.stop(), 0)
        self.assertEqual(self.sql("pawl_reader", "SELECT id FROM pawl.pawl_runs", "older"), "early-0", "by default privileges")
        with Host(self.url("pawl_worker", "older")) as worker:
            worker.do("go", "early", 0, 1)
            self.assertEqual(worker.do("wait", "early", 0, 1), ["early-0 1 1"])
            self.assertEqual(worker.stop(), 0)

    def test_monitoring(self):
        self.pawl("pawl_worker", "start", "nobody-has-it", "--id", "unserved")
        with Host(self.url("pawl_worker")) as worker:
            worker.do("start", "same", "watched", 2)
            queries = blocks("monitor")
            self.assertEqual(len(queries), 7)
            found = [self.sql("pawl_reader", "SET search_path TO pawl; " + query) for query in queries]
        self.assertEqual(found[0], "")
        self.assertRegex(found[1], r"^nobody-has-it\|1\|\d")
        self.assertEqual(found[2], "nobody-has-it|1")
        self.assertEqual(found[3], "")
        self.assertIn('build-1|{"same": "build-1", "order": "build-1"}|', found[4])
        self.assertIn("pawl_run|", found[6])
        self.sql("pawl_owner", blocks("owner")[0])
        self.assertIn("cost_limit=2000", self.server.query("SELECT reloptions FROM pg_class WHERE relname = 'pawl_run'", "shop"))

    def test_a_dump_goes_on_elsewhere(self):
        with Host(self.url("pawl_worker")) as worker:
            worker.do("start", "same", "dumped", 3)
            worker.do("go", "dumped", 0, 1)
            worker.do("wait", "dumped", 0, 1)
            with tempfile.TemporaryDirectory() as folder:
                dump = pathlib.Path(folder) / "shop.dump"
                subprocess.run([serve.programs() / "pg_dump", "--format=custom", "--schema=pawl", f"--file={dump}",
                                self.url("pawl_owner")], check=True)
                # What happens since is not in it.
                worker.do("go", "dumped", 1, 2)
                worker.do("wait", "dumped", 1, 2)
                self.assertEqual(worker.stop(), 0)
                self.server.query("CREATE DATABASE shop_restored OWNER pawl_owner TEMPLATE template0 ENCODING 'UTF8'")
                subprocess.run([serve.programs() / "pg_restore", f"--dbname={self.url('pawl_owner', 'shop_restored')}", dump],
                               check=True)
        self.assertIn("dumped-1", self.pawl("pawl_reader", "list", "--status", "open", database="shop_restored"))
        with Host(self.url("pawl_worker", "shop_restored")) as worker:
            worker.do("go", "dumped", 1, 3)
            self.assertEqual(worker.do("wait", "dumped", 0, 3), [f"dumped-{i} 1 1" for i in range(3)])
            self.assertEqual(worker.stop(), 0)

    def test_a_restore_to_a_moment_goes_on_from_there(self):
        copy = self.archive / "copy"
        with Host(self.url("pawl_worker")) as worker:
            worker.do("start", "same", "pitr", 2)
            self.server.copy_to(copy)
            worker.do("go", "pitr", 0, 1)
            worker.do("wait", "pitr", 0, 1)
            moment = self.server.query("SELECT now()")
            worker.do("go", "pitr", 1, 2)
            worker.do("wait", "pitr", 1, 2)
            self.assertEqual(worker.stop(), 0)
        self.server.query("SELECT pg_switch_wal()")
        self.server.query("CHECKPOINT")
        last = self.server.query("SELECT last_archived_wal FROM pg_stat_archiver")
        deadline = time.monotonic() + 60
        while self.server.query("SELECT pg_walfile_name(pg_switch_wal()) > last_archived_wal AND last_archived_wal > "
                                f"'{last}' FROM pg_stat_archiver") != "t":
            self.assertLess(time.monotonic(), deadline, "nothing is archived")
        restored = serve.Copy(self.server, copy, "recovery.signal",
                              {"restore_command": f"cp {self.archive}/%f %p", "recovery_target_time": moment,
                               "recovery_target_action": "promote", "archive_mode": "off"})
        self.addCleanup(restored.close)
        url = restored.url("shop").replace("//postgres@", "//pawl_worker@")
        deadline = time.monotonic() + 60
        while restored.query("SELECT pg_is_in_recovery()") == "t":
            self.assertLess(time.monotonic(), deadline, "it does not come up")
        listed = subprocess.run([PAWL, "list", "--store", url, "--status", "open", "-o", "json"], check=True,
                                capture_output=True, text=True).stdout
        self.assertIn("pitr-1", {each["id"] for each in json.loads(listed)["runs"]})
        with Host(url) as worker:
            # The signal has to be sent again; what has ended has ended.
            worker.do("go", "pitr", 1, 2)
            self.assertEqual(worker.do("wait", "pitr", 0, 2), ["pitr-0 1 1", "pitr-1 1 1"])
            self.assertEqual(worker.stop(), 0)

    def test_the_primary_is_lost_and_a_standby_takes_over(self):
        # Both of its own: the primary does not come back.
        primary = serve.Server()
        self.addCleanup(primary.close)
        with Host(primary.url()) as first:
            self.assertEqual(first.stop(), 0)
        files = pathlib.Path(tempfile.mkdtemp(prefix="pawl-copy-"))
        self.addCleanup(shutil.rmtree, files)
        primary.copy_to(files / "data")
        standby = serve.Copy(primary, files / "data", "standby.signal",
                             {"primary_conninfo": primary.url() + "?application_name=standby"})
        self.addCleanup(standby.close)
        primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.query("SELECT pg_reload_conf()")
        hosts = ",".join(urllib.parse.quote(str(each.directory), safe="") + f":{each.port}" for each in (primary, standby))
        with Host(f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write") as worker:
            worker.do("start", "same", "moved", 20)
            worker.do("go", "moved", 0, 5)
            worker.do("wait", "moved", 0, 5)
            primary.kill()
            standby.query("SELECT pg_promote()")
            # Whoever asks in between is told that the connection was lost, and asks again.
            deadline = time.monotonic() + 60
            for i in range(5, 20):
                while pawl_signal(standby.url(), f"moved-{i}") != 0:
                    self.assertLess(time.monotonic(), deadline, "nobody takes a signal")
            self.assertEqual(worker.do("wait", "moved", 0, 20), [f"moved-{i} 1 1" for i in range(20)])
            self.assertEqual(worker.stop(), 0)

    def test_a_file_is_copied_while_it_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "shop.db"
            with Host(f"sqlite:{path}") as worker:
                worker.do("start", "same", "copied", 2)
                for name, command in (("vacuum.db", "VACUUM INTO '{}'"), ("backup.db", ".backup {}")):
                    subprocess.run(["sqlite3", path, command.format(path.parent / name)], check=True)
                worker.do("go", "copied", 0, 2)
                worker.do("wait", "copied", 0, 2)
                self.assertEqual(worker.stop(), 0)
            for name in ("vacuum.db", "backup.db"):
                with Host(f"sqlite:{path.parent / name}") as worker:
                    worker.do("go", "copied", 0, 2)
                    self.assertEqual(worker.do("wait", "copied", 0, 2), ["copied-0 1 1", "copied-1 1 1"])
                    self.assertEqual(worker.stop(), 0)


if __name__ == "__main__":
    PAWL, HOST = sys.argv[1:3]
    PAGE = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
    unittest.main(argv=sys.argv[:1])
