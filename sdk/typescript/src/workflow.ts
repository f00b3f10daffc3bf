// Definitions of workflows: ordinary async functions, with options and names.
import type { ActivityFunction } from "./activity";
import type { Context } from "./context";
import { UsageError } from "./errors";
import type { Matching } from "./options";

/** A workflow: `async (ctx, input) => result`. */
export type WorkflowFunction<I = any, O = any> = (ctx: Context, input: I) => O;

export interface WorkflowOptions {
  matching?: Matching;
  /** Of the code; empty: unknown. */
  fingerprint?: string;
  /** What to do with open runs that were started under another fingerprint. */
  onChange?: "verify" | "refuse";
}

const optionsOf = new WeakMap<object, WorkflowOptions>();
const names = new WeakMap<object, string>();

/** Gives options to a workflow; the function itself comes back. */
export function workflow<F extends WorkflowFunction>(body: F, options: WorkflowOptions): F {
  optionsOf.set(body, options);
  return body;
}
export function workflowOptions(body: WorkflowFunction): WorkflowOptions {
  return optionsOf.get(body) ?? {};
}

/** Notes under which name a workflow or an activity is known; the same everywhere. */
export function setName(body: WorkflowFunction | ActivityFunction, name: string): void {
  names.set(body, name);
}
export function nameOf(what: string | WorkflowFunction | ActivityFunction, call: string): string {
  if (typeof what === "string") {
    return what;
  }
  // Whoever only starts or schedules it need not have it registered.
  const name = names.get(what) ?? what?.name;
  if (typeof what !== "function" || !name) {
    throw new UsageError(`${call}: a function that has no name; give it one, or its name as a text`);
  }
  return name;
}
