#!/usr/bin/env python3
"""Old runs are removed from a PostgreSQL store, a hundred at a time, also while others work there.

Usage: retention_test.py PATH_TO_PAWL PATH_TO_CLI_MOVED_HOST
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import migrate_test as tools  # noqa: E402
from migrate_test import Host, Places, eventually, pawl, run, schema_of, serve, status  # noqa: E402

REMOVED_AT_ONCE = 100
OLD = 730


class RetentionTest(Places):
    def setUp(self):
        super().setUp()
        self.store = self.postgres("old")
        self.schema = schema_of(self.store)

    def sql(self, text):
        return tools.SERVER.query(f"SET search_path = {self.schema}; {text}")

    def fill(self):
        """Runs that were completed two hours ago, and some that must stay."""
        with Host(self.store):
            for i in range(20):
                pawl("start", "waits", "--input", "1", "--id", f"run-{i}", "--store", self.store)
            tools.multiply(self.store, OLD)
            # A parent that is open needs its child; the others are young, or open.
            pawl("start", "parents", "--input", '"child"', "--id", "parent", "--store", self.store)
            pawl("start", "echoes", "--input", "1", "--id", "young", "--store", self.store)
            pawl("start", "waits", "--input", "1", "--id", "open", "--store", self.store)
            for run_id, text in (("child", "signal go"), ("young", "completed"), ("open", "signal go"), ("parent", "child")):
                tools.wait_for(self.store, run_id, text)
        self.sql("UPDATE pawl_run SET status = 4, waiting_for = NULL, wake = NULL, changed = changed - 7200000 WHERE id LIKE "
                 "'run-%' OR id = 'child';"
                 "INSERT INTO pawl_log(ns, run, seq, time, version, kind) SELECT ns, key, 100, 0, 1, 65 FROM pawl_run WHERE "
                 "status = 4 AND id <> 'young';"
                 "INSERT INTO pawl_tag(ns, run, name, value, created) SELECT ns, key, 'x', 'y', created FROM pawl_run WHERE id LIKE "
                 "'run-%'")
        # Which transaction removes which run.
        self.sql("CREATE TABLE removed(transaction int8 NOT NULL, id text NOT NULL);"
                 "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "
                 f"{self.schema}.removed VALUES(txid_current(), OLD.id); RETURN NULL; END $$;"
                 "CREATE TRIGGER removal AFTER DELETE ON pawl_run FOR EACH ROW EXECUTE FUNCTION note()")

    def left(self):
        return set(self.sql("SELECT id FROM pawl_run").split())

    def check(self, *more):
        """All that is old is gone, each once and by batches, with everything that belonged to it."""
        self.assertEqual(self.left(), {"parent", "child", "young", "open", *more})
        self.assertEqual(self.sql("SELECT count(*), count(DISTINCT id) FROM removed"), f"{OLD}|{OLD}")
        sizes = list(map(int, self.sql("SELECT count(*) FROM removed GROUP BY transaction ORDER BY 1 DESC").split()))
        self.assertLessEqual(sizes[0], REMOVED_AT_ONCE, sizes)
        self.assertGreaterEqual(len(sizes), OLD // REMOVED_AT_ONCE, sizes)
        for table in ("log", "input", "tag", "inbox", "promise"):
            self.assertEqual(self.sql(f"SELECT count(*) FROM pawl_{table} AS x WHERE NOT EXISTS (SELECT 1 FROM pawl_run AS r WHERE "
                                      "r.ns = x.ns AND r.key = x.run)"), "0", table)
        return sizes

    def gone(self):
        eventually(lambda: self.sql("SELECT count(*) FROM pawl_run WHERE id LIKE 'run-%'") == "0", "removed")

    def test_old_runs_go_in_batches(self):
        self.fill()
        with Host(self.store, "removes"):
            self.gone()
        sizes = self.check()
        self.assertLess(len(sizes), OLD // 10, "hardly any batches")

    def test_others_work_meanwhile(self):
        self.fill()
        with Host(self.store) as other, Host(self.store, "removes"):
            for i in range(20):
                pawl("start", "waits", "--input", "1", "--id", f"new-{i}", "--store", self.store)
                pawl("signal", f"new-{i}", "go", str(i), "--store", self.store)
            for i in range(20):
                self.assertEqual(run("result", f"new-{i}", "--store", self.store, "--timeout", "60s")[1], f"{i}\n")
            self.gone()
            self.assertIsNone(other.process.poll())
        self.check(*(f"new-{i}" for i in range(20)))
        self.assertEqual(status(self.store, "open")["status"], "waiting")

    def test_two_that_remove_at_once(self):
        self.fill()
        with Host(self.store, "removes") as first, Host(self.store, "removes") as second:
            self.gone()
            for host in (first, second):
                self.assertIsNone(host.process.poll())
        self.check()


def main():
    tools.PAWL, tools.HOST = sys.argv[1:3]
    with serve.Server() as server:
        tools.SERVER = server
        return not unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
