// Run: the code of one run and its context. Drives the code from block to block, as the library
// says; it has no idea whether it replays.
import { Cancelled, DeterminismViolation, PawlError, UsageError } from "./errors";
import { afterMicrotasks, executing, setExecuting } from "./executing";
import { C, native, registers, type Handle, type NativeRetry } from "./native";
import type { Operation } from "./activity";
import { decodeFailure, encode, encodeFailure } from "./payload";
import type { Names } from "./workflow";

export interface Info {
  /** The user's. */
  readonly id: string;
  /** Of the run with this id, from 1. */
  readonly number: number;
  readonly kind: string;
  readonly uuid: string;
}

/** What differs between a run of an engine and one that is replayed for a test. */
export interface Host {
  execute(run: Run, future: number, operation: Operation, retry: NativeRetry, timeout: number): void;
  send(run: Run, future: number, to: string, signal: string, payload: string, extra: string, dedupe: string): void;
  readonly names?: Names;
  /** Refuses what nobody will ever serve. */
  checkServed?(what: "workflow" | "activity", name: string, call: string): void;
  /** Something may be recorded now. */
  tick?(run: Run): void;
}

export interface End {
  readonly kind: number;
  readonly payload: string;
  /** What was returned or thrown. */
  readonly value?: unknown;
}

/** What ctx.recur() throws. Whoever catches it and goes on finds that the run is over. */
export class Recurred extends PawlError {
  constructor() {
    super("this run goes on as the next one: let this error pass");
  }
}

const NOT_A_STEP =
  "the workflow awaits something that is not a step: only what its ctx gives out can be awaited in a workflow. " +
  "Put I/O and other promises into an activity: ctx.run(name, function)";

// Who threw it cannot be told from where it is thrown.
const trespassers = new WeakMap<object, Run>();

/** An activity has failed by `error`: its run may know, it is no code of a workflow that went on. */
export function forgive(error: unknown): void {
  const run = typeof error === "object" && error !== null ? trespassers.get(error) : undefined;
  run?.forgive();
}

export class Run {
  /** What is blocked, by await. */
  private readonly waiting = new Map<Handle, (state: number, decidedBy: number) => void>();
  /** What is to be run next, each until all is blocked again. */
  private readonly ready: (() => void)[] = [];
  readonly operations = new Map<number, Operation>();
  private isActive = false;
  private violation: DeterminismViolation | undefined;
  /** Its code went on behind our back. */
  private trespass: UsageError | undefined;
  nextInput: string | undefined;
  private end: End | undefined;
  private done: () => void = () => {};
  private readonly boundStep = () => this.step();

  constructor(
    readonly context: Handle,
    readonly info: Info,
    readonly host: Host,
  ) {}

  // --- Turns ---

  /** Runs `code` at the next turn. */
  begin(code: () => unknown): void {
    this.ready.push(() => {
      try {
        const result = code();
        if (typeof (result as PromiseLike<unknown> | undefined)?.then === "function") {
          (result as PromiseLike<unknown>).then(
            (value) => this.returned(value),
            (error: unknown) => this.threw(error),
          );
        } else {
          this.returned(result);
        }
      } catch (error) {
        this.threw(error);
      }
    });
  }

  /** Goes on until all is blocked and nothing is left to deliver. Must begin without microtasks. */
  turn(done: () => void): void {
    this.done = done;
    this.isActive = true;
    this.step();
  }

  /** No microtask is left: all that could run is blocked. */
  private step(): void {
    setExecuting(undefined);
    while (true) {
      if (this.violation !== undefined) {
        return this.leave();
      }
      const next = this.ready.shift();
      if (next !== undefined) {
        setExecuting(this);
        next();
        return afterMicrotasks(this.boundStep);
      }
      if (this.trespass !== undefined && this.end === undefined) {
        this.threw(this.trespass);
      }
      if (this.end !== undefined) {
        this.finish(this.end);
        return this.leave();
      }
      if (!this.deliver()) {
        return this.leave();
      }
    }
  }

  /** False: nothing is left. */
  private deliver(): boolean {
    let woken: (Handle | number)[] | undefined;
    try {
      woken = native.nextDelivery(this.context);
    } catch (error) {
      this.refused(error);
      return false;
    }
    if (woken === undefined) {
      if (this.waiting.size > 0) {
        return false;
      }
      this.threw(new UsageError(NOT_A_STEP));
      return true;
    }
    this.operations.delete(registers[0] as number);
    for (let i = 0; i < woken.length; i += 3) {
      const await_ = woken[i] as Handle;
      const end = this.waiting.get(await_);
      if (end !== undefined) {
        this.waiting.delete(await_);
        this.ready.push(() => end(woken[i + 1] as number, woken[i + 2] as number));
      }
    }
    return true;
  }

