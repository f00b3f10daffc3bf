// Definitions of workflows: ordinary async functions, with options and names.
import type { ActivityFunction } from "./activity";
import type { Context } from "./context";
import { checkOptions, shown } from "./checks";
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
const WORKFLOW = ["matching", "fingerprint", "onChange"];

/** Gives options to a workflow; the function itself comes back. */
export function workflow<F extends WorkflowFunction>(body: F, options: WorkflowOptions): F {
  checkOptions(options, WORKFLOW, "workflow");
  optionsOf.set(body, options);
  return body;
}
export function workflowOptions(body: WorkflowFunction): WorkflowOptions {
  return optionsOf.get(body) ?? {};
}

/** Under which names an engine has functions. */
export type Names = ReadonlyMap<unknown, string>;

/** Whoever only starts or schedules it need not have it registered: then its own name is taken. */
export function nameOf(what: string | WorkflowFunction | ActivityFunction, call: string, names: Names | undefined): string {
  if (typeof what === "string") {
    return what;
  }
  if (typeof what !== "function") {
    throw new UsageError(`${call}: a function or a name is expected, not ${shown(what)}`);
  }
  const name = names?.get(what) ?? what.name;
  if (!name) {
    throw new UsageError(`${call}: a function that has no name; give it one, or its name as a text`);
  }
  return name;
}
