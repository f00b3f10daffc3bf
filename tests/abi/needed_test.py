#!/usr/bin/env python3
"""libpawl.so needs nothing but C, C++ and SQLite to be loaded, and libpq only once a PostgreSQL store is opened.

Usage: needed_test.py LIBRARY [postgres]
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ALLOWED = re.compile(r"(libc|libm|libgcc_s|libstdc\+\+|libsqlite3|ld-linux-[\w-]+)\.so\.\d+")
STORE_UNUSABLE = 64


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class EngineOptions(ctypes.Structure):
    """As a caller who knows no more than the URL."""

    _fields_ = [("size", ctypes.c_size_t), ("url", Bytes)]


def expect(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print(f"ok {what}")


def open_store(library, url):
    """Opens a store and closes it; prints the status, whether libpq is loaded then, and what went wrong."""
    pawl = ctypes.CDLL(library)
    pawl.pawl_last_error.restype = Bytes
    name = url.encode()
    options = EngineOptions(ctypes.sizeof(EngineOptions), Bytes(name, len(name)))
    engine = ctypes.c_void_p()
    status = pawl.pawl_engine_open(ctypes.byref(options), ctypes.byref(engine))
    why = ctypes.string_at(pawl.pawl_last_error().data, pawl.pawl_last_error().size).decode() if status else ""
    if status == 0:
        pawl.pawl_engine_free(engine)
    print(status, "libpq.so.5" in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8"), why)


def opened(library, url, directory=None):
    """What open_store() prints in a process that looks for libraries in `directory` first."""
    env = {**os.environ, **({"LD_LIBRARY_PATH": str(directory)} if directory else {})}
    done = subprocess.run([sys.executable, __file__, "--open", library, url], env=env, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"FAIL opening {url} ended with {done.returncode}: {done.stderr}")
    status, has_libpq, why = done.stdout.strip("\n").split(" ", 2)
    return int(status), has_libpq == "True", why


def check_libpq(library, temp):
    url = "postgres://nobody@127.0.0.1:1/nowhere"
    # What the loader finds first and cannot use is as good as nothing.
    broken = temp / "broken"
    broken.mkdir()
    (broken / "libpq.so.5").touch()
    status, _, why = opened(library, url, broken)
    expect(status == STORE_UNUSABLE and "needs libpq 14" in why and "apt-get install libpq5" in why and "\n" not in why,
           f"without libpq: {why}")
    status, _, why = opened(library, f"sqlite:{temp}/without.db", broken)
    expect(status == 0, f"without libpq, SQLite works {why}")

    other = temp / "other"
    other.mkdir()
    shutil.copy(library, other / "libpq.so.5")
    status, _, why = opened(library, url, other)
    expect(status == STORE_UNUSABLE and "has no PQ" in why, f"with another library of that name: {why}")

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "postgres"))
    from serve import Server  # pylint: disable=import-outside-toplevel
    with Server() as server:
        status, has_libpq, why = opened(library, server.url())
        expect(status == 0 and has_libpq, f"a PostgreSQL store is opened {why}")


def main():
    library, postgres = sys.argv[1], sys.argv[2:] == ["postgres"]
    listed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listed)
    others = [name for name in needed if not ALLOWED.fullmatch(name)]
    expect(needed and not others, f"needs no other libraries {others}")
    with tempfile.TemporaryDirectory() as name:
        temp = pathlib.Path(name)
        status, has_libpq, why = opened(library, f"sqlite:{temp}/a.db")
        expect(status == 0 and not has_libpq, f"a SQLite store is opened without libpq {why}")
        if postgres:
            check_libpq(library, temp)


if __name__ == "__main__":
    if sys.argv[1] == "--open":
        open_store(*sys.argv[2:])
    else:
        main()
