#!/usr/bin/env python3
"""`pawl migrate` and `pawl db check`, as a user runs them, on both kinds of stores.

Usage: migrate_test.py PATH_TO_PAWL PATH_TO_CLI_MOVED_HOST [postgres]
"""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "postgres"))
import serve  # noqa: E402

PAWL = None
HOST = None
SERVER = None  # A PostgreSQL server, if there is a store for it.

OK, FAILURE, USAGE, RUN_FAILED, NOT_FOUND, MISFITS, STORE = range(7)


def run(*arguments, stdin=None, timeout=120):
    env = {key: value for key, value in os.environ.items() if key not in ("PAWL_STORE", "NO_COLOR", "TZ")}
    done = subprocess.run([PAWL, *map(str, arguments)], input=stdin or "", capture_output=True, timeout=timeout,
                          check=False, env=env, text=True, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def pawl(*arguments):
    """Runs a command that has to succeed."""
    code, out, err = run(*arguments)
    if code != OK:
        raise AssertionError(f"pawl {' '.join(map(str, arguments))}: exit code {code}: {out}{err}")
    return out


class Host:
    """Works on a store until it is left."""

    def __init__(self, url, mode="serves"):
        self.process = subprocess.Popen([HOST, url, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the host does not start: " + self.process.communicate()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)


def eventually(condition, what):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("not in time: " + what)


def status(store, run_id):
    return json.loads(pawl("describe", run_id, "--store", store, "-o", "json"))


def wait_for(store, run_id, text):
    """Until its status, or what it waits for, is this."""
    eventually(lambda: text in pawl("describe", run_id, "--store", store, "-o", "json"), f"{run_id}: {text}")


class Places(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        self.count = 0

    def sqlite(self, name):
        return f"sqlite:{self.root / name}.db"

    def postgres(self, name):
        schema = "t" + os.urandom(4).hex() + name
        return SERVER.url(schema=schema)

    def make(self, kind, name):
        return self.sqlite(name) if kind == "sqlite" else self.postgres(name)


def kinds():
    return ["sqlite"] + (["postgres"] if SERVER else [])


RUNS = {
    # id: kind, input, what shows that it waits
    "echo": ("echoes", '"x"', '"completed"'),
    "broken": ("fails", "1", '"failed"'),
    "waiting": ("waits", "1", "signal go"),
    "paused": ("waits", "1", "signal go"),
    "promising": ("promises", "1", "promise"),
    "charging": ("charges", "1", "task"),
    "retrying": ("retries", "1", '"attempt":1'),
    "sleeping": ("sleeps", "1", "timer"),
    "keeping": ("keeps", "1", "signal begin"),
    "parent": ("parents", '"child"', "child"),
    "child": (None, None, "signal go"),
    "undoing": ("undoes", "1", "compensating"),
    "recurring": ("recurs", "1", "signal next"),
    "looping": ("loops", "21", "signal go"),
    "changing": ("changes", "1", "signal go"),
}


def fill(store):
    """Runs in every state; the host is gone afterwards."""
    with Host(store):
        for run_id, (kind, value, _) in RUNS.items():
            if kind:
                pawl("start", kind, "--input", value, "--id", run_id, "--tag", f"name={run_id}", "--store", store)
        for run_id, (_, _, text) in RUNS.items():
            wait_for(store, run_id, text)
        pawl("signal", "recurring", "next", "1", "--event-id", "first", "--store", store)
        eventually(lambda: status(store, "recurring")["number"] == 2, "recurred")
        wait_for(store, "recurring", "signal next")
        pawl("signal", "keeping", "go", "7", "--event-id", "early", "--store", store)
        pawl("pause", "paused", "--store", store)
        code, out, err = run("db", "check", "--store", store)  # Beside a program that works.
        assert (code, err) == (OK, ""), out + err
    with Host(store, "changed"):
        pawl("resume", "changing", "--store", store)
        wait_for(store, "changing", '"blocked"')
    pawl("signal", "paused", "go", "8", "--store", store)


def go_on(test, store):
    """Everything goes on as if nothing had happened."""
    with Host(store, "answers"):
        pawl("unpause", "paused", "--store", store)
        for run_id in ("waiting", "child", "looping", "changing"):
            pawl("signal", run_id, "go", "5", "--store", store)
        pawl("signal", "keeping", "begin", "1", "--store", store)
        pawl("resolve", "promising", "receipt", "6", "--store", store)
        code, out, _ = run("signal", "recurring", "next", "1", "--event-id", "first", "--store", store)
        test.assertIn("was sent before", out)
        pawl("signal", "recurring", "next", "1", "--store", store)
        eventually(lambda: status(store, "recurring")["number"] == 3, "recurred again")
        pawl("signal", "recurring", "next", "1", "--store", store)
        pawl("signal", "recurring", "go", "9", "--store", store)
        for run_id, value in {"waiting": "5", "child": "5", "parent": "5", "looping": "21", "changing": "5", "paused": "8",
                              "keeping": "7", "promising": "6", "charging": "2", "recurring": "9", "echo": '"x"'}.items():
            code, out, err = run("result", run_id, "--store", store, "--timeout", "60s")
            test.assertEqual((code, out.strip()), (OK, value), f"{run_id}: {err}")
        test.assertIn("timer", json.dumps(status(store, "sleeping")))
        test.assertIn('"attempt": 1', json.dumps(status(store, "retrying")))
        test.assertEqual(status(store, "undoing")["status"], "compensating")
        test.assertEqual(status(store, "broken")["status"], "failed")


def exported(store, root):
    """All there is of all runs."""
    pawl("export", "--all", "-d", root, "--store", store)
    runs = {path.name: json.loads(path.read_text()) for path in pathlib.Path(root).iterdir()}
    for name, document in runs.items():
        if document["status"] == "recurred":
            document["dedupe"] = []  # They go with the run that it recurred to.
    return {name: json.dumps(document) for name, document in runs.items()}


def rows(path):
    """What an export does not tell, with names instead of keys."""
    with sqlite3.connect(path) as database:
        name = "(SELECT id || '/' || number FROM pawl_run AS n WHERE n.key = {})".format
        return [database.execute(sql).fetchall() for sql in (
            f"SELECT id, number, status, goal, wake, created, changed, {name('r.parent')}, parent_close, hex(parent_command), "
            "hex(uuid), kind, definition, approved, waiting_for, paused, "
            "owner, epoch FROM pawl_run AS r ORDER BY id, number",
            f"SELECT {name('run')} AS n, loop, iteration, seq, kind, hex(payload) FROM pawl_forgotten ORDER BY n, seq",
            f"SELECT {name('run')} AS n, seq, kind, time, hex(payload) FROM pawl_log ORDER BY n, seq",
            f"SELECT {name('run')} AS n, seq, name, hex(value) FROM pawl_kept_state ORDER BY n, seq, name",
            f"SELECT {name('run')} AS n, kept, kind, due, hex(id), name, hex(payload) FROM pawl_inbox ORDER BY n, key",
            f"SELECT {name('run')} AS n, state, attempt, due, deadline, created, started, hex(last_error) FROM pawl_task "
            "ORDER BY n",
            "SELECT r.id AS n, d.id FROM pawl_dedupe AS d JOIN pawl_run AS r ON r.key = d.chain ORDER BY n, d.id",
            f"SELECT {name('run')} AS n, name, resolved FROM pawl_promise ORDER BY n, name",
            f"SELECT {name('run')} AS n, position, state, attempt, due, name FROM pawl_compensation ORDER BY n, position",
            f"SELECT {name('run')} AS n, name, value, created FROM pawl_tag ORDER BY n, name, value",
            f"SELECT {name('run')} AS n, reason, blocked_by, needs FROM pawl_reason ORDER BY n",
        )]


class MoveTest(Places):
    def test_all_goes_there_and_back_and_goes_on(self):
        for kind in kinds():
            with self.subTest(by=kind):
                first, middle, last = self.sqlite("first" + kind), self.make(kind, "middle"), self.sqlite("last" + kind)
                fill(first)
                before = exported(first, self.root / f"before-{kind}")
                dump = rows(self.root / f"first{kind}.db")
                code, out, err = run("migrate", first, middle, "--with", HOST)
                self.assertEqual((code, err), (OK, ""), out)
                self.assertRegex(out, r"^moved 16 runs with \d+ entries; compared 16 runs in full, and replayed \d+ of them\n$")
                self.assertEqual(before, exported(middle, self.root / f"middle-{kind}"))
                self.assertEqual(run("db", "check", "--store", middle)[0], OK)
                code, out, err = run("migrate", middle, last, "-o", "json")
                self.assertEqual(code, OK, err)
                told = json.loads(out)
                self.assertEqual((told["runs"], told["found"], told["compared"], told["isNew"]), (16, 0, 16, True))
                self.assertEqual(dump, rows(self.root / f"last{kind}.db"))
                self.assertEqual(before, exported(last, self.root / f"after-{kind}"))
                code, out, _ = run("db", "check", "--store", last)
                self.assertEqual(code, OK, out)
                go_on(self, last)
                self.assertEqual(run("db", "check", "--store", last)[:2][0], OK)

    def test_runs_go_on_in_the_other_store(self):
        for kind in kinds():
            with self.subTest(to=kind):
                source, target = self.sqlite("source" + kind), self.make(kind, "target")
                fill(source)
                pawl("migrate", source, target)
                go_on(self, target)

    def test_the_source_is_closed_afterwards(self):
        for kind in kinds():
            with self.subTest(of=kind):
                source, target = self.make(kind, "source"), self.sqlite("target" + kind)
                with Host(source):
                    pawl("start", "waits", "--input", "1", "--id", "a", "--store", source)
                    wait_for(source, "a", "signal go")
                pawl("migrate", source, target)
                with self.assertRaisesRegex(RuntimeError, "have moved to 'sqlite:.*target.*' and go on there"):
                    Host(source)
                code, _, err = run("signal", "a", "go", "1", "--store", source)
                self.assertEqual(code, STORE)
                self.assertIn("have moved to", err)
                self.assertIn("a", pawl("list", "--store", source))  # To look is allowed.
                code, out, err = run("migrate", source, target)
                self.assertEqual((code, out), (OK, "all runs have moved there before; nothing was done\n"), err)
                code, _, err = run("migrate", source, self.sqlite("other" + kind))
                self.assertEqual(code, FAILURE)
                self.assertIn("have moved to", err)
                # Who insists gets it back.
                code, _, err = run("migrate", source, "--reopen")
                self.assertEqual(code, USAGE)
                pawl("migrate", source, "--reopen", "--yes")
                with Host(source):
                    pawl("signal", "a", "go", "1", "--store", source)
                    self.assertEqual(run("result", "a", "--store", source)[0], OK)

    def test_killed_at_any_moment_it_goes_on(self):
        runs = 1500
        for source_kind, target_kind in [("sqlite", "sqlite")] + ([("sqlite", "postgres"), ("postgres", "sqlite")] if SERVER
                                                                   else []):
            with self.subTest(source=source_kind, target=target_kind):
                name = source_kind[0] + target_kind[0]
                source, target = self.make(source_kind, "from" + name), self.make(target_kind, "to" + name)
                with Host(source):
                    start_many(source, runs)
                for share in (0, 0.1, 0.4, 0.8):
                    process = subprocess.Popen([PAWL, "migrate", source, target], stdout=subprocess.DEVNULL,
                                               stderr=subprocess.PIPE, text=True)
                    eventually(lambda s=share: process.poll() is not None or count(target) >= s * runs, "some of them")
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    if 0 < count(target) < runs:
                        with self.assertRaisesRegex(RuntimeError, "is being filled"):
                            Host(target)
                        with self.assertRaisesRegex(RuntimeError, "are being moved to"):
                            Host(source)
                code, out, err = run("migrate", source, target, "-o", "json")
                self.assertEqual(code, OK, err)
                if json.loads(out)["isNew"]:
                    self.assertEqual(json.loads(out)["runs"], runs)
                self.assertEqual(count(target), runs)
                code, out, err = run("db", "check", "--store", target)
                self.assertEqual(code, OK, out + err)
                with Host(target):
                    pawl("signal", "run-7", "go", "7", "--store", target)
                    self.assertEqual(run("result", "run-7", "--store", target)[1], "7\n")

    def test_a_log_that_is_larger_than_a_batch_goes_in_parts(self):
        source, target = self.sqlite("large"), self.make(kinds()[-1], "large")
        with Host(source):
            pawl("start", "waits", "--input", "1", "--id", "a", "--store", source)
            wait_for(source, "a", "signal go")
        with sqlite3.connect(self.root / "large.db") as database:
            (last,) = database.execute("SELECT max(seq) FROM pawl_log").fetchone()
            database.executemany(
                "INSERT INTO pawl_log(run, seq, ns, kind, time, version, name, payload) "
                "SELECT key, ?, 0, 43, 0, 1, 'more', CAST(? AS BLOB) FROM pawl_run",
                [(last + i, '"' + "x" * 100_000 + '"') for i in range(1, 200)])
        code, out, err = run("migrate", source, target)
        self.assertEqual((code, err), (OK, ""), out)
        with Host(target):
            pawl("signal", "a", "go", "1", "--store", target)
            self.assertEqual(run("result", "a", "--store", target)[1], "1\n")
        # And back, with as many entries as are read at a time, and more.
        back = self.sqlite("back")
        code, out, err = run("migrate", target, back)
        self.assertEqual((code, err), (OK, ""), out)
        with sqlite3.connect(self.root / "back.db") as database:
            self.assertEqual(database.execute("SELECT sum(length(payload)) > 19900000 FROM pawl_log").fetchone(), (1,))


def start_many(store, runs):
    processes = [subprocess.Popen([PAWL, "start", "waits", "--input", str(i), "--id", f"run-{i}", "--store", store],
                                  stdout=subprocess.DEVNULL) for i in range(20)]
    for process in processes:
        process.wait()
    eventually(lambda: '"waiting"' in pawl("stats", "--store", store, "-o", "json"), "waiting")
    multiply(store, runs)


def schema_of(store):
    return store.split("schema=")[1].split("&")[0]


def multiply(store, runs):
    """As many runs, each with an entry or two: a process for each start would take minutes."""
    columns = ("ns, epoch, status, goal, wake, number, chain, created, changed, parent, parent_close, parent_command, kind, "
               "definition, approved, waiting_for, paused")
    entry = ("seq, ns, kind, time, version, location, id, name, child_kind, removed, step_key, source, checked, number, digest, "
             "extra, checkpoint, payload")
    eventually(lambda: json.loads(pawl("stats", "--store", store, "-o", "json"))["runs"]
               == [{"kind": "waits", "status": "waiting", "count": 20}], "all wait")
    if store.startswith("sqlite:"):
        with sqlite3.connect(store[len("sqlite:"):], timeout=30) as database:
            (original, last) = database.execute("SELECT (SELECT key FROM pawl_run WHERE id = 'run-0'), max(key) FROM "
                                                "pawl_run").fetchone()
            numbers = "WITH RECURSIVE g(n) AS (SELECT 20 UNION ALL SELECT n + 1 FROM g WHERE n + 1 < :runs) "
            values = {"runs": runs, "original": original, "base": last - 19}
            for table, names, more in (("pawl_run", columns, ", uuid, id"), ("pawl_log", entry, ""),
                                       ("pawl_input", "ns, input", "")):
                key = "key" if table == "pawl_run" else "run"
                made = ", randomblob(16), 'run-' || n" if table == "pawl_run" else ""
                database.execute(f"{numbers} INSERT INTO {table}({key}, {names}{more}) SELECT :base + n, "
                                 f"{', '.join('x.' + c for c in names.split(', '))}{made} FROM g, {table} AS x WHERE n < :runs AND x.{key} = "
                                 ":original ORDER BY n", values)
        return
    schema = schema_of(store)
    SERVER.query(f"""
SET search_path = {schema};
CREATE TEMP TABLE made AS SELECT g, nextval('pawl_run_key') AS key FROM generate_series(20, {runs - 1}) AS g;
INSERT INTO pawl_run(key, {columns}, uuid, id) SELECT m.key, {', '.join('r.' + c for c in columns.split(', '))},
  gen_random_uuid(), 'run-' || m.g FROM made AS m, pawl_run AS r WHERE r.id = 'run-0';
INSERT INTO pawl_log(run, {entry}) SELECT m.key, {', '.join('l.' + c for c in entry.split(', '))} FROM made AS m, pawl_log AS l
  WHERE l.run = (SELECT key FROM pawl_run WHERE id = 'run-0');
INSERT INTO pawl_input(run, ns, input) SELECT m.key, i.ns, i.input FROM made AS m, pawl_input AS i
  WHERE i.run = (SELECT key FROM pawl_run WHERE id = 'run-0');""")


def count(store):
    code, out, _ = run("count", "--store", store, "-o", "json")
    if code != OK:
        return 0
    return json.loads(out)["count"]


class TroubleTest(Places):
    """What goes wrong in the middle of a move gives one sentence; nothing is lost, and the same command goes on."""

    RUNS = 1200

    def many(self, store):
        with Host(store):
            start_many(store, self.RUNS)

    def failed(self, done):
        code, _, err = done
        self.assertEqual(code, STORE, err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertRegex(err, r"^pawl: .*; call the same command again to go on\n$")

    def goes_on(self, source, target):
        self.assertEqual(count(source), self.RUNS)
        code, out, err = run("migrate", source, target)
        self.assertEqual((code, err), (OK, ""), out)
        self.assertRegex(out, "^moved 1,200 runs, |^moved 1,200 runs with |^all runs have moved there before")
        self.assertEqual(count(target), self.RUNS)
        for store in (source, target):
            code, out, err = run("db", "check", "--store", store)
            self.assertEqual((code, out), (OK, "nothing is wrong; looked at 1,200 runs\n"), err)
        with Host(target):
            pawl("signal", "run-1199", "go", "7", "--store", target)
            self.assertEqual(run("result", "run-1199", "--store", target)[1], "7\n")

    def test_the_disk_of_the_target_is_full(self):
        for kind in kinds():
            with self.subTest(source=kind):
                source, target = self.make(kind, "source"), self.sqlite("small" + kind)
                self.many(source)
                kilobytes = 600
                if kind == "sqlite":  # The limit is for all files: the source fits, and what the target needs meanwhile does not.
                    with sqlite3.connect(self.root / "source.db") as database:
                        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    kilobytes = (self.root / "source.db").stat().st_size // 1024 + 1
                done = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\"", "bash", PAWL, "migrate",
                                       source, target], capture_output=True, text=True, timeout=120, check=False)
                self.failed((done.returncode, done.stdout, done.stderr))
                self.assertLess(count(target), self.RUNS)
                self.goes_on(source, target)

    def held_up(self, source, target, run_id):
        """A move that waits inside of the transaction that puts this run, and a process that lets it go on when it ends."""
        with Host(target):  # So that the tables are there.
            pass
        schema = schema_of(target)
        SERVER.query(f"""
CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
CREATE TRIGGER held BEFORE INSERT ON {schema}.pawl_run FOR EACH ROW WHEN (NEW.id = '{run_id}')
  EXECUTE FUNCTION {schema}.wait();""")
        lock = subprocess.Popen([serve.programs() / "psql", "-X", "-q", "-A", "-t", SERVER.url()], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        lock.stdin.write("SELECT 'held' FROM pg_advisory_lock(7);\n")
        lock.stdin.flush()
        self.assertEqual(lock.stdout.readline(), "held\n")
        move = subprocess.Popen([PAWL, "migrate", source, target], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        eventually(lambda: SERVER.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "1",
                   "waits")
        return move, lock

    def end(self, move, lock):
        lock.communicate()
        out, err = move.communicate(timeout=120)
        return move.returncode, out, err

    def loses(self, source, target):
        """Ends the sessions of one of them, by their name, in the middle."""
        self.many(source)
        move, lock = self.held_up(source, target, "run-700")
        SERVER.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to-be-lost'")
        self.failed(self.end(move, lock))
        self.assertTrue(0 < count(target) < self.RUNS)
        self.goes_on(source, target)

    def test_the_connection_to_the_target_is_lost(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        self.loses(self.sqlite("source"), self.postgres("target") + "&application_name=to-be-lost")

    def test_the_connection_to_the_source_is_lost(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        self.loses(self.postgres("source") + "&application_name=to-be-lost", self.postgres("target"))

    def test_the_server_is_stopped(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        for how in ("fast", "immediate"):
            with self.subTest(how=how):
                source, target = self.sqlite("source" + how), self.postgres("target")
                self.many(source)
                move, lock = self.held_up(source, target, "run-700")
                SERVER.stop(how)
                try:
                    self.failed(self.end(move, lock))
                    code, _, err = run("migrate", source, target)  # Nobody is there.
                    self.assertEqual((code, err.count("\n")), (STORE, 1), err)
                finally:
                    SERVER.start()
                self.goes_on(source, target)

    def test_rights_are_missing_in_the_target(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        source, owned = self.sqlite("source"), self.postgres("target")
        target, schema = owned.replace("postgres@", "guest@", 1), schema_of(owned)
        self.many(source)
        SERVER.query("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")

        def refused(sentence):
            code, _, err = run("migrate", source, target)
            self.assertEqual(code, STORE, err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertRegex(err, sentence)

        refused("permission denied|has no right|rights")  # It may not make the tables.
        with Host(source):  # It is open as before.
            pass
        with Host(owned):
            pass
        SERVER.query(f"GRANT USAGE ON SCHEMA {schema} TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest")
        refused("permission denied for")  # It may not close the target.
        with Host(source):
            pass
        SERVER.query(f"GRANT UPDATE ON {schema}.pawl_namespace TO guest; GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO guest;"
                     f"GRANT INSERT ON {schema}.pawl_run TO guest")
        self.failed(run("migrate", source, target))
        self.assertEqual(count(owned), 0)
        with self.assertRaisesRegex(RuntimeError, "are being moved to"):
            Host(source)
        SERVER.query(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO guest")
        self.goes_on(source, target)


class RefusalTest(Places):
    def refused(self, *arguments, code=FAILURE, sentence):
        got, out, err = run("migrate", *arguments)
        self.assertEqual(got, code, out + err)
        self.assertRegex(err, sentence)
        self.assertEqual(err.count("\n"), 1, err)

    def one_run(self, store, run_id="a"):
        with Host(store):
            pawl("start", "waits", "--input", "1", "--id", run_id, "--store", store)
            wait_for(store, run_id, "signal go")

    def test_bad_words(self):
        store = self.sqlite("a")
        self.one_run(store)
        self.refused(store, code=USAGE, sentence="name the store to move to")
        self.refused(store, store, code=USAGE, sentence="both sides are the same")
        self.refused(store, self.root / "b.db", code=USAGE, sentence="begins with sqlite: or postgres://")
        self.refused("sqlite:" + str(self.root / "none.db"), self.sqlite("b"), code=STORE, sentence="there is no file")
        self.assertFalse((self.root / "b.db").exists())
        self.refused(store, self.sqlite("no/such/folder"), code=STORE, sentence="pawl: ")
        (self.root / "text.db").write_text("no database at all, and long enough for the header of one" * 20)
        self.refused(store, self.sqlite("text"), code=STORE, sentence="pawl: ")
        with Host(store):  # It is open all the same.
            pass

    def test_the_same_store_by_another_name(self):
        store = self.sqlite("a")
        self.one_run(store)
        os.link(self.root / "a.db", self.root / "b.db")
        code, _, err = run("migrate", store, self.sqlite("b"))
        self.assertNotEqual(code, OK)
        self.assertEqual(err.count("\n"), 1, err)
        if SERVER:
            store = self.postgres("same")
            self.one_run(store)
            self.refused(store, store.replace("postgresql:", "postgres:") + "&application_name=other",
                         sentence="both sides are the same|has 1 run already")
            with Host(store):
                pass

    def test_programs_at_work(self):
        for kind in kinds():
            with self.subTest(kind=kind):
                busy, idle = self.make(kind, "busy"), self.sqlite("idle" + kind)
                with Host(busy):
                    self.refused(busy, idle, sentence="programs work on the source '.*': the-host")
                    self.assertFalse((self.root / f"idle{kind}.db").exists())
                    self.one_run(idle)
                    self.refused(idle, busy, sentence="programs work on the target '.*': the-host")
                    with Host(idle):
                        pass
                pawl("migrate", idle, busy)

    def test_a_target_with_runs(self):
        for kind in kinds():
            with self.subTest(kind=kind):
                source, target = self.sqlite("source" + kind), self.make(kind, "full")
                self.one_run(source)
                self.one_run(target)
                self.refused(source, target, sentence="has 1 run already; give one without any")
                with Host(source):
                    pass
                joint = "&" if "?" in target else "?"
                pawl("migrate", source, target + joint + "namespace=second")
                self.assertEqual(count(target), 1)

    def test_passwords_are_neither_kept_nor_told(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        source, target = self.sqlite("source"), self.postgres("secret") + "&password=hush-hush"
        self.one_run(source)
        code, out, err = run("migrate", source, target)
        self.assertEqual(code, OK, err)
        self.assertNotIn("hush", out + err)
        with sqlite3.connect(self.root / "source.db") as database:
            self.assertNotIn("hush", str(database.execute("SELECT seal FROM pawl_namespace").fetchall()))


class DamageTest(Places):
    """Each way to damage a database is found, and named."""

    DAMAGE = {
        "unknown_owner": "UPDATE {s}pawl_run SET owner = 99, wake = NULL WHERE id = 'waiting'",
        "held_after_end": "UPDATE {s}pawl_run SET goal = 5 WHERE id = 'echo'",
        "woken_in_vain": "UPDATE {s}pawl_run SET wake = 1 WHERE id = 'echo'",
        "never_woken": "UPDATE {s}pawl_run SET status = 1, wake = NULL WHERE id = 'waiting'",
        "woken_late": "UPDATE {s}pawl_run SET wake = NULL WHERE id = 'sleeping'",
        "no_such_status": "UPDATE {s}pawl_run SET status = 9 WHERE id = 'waiting'",
        "compensates_for_nothing": "UPDATE {s}pawl_run SET goal = NULL WHERE id = 'undoing'",
        "blocked_for_nothing": "DELETE FROM {s}pawl_reason",
        "not_newest": "UPDATE {s}pawl_run SET status = 2 WHERE id = 'recurring' AND number = 1",
        "no_parent": "UPDATE {s}pawl_run SET parent = 999 WHERE id = 'child'",
        "outlives_parent": "UPDATE {s}pawl_run SET parent_close = 2, parent = (SELECT key FROM {s}pawl_run AS p WHERE p.id = "
                           "'echo') WHERE id = 'child'",
        "dedupe_of_nothing": "INSERT INTO {s}pawl_dedupe(ns, chain, id) VALUES(0, 12345, 'x')",
        "task_of_unknown_worker": "UPDATE {s}pawl_task SET owner = 99, state = 2",
        "task_owned_in_vain": "UPDATE {s}pawl_task SET owner = 99, state = 0",
        "task_state": "UPDATE {s}pawl_task SET state = 7",
        "compensation_too_early": "UPDATE {s}pawl_compensation SET run = (SELECT key FROM {s}pawl_run WHERE id = 'waiting')",
        "tag_out_of_order": "UPDATE {s}pawl_tag SET created = 1",
        "entry_twice": "UPDATE {s}pawl_forgotten SET seq = (SELECT max(seq) FROM {s}pawl_log AS l WHERE l.run = "
                       "{s}pawl_forgotten.run) WHERE seq = (SELECT max(seq) FROM {s}pawl_forgotten)",
        "no_end": "DELETE FROM {s}pawl_log WHERE kind = 65",
        "ended_but_open": "UPDATE {s}pawl_run SET status = 2 WHERE id = 'echo'",
        "compensates_too_early": "UPDATE {s}pawl_run SET goal = 6 WHERE id = 'undoing'",
        "log_of_no_run": "DELETE FROM {s}pawl_run WHERE id = 'echo'",
        "input_of_no_run": "UPDATE {s}pawl_input SET run = 777 WHERE run = (SELECT min(run) FROM {s}pawl_input)",
        "tag_of_no_run": "UPDATE {s}pawl_tag SET run = 777 WHERE value = 'echo'",
        "inbox_of_no_run": "UPDATE {s}pawl_inbox SET run = 777 WHERE kind = 35",
        "task_of_no_run": "UPDATE {s}pawl_task SET run = 777 WHERE type = 'charge'",
        "promise_of_no_run": "UPDATE {s}pawl_promise SET run = 777",
        "compensation_of_no_run": "UPDATE {s}pawl_compensation SET run = 777",
        "reason_of_no_run": "UPDATE {s}pawl_reason SET run = 777",
        "inbox_after_end": "UPDATE {s}pawl_inbox SET run = (SELECT key FROM {s}pawl_run WHERE id = 'echo') WHERE kind = 35",
        "task_after_end": "UPDATE {s}pawl_task SET run = (SELECT key FROM {s}pawl_run WHERE id = 'echo') WHERE type = 'charge'",
        "promise_after_end": "UPDATE {s}pawl_promise SET run = (SELECT key FROM {s}pawl_run WHERE id = 'echo')",
        # Those that need the log.
        "damaged_log": "DELETE FROM {s}pawl_log WHERE seq = 1 AND run = (SELECT key FROM {s}pawl_run WHERE id = 'changing')",
        "task_lost": "DELETE FROM {s}pawl_task WHERE type = 'charge'",
        "timer_lost": "DELETE FROM {s}pawl_inbox WHERE kind = 35",
        "promise_lost": "DELETE FROM {s}pawl_promise",
        "child_lost": "UPDATE {s}pawl_run SET parent = NULL WHERE id = 'child'",
        "task_of_nothing": "UPDATE {s}pawl_task SET run = (SELECT key FROM {s}pawl_run WHERE id = 'waiting') WHERE type = "
                           "'charge'",
        "promise_of_nothing": "UPDATE {s}pawl_promise SET name = 'other'",
        "impossible_arrival": "UPDATE {s}pawl_inbox SET kind = 1 WHERE kind = 35",
        "unreadable_log": "UPDATE {s}pawl_log SET checkpoint = {blob} WHERE kind = 64",
        "state_of_nothing": "INSERT INTO {s}pawl_kept_state(ns, run, seq, name) SELECT 0, key, 99, 'x' FROM {s}pawl_run WHERE "
                            "id = 'echo'",
    }

    def found(self, store, *more):
        code, out, err = run("db", "check", "--store", store, "-o", "json", *more)
        self.assertIn(code, (OK, MISFITS), err)
        findings = json.loads(out)["findings"]
        self.assertEqual(code, MISFITS if findings else OK)
        for finding in findings:
            self.assertTrue(finding["what"] and finding["advice"], finding)
        return [finding["rule"] for finding in findings]

    def test_sqlite(self):
        whole = self.sqlite("whole")
        fill(whole)
        self.assertEqual(self.found(whole), [])
        with sqlite3.connect(self.root / "whole.db") as original:
            for rule, sql in self.DAMAGE.items():
                with self.subTest(rule=rule):
                    path = self.root / f"{rule}.db"
                    with sqlite3.connect(path) as copy:
                        original.backup(copy)
                        copy.execute(sql.format(s="", blob="x'" + "ff" * 20 + "'"))
                    copy.close()
                    self.assertIn(rule, self.found(f"sqlite:{path}"))

    def test_postgres(self):
        if not SERVER:
            self.skipTest("there is no PostgreSQL store")
        whole = self.postgres("whole")
        fill(whole)
        self.assertEqual(self.found(whole), [])
        schema = schema_of(whole)
        dump = self.root / "whole.sql"
        dump.write_bytes(subprocess.run([serve.programs() / "pg_dump", "-n", schema, "-d", SERVER.url()], check=True,
                                        capture_output=True).stdout)
        for rule, sql in self.DAMAGE.items():
            with self.subTest(rule=rule):
                damaged = sql.format(s=schema + ".", blob="'\\x" + "ff" * 20 + "'")
                SERVER.query(f"DROP SCHEMA {schema} CASCADE")
                subprocess.run([serve.programs() / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", SERVER.url(), "-f", dump],
                               check=True, capture_output=True)
                SERVER.query(damaged)
                self.assertIn(rule, self.found(whole))

    def test_the_file_itself(self):
        store = self.sqlite("file")
        fill(store)
        with sqlite3.connect(self.root / "file.db") as database:
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = replace(sql, 'wake IS NOT NULL', 'wake IS NULL') WHERE name = "
                             "'pawl_run_wake'")
        database.close()
        self.assertIn("damaged_database", self.found(store))
        self.assertNotIn("damaged_database", self.found(store, "--quick"))

    def test_words(self):
        store = self.sqlite("words")
        with Host(store):
            pawl("start", "waits", "--input", "1", "--id", "a", "--store", store)
            wait_for(store, "a", "signal go")
        self.assertEqual(run("db", "check", "--store", store)[:2], (OK, "nothing is wrong; looked at 1 run\n"))

    def test_one_run_and_namespaces(self):
        store = self.sqlite("spaces")
        for space in ("default", "second"):
            with Host(store + "?namespace=" + space):
                pawl("start", "waits", "--input", "1", "--id", "a", "--store", store + "?namespace=" + space)
                wait_for(store + "?namespace=" + space, "a", "signal go")
        self.assertEqual(run("db", "check", "--store", store)[1], "nothing is wrong; looked at 2 runs\n")
        with sqlite3.connect(self.root / "spaces.db") as database:
            database.execute("UPDATE pawl_run SET status = 1 WHERE ns = 1")
        code, out, _ = run("db", "check", "--store", store)
        self.assertEqual(code, MISFITS)
        self.assertEqual(out, "namespace 'second', run 'a': runs, nobody holds it, and it is never woken; `pawl resume` wakes "
                              "the run\n1 thing is wrong; looked at 2 runs\n")
        self.assertEqual(run("db", "check", "--store", store + "?namespace=default")[0], OK)
        self.assertEqual(run("db", "check", "--run", "a", "--store", store)[0], OK)
        code, out, _ = run("db", "check", "--run", "a", "--store", store + "?namespace=second", "-o", "jsonl")
        self.assertEqual((code, json.loads(out)["rule"]), (MISFITS, "never_woken"))
        self.assertEqual(run("db", "check", "--run", "x", "--store", store)[0], NOT_FOUND)
        self.assertEqual(run("db", "look", "--store", store)[0], USAGE)


    def test_namespaces_with_any_name(self):
        names = ["a b", "it's", 'quo"te', "back\\slash", "{ns}", "% and &", "\u00fcn\u00ef \u2713", b"\xff\x01\xfe", "' OR 1=1 --"]
        for kind in kinds():
            with self.subTest(kind=kind):
                store = self.make(kind, "names")
                joint = "&" if "?" in store else "?"
                for name in names:
                    place = store + joint + "namespace=" + urllib.parse.quote(name, safe="")
                    with Host(place):
                        pawl("start", "waits", "--input", "1", "--id", "a", "--store", place)
                        wait_for(place, "a", "signal go")
                with Host(store):
                    pass
                code, out, err = run("db", "check", "--store", store)
                self.assertEqual((code, out), (OK, "nothing is wrong; looked at 9 runs\n"), err)
                damage = "UPDATE {}pawl_run SET status = 1, wake = NULL"
                if kind == "sqlite":
                    with sqlite3.connect(self.root / "names.db") as database:
                        database.execute(damage.format(""))
                else:
                    SERVER.query(damage.format(schema_of(store) + "."))
                code, out, err = run("db", "check", "--store", store, "-o", "json")
                self.assertEqual(code, MISFITS, err)
                found = {finding["namespace"] for finding in json.loads(out)["findings"]}
                texts = {name for name in names if isinstance(name, str)}
                self.assertEqual(found & texts, texts)
                self.assertEqual(len(found), len(names))
                code, out, err = run("db", "check", "--store", store)
                self.assertIn("namespace 'it's', run 'a': runs, nobody holds it", out)
                self.assertIn("9 things are wrong; looked at 9 runs\n", out)
                place = store + joint + "namespace=" + urllib.parse.quote(names[7], safe="")
                self.assertEqual(run("db", "check", "--store", place)[1].count("looked at 1 run\n"), 1)


def main():
    global PAWL, HOST, SERVER
    PAWL, HOST = sys.argv[1:3]
    words = [word for word in sys.argv[3:] if word]
    if words[:1] == ["postgres"]:
        words = words[1:]
        SERVER = serve.Server()
    try:
        return not unittest.main(argv=[sys.argv[0], *words], exit=False).result.wasSuccessful()
    finally:
        if SERVER:
            SERVER.close()


if __name__ == "__main__":
    sys.exit(main())
