// The addon: constants and calls of pawl.h. What a call throws is made here.
import * as path from "node:path";

import {
  AlreadyExists,
  Closed,
  DeterminismViolation,
  NotFound,
  PawlError,
  PayloadTooLarge,
  StoreError,
  TimedOut,
  UsageError,
  type Violation,
} from "./errors";

/** A name of the library's for a context, an engine, an attempt or an await. */
export type Handle = bigint;
type Text = string | undefined;
export type NativeRetry = [number, number, number, number, number, string] | undefined;

interface Native {
  readonly constants: Readonly<Record<string, number>>;
  /** Small answers of the last call: see each. */
  readonly registers: Uint32Array;
  setErrors(makeError: (status: number, message: string, violation?: Violation) => Error): void;
  version(): string;

  create(runId: Text, matching: number, startedAt: number, history: Text, then: Text, now: Text): Handle;
  free(context: Handle): void;
  setTime(context: Handle, now: number): void;
  yield(context: Handle): void;
  /** Registers: future, branch, must execute. */
  open(
    context: Handle,
    kind: number,
    branch: number,
    name: Text,
    payload: Text,
    stepKey: Text,
    version: number,
    source: Text,
    number?: number,
    extra?: Text,
    childKind?: Text,
    target?: number,
    clear?: boolean,
    checkpointEvery?: number,
  ): void;
  removed(context: Handle, kind: number, branch: number, name: Text, stepKey: Text, version: number, source: Text): void;
  checkVersion(context: Handle, branch: number, latest: number, source: Text): number;
  complete(context: Handle, operation: number, outcome: number, payload: string): void;
  execute(context: Handle, operation: number, retry: NativeRetry, timeout: number): void;
  send(context: Handle, operation: number, run: string, signal: string, payload: string, extra: Text, dedupe: Text): void;
  taskExtra(queue: Text, priority: number, wait: number, attempt: number, total: number, heartbeat: number, retry: NativeRetry): string;
  childExtra(parentClose: number, tags: Text): string;
  closeBranch(context: Handle, branch: number): void;
  abandonLoop(context: Handle, loop: number): void;
  loopPosition(context: Handle, loop: number): [finished: number, state: string, isDone: boolean, result: string];
  enterIteration(context: Handle, loop: number): number;
  continueLoop(context: Handle, loop: number, state: string): number;
  endLoop(context: Handle, loop: number, state: string, result: string): number;
  /** Register 0: outcome. */
  outcome(context: Handle, future: number): string | undefined;
  fullOutcome(context: Handle, future: number): [payload: string | undefined, extra: string];
  takeSignal(context: Handle, branch: number, name: string): [payload: string | undefined, extra: string] | undefined;
  commandId(context: Handle, future: number): string;
  /** Registers: state, decided by. */
  beginAwait(context: Handle, mode: number, futures: number | number[], isShielded: boolean): Handle;
  arrive(context: Handle, entry: string): boolean;
  /** Which awaits go on; undefined: nothing is left. Register 0: future. */
  nextDelivery(context: Handle): (Handle | number)[] | undefined;
  now(context: Handle): number;
  cancelled(context: Handle): string | undefined;
  state(context: Handle, key: string): string | undefined;
  uuid(context: Handle, branch: number): string;
  random(context: Handle, branch: number): number;
  signalCount(context: Handle, name: string): number;
  finish(context: Handle, end: number, payload: string): void;
  takeNew(context: Handle): string;
  report(context: Handle): string;

  engineOpen(url: Text, worker: Text, lease: number, cacheBytes: number, payloadBytesMax: number, queues: Text, isTest: boolean, replayEveryTurn: boolean): Handle;
  addWorkflow(engine: Handle, kind: string, matching: number, fingerprint: Text, onChange: number): void;
  addActivity(engine: Handle, name: string, compensationRetry: NativeRetry): void;
  engineStart(engine: Handle): void;
  engineStop(engine: Handle): Promise<void>;
  engineFree(engine: Handle): void;
  /** Events, one behind the other: see the dispatcher. undefined: no more will come. */
  poll(engine: Handle, tell: (events: unknown[] | undefined) => void): unknown;
  hold(poller: unknown, keepsAlive: boolean): void;
  attemptComplete(engine: Handle, attempt: Handle, result: string): void;
  attemptFail(engine: Handle, attempt: Handle, type: string, message: string, details: Text, isFinal: boolean, isCancelled: boolean, nextDelay: number | undefined): void;
  attemptHeartbeat(engine: Handle, attempt: Handle, details: Text): boolean;
  attemptShouldStop(engine: Handle, attempt: Handle): boolean;

