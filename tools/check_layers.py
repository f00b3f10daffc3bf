#!/usr/bin/env python3
"""Checks that every file of src/ includes only what tools/layers.toml allows its layer.

Prints one line for each violation and exits 1 if there is any.
"""

import argparse
import os
import pathlib
import re
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIG = ROOT / "tools" / "layers.toml"
SUFFIXES = {".h", ".cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<(?P<angle>[^>]+)>|"(?P<quote>[^"]+)"|(?P<other>\S.*))')
KEYS = {"layers", "third_party", "third_party_cc", "system"}


def load(config_text):
    """Returns the layers by name; raises ValueError if the rules themselves are wrong."""
    layers = tomllib.loads(config_text)["layer"]
    seen = set()
    for name, rule in layers.items():
        if unknown := set(rule) - KEYS:
            raise ValueError(f"layer '{name}': unknown keys {sorted(unknown)}")
        if late := set(rule["layers"]) - seen:
            raise ValueError(f"layer '{name}' names {sorted(late)}, not defined above it")
        seen.add(name)
    return layers


def layer_of(included, file, src):
    """Returns the directory of src/ that a quoted include leads to, or None if it leads elsewhere."""
    beside = os.path.normpath(file.parent / included)
    path = pathlib.Path(beside) if os.path.exists(beside) else pathlib.Path(os.path.normpath(src / included))
    if path.is_relative_to(src) and len(path.relative_to(src).parts) > 1:
        return path.relative_to(src).parts[0]
    return None


def allowed(match, file, src, layer, layers):
    """Says whether `file`, which belongs to `layer`, may have this include line."""
    rule = layers[layer]
    is_test = file.stem.endswith(("_test", "_bench"))
    path = match["angle"] or match["quote"]
    if path is None:
        return False  # #include MACRO: cannot be checked

    third_party = list(rule.get("third_party", []))
    if file.suffix == ".cc":
        third_party += rule.get("third_party_cc", [])
    if path.startswith(tuple(third_party)):
        return True

    target = path.split("/")[0] if match["angle"] else layer_of(path, file, src)
    if match["quote"] or target in layers:
        return target == layer or target in rule["layers"]
    if is_test:
        return True
    if "system" in rule:
        return path in rule["system"]
    return "/" not in path and "." not in path  # a standard C++ header


def check(root, layers):
    """Returns the violations below root/src, as lines of text."""
    src = root / "src"
    found = []
    for file in sorted(src.rglob("*")):
        if file.suffix not in SUFFIXES:
            continue
        name = file.relative_to(root)
        layer = file.relative_to(src).parts[0]
        if layer not in layers:
            found.append(f"{name}:1: '{layer}' is not a layer of tools/layers.toml")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            if match and not allowed(match, file, src, layer, layers):
                what = line.split("include", 1)[1].split("//")[0].strip()
                found.append(f"{name}:{number}: layer '{layer}' may not include {what}")
    return found


def self_test():
    """Checks a made-up tree with known violations."""
    files = {
        "base/ok.h": '#include <string>\n#include "base/other.h"\n#include "ok2.h"\n',
        "base/ok.cc": "#include <boost/uuid/uuid.hpp>\n",
        "base/uuid_in_header.h": "\n#include <boost/uuid/uuid.hpp>\n",
        "base/upward.cc": '#include "replay/x.h"\n',
        "base/upward_relative.cc": '#include "../replay/ok.h"\n',
        "base/upward_angle.cc": "#include <replay/ok.h>\n",
        "base/posix.cc": "#include <unistd.h>\n",
        "base/macro.cc": "#include PAWL_HEADER\n",
        "replay/ok.h": '#include <vector>\n#include "base/ok.h"\n',
        "replay/machines/ok.cc": '#include "replay/ok.h"  // fine\n// #include "engine/y.h"\n',
        "replay/x.cc": "\n" * 11 + '#include "engine/y.h"\n',
        "replay/thread.cc": "#  include <thread>  // why\n",
        "replay/hash.cc": "#include <unordered_map>\n",
        "replay/boost.cc": "#include <boost/uuid/uuid.hpp>\n",
        "replay/ok_test.cc": '#include <gtest/gtest.h>\n#include <thread>\n#include "base/ok.h"\n',
        "replay/upward_test.cc": '#include "format/ok.h"\n',
        "format/ok.h": '#include <boost/json.hpp>\n#include <unordered_map>\n#include "replay/ok.h"\n',
        "format/cli.cc": "#include <CLI/CLI.hpp>\n",
        "conform/ok.cc": '#include <boost/json/value.hpp>\n#include "format/ok.h"\n',
        "cli/ok.cc": '#include <CLI/CLI.hpp>\n#include "conform/ok.h"\n',
        "new/x.cc": "#include <string>\n",
    }
    want = [
        "src/base/macro.cc:1: layer 'base' may not include PAWL_HEADER",
        "src/base/posix.cc:1: layer 'base' may not include <unistd.h>",
        "src/base/upward.cc:1: layer 'base' may not include \"replay/x.h\"",
        "src/base/upward_angle.cc:1: layer 'base' may not include <replay/ok.h>",
        "src/base/upward_relative.cc:1: layer 'base' may not include \"../replay/ok.h\"",
        "src/base/uuid_in_header.h:2: layer 'base' may not include <boost/uuid/uuid.hpp>",
        "src/format/cli.cc:1: layer 'format' may not include <CLI/CLI.hpp>",
        "src/new/x.cc:1: 'new' is not a layer of tools/layers.toml",
        "src/replay/boost.cc:1: layer 'replay' may not include <boost/uuid/uuid.hpp>",
        "src/replay/hash.cc:1: layer 'replay' may not include <unordered_map>",
        "src/replay/thread.cc:1: layer 'replay' may not include <thread>",
        "src/replay/upward_test.cc:1: layer 'replay' may not include \"format/ok.h\"",
        "src/replay/x.cc:12: layer 'replay' may not include \"engine/y.h\"",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch).resolve()
        for name, text in files.items():
            path = root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (root / "src" / "base" / "ok2.h").write_text("", encoding="utf-8")
        got = check(root, load(CONFIG.read_text(encoding="utf-8")))
    missed = sorted(set(want) - set(got))
    wrong = sorted(set(got) - set(want))

    try:
        load('[layer.a]\nlayers = ["b"]\n[layer.b]\nlayers = []\n')
        missed.append("a layer that names one below it")
    except ValueError:
        pass

    for line in missed:
        print(f"not caught: {line}")
    for line in wrong:
        print(f"false alarm: {line}")
    return 1 if missed or wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true", help="check that violations are caught")
    if parser.parse_args().self_test:
        return self_test()
    try:
        violations = check(ROOT, load(CONFIG.read_text(encoding="utf-8")))
    except ValueError as error:
        print(f"{CONFIG.name}: {error}", file=sys.stderr)
        return 1
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