  private leave(): void {
    this.isActive = false;
    this.done();
  }

  private finish(end: End): void {
    try {
      this.host.tick?.(this);
      native.finish(this.context, end.kind, end.payload);
    } catch (error) {
      if (error instanceof DeterminismViolation) {
        this.violation = error;
        return;
      }
      // Too large, for example.
      this.end = { kind: C.END_FAILED, payload: encodeFailure(error), value: error };
      try {
        native.finish(this.context, this.end.kind, this.end.payload);
      } catch (again) {
        this.refused(again);
      }
    }
  }

  private returned(value: unknown): void {
    if (this.nextInput !== undefined) {
      this.end ??= { kind: C.END_RECURRED, payload: this.nextInput };
      return;
    }
    try {
      this.end ??= { kind: C.END_COMPLETED, payload: encode(value, `result of workflow '${this.info.kind}'`), value };
    } catch (error) {
      this.threw(error);
    }
  }

  private threw(error: unknown): void {
    if (this.nextInput !== undefined) {
      this.end ??= { kind: C.END_RECURRED, payload: this.nextInput };
    } else if (error instanceof Cancelled) {
      this.end ??= {
        kind: C.END_CANCELLED,
        payload: this.cancelReason(error),
        value: error,
      };
    } else {
      this.end ??= { kind: C.END_FAILED, payload: encodeFailure(error), value: error };
    }
  }

  private cancelReason(error: Cancelled): string {
    try {
      return native.cancelled(this.context) ?? JSON.stringify(error.reason);
    } catch {
      return JSON.stringify(error.reason); // The engine has taken the context back.
    }
  }

  /** The workflow function has ended, and the library knows. */
  get isOver(): boolean {
    return this.end !== undefined && this.violation === undefined;
  }
  get ended(): End | undefined {
    return this.violation === undefined ? this.end : undefined;
  }
  get disagreement(): DeterminismViolation | undefined {
    return this.violation;
  }
  get isBlocked(): boolean {
    return this.waiting.size > 0;
  }

  // --- For code ---

  /** Whether the code may make this call now. */
  check(call: string): void {
    if (this.violation !== undefined) {
      throw this.violation;
    }
    if (!this.isActive || executing() !== this) {
      if (executing() !== undefined) {
        throw new UsageError(`${call}: the context belongs to another run`);
      }
      const error = new UsageError(
        `${call}: the context was used outside of its workflow's turn: in an activity, after the end, or after ` +
          "awaiting something that is not a step",
      );
      if (this.trespass === undefined) {
        this.trespass = error;
        trespassers.set(error, this);
      }
      throw error;
    }
    if (this.nextInput !== undefined) {
      throw new Recurred();
    }
  }

  forgive(): void {
    this.trespass = undefined;
  }

  /** A call of the library. A violation stops the run, whoever catches it. */
  call<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      throw this.refused(error);
    }
  }
  refused(error: unknown): unknown {
    if (error instanceof DeterminismViolation) {
      this.violation ??= error;
    }
    return error;
  }

  /** Starts a part of the code when what runs now is blocked, before anything else. */
  startNext<T>(parts: (() => Promise<T>)[]): Promise<T>[] {
    const starts: (() => void)[] = [];
    const promises = parts.map(
      (part) =>
        new Promise<T>((resolve) => {
          starts.push(() => resolve(part()));
        }),
    );
    this.ready.unshift(...starts);
    return promises;
  }

  /** Waits for futures. `read` gets the one that decided it. */
  wait<T>(call: string, mode: number, futures: number | number[], isShielded: boolean, read: (decidedBy: number) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.check(call);
      let await_: Handle;
      try {
        await_ = native.beginAwait(this.context, mode, futures, isShielded);
      } catch (error) {
        throw this.refused(error);
      }
      const end = (state: number, decidedBy: number): void => {
        try {
          if (state === C.AWAIT_CANCELLED) {
            throw new Cancelled(decodeFailure(native.cancelled(this.context)).message);
          }
          resolve(read(decidedBy));
        } catch (error) {
          reject(this.refused(error));
        }
      };
      if (registers[0] === C.AWAIT_BLOCKED) {
        this.waiting.set(await_, end);
      } else {
        end(registers[0] as number, registers[1] as number);
      }
    });
  }
}
