import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from pawl import _abi
from support import ROOT, python

spec = importlib.util.spec_from_file_location("abi_tool", ROOT / "tools" / "abi.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


class AbiTest(unittest.TestCase):
    def test_the_table_is_what_the_header_says(self) -> None:
        done = python(ROOT / "tools" / "abi.py", "--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_changed_header_is_noticed(self) -> None:
        text = tool.HEADER.read_text()
        table = tool.make_table(tool.Header(text))
        changed = text.replace("PAWL_TIMED_OUT = 8", "PAWL_TIMED_OUT = 88")
        self.assertNotEqual(table, tool.make_table(tool.Header(changed)))
        grown = text.replace("int32_t is_done;", "int32_t is_done;\n  int64_t more;")
        self.assertNotEqual(table, tool.make_table(tool.Header(grown)))

    def test_what_is_not_understood_is_refused(self) -> None:
        with self.assertRaisesRegex(tool.HeaderError, "not understood"):
            tool.Header("#define PAWL_ABI_VERSION 1\nunion pawl_u { int a; };")
        with self.assertRaisesRegex(tool.HeaderError, "unknown type"):
            tool.Header("#define PAWL_ABI_VERSION 1\nPAWL_API int pawl_f(long long x);")

    def test_structs_lie_in_memory_as_the_compiler_puts_them(self) -> None:
        structs = [each for each in vars(_abi).values()
                   if isinstance(each, type) and issubclass(each, ctypes.Structure)
                   and each is not ctypes.Structure]
        lines, expected = [], []
        for struct in structs:
            name = struct.__name__
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            expected.append(f"{name} {ctypes.sizeof(struct)}")
            for field, _ in struct._fields_:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
                expected.append(f"{name}.{field} {getattr(struct, field).offset}")
        compiler = next(filter(None, map(shutil.which, ("clang-19", "cc", "gcc"))))
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "sizes.c"
            source.write_text('#include <stdio.h>\n#include <stddef.h>\n#include "pawl.h"\n'
                              "int main(void) {" + "\n".join(lines) + "return 0; }\n")
            subprocess.run([compiler, f"-I{ROOT / 'include'}", str(source), "-o",
                            str(Path(folder) / "sizes")], check=True)
            printed = subprocess.run([str(Path(folder) / "sizes")], check=True, text=True,
                                     capture_output=True).stdout
        self.assertEqual(printed.split("\n")[:-1], expected)

    def test_a_library_that_is_none_is_refused(self) -> None:
        done = python("-c", "import os; os.environ['PAWL_LIBRARY'] = '/dev/null'; import pawl")
        self.assertIn("pawl: the library cannot be loaded", done.stderr)


if __name__ == "__main__":
    unittest.main()
