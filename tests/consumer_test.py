#!/usr/bin/env python3
"""Installs the library and builds tests/consumer against it: by find_package and by pkg-config, in C++ and in C.

consumer_test.py BUILD_DIR COMPILER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent / "consumer"


def run(*command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **kwargs)
    if done.returncode != 0:
        sys.exit(f"FAIL {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print(f"ok {what}")


def c_program(source, temp, prefix, compiler):
    out = temp / "c_out"
    packages = ("Boost", "SQLite3", "PostgreSQL", "nlohmann_json", "Threads")
    run("cmake", "-S", source, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={compiler}",
        *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in packages))
    run("cmake", "--build", out)
    expect(run(out / "c_consumer") == "1\n", "find_package, component c: the program runs and needs no other package")

    library, = prefix.rglob("libpawl.so")
    env = {**os.environ, "PKG_CONFIG_PATH": str(library.parent / "pkgconfig"), "LD_LIBRARY_PATH": str(library.parent)}
    flags = run("pkg-config", "--cflags", "--libs", "--static", "pawl-c", env=env).split()
    program = temp / "c_by_pkg_config"
    run(compiler, "-std=c11", source / "main.c", "-o", program, *flags)
    expect(run(program, env=env) == "1\n", "pkg-config pawl-c: the program runs")


def refuses_old_gcc(source, out, prefix, flags):
    gcc = shutil.which("g++")
    if gcc is None or int(run(gcc, "-dumpversion").split(".")[0]) >= 13:
        return
    done = subprocess.run([gcc, "-std=c++20", "-fsyntax-only", source / "main.cc", *flags], capture_output=True, text=True,
                          check=False)
    expect("g++ before 13 gets coroutines wrong" in done.stderr, "pkg-config: g++ 12 is refused")
    done = subprocess.run(["cmake", "-S", source, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={gcc}"],
                          capture_output=True, text=True, check=False)
    expect(done.returncode != 0 and "coroutines" in done.stderr, "find_package: g++ 12 is refused")


def main():
    build, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        temp = pathlib.Path(name)
        prefix = temp / "installed"
        run("cmake", "--build", build, "--target", "pawl_lib", "pawl_shared")
        run("cmake", "--install", build, "--prefix", prefix, "--component", "pawl")
        source = temp / "consumer"
        shutil.copytree(SOURCE, source)

        out = temp / "out"
        configure = ["cmake", "-S", source, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}",
                     "-DCMAKE_BUILD_TYPE=Debug"]
        run(*configure)
        run("cmake", "--build", out)
        result, first = run(out / "consumer", temp / "a.db").splitlines()
        expect(result == "hold-17 1700", "find_package: the program runs")
        expect(first.startswith("sha256:"), "the fingerprint is there")

        run("cmake", "--build", out)
        with open(source / "main.cc", "a", encoding="utf-8") as file:
            file.write("// Not a workflow.\n")
        run("cmake", "--build", out)
        _, same = run(out / "consumer", temp / "b.db").splitlines()
        expect(same == first, "the fingerprint stays when something else changes")
        with open(source / "order.hpp", "a", encoding="utf-8") as file:
            file.write("// Another line.\n")
        run("cmake", "--build", out)
        _, second = run(out / "consumer", temp / "c.db").splitlines()
        expect(second != first, "the fingerprint changes with the sources, without a new configuration")

        env = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(str(path.parent) for path in prefix.rglob("pawl.pc"))}
        flags = run("pkg-config", "--cflags", "--libs", "pawl", env=env).split()
        program = temp / "by_pkg_config"
        run(compiler, "-std=c++20", source / "main.cc", source / "order.cc", "-o", program, *flags)
        lines = run(program, temp / "d.db").splitlines()
        expect(lines[0] == "hold-17 1700", "pkg-config: the program runs")

        c_program(source / "c", temp, prefix, compiler.replace("clang++", "clang").replace("g++", "gcc"))

        run("cmake", "--build", build, "--target", "pawl_texts")
        run("cmake", "--install", build, "--prefix", prefix, "--component", "pawl_command")
        expect(run(prefix / "bin" / "pawl", "--version").startswith("pawl "), "the command runs")
        for text in ("man/man1/pawl.1", "bash-completion/completions/pawl", "zsh/site-functions/_pawl",
                     "fish/vendor_completions.d/pawl.fish"):
            expect((prefix / "share" / text).read_text(encoding="utf-8").strip(), f"{text} is installed")

        refuses_old_gcc(source, temp / "gcc", prefix, flags)


if __name__ == "__main__":
    main()
