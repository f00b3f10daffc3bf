#!/usr/bin/env python3
"""libpawl.so exports what include/pawl.h declares, all of it and nothing else, under its own soname.

Usage: exports_test.py LIBRARY HEADER
"""

import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    library, header = sys.argv[1:]
    text = open(header, encoding="utf-8").read()
    declared = set(re.findall(r"^PAWL_API [^;(]*?\b(pawl_\w+)\(", text, re.MULTILINE))
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    if not declared or exported != declared:
        sys.exit(f"exported and not declared: {sorted(exported - declared)}; declared and not exported: {sorted(declared - exported)}")
    version = re.search(r"#define PAWL_ABI_VERSION (\d+)", text)[1]
    soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", library))[1]
    if soname != f"libpawl.so.{version}":
        sys.exit(f"the soname is {soname}, and the version of the ABI {version}")
    print(f"{len(declared)} functions")


if __name__ == "__main__":
    main()
