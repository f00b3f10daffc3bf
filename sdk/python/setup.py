"""Packs libpawl.so, which PAWL_LIBRARY names, into the wheel."""
import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = os.environ.get("PAWL_LIBRARY")
        if not library or not Path(library).is_file():
            raise SystemExit("pawl: set PAWL_LIBRARY to the path of libpawl.so to build the package")
        shutil.copyfile(library, Path(self.build_lib) / "pawl" / "libpawl.so")


class WheelForLinux(bdist_wheel):
    """The library is for one platform, the rest for every Python."""

    def get_tag(self):
        return "py3", "none", "linux_x86_64"


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForLinux}, distclass=WithLibrary
)
