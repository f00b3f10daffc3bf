// What the types infer, and what they refuse. Compiled, not run.
import { ActivityError, breakWith, continueWith, Engine, type Activity, type Context, type Future } from "pawl";
import { replay, TestEnvironment } from "pawl/testing";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function expect<_T extends true>(): void {}

interface Order {
  id: string;
  cents: number;
}
async function charge(order: Order, activity: Activity): Promise<string> {
  if (activity.shouldStop) {
    throw new ActivityError("Stopped", "later", { nextDelay: "5s" });
  }
  return order.id;
}
const count = (text: string): number => text.length;

async function order(ctx: Context, input: Order): Promise<{ payment: string }> {
  const payment = await ctx.schedule(charge, input, { queue: "payments", timeout: "30s" });
  expect<Equal<typeof payment, string>>();
  const length = await ctx.schedule(count, "x");
  expect<Equal<typeof length, number>>();
  // @ts-expect-error: no Order
  ctx.schedule(charge, 5);
  const sum = await ctx.run("add", (a: number, b: number) => a + b, { args: [1, 2] });
  expect<Equal<typeof sum, number>>();
  const told = await ctx.run("told", (text: string, attempt: Activity) => `${text} ${attempt.attempt}`, { args: ["a"] });
  expect<Equal<typeof told, string>>();
  // @ts-expect-error: no number
  ctx.run("add", (a: number) => a, { args: ["a"] });
  const later = ctx.run("later", async (attempt) => attempt.attempt);
  expect<Equal<typeof later, Future<number>>>();
  const [a, b] = await ctx.all([later, ctx.sleep("1h"), ctx.signal<boolean>("s")]);
  expect<Equal<typeof a, number>>();
  expect<Equal<typeof b, void>>();
  const { value } = await ctx.any([later, ctx.signal<boolean>("s"), ctx.schedule(charge, input)]);
  expect<Equal<typeof value, string | number | boolean>>();
  const same = await ctx.any([1, 2].map((n) => ctx.run("n", () => n)));
  expect<Equal<typeof same.value, number>>();
  const [x, y] = await ctx.join([async (inner) => inner.run("x", () => 1), () => "y"]);
  expect<Equal<typeof x, number>>();
  expect<Equal<typeof y, string>>();
  const total = await ctx.loop(0, async (_inner, n) => (n > 5 ? breakWith("done") : continueWith(n + 1)));
  expect<Equal<typeof total, string>>();
  // @ts-expect-error: no duration
  ctx.sleep("soon");
  const child = await ctx.child(order, "child", input);
  expect<Equal<typeof child, { payment: string }>>();
  const paid = await ctx.signal<{ by: string }>("paid").withEvent();
  expect<Equal<typeof paid.value.by, string>>();
  ctx.compensate(charge, input);
  return { payment };
}
async function nothing(ctx: Context): Promise<void> {
  await ctx.sleep(5);
}

export async function main(): Promise<void> {
  const engine = await Engine.open("sqlite:x.db", { workflows: { order, nothing }, activities: { charge, count } });
  const run = await engine.start(order, { id: "o", input: { id: "o", cents: 5 } });
  const result = await run.result();
  expect<Equal<typeof result, { payment: string }>>();
  await engine.start(nothing);
  await engine.start("order", { input: 5 });
  // @ts-expect-error: the input is missing
  await engine.start(order, { id: "o" });
  // @ts-expect-error: no Order
  await engine.start(order, { input: { id: 5 } });
  const env = await TestEnvironment.open({ workflows: { order }, fakes: { charge: (_order: Order) => "p" } });
  await env.advance("1d");
  const replayed = await replay(order, { id: "o", uuid: "00000000-0000-0000-0000-000000000000", input: { id: "o", cents: 1 } });
  expect<Equal<typeof replayed.result, { payment: string } | undefined>>();
}
