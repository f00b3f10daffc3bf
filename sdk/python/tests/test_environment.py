"""The test environment."""
import itertools
import unittest

from support import SOON, Environment, pawl


class EnvironmentTest(unittest.TestCase):
    def test_code_that_is_not_deterministic_fails(self) -> None:
        numbers = itertools.count()

        @pawl.workflow
        async def counting(ctx: pawl.Context) -> None:
            await ctx.run(f"step {next(numbers)}", lambda: None)
            await ctx.sleep(1)

        with Environment(workflows=[counting], replay_every_turn=True) as env:
            run = env.start(counting, "run").wait(SOON)
            with self.assertRaises(pawl.WorkflowFailed) as caught:
                run.result().wait(SOON)
        self.assertEqual(caught.exception.type, "DETERMINISM_VIOLATION")
        self.assertRegex(caught.exception.message, r"expected 'step \d+', got 'step 0'")


if __name__ == "__main__":
    unittest.main()
