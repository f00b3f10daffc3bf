"""Type checkers agree with the package, and with code that uses it as it should be."""
import ast
import re
import subprocess
import sys
import unittest

from support import SDK

PROGRAM = '''
import pawl

def charge(cents: int) -> str:
    return ""
async def mail(text: str) -> bool:
    return True

@pawl.workflow
async def flow(ctx: pawl.Context, cents: int) -> str:
    receipt = await ctx.run("charge", charge, cents)
    reveal_type(receipt)
    reveal_type(await ctx.run("mail", mail, receipt))
    reveal_type(await ctx.schedule(charge, 1, queue="fast"))
    reveal_type(await ctx.schedule("charge", 1, returns=bytes))
    reveal_type(await ctx.signal("s", returns=float))
    reveal_type(ctx.promise("p", returns=complex).token())
    await ctx.sleep(1)
    return receipt

async def main() -> None:
    async with pawl.Engine("sqlite:x", workflows=[flow]) as engine:
        run = await engine.start(flow, "id", 1)
        reveal_type((await run.describe()).status)
        reveal_type(await run.result())
'''


class TypeTest(unittest.TestCase):
    def check(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", "/dev/null", *arguments],
                              cwd=SDK, capture_output=True, text=True)

    def test_the_package_and_the_examples(self) -> None:
        done = self.check("src/pawl", "examples/hello.py", "examples/order_saga.py",
                          "examples/approval.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_python_3_9_can_read_it(self) -> None:
        for file in [*SDK.rglob("*.py"), SDK.parent.parent / "tools" / "abi.py"]:
            ast.parse(file.read_text(), str(file), feature_version=(3, 9))

    def test_results_of_steps_are_known(self) -> None:
        done = self.check("-c", PROGRAM)
        self.assertEqual(done.returncode, 0, done.stdout)
        revealed = re.findall(r'Revealed type is "(?:builtins\.)?([^"]*)"', done.stdout)
        self.assertEqual(revealed, ["str", "bool", "str", "bytes", "float", "str",
                                    "pawl.engine.Status", "str"])


if __name__ == "__main__":
    unittest.main()
