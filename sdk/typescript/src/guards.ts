// Guards: what gives another answer each time throws inside of workflow code, and says what to use
// instead. Patched once, for the whole process; outside of workflow code nothing changes.
//
// Not caught: functions that somebody took aside before (`const { now } = Date` at the top of a
// module that was loaded earlier; `import { setTimeout } from "node:timers"` follows), files and child
// processes, environment variables, and values shared between runs. Awaiting what is not a step is caught elsewhere: see Run.
import { syncBuiltinESMExports } from "node:module";

import { UsageError } from "./errors";
import { executing } from "./executing";

function refuse(what: string, instead: string): void {
  const run = executing();
  if (run !== undefined) {
    throw new UsageError(`${what} in workflow '${run.info.kind}' gives another answer on replay: use ${instead}`);
  }
}

type Callable = (...args: unknown[]) => unknown;

function guard(holder: object | undefined, name: string, what: string, instead: string): void {
  const original = (holder as Record<string, Callable> | undefined)?.[name];
  const isFixed = holder !== undefined && Object.getOwnPropertyDescriptor(holder, name)?.configurable === false;
  if (typeof original !== "function" || isFixed) {
    return;
  }
  const guarded = function (this: unknown, ...args: unknown[]): unknown {
    refuse(what, instead);
    return original.apply(this, args);
  };
  Object.defineProperty(guarded, "name", { value: name });
  // For example setTimeout[util.promisify.custom].
  for (const key of Reflect.ownKeys(original)) {
    if (key !== "length" && key !== "name" && key !== "prototype") {
      Object.defineProperty(guarded, key, Object.getOwnPropertyDescriptor(original, key) as PropertyDescriptor);
    }
  }
  Object.defineProperty(holder, name, { value: guarded, writable: true, configurable: true, enumerable: true });
}

function guardDate(): void {
  const Original = Date;
  guard(Original, "now", "Date.now()", "ctx.now()");
  globalThis.Date = new Proxy(Original, {
    construct(target, args, newTarget): object {
      if (args.length === 0) {
        refuse("new Date()", "new Date(ctx.now())");
      }
      return Reflect.construct(target, args, newTarget as () => void) as object;
    },
    apply(target): string {
      refuse("Date()", "new Date(ctx.now())");
      return target();
    },
  });
  Original.prototype.constructor = globalThis.Date;
}

const SLEEP = "ctx.sleep()";
const STEP = "an activity: ctx.run(name, function)";
const NETWORK = {
  http: ["get", "request"],
  https: ["get", "request"],
  net: ["connect", "createConnection"],
  tls: ["connect"],
  dns: ["lookup", "resolve"],
};
let isInstalled = false;

export function installGuards(): void {
  if (isInstalled) {
    return;
  }
  isInstalled = true;
  guardDate();
  guard(Math, "random", "Math.random()", "ctx.random()");
  // The modules themselves: what `import * as` gives is a copy.
  for (const holder of [globalThis, require("node:timers"), require("node:timers/promises")] as object[]) {
    guard(holder, "setTimeout", "setTimeout()", SLEEP);
    guard(holder, "setInterval", "setInterval()", SLEEP);
    guard(holder, "setImmediate", "setImmediate()", SLEEP);
  }
  guard((require("node:timers/promises") as { scheduler: object }).scheduler, "wait", "scheduler.wait()", SLEEP);
  for (const [name, calls] of Object.entries(NETWORK)) {
    for (const call of calls) {
      guard(require(`node:${name}`) as object, call, `${name}.${call}()`, STEP);
    }
  }
  guard(globalThis, "fetch", "fetch()", STEP);
  guard(performance, "now", "performance.now()", "ctx.now()");
  guard(process, "hrtime", "process.hrtime()", "ctx.now()");
  guard(process.hrtime, "bigint", "process.hrtime.bigint()", "ctx.now()");
  guard(globalThis.crypto, "randomUUID", "crypto.randomUUID()", "ctx.uuid()");
  guard(globalThis.crypto, "getRandomValues", "crypto.getRandomValues()", "ctx.random()");
  const crypto = require("node:crypto") as object;
  guard(crypto, "randomUUID", "crypto.randomUUID()", "ctx.uuid()");
  for (const name of ["randomBytes", "randomInt", "randomFill", "randomFillSync"]) {
    guard(crypto, name, `crypto.${name}()`, "ctx.random()");
  }
  syncBuiltinESMExports();
}
