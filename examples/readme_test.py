#!/usr/bin/env python3
"""Checks the README's program: it runs and prints what the README says, a second time too, and its workflow is that of
the shop in examples/orders.

Usage: readme_test.py PROGRAM README.md orders.cc
"""

import pathlib
import subprocess
import sys
import tempfile


def between(text, begin, end, where):
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        sys.exit(f"{where}: there is no {begin!r} followed by {end!r}")
    return text[start:stop + len(end)]


def main():
    program, readme_path, orders_path = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    readme = readme_path.read_text(encoding="utf-8")
    orders = orders_path.read_text(encoding="utf-8")
    workflow = between(orders, "pawl::Workflow<std::string> fulfil(", "\n}\n", orders_path)
    if workflow not in readme:
        sys.exit(f"the workflow in {readme_path} is not the one in {orders_path}")
    expected = between(readme, "$ ./shop\n", "```", readme_path).removeprefix("$ ./shop\n").removesuffix("```")
    with tempfile.TemporaryDirectory() as directory:
        for attempt in ("the first time", "the second time"):
            done = subprocess.run([program], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=False)
            if done.returncode != 0 or done.stdout != expected:
                sys.exit(f"{attempt}: exit code {done.returncode}, printed {done.stdout!r} instead of {expected!r}\n"
                         f"{done.stderr}")


if __name__ == "__main__":
    main()