  clientStart(engine: Handle, tag: number, kind: string, id: Text, input: string, onExisting: number, tags: Text, signal: Text, payload: Text, event: Text): void;
  clientResult(engine: Handle, tag: number, run: string): void;
  clientSignal(engine: Handle, tag: number, run: string, signal: string, payload: string, event: Text): void;
  clientResolve(engine: Handle, tag: number, run: string, promise: string, payload: string): void;
  clientReject(engine: Handle, tag: number, run: string, promise: string, type: string, message: string, details: Text): void;
  clientCancel(engine: Handle, tag: number, run: string, reason: Text): void;
  clientTerminate(engine: Handle, tag: number, run: string, reason: Text): void;
  clientPause(engine: Handle, tag: number, run: string, isPaused: boolean): void;
  clientResume(engine: Handle, tag: number, run: string): void;
  clientDescribe(engine: Handle, tag: number, run: string): void;
  clientList(engine: Handle, tag: number, query: string): void;
  clientHistory(engine: Handle, tag: number, run: string): void;
  testAdvance(engine: Handle, tag: number, duration: number): void;
  testNow(engine: Handle): number;
  promiseToken(run: string, promise: string): string;
  tokenParts(token: string): [run: string, promise: string];
}

export const native = require(path.join(__dirname, "..", "..", "lib", "pawl.node")) as Native;
export const registers = native.registers;
export const C = native.constants as Readonly<Record<ConstantName, number>>;

type ConstantName =
  | "INVALID_ARGUMENT" | "INVALID_STATE" | "LIMIT_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS" | "CLOSED" | "TIMED_OUT"
  | "BAD_HANDLE" | "BUSY" | "INTERNAL" | "DETERMINISM_VIOLATION" | "CORRUPT_LOG" | "MALFORMED_INPUT" | "STORE_BUSY"
  | "STORE_FULL" | "STORE_IO" | "STORE_CORRUPT" | "STORE_UNUSABLE" | "UNKNOWN_OUTCOME" | "TASK" | "OPERATION" | "TIMER"
  | "PROMISE" | "CHILD" | "STATE" | "SIGNAL" | "BRANCH" | "LOOP" | "VERSION_CHECK" | "COMPENSATION" | "CANCEL_TASK"
  | "CANCEL_TIMER" | "PENDING" | "VALUE" | "FAILED" | "CANCELLED" | "TIMEOUT" | "STRICT" | "PER_KIND" | "BY_NAME"
  | "AWAIT_ALL" | "AWAIT_ANY" | "AWAIT_BLOCKED" | "AWAIT_READY" | "AWAIT_CANCELLED" | "END_COMPLETED" | "END_FAILED"
  | "END_CANCELLED" | "END_RECURRED" | "RUN_COMPLETED" | "RUN_FAILED" | "RUN_CANCELLED" | "EXISTING_RETURN"
  | "EXISTING_FAIL" | "EXISTING_REPLACE" | "ON_CHANGE_VERIFY" | "ON_CHANGE_REFUSE" | "PARENT_CLOSE_CANCEL"
  | "PARENT_CLOSE_ABANDON" | "PARENT_CLOSE_TERMINATE" | "EVENT_ACTIVATION" | "EVENT_OPERATION" | "EVENT_TASK"
  | "EVENT_FORGET" | "EVENT_REPLY" | "EVENT_TROUBLE";

/** What a status and its sentence are as an error. */
export function makeError(status: number, message: string, violation?: Violation): Error {
  switch (status) {
    case C.DETERMINISM_VIOLATION:
      return new DeterminismViolation(message, violation);
    case C.NOT_FOUND:
      return new NotFound(message);
    case C.ALREADY_EXISTS:
      return new AlreadyExists(message);
    case C.CLOSED:
      return new Closed(message);
    case C.TIMED_OUT:
      return new TimedOut(message);
    case C.LIMIT_EXCEEDED:
      return new PayloadTooLarge(message);
    case C.STORE_BUSY:
    case C.STORE_FULL:
    case C.STORE_IO:
    case C.STORE_CORRUPT:
    case C.STORE_UNUSABLE:
    case C.UNKNOWN_OUTCOME:
    case C.CORRUPT_LOG:
      return new StoreError(message);
    case C.INTERNAL:
      return new PawlError(message);
    default:
      return new UsageError(message);
  }
}
native.setErrors(makeError);
