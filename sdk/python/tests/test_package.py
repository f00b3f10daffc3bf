"""The wheel: built, installed where nothing else is, and used from there."""
import os
import shutil
import subprocess
import sys
import unittest
import zipfile
from typing import Any

from support import SDK, SOON, FileTest, pawl


class PackageTest(FileTest):
    def run_(self, *command: object, **variables: Any) -> "subprocess.CompletedProcess[str]":
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("PYTHONPATH", "PAWL_LIBRARY")}
        environment.update(variables)
        return subprocess.run(list(map(str, command)), cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=5 * SOON)

    def build(self, **variables: Any) -> "subprocess.CompletedProcess[str]":
        source = self.folder / "source"
        shutil.copytree(SDK, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg*"),
                        dirs_exist_ok=True)
        return self.run_(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
                         "--no-build-isolation", "--wheel-dir", self.folder / "dist", source,
                         **variables)

    def test_the_wheel_works_in_a_clean_environment(self) -> None:
        built = self.build(PAWL_LIBRARY=os.environ["PAWL_LIBRARY"])
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        wheels = list((self.folder / "dist").iterdir())
        self.assertEqual([wheel.name for wheel in wheels],
                         [f"pawl-{pawl.__version__}-py3-none-linux_x86_64.whl"])
        names = zipfile.ZipFile(wheels[0]).namelist()
        for name in ("pawl/libpawl.so", "pawl/py.typed", "pawl/_abi.py", "pawl/testing.py"):
            self.assertIn(name, names)
        venv = self.folder / "venv"
        made = self.run_(sys.executable, "-m", "venv", venv)
        self.assertEqual(made.returncode, 0, made.stderr)
        installed = self.run_(venv / "bin" / "pip", "install", "--quiet", "--no-index", wheels[0])
        self.assertEqual(installed.returncode, 0, installed.stderr)
        shutil.rmtree(self.folder / "source")
        shutil.copy(SDK / "examples" / "hello.py", self.folder)
        done = self.run_(venv / "bin" / "python", "hello.py")
        self.assertEqual((done.stdout, done.stderr), ("5\n4\n3\n2\n1\nlift-off\n", ""))
        where = self.run_(venv / "bin" / "python", "-c", "import pawl._library as l; print(l.PATH)")
        self.assertIn(str(venv), where.stdout)

    def test_without_a_library_it_is_not_built(self) -> None:
        built = self.build()
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("set PAWL_LIBRARY to the path of libpawl.so", built.stdout + built.stderr)


if __name__ == "__main__":
    unittest.main()
