// Options of commands and of definitions, and how they are told to the library.
import { checkOptions } from "./checks";
import { UsageError } from "./errors";
import { C, type NativeRetry } from "./native";

/** Milliseconds, or a text: "250ms", "30s", "5m", "24h", "7d". */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function milliseconds(duration: Duration, where: string): number {
  if (typeof duration === "string") {
    const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration);
    if (parts) {
      return Math.round(Number(parts[1]) * (UNITS[parts[2] as string] as number));
    }
  } else if (typeof duration === "number" && duration >= 0 && Number.isFinite(duration)) {
    return Math.round(duration);
  }
  throw new UsageError(`${where}: '${String(duration)}' is no duration; it is a number of milliseconds, or e.g. "30s"`);
}

/** Of a time limit, as the library has it: 0 is none, so the shortest one is a millisecond. */
export function timeLimit(duration: Duration | undefined, where: string): number {
  return duration === undefined ? 0 : Math.max(1, milliseconds(duration, where));
}

/** When and how often an activity is tried again. */
export interface Retry {
  /** In all; 0: no limit. Default 1. */
  attempts?: number;
  /** Before the second attempt. Default 1 s. */
  initial?: Duration;
  /** Default 60 s. */
  maximum?: Duration;
  /** Default 2. */
  factor?: number;
  /** Part of the interval that is random: 0 to 1. Default 0.1. */
  jitter?: number;
  /** Types of errors that are not tried again. */
  finalTypes?: readonly string[];
}

const RETRY = ["attempts", "initial", "maximum", "factor", "jitter", "finalTypes"];

export function nativeRetry(retry: Retry | undefined, call: string): NativeRetry {
  if (retry === undefined) {
    return undefined;
  }
  const where = `${call}, retry`;
  checkOptions(retry, RETRY, where);
  const { attempts = 1, factor = 2, jitter = 0.1, finalTypes = [] } = retry;
  if (!Number.isInteger(attempts) || attempts < 0 || attempts > 0xffffffff) {
    throw new UsageError(`${where}: attempts are a whole number, 0 for no limit`);
  }
  if (!(typeof factor === "number" && factor >= 1)) {
    throw new UsageError(`${where}: factor is a number of at least 1`);
  }
  if (!(typeof jitter === "number" && jitter >= 0 && jitter <= 1)) {
    throw new UsageError(`${where}: jitter is a number from 0 to 1`);
  }
  if (!Array.isArray(finalTypes) || finalTypes.some((type) => typeof type !== "string")) {
    throw new UsageError(`${where}: finalTypes is a list of texts`);
  }
  const initial = milliseconds(retry.initial ?? 1000, where);
  const maximum = retry.maximum === undefined ? Math.max(initial, 60_000) : milliseconds(retry.maximum, where);
  return [attempts, initial, maximum, factor, jitter, finalTypes.join("\n")];
}

interface Keyed {
  /** A name to match this step by, instead of its place in the code. */
  stepKey?: string;
}
export interface RunOptions extends Keyed {
  retry?: Retry;
  /** Of one attempt. */
  timeout?: Duration;
}
export interface TaskOptions extends Keyed {
  queue?: string;
  /** Higher ones are taken first. */
  priority?: number;
  /** Of one attempt. */
  timeout?: Duration;
  /** Of all of it, from the call on. */
  totalTimeout?: Duration;
  /** Until a worker takes it, each time. */
  waitTimeout?: Duration;
  /** Between two heartbeats. */
  heartbeatTimeout?: Duration;
  retry?: Retry;
}
export interface TimerOptions extends Keyed {
  /** Then it is compared on replay. */
  id?: string;
}
export interface WaitOptions extends Keyed {
  timeout?: Duration;
}
export interface StepOptions extends Keyed {}
export interface SendOptions extends Keyed {
  event?: Event;
}
export interface ChildOptions extends Keyed {
  /** What happens to the child if it is open when its parent ends. Default "cancel". */
  parentClose?: "cancel" | "abandon" | "terminate";
  tags?: Tags;
}
export interface LoopOptions<State> extends Keyed {
  /** Iterations until what they recorded is replaced by the loop's state. Default 20. */
  checkpointEvery?: number;
  /** Asked before each iteration; false ends the loop, which then is its state. */
  while?: (state: State) => boolean;
}
export type Tags = Readonly<Record<string, string>>;

/** What is known about a signal besides its value: the attributes of CloudEvents 1.0. */
export interface Event {
  /** An event with this id and source is taken once, however often it is sent. */
  id?: string;
  source?: string;
  type?: string;
  subject?: string;
  time?: string;
  [attribute: string]: unknown;
}

export const PARENT_CLOSE = {
  cancel: C.PARENT_CLOSE_CANCEL,
  abandon: C.PARENT_CLOSE_ABANDON,
  terminate: C.PARENT_CLOSE_TERMINATE,
} as const;
export const MATCHING = { strict: C.STRICT, per_kind: C.PER_KIND, by_name: C.BY_NAME } as const;
/** How the commands of the code are found in the history. */
export type Matching = keyof typeof MATCHING;
export const ON_CHANGE = { verify: C.ON_CHANGE_VERIFY, refuse: C.ON_CHANGE_REFUSE } as const;
export const ON_EXISTING = {
  return: C.EXISTING_RETURN,
  fail: C.EXISTING_FAIL,
  replace: C.EXISTING_REPLACE,
} as const;

/** One of a table's names; a sentence if it is none. */
export function pick(table: Readonly<Record<string, number>>, name: string, where: string): number {
  const value = typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
  if (value === undefined) {
    throw new UsageError(`${where}: '${String(name)}' is none of ${Object.keys(table).join(", ")}`);
  }
  return value;
}
