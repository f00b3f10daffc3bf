"""An expense needs somebody's approval. The manager has a deadline; when it passes, the director is
asked. Answers come from other processes.

  approval.py [--store URL] start ID CENTS SECONDS     asks, and waits for the decision
  approval.py [--store URL] approve ID NAME            what the manager does, from another process
  approval.py [--store URL] reject ID NAME
  approval.py [--store URL] answer TOKEN yes|no        what the director does: the link in her mail
  approval.py [--store URL] status ID

The store is sqlite:approval.db if not given.
"""
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import List, Optional

import pawl


@dataclass
class Expense:
    cents: int
    seconds: float  # What the manager has to decide.


@dataclass
class Answer:
    yes: bool
    by: str


def mail(to: str, text: str) -> None:
    print(f"mail to the {to}: {text}", flush=True)


async def ask_manager(ctx: pawl.Context, expense: Expense) -> Optional[Answer]:
    """By signal: whoever knows the id of the run can answer. Nothing if nobody does in time."""
    await ctx.run("mail", mail, "manager", f"please approve {expense.cents} cents")
    ctx.set("asked", "manager")
    try:
        return await ctx.signal("answer", timeout=expense.seconds, returns=Answer)
    except pawl.TimedOut:
        return None


async def ask_director(ctx: pawl.Context, expense: Expense) -> Answer:
    """By promise: its token goes into a link, which is good for one answer."""
    answer = ctx.promise("director", timeout=timedelta(days=7), returns=Answer)
    text = f"the manager is silent, please decide about {expense.cents} cents: {answer.token()}"
    await ctx.run("mail", mail, "director", text)
    ctx.set("asked", "director")
    try:
        return await answer
    except pawl.TimedOut:
        return Answer(False, "nobody: it took too long")


@pawl.workflow
async def approval(ctx: pawl.Context, expense: Expense) -> str:
    answer = await ask_manager(ctx, expense) or await ask_director(ctx, expense)
    return f"{'approved' if answer.yes else 'rejected'} by {answer.by}"


def main(arguments: List[str]) -> int:
    store = "sqlite:approval.db"
    if arguments[:1] == ["--store"] and len(arguments) > 1:
        store, arguments = arguments[1], arguments[2:]
    command, rest = arguments[0] if arguments else "", arguments[1:]
    if command == "start" and len(rest) == 3:
        with pawl.Engine(store, workflows=[approval]) as engine:
            expense = Expense(int(rest[1]), float(rest[2]))
            run = engine.start(approval, rest[0], expense).wait()
            print(f"{rest[0]}: {run.result().wait()}", flush=True)
    elif command in ("approve", "reject") and len(rest) == 2:
        with pawl.Engine(store) as client:
            answer = Answer(command == "approve", rest[1])
            client.get(rest[0]).wait().signal("answer", answer).wait()
    elif command == "answer" and len(rest) == 2:
        with pawl.Engine(store) as client:
            client.resolve_token(rest[0], Answer(rest[1] == "yes", "the director")).wait()
    elif command == "status" and len(rest) == 1:
        with pawl.Engine(store) as client:
            description = client.get(rest[0]).wait().describe().wait()
            print(f"{rest[0]}: {description.status.value}, {description.waiting_for}")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except pawl.Error as error:
        print(f"approval: {error}", file=sys.stderr)
        sys.exit(1)
