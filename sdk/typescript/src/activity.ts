// Activities: ordinary functions with side effects, sync or async, on the main event loop. They run
// at least once; what they return or throw is recorded. What keeps the processor busy for long
// belongs into a worker of node:worker_threads, which the activity awaits.
import { checkOptions } from "./checks";
import { decode, encode } from "./payload";
import { native, type Handle } from "./native";
import type { Retry } from "./options";

/** What ctx.run() was given: called at each attempt, with `args` and the attempt. */
export interface Operation {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly body: (...args: unknown[]) => unknown;
}

export interface ActivityOptions {
  /** When it runs as a compensation. Default: ten attempts. */
  compensationRetry?: Retry;
}

/** An activity: `async (input, activity) => result`. */
export type ActivityFunction<I = any, O = any> = (input: I, activity: Activity) => O;

const optionsOf = new WeakMap<object, ActivityOptions>();

/** Gives options to an activity; the function itself comes back. */
export function activity<F extends ActivityFunction>(body: F, options: ActivityOptions): F {
  checkOptions(options, ["compensationRetry"], "activity");
  optionsOf.set(body, options);
  return body;
}
export function activityOptions(body: ActivityFunction): ActivityOptions {
  return optionsOf.get(body) ?? {};
}

/** One attempt, for the function that runs it. */
export interface Activity {
  readonly runId: string;
  readonly name: string;
  /** The same for every attempt of this step and for no other one: an idempotency key. */
  readonly key: string;
  /** Of this step, from 1. */
  readonly attempt: number;
  /** What an earlier attempt said last. */
  readonly lastDetails: unknown;
  /** Aborted when the time limit is over, somebody cancelled it, its run has ended, or the engine stops. */
  readonly signal: AbortSignal;
  /** The same, to be asked for. */
  readonly shouldStop: boolean;
  /** Says that it is alive; the next attempt gets `details` if this one fails. False: it should stop. */
  heartbeat(details?: unknown): boolean;
}

// Nobody tells when an attempt should stop, so those that have given out a signal are looked after.
const LOOK_MS = 100;

/** Attempts whose signal somebody has. */
export class Watch {
  private readonly attempts = new Set<Attempt>();
  private timer: NodeJS.Timeout | undefined;

  add(attempt: Attempt): void {
    this.attempts.add(attempt);
    this.timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }
  remove(attempt: Attempt): void {
    if (this.attempts.delete(attempt) && this.attempts.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }
  abortAll(): void {
    for (const attempt of [...this.attempts]) {
      attempt.abort();
    }
  }
  private look(): void {
    for (const attempt of [...this.attempts]) {
      if (attempt.shouldStop) {
        attempt.abort();
      }
    }
  }
}

export class Attempt implements Activity {
  private controller: AbortController | undefined;

  constructor(
    private readonly engine: Handle,
    private readonly watch: Watch,
    readonly handle: Handle,
    readonly runId: string,
    readonly name: string,
    readonly key: string,
    readonly attempt: number,
    private readonly details: string,
  ) {}

  get lastDetails(): unknown {
    return this.details === "" ? undefined : decode(this.details);
  }
  get shouldStop(): boolean {
    return this.controller?.signal.aborted === true || native.attemptShouldStop(this.engine, this.handle);
  }
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.shouldStop) {
        this.abort();
      } else {
        this.watch.add(this);
      }
    }
    return this.controller.signal;
  }
  heartbeat(details?: unknown): boolean {
    const text = details === undefined ? "" : encode(details, `heartbeat of '${this.name}'`);
    return !native.attemptHeartbeat(this.engine, this.handle, text);
  }
  abort(): void {
    this.watch.remove(this);
    this.controller?.abort();
  }
  end(): void {
    this.watch.remove(this);
  }
}
