"""The examples, and what the README says, as other processes."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import SDK, SOON, FileTest, python

EXAMPLES = SDK / "examples"


class ExampleTest(FileTest):
    def test_hello(self) -> None:
        for _ in range(2):  # The second time, all comes out of the record.
            done = python(EXAMPLES / "hello.py", self.url)
            self.assertEqual(done.returncode, 0, done.stderr)
            expected = "lift-off\n" if _ else "5\n4\n3\n2\n1\nlift-off\n"
            self.assertEqual(done.stdout, expected)

    def test_order_saga(self) -> None:
        done = python(EXAMPLES / "order_saga.py", self.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "order-1: lamp", "  reserve: lamp", "  charge: 1999 cents", "  ship: lamp",
            "  completed: parcel with a lamp",
            "order-2: yacht", "  reserve: yacht", "  release: shelf of order-2",
            "  failed: Declined: the card's limit is 5000.00",
            "order-3: piano", "  reserve: piano", "  charge: 499900 cents",
            "  refund: the bank is busy", "  refund: payment of order-3",
            "  release: shelf of order-3", "  failed: TooHeavy: no carrier takes a piano",
        ])

    def approval(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return python(EXAMPLES / "approval.py", "--store", self.url, *arguments)

    def start_approval(self, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "approval.py"), "--store", self.url, "start",
             *arguments],
            stdout=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_approval_by_the_manager(self) -> None:
        process = self.start_approval("taxi", "100", "3600")
        assert process.stdout is not None
        self.assertIn("mail to the manager", process.stdout.readline())
        self.assertEqual(self.approval("approve", "taxi", "Ann").returncode, 0)
        out, _ = process.communicate(timeout=SOON)
        self.assertEqual(out, "taxi: approved by Ann\n")

    def test_approval_by_the_director(self) -> None:
        process = self.start_approval("hotel", "100", "0.01")
        assert process.stdout is not None
        self.assertIn("mail to the manager", process.stdout.readline())
        token = process.stdout.readline().split()[-1]
        self.assertEqual(self.approval("answer", token, "no").returncode, 0)
        out, _ = process.communicate(timeout=SOON)
        self.assertEqual(out, "hotel: rejected by the director\n")

    def test_mistakes(self) -> None:
        self.assertEqual(self.approval("approve", "nope", "Ann").stderr,
                         "approval: there is no run 'nope'\n")
        self.assertEqual(self.approval("dance").returncode, 2)

    def test_the_readme_shows_the_first_example(self) -> None:
        text = (SDK / "README.md").read_text()
        program = re.search(r"```python\n# hello.py\n(.*?)```", text, re.S)
        assert program is not None
        lines = [line for line in program[1].splitlines() if line.strip()]
        self.assertLess(len(lines), 20)
        path = self.folder / "hello.py"
        path.write_text(program[1])
        done = python(path, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        shown = re.search(r"```console\n\$ python3 hello.py\n(.*?)```", text, re.S)
        assert shown is not None
        self.assertEqual(done.stdout, shown[1])
        self.assertTrue((Path(self.folder) / "hello.db").exists())

    def test_other_code_in_the_readme_compiles(self) -> None:
        for code in re.findall(r"```python\n(.*?)```", (SDK / "README.md").read_text(), re.S):
            compile(code, "README.md", "exec", flags=0x2000)  # With await at the top.


if __name__ == "__main__":
    unittest.main()
