#!/usr/bin/env python3
"""Checks that an example does what its README shows.

usage: examples_test.py FOLDER PROGRAMS TOOLS       the commands of FOLDER/README.md, with the programs in PROGRAMS and
                                                    the command `pawl` in TOOLS
       examples_test.py --standalone BUILD_DIR      installs the package that is in BUILD_DIR, and builds each example
                                                    against it, alone, by the commands in its README; then as above
       examples_test.py --self-test

Blocks of a README that begin with ```console are transcripts: "$ " and a command, then what it prints. The commands are
run one after the other in a copy of the folder where `build` has the programs. Each must print just what the README
shows, and end with exit code 0. In what is shown

  …     is anything within a line, and on a line of its own any number of lines
  ^C    as the last line: the command is interrupted when all before it has been printed. What was being done then is
        done again by the next command, so that may print the last line once more

Blocks that begin with ```cpp are quotations: each must be a region of a source file in the folder, the lines between
`// [name]` and `// [/name]`, with another indentation maybe.

The first block that begins with ```sh has the commands that build the example, with the package in $HOME/pawl.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading

EXAMPLES = pathlib.Path(__file__).resolve().parent
WAIT_SECONDS = 240  # For one command; much longer than any takes.


class NotAsShown(Exception):
    pass


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def transcript(readme):
    """[(command, lines that it prints)]"""
    steps = []
    for block in blocks(readme, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps:
                steps[-1][1].append(line)
            else:
                raise NotAsShown(f"the transcript begins with '{line}', which is no command")
    if not steps:
        raise NotAsShown("there is no transcript: a block that begins with ```console")
    return steps


def matches(shown, printed):
    """Whether the printed lines are those that are shown."""
    pattern = ""
    for line in shown:
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def regions(text, where):
    """{name: lines} of a source file."""
    found = {}
    opened = None
    for line in text.splitlines():
        mark = re.fullmatch(r" *// \[(/?)(\w+)\]", line)
        if mark is None:
            if opened is not None:
                found[opened].append(line)
        elif mark[1] == "" and opened is None and mark[2] not in found:
            opened = mark[2]
            found[opened] = []
        elif mark[1] == "/" and opened == mark[2]:
            opened = None
        else:
            raise NotAsShown(f"{where}: '{line.strip()}' does not fit: regions have a name of their own, and do not overlap")
    if opened is not None:
        raise NotAsShown(f"{where}: region '{opened}' does not end")
    return found


def check_quotations(folder):
    known = set()
    for path in sorted([*folder.glob("*.cc"), *folder.glob("*.hpp")]):
        for lines in regions(path.read_text(encoding="utf-8"), path.name).values():
            known.add(textwrap.dedent("".join(line + "\n" for line in lines)))
    for block in blocks((folder / "README.md").read_text(encoding="utf-8"), "cpp"):
        if block not in known:
            raise NotAsShown(f"{folder.name}/README.md quotes what is no region of a source file:\n{block}")


class Command:
    def __init__(self, command, directory, tools):
        # A group of its own, to stop all of it; and Ctrl-C works, even if whoever started this ignores it.
        self.process = subprocess.Popen(["bash", "-c", command], cwd=directory, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True,
                                        env={**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.too_long = threading.Timer(WAIT_SECONDS, self.stop)
        self.too_long.start()
        self.lines = []

    def stop(self, how=signal.SIGKILL):
        os.killpg(self.process.pid, how)

    def read(self, until=None):
        """Reads to the end, or until the lines match."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if until is not None and matches(until, self.lines):
                return

    def end(self):
        self.read()
        code = self.process.wait()
        self.too_long.cancel()
        return code


def run_step(command, shown, directory, before, tools="/"):
    """`before` is what this returned for the step before: None, or what it printed last and what it printed more than
    is shown, because it was interrupted late: the next one need not do that again."""
    interrupted = bool(shown) and shown[-1] == "^C"
    shown = shown[:-1] if interrupted else shown
    running = Command(command, directory, tools)
    if interrupted:
        running.read(until=shown)
        if running.process.poll() is None:
            running.stop(signal.SIGINT)
    code = running.end()
    printed = running.lines
    if interrupted:
        # It may have printed more in the moment before it ended.
        is_right = code == -signal.SIGINT and matches(shown + ["…"], printed)
    else:
        last, more = before or (None, [])
        left = shown[len(more):] if shown[:len(more)] == more else shown
        again = printed[:1] == [last] and (matches(shown, printed[1:]) or matches(left, printed[1:]))
        is_right = code == 0 and (again or matches(shown, printed) or matches(left, printed))
    if not is_right:
        raise NotAsShown(f"$ {command}\nexit code {code}\n--- shown ---\n" + "\n".join(shown) + "\n--- printed ---\n" +
                         "\n".join(printed))
    return (printed[-1], printed[len(shown):]) if interrupted else None


