#!/usr/bin/env python3
"""Compiles the files in compile_fail/: each must be refused with the text in its first line, and nothing else
must be wrong with it. <pawl/pawl.hpp>, which most of the time goes to, is compiled once for all of them.

compile_fail_test.py COMPILER FLAG... -- FILE...
"""

import pathlib
import re
import subprocess
import sys
import tempfile


def check(compiler, flags, path):
    with open(path, encoding="utf-8") as file:
        match = re.fullmatch(r"// expect: (.+)\n", file.readline())
    if match is None:
        return "the first line must be: // expect: TEXT"
    command = [compiler, *flags, "-fsyntax-only", "-Werror=unused-result", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "it compiles"
    first = next((line for line in done.stderr.splitlines() if "error:" in line), "")
    if match[1] not in first:
        return f"the first error must say: {match[1]}\n{done.stderr}"
    return None


def main():
    split = sys.argv.index("--")
    compiler, flags, files = sys.argv[1], sys.argv[2:split], sys.argv[split + 1:]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        header, compiled = pathlib.Path(name) / "all.hpp", pathlib.Path(name) / "all.pch"
        header.write_text("#include <pawl/pawl.hpp>\n", encoding="utf-8")
        subprocess.run([compiler, *flags, "-x", "c++-header", header, "-o", compiled], check=True)
        for path in files:
            problem = check(compiler, [*flags, "-include-pch", str(compiled)], path)
            print(f"{'FAIL' if problem else 'ok'} {path}{': ' + problem if problem else ''}")
            failed += problem is not None
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
