// Future: the outcome of a command, to be awaited in workflow code.
import {
  ActivityFailed,
  ChildCancelled,
  ChildFailed,
  PromiseRejected,
  TaskCancelled,
  TimedOut,
  TimerCancelled,
} from "./errors";
import { decodeEvent } from "./event";
import { C, native, registers } from "./native";
import type { Event } from "./options";
import { decode, decodeFailure } from "./payload";
import type { Run } from "./run";

const STEP_NAMES: Readonly<Record<number, string>> = {
  [C.TASK]: "task",
  [C.OPERATION]: "operation",
  [C.TIMER]: "timer",
  [C.PROMISE]: "promise",
  [C.CHILD]: "child",
  [C.SIGNAL]: "signal",
};

export class Future<T> implements PromiseLike<T> {
  /** For the library: a Context makes them. */
  constructor(
    readonly run: Run,
    readonly id: number,
    readonly kind: number,
    private readonly name: string,
    readonly isShielded: boolean,
  ) {}

  // Awaiting it begins here; nothing waits, and nothing can be rejected, before that.
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.run
      .wait("await", C.AWAIT_ALL, this.id, this.isShielded, () => this.value())
      .then(fulfilled, rejected);
  }
  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }
  finally(callback?: (() => void) | null): Promise<T> {
    return this.then().finally(callback);
  }

  /** Its outcome has been delivered: awaiting it does not wait. */
  get isComplete(): boolean {
    this.run.check("isComplete");
    native.outcome(this.run.context, this.id);
    return registers[0] !== C.PENDING;
  }
  /** The value, or what awaiting it would throw. For what is complete. */
  value(): T {
    this.run.check("value");
    const payload = native.outcome(this.run.context, this.id);
    if (registers[0] !== C.VALUE) {
      throw this.failure(registers[0] as number, payload);
    }
    return this.read(payload);
  }
  /** The same, but a cancel request does not interrupt waiting for it. */
  shielded(): Future<T> {
    return new Future<T>(this.run, this.id, this.kind, this.name, true);
  }

  protected read(payload: string | undefined): T {
    return (this.kind === C.TIMER ? undefined : decode(payload)) as T;
  }

  /** "task 'charge'" */
  get subject(): string {
    const named = this.kind === C.TIMER && this.name === "" ? native.commandId(this.run.context, this.id) : this.name;
    return `${STEP_NAMES[this.kind] ?? "step"} '${named}'`;
  }

  private failure(outcome: number, payload: string | undefined): Error {
    const subject = this.subject;
    if (outcome === C.PENDING) {
      return new TimedOut(`${subject} is not complete`);
    }
    if (outcome === C.TIMEOUT) {
      return new TimedOut(`${subject} timed out`);
    }
    if (outcome === C.CANCELLED) {
      const text = `${subject} was cancelled`;
      if (this.kind === C.TIMER) {
        return new TimerCancelled(text);
      }
      return this.kind === C.CHILD ? new ChildCancelled(text) : new TaskCancelled(text);
    }
    const { type, message, details } = decodeFailure(payload);
    const Class = this.kind === C.CHILD ? ChildFailed : this.kind === C.PROMISE ? PromiseRejected : ActivityFailed;
    return new Class(subject, type, payload === undefined ? `${subject} failed` : message, details);
  }
}

export class PromiseFuture<T> extends Future<T> {
  constructor(run: Run, id: number, readonly promise: string, isShielded: boolean) {
    super(run, id, C.PROMISE, promise, isShielded);
  }
  override shielded(): PromiseFuture<T> {
    return new PromiseFuture<T>(this.run, this.id, this.promise, true);
  }
  /** By which somebody outside can resolve or reject it. */
  get token(): string {
    return native.promiseToken(this.run.info.id, this.promise);
  }
}

export interface WithEvent<T> {
  readonly value: T;
  readonly event: Event;
}

export class SignalFuture<T> extends Future<T> {
  constructor(run: Run, id: number, readonly signal: string, isShielded: boolean) {
    super(run, id, C.SIGNAL, signal, isShielded);
  }
  override shielded(): SignalFuture<T> {
    return new SignalFuture<T>(this.run, this.id, this.signal, true);
  }
  /** To await the value together with what is known about the event that brought it. */
  withEvent(): PromiseLike<WithEvent<T>> {
    return {
      then: (fulfilled, rejected) =>
        this.then((value) => {
          const [, extra] = native.fullOutcome(this.run.context, this.id);
          return { value, event: decodeEvent(extra) };
        }).then(fulfilled, rejected),
    };
  }
}
