"""For all tests."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import pawl
from pawl.testing import Environment

HERE = Path(__file__).resolve().parent
SDK = HERE.parent
ROOT = SDK.parent.parent

# A limit for what should be there at once: a test that hangs is to fail.
SOON = 60.0


def result_of(workflow: Any, *args: Any, activities: Any = (), **options: Any) -> Any:
    """Of a run in a test environment; every turn is replayed."""
    with Environment(
        workflows=[workflow], activities=activities, replay_every_turn=True, **options
    ) as env:
        return env.start(workflow, "run", *args).wait(SOON).result().wait(SOON)


class FileTest(unittest.TestCase):
    """With a folder and a store of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.url = f"sqlite:{self.folder / 'test.db'}"


def python(*arguments: Any, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, timeout=SOON, env=dict(os.environ), **options,
    )


__all__ = ["FileTest", "HERE", "ROOT", "SDK", "SOON", "Environment", "pawl", "python", "result_of"]
