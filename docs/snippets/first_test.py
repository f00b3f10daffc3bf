#!/usr/bin/env python3
"""Checks the first program of the guide as the guide tells it: killed while it sleeps, it goes on and does not brew
again; started once more, it answers out of the record.

Usage: first_test.py PROGRAM
"""

import pathlib
import subprocess
import sys
import tempfile


def run_to_the_end(program, directory, expected):
    done = subprocess.run([program], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode != 0 or done.stdout != expected:
        sys.exit(f"exit code {done.returncode}, printed {done.stdout!r} instead of {expected!r}\n{done.stderr}")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        with subprocess.Popen([program], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              text=True) as first:
            line = first.stdout.readline()
            first.kill()  # It may have brewed and not have recorded it: then it brews again.
        if line != "brewing Assam\n":
            sys.exit(f"the first line is {line!r}")
        done = subprocess.run([program], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode != 0 or not done.stdout.endswith("a cup of Assam, steeped\n"):
            sys.exit(f"exit code {done.returncode}, printed {done.stdout!r}\n{done.stderr}")
        run_to_the_end(program, directory, "a cup of Assam, steeped\n")


if __name__ == "__main__":
    main()
