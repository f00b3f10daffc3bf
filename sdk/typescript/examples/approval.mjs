// An expense needs somebody's approval. The manager has a deadline; when it passes, the director is
// asked. Answers come from other processes.
//   node approval.mjs start ID CENTS SECONDS     asks, and waits for the decision
//   node approval.mjs approve|reject ID NAME     what the manager does, from another process
//   node approval.mjs answer TOKEN yes|no        what the director does: the link in her mail
//   node approval.mjs status ID
// The store is sqlite:approval.db, or what PAWL_STORE says.
import { Engine, TimedOut } from "pawl";

function mail(to, text) {
  console.log(`mail to the ${to}: ${text}`);
}

/** By signal: whoever knows the id of the run can answer. Nothing if nobody does in time. */
async function askManager(ctx, { cents, seconds }) {
  await ctx.run("mail", mail, { args: ["manager", `please approve ${cents} cents`] });
  ctx.set("asked", "manager");
  try {
    return await ctx.signal("answer", { timeout: seconds * 1000 });
  } catch (error) {
    if (error instanceof TimedOut) {
      return undefined;
    }
    throw error;
  }
}

/** By promise: its token goes into a link, which is good for one answer. */
async function askDirector(ctx, { cents }) {
  const answer = ctx.promise("director", { timeout: "7d" });
  const text = `the manager is silent, please decide about ${cents} cents: approval answer ${answer.token} yes`;
  await ctx.run("mail", mail, { args: ["director", text] });
  ctx.set("asked", "director");
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TimedOut) {
      return { yes: false, by: "nobody: it took too long" };
    }
    throw error;
  }
}

export async function approval(ctx, expense) {
  const answer = (await askManager(ctx, expense)) ?? (await askDirector(ctx, expense));
  return `${answer.yes ? "approved" : "rejected"} by ${answer.by}`;
}

async function main([command, id, ...rest]) {
  const url = process.env.PAWL_STORE ?? "sqlite:approval.db";
  const engine = await Engine.open(url, command === "start" ? { workflows: { approval } } : {});
  try {
    switch (command) {
      case "start": {
        const [cents, seconds] = rest.map(Number);
        const run = await engine.start(approval, { id, input: { cents, seconds } });
        console.log(await run.result());
        break;
      }
      case "approve":
      case "reject":
        await engine.get(id).signal("answer", { yes: command === "approve", by: rest[0] });
        break;
      case "answer":
        await engine.resolve(id, { yes: rest[0] === "yes", by: "the director" });
        break;
      case "status":
        console.log((await engine.get(id).describe()).status);
        break;
      default:
        console.error("usage: approval.mjs start|approve|reject|answer|status ID …");
        process.exitCode = 2;
    }
  } finally {
    await engine.close();
  }
}

await main(process.argv.slice(2));
