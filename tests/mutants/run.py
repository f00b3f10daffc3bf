#!/usr/bin/env python3
"""Runs the tests against deliberately broken copies of the sources.

The mutants and the commands are in mutants.toml. The sources are copied to build-mutants/tree and built once in
build-mutants/build; then each mutant is applied there, built incrementally, tested, and taken back. The repository
itself is never changed.

Exits 0 if the tests killed every mutant; 1 if one survived, did not compile, or no longer fits its file; 2 if the
mutants could not be run at all, for example because the tests fail without any.
"""

import argparse
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = pathlib.Path("tests/mutants/mutants.toml")
TEST_MEMORY_BYTES_MAX = 8 << 30  # a mutant may allocate without end; stop it before the machine suffers


class Unusable(Exception):
    """The mutants cannot be run; the message says why."""


class Runner:
    def __init__(self, root, config, jobs):
        self.root = root
        self.run = config["run"]
        self.mutants = config.get("mutant", [])
        self.jobs = jobs
        self.tree = root / "build-mutants" / "tree"
        self.build_dir = root / "build-mutants" / "build"

    def stale(self, mutant, root):
        """Returns what is wrong with the mutant's place in the sources below root, or None."""
        file = root / mutant["file"]
        if not file.is_file():
            return f"{mutant['file']} does not exist"
        count = file.read_text(encoding="utf-8").count(mutant["find"])
        if count != 1:
            return f"its text occurs {count} times in {mutant['file']}, not once"
        if mutant["find"] == mutant["replace"]:
            return "it changes nothing"
        return None

    def prepare(self):
        """Brings the scratch copy up to date and builds and tests it without any mutant."""
        if not self.run["targets"] or not self.run["tests"]:
            raise Unusable(f"{CONFIG} names no targets or no tests")
        self.sync()
        self.build_dir.mkdir(parents=True, exist_ok=True)
        configure = subprocess.run(self.expand(self.run["configure"]), cwd=self.tree, check=False)
        if configure.returncode != 0:
            raise Unusable("the unchanged sources cannot be configured")
        if output := self.build():
            raise Unusable(f"the unchanged sources do not build:\n{output}")
        if killer := self.test():
            raise Unusable(f"a test fails on the unchanged sources: {killer}")

    def sync(self):
        """Makes the scratch copy equal to the tracked and the new, not ignored, files of the repository.

        Files that are equal already are not touched, so that ninja rebuilds only what changed.
        """
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, stdout=subprocess.PIPE, check=False)
        if listing.returncode != 0:
            raise Unusable("git cannot list the sources")
        wanted = {name for name in os.fsdecode(listing.stdout).split("\0") if name and (self.root / name).is_file()}
        for name in wanted:
            source, copy = self.root / name, self.tree / name
            if copy.is_file() and copy.read_bytes() == source.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
        for copy in list(self.tree.rglob("*")):
            if copy.is_file() and str(copy.relative_to(self.tree)) not in wanted:
                copy.unlink()

    def expand(self, command):
        return [word.format(tree=self.tree, build=self.build_dir) for word in command]

    def build(self):
        """Builds the test targets. Returns None, or what the compiler said if that failed."""
        done = subprocess.run(
            ["ninja", "-C", str(self.build_dir), f"-j{self.jobs}", *self.run["targets"]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return None if done.returncode == 0 else done.stdout.decode(errors="replace")

    def test(self):
        """Runs the tests up to the first that fails. Returns a description of that one, or None."""
        for command in map(self.expand, self.run["tests"]):
            name = " ".join([pathlib.Path(command[0]).name, *command[1:]])
            process = subprocess.Popen(
                command, cwd=self.tree, env={**os.environ, **self.run.get("env", {})}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit_memory)
            try:
                if process.wait(timeout=self.run["timeout_s"]) != 0:
                    return name
            except subprocess.TimeoutExpired:
                return f"{name} (timeout)"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        return None

    def try_mutant(self, mutant):
        """Returns (verdict, detail) where verdict is killed, survived, did-not-compile or stale."""
        if problem := self.stale(mutant, self.tree):
            return "stale", problem
        file = self.tree / mutant["file"]
        original = file.read_text(encoding="utf-8")
        file.write_text(original.replace(mutant["find"], mutant["replace"]), encoding="utf-8")
        try:
            if output := self.build():
                errors = [line for line in output.splitlines() if "error:" in line]
                return "did-not-compile", (errors or ["build failed"])[0]
            killer = self.test()
            return ("killed", f"by {killer}") if killer else ("survived", mutant["why"])
        finally:
            file.write_text(original, encoding="utf-8")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (TEST_MEMORY_BYTES_MAX, TEST_MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def load(root):
    config = tomllib.loads((root / CONFIG).read_text(encoding="utf-8"))
    ids = [mutant.get("id") for mutant in config.get("mutant", [])]
    for mutant in config.get("mutant", []):
        if set(mutant) != {"id", "file", "find", "replace", "why"}:
            raise Unusable(f"{CONFIG}: mutant {mutant.get('id')} needs exactly id, file, find, replace and why")
        if ids.count(mutant["id"]) > 1:
            raise Unusable(f"{CONFIG}: two mutants are called {mutant['id']}")
    return config


def check(runner):
    """Reports the mutants that no longer fit the sources. Builds nothing."""
    problems = [(mutant["id"], problem) for mutant in runner.mutants if (problem := runner.stale(mutant, runner.root))]
    for name, problem in problems:
        print(f"{name}: {problem}")
    return 1 if problems else 0


def run(runner, only):
    """Tries the mutants, prints one line for each and the sum, and returns the exit status."""
    mutants = [mutant for mutant in runner.mutants if not only or mutant["id"] in only]
    if unknown := set(only) - {mutant["id"] for mutant in mutants}:
        raise Unusable(f"there is no mutant {', '.join(sorted(unknown))}")
    if not mutants:
        print("0 killed, 0 survived")
        return 0
    runner.prepare()

    width = max(len(mutant["id"]) for mutant in mutants)
    count = {"killed": 0, "survived": 0, "did-not-compile": 0, "stale": 0}
    for mutant in mutants:
        start = time.monotonic()
        verdict, detail = runner.try_mutant(mutant)
        count[verdict] += 1
        print(f"{mutant['id']:<{width}}  {verdict:<15}  {time.monotonic() - start:5.1f} s  {detail}", flush=True)
    summary = f"{count['killed']} killed, {count['survived']} survived"
    for verdict in ("did-not-compile", "stale"):
        if count[verdict]:
            summary += f", {count[verdict]} {verdict}"
    print(summary)
    return 0 if count["killed"] == len(mutants) else 1


SELF_TEST_FILES = {
    ".gitignore": "/build-mutants/\n",
    "max.cc": "int max(int a, int b) { return a > b ? a : b; }\n",
    "max_test.cc": "int max(int a, int b);\nint main() { return max(1, 2) == 2 && max(4, 3) == 4 ? 0 : 1; }\n",
    "build.ninja": """
rule cxx
  command = ${CXX} -O0 $in -o $out
build max_test: cxx ../tree/max.cc ../tree/max_test.cc
""",
    str(CONFIG): """
[run]
configure = ["cp", "{tree}/build.ninja", "{build}/build.ninja"]
targets = ["max_test"]
tests = [["{build}/max_test"]]
timeout_s = 2
[[mutant]]
id = "min"
file = "max.cc"
find = "a > b"
replace = "a < b"
why = "the larger one is wanted"
[[mutant]]
id = "equivalent"
file = "max.cc"
find = "a > b"
replace = "a >= b"
why = "no test can see this"
[[mutant]]
id = "syntax"
file = "max.cc"
find = "a > b"
replace = "a >"
why = "not C++"
[[mutant]]
id = "endless"
file = "max.cc"
find = "return"
replace = "for (volatile int i = 0;;) i = i; return"
why = "it must end"
[[mutant]]
id = "gone"
file = "max.cc"
find = "minimum"
replace = "maximum"
why = "the text is not there"
[[mutant]]
id = "twice"
file = "max.cc"
find = "int"
replace = "long"
why = "the text is there three times"
""",
}


def self_test():
    """Runs the tool on a project of one function and checks what it says."""
    cxx = next((name for name in ("clang++-19", "c++") if shutil.which(name)), None)
    if not cxx:
        raise Unusable("no C++ compiler")
    want = {
        "min": "killed", "equivalent": "survived", "syntax": "did-not-compile", "endless": "killed", "gone": "stale",
        "twice": "stale",
    }
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        for name, text in SELF_TEST_FILES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("${CXX}", cxx), encoding="utf-8")
        runner = Runner(root, load(root), jobs=1)
        runner.prepare()
        verdicts = {mutant["id"]: runner.try_mutant(mutant)[0] for mutant in runner.mutants}
        restored = (runner.tree / "max.cc").read_text(encoding="utf-8") == SELF_TEST_FILES["max.cc"]
        untouched = (root / "max.cc").read_text(encoding="utf-8") == SELF_TEST_FILES["max.cc"]
        statuses = [run(runner, ["min"]), run(runner, ["equivalent"]), run(runner, []), check(runner)]
    problems = [f"{name}: {verdicts[name]}, not {want[name]}" for name in want if verdicts[name] != want[name]]
    if statuses != [0, 1, 1, 1]:
        problems.append(f"exit statuses {statuses}")
    if not restored or not untouched:
        problems.append("a source was left mutated")
    for problem in problems:
        print(f"self-test: {problem}")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="list the mutants")
    parser.add_argument("--check", action="store_true", help="check that each mutant fits its file; build nothing")
    parser.add_argument("--self-test", action="store_true", help="run the tool on a tiny project of its own")
    parser.add_argument("--only", metavar="ID", action="append", default=[], help="run this mutant; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel compile jobs")
    args = parser.parse_args()
    try:
        if args.self_test:
            return self_test()
        runner = Runner(ROOT, load(ROOT), args.jobs)
        if args.list:
            for mutant in runner.mutants:
                print(f"{mutant['id']}  {mutant['file']}  {mutant['why']}")
            return 0
        return check(runner) if args.check else run(runner, args.only)
    except Unusable as problem:
        print(f"mutants: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
