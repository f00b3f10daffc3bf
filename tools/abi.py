#!/usr/bin/env python3
"""Makes tables of the C ABI for SDKs out of include/pawl.h: constants, structs, prototypes.

  abi.py            writes sdk/python/src/pawl/_abi.py
  abi.py --check    fails if that file is not what the header says
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "pawl.h"
TABLE = ROOT / "sdk" / "python" / "src" / "pawl" / "_abi.py"

# C type: how ctypes calls it, and its letter in a format of the module `struct`.
SCALARS = {
    "int32_t": ("c_int32", "i"),
    "uint32_t": ("c_uint32", "I"),
    "int64_t": ("c_int64", "q"),
    "uint64_t": ("c_uint64", "Q"),
    "size_t": ("c_size_t", "N"),
    "double": ("c_double", "d"),
}


class HeaderError(Exception):
    pass


class Header:
    """What the header declares, in its order."""

    def __init__(self, text):
        self.types = dict(SCALARS)
        self.constants = []  # (name, value)
        self.structs = []  # (name, [(field, ctypes type, format)])
        self.functions = []  # (name, result, [argument types])
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        version = re.search(r"#define PAWL_ABI_VERSION (\d+)", text)
        if not version:
            raise HeaderError("there is no PAWL_ABI_VERSION")
        self.constants.append(("PAWL_ABI_VERSION", int(version.group(1))))
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        text = text.replace('extern "C" {', "")
        declaration = re.compile(
            r"typedef\s+struct\s+(?P<struct>\w+)\s*\{(?P<fields>[^}]*)\}\s*\w+\s*;"
            r"|typedef\s+struct\s+\w+\s*\*\s*(?P<handle>\w+)\s*;"
            r"|typedef\s+(?P<base>\w+)\s+(?P<alias>\w+)\s*;"
            r"|enum\s*\{(?P<items>[^}]*)\}\s*;"
            r"|PAWL_API\s+(?P<result>[\w\s*]+?)\s*\b(?P<function>pawl_\w+)\s*\((?P<arguments>[^)]*)\)\s*;"
        )
        end = 0
        for found in declaration.finditer(text):
            if text[end : found.start()].strip(" \n}"):
                raise HeaderError(f"not understood: {text[end:found.start()].strip()!r}")
            end = found.end()
            if found["struct"]:
                self.add_struct(found["struct"], found["fields"])
            elif found["handle"]:
                self.types[found["handle"]] = ("c_void_p", "P")
            elif found["alias"]:
                self.types[found["alias"]] = self.types[found["base"]]
            elif found["items"] is not None:
                self.add_enum(found["items"])
            else:
                self.add_function(found["result"], found["function"], found["arguments"])
        if text[end:].strip(" \n}"):
            raise HeaderError(f"not understood: {text[end:].strip()!r}")

    def add_enum(self, items):
        for item in filter(None, (each.strip() for each in items.split(","))):
            name, value = re.fullmatch(r"(\w+)\s*=\s*(\d+)", item).groups()
            self.constants.append((name, int(value)))

    def type_of(self, text):
        words = text.replace("*", " * ").replace("const", " ").split()
        if words == ["char", "*"]:
            return ("c_char_p", "P")
        if words[1:] == ["*"]:
            known = dict((name, None) for name, _ in self.structs)
            if words[0] in known:
                return (f"POINTER({words[0]})", "P")
            return (f"POINTER({self.types[words[0]][0]})", "P")
        if len(words) != 1 or words[0] not in self.types:
            raise HeaderError(f"unknown type {text.strip()!r}")
        return self.types[words[0]]

    def add_struct(self, name, text):
        fields = []
        for field in filter(None, (each.strip() for each in text.split(";"))):
            field_type, field_name = re.fullmatch(r"(.*?[\s*])(\w+)", field, re.S).groups()
            fields.append((field_name, *self.type_of(field_type)))
        self.structs.append((name, fields))
        self.types[name] = (name, "".join(letter for _, _, letter in fields))

    def add_function(self, result, name, arguments):
        result = result.strip()
        types = []
        if arguments.strip() != "void":
            for argument in arguments.split(","):
                argument = re.sub(r"\bchar (\w+)\[\d+\]", r"char* \1", argument.strip())
                types.append(self.type_of(re.fullmatch(r"(.*?[\s*])(\w+)", argument, re.S)[1])[0])
        self.functions.append((name, self.type_of(result)[0], types))


def make_table(header):
    lines = [
        '"""Made by tools/abi.py out of include/pawl.h: do not change it by hand."""',
        "# fmt: off",
        "from ctypes import (POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t,",
        "                    c_uint32, c_uint64, c_void_p)",
        "",
    ]
    lines += [f"{name} = {value}" for name, value in header.constants]
    for name, fields in header.structs:
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{field}", {type_}),' for field, type_, _ in fields]
        lines.append("    ]")
    lines += ["", "", "# The structs for the module `struct`, to read all fields at once."]
    for name, _ in header.structs:
        letters = header.types[name][1]
        end = "0Q" if set(letters) & set("PNqQd") else ""  # What is at its end for alignment.
        lines.append(f'{name}_format = "{letters}{end}"')
    lines += ["", "# Name: result, arguments.", "FUNCTIONS = {"]
    for name, result, types in header.functions:
        lines.append(f'    "{name}": ({result}, [{", ".join(types)}]),')
    lines.append("}")
    return "\n".join(lines) + "\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        table = make_table(Header(HEADER.read_text(encoding="utf-8")))
    except HeaderError as error:
        print(f"{HEADER.relative_to(ROOT)}: {error}", file=sys.stderr)
        return 1
    if not arguments:
        TABLE.write_text(table, encoding="utf-8")
        return 0
    if not TABLE.exists() or TABLE.read_text(encoding="utf-8") != table:
        print(f"{TABLE.relative_to(ROOT)} is not what include/pawl.h says: run tools/abi.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