def check(folder, programs, tools):
    check_quotations(folder)
    steps = transcript((folder / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name) / folder.name
        shutil.copytree(folder, directory, ignore=shutil.ignore_patterns("build"))
        (directory / "build").symlink_to(programs.resolve())
        before = None
        for command, shown in steps:
            before = run_step(command, shown, directory, before, tools.resolve())
            print(f"ok {folder.name}: {command}")


def run(*command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **kwargs)
    if done.returncode != 0:
        raise NotAsShown(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def check_standalone(build):
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        run("cmake", "--build", build, "--target", "pawl_lib", "pawl_texts")
        for component in ("pawl", "pawl_command"):
            run("cmake", "--install", build, "--prefix", home / "pawl", "--component", component)
        for readme in sorted(EXAMPLES.glob("*/README.md")):
            folder = home / readme.parent.name
            shutil.copytree(readme.parent, folder, ignore=shutil.ignore_patterns("build"))
            commands = blocks(readme.read_text(encoding="utf-8"), "sh")[0]
            run("bash", "-euc", commands, cwd=folder, env={**os.environ, "HOME": str(home)})
            print(f"ok {folder.name}: is built", flush=True)
            check(folder, folder / "build", home / "pawl" / "bin")


def self_test():
    def expect(condition, what):
        if not condition:
            sys.exit(f"FAIL {what}")

    def refused(function, *arguments):
        try:
            function(*arguments)
        except NotAsShown:
            return True
        return False

    def fails(command, shown, before=None):
        return refused(run_step, command, shown, "/", before)

    def quotes(source, quotation):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "main.cc").write_text(source, encoding="utf-8")
            (pathlib.Path(name) / "README.md").write_text(f"```cpp\n{quotation}```\n", encoding="utf-8")
            return not refused(check_quotations, pathlib.Path(name))

    expect(transcript("```console\n$ a\n1\n$ b c\n```\n```sh\n$ x\n```\n") == [("a", ["1"]), ("b c", [])], "transcript")
    expect(matches(["a", "b …c"], ["a", "b 17 c"]), "a part of a line")
    expect(not matches(["a…c"], ["a", "c"]), "a part of a line is in one line")
    expect(matches(["a", "…", "c"], ["a", "c"]) and matches(["…", "c"], ["a", "b", "c"]), "any lines")
    expect(not matches(["a", "…", "c"], ["a", "b"]) and not matches(["a."], ["ab"]), "other lines")
    expect(not fails("echo a; echo b", ["a", "b"]), "as shown")
    expect(fails("echo a; echo b", ["a"]) and fails("echo a", ["a", "b"]), "other output")
    expect(fails("echo a; exit 3", ["a"]), "exit code")
    expect(run_step("echo a; echo b; sleep 600", ["a", "b", "^C"], "/", None) == ("b", []), "interrupted")
    expect(run_step("echo a; echo b; echo c; sleep 600", ["a", "^C"], "/", None)[1][:1] in ([], ["b"]), "interrupted late")
    expect(run_step("echo c", ["b", "c"], "/", ("b", ["b"])) is None, "what was done before the interrupt is not done again")
    expect(fails("echo c", ["b", "c"], ("b", [])), "what was not done is missed")
    expect(fails("echo b", ["a", "^C"]), "ended before it was interrupted")
    expect(not fails("echo b; echo c", ["c"], ("b", [])) and not fails("echo c", ["c"], ("b", [])), "the last line once more")
    expect(fails("echo b; echo b; echo c", ["c"], ("b", [])), "the last line twice more")
    expect(quotes("x\n  // [a]\n  b\n    c\n  // [/a]\n", "b\n  c\n"), "a quotation")
    expect(not quotes("// [a]\nb\nc\n// [/a]\n", "b\n") and not quotes("b\n", "b\n"), "not a whole region")
    expect(not quotes("// [a]\nb\n", "b\n") and not quotes("// [/a]\n// [a]\nb\n// [/a]\n", "b\n"), "a region's marks")
    expect(not quotes("// [a]\nb\n// [/a]\n// [a]\nc\n// [/a]\n", "b\n"), "a region's name twice")
    print("ok")


def main():
    arguments = sys.argv[1:]
    try:
        if arguments == ["--self-test"]:
            self_test()
        elif len(arguments) == 2 and arguments[0] == "--standalone":
            check_standalone(pathlib.Path(arguments[1]).resolve())
        elif len(arguments) == 3:
            folder, programs, tools = map(pathlib.Path, arguments)
            check(folder.resolve(), programs, tools)
        else:
            sys.exit(__doc__)
    except NotAsShown as error:
        sys.exit(f"FAIL {error}")


if __name__ == "__main__":
    main()
