// Orders that are carried out as a whole or not at all: reserve, charge, ship. If a step fails, what
// was done before it is undone.
//   node order-saga.mjs [STORE]      STORE is sqlite:orders.db if not given
import { Engine, WorkflowFailed } from "pawl";

class Declined extends Error {}
class TooHeavy extends Error {}
class BankIsBusy extends Error {}

// --- Activities: what has effects on the world ---

const say = (what) => console.log(`  ${what}`);

function reserve(order) {
  say(`reserve: ${order.item}`);
  return `shelf of ${order.id}`;
}
function charge(order) {
  if (order.cents > 500_000) {
    throw new Declined("the card's limit is 5000.00");
  }
  say(`charge: ${order.cents} cents`);
  return `payment of ${order.id}`;
}
function ship(order) {
  if (order.item === "piano") {
    throw new TooHeavy("no carrier takes a piano");
  }
  say(`ship: ${order.item}`);
  return `parcel with a ${order.item}`;
}
function release(shelf) {
  say(`release: ${shelf}`);
}
function refund(payment, { attempt }) {
  if (attempt === 1) {
    say("refund: the bank is busy");
    throw new BankIsBusy("try again");
  }
  say(`refund: ${payment}`);
}

// --- The workflow ---

async function fulfil(ctx, order) {
  const shelf = await ctx.run("reserve", reserve, { args: [order] });
  ctx.compensate(release, shelf);

  const payment = await ctx.run("charge", charge, { args: [order] });
  ctx.compensate(refund, payment);

  return ctx.run("ship", ship, { args: [order] });
}

// --- The program ---

const orders = [
  { id: "order-1", item: "lamp", cents: 1999 },
  { id: "order-2", item: "yacht", cents: 9_900_000 },
  { id: "order-3", item: "piano", cents: 499_900 },
];

const engine = await Engine.open(process.argv[2] ?? "sqlite:orders.db", {
  workflows: { fulfil },
  activities: { release, refund },
});
for (const order of orders) {
  console.log(`${order.id}:`);
  const run = await engine.start(fulfil, { id: order.id, input: order });
  try {
    console.log(`  done: ${await run.result()}`);
  } catch (error) {
    if (!(error instanceof WorkflowFailed)) {
      throw error;
    }
    console.log(`  undone: ${error.type}: ${error.message}`);
  }
}
await engine.close();
