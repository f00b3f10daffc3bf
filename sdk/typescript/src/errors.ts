// What Pawl throws. Everything derives from PawlError.
//
// In workflow code a failed step throws when it is awaited: ActivityFailed, ChildFailed,
// PromiseRejected (all of them a Failure), TimedOut, or one of the *Cancelled. A cancel request
// throws Cancelled at the awaits that are pending when it is delivered.
import type { Duration } from "./options";

export class PawlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** A call that can never work: an empty name, a context used outside of its workflow … */
export class UsageError extends PawlError {}

/** Why code and history disagree. */
export interface Violation {
  /** PAWL-1002 */
  readonly code: string;
  readonly headline: string;
  readonly runId: string;
  readonly location: string;
  readonly label: string;
  /** What history holds, */
  readonly recorded: string;
  /** and what the code asked for. */
  readonly asked: string;
  readonly sourceNow: string;
  readonly sourceThen: string;
  /** The last entry on which both agreed. */
  readonly lastAgreed: string;
  readonly definitionThen: string;
  readonly definitionNow: string;
  readonly advice: string;
  /** All of it, for people. */
  readonly text: string;
}

/**
 * The code of the workflow disagrees with its history. The run goes no further, whether this is
 * caught or not; the whole report is stored with the run.
 */
export class DeterminismViolation extends PawlError implements Violation {
  declare readonly code: string;
  declare readonly headline: string;
  declare readonly runId: string;
  declare readonly location: string;
  declare readonly label: string;
  declare readonly recorded: string;
  declare readonly asked: string;
  declare readonly sourceNow: string;
  declare readonly sourceThen: string;
  declare readonly lastAgreed: string;
  declare readonly definitionThen: string;
  declare readonly definitionNow: string;
  declare readonly advice: string;
  declare readonly text: string;

  constructor(message: string, violation?: Violation) {
    super(message);
    Object.assign(this, violation);
  }
}

/** A payload that cannot be written as JSON. */
export class PayloadError extends PawlError {}
export class PayloadTooLarge extends PayloadError {}

/**
 * The run was asked to end. Leaving the workflow function, it ends the run as cancelled. What a
 * handler awaits is not interrupted again.
 */
export class Cancelled extends PawlError {
  constructor(readonly reason: string = "") {
    super(reason === "" ? "cancelled" : `cancelled: ${reason}`);
  }
}

/** What failed elsewhere and was recorded: by type and text, since the object is long gone. */
export class Failure extends PawlError {
  constructor(
    /** "task 'charge'" */
    readonly subject: string,
    /** The name of the class of the original error, or what it called itself. */
    readonly type: string,
    message: string,
    readonly details: unknown = undefined,
  ) {
    super(message);
  }
}
/** An operation or a task failed for good. */
export class ActivityFailed extends Failure {}
export class ChildFailed extends Failure {}
export class PromiseRejected extends Failure {}
/** For clients: how a run ended. */
export class WorkflowFailed extends Failure {}

/** A promise, a signal, withTimeout(), or the time limit of a client's call. */
export class TimedOut extends PawlError {}
export class TaskCancelled extends PawlError {}
export class TimerCancelled extends PawlError {}
export class ChildCancelled extends PawlError {}
/** For clients: how a run ended. */
export class WorkflowCancelled extends PawlError {
  constructor(
    run: string,
    readonly reason: string,
  ) {
    super(`run '${run}' was cancelled${reason === "" ? "" : `: ${reason}`}`);
  }
}

/** The store cannot be opened, or does not work. */
export class StoreError extends PawlError {}
/** No such run or promise. */
export class NotFound extends PawlError {}
/** There is a run with this id, or the promise has its answer. */
export class AlreadyExists extends PawlError {}
/** The run has ended, or the engine has been closed. */
export class Closed extends PawlError {}

export interface ActivityErrorOptions {
  /** Not tried again, whatever the retry policy says. */
  final?: boolean;
  /** Before the next attempt, instead of the policy's. */
  nextDelay?: Duration;
  /** For the workflow; anything that can be written as JSON. */
  details?: unknown;
}

/**
 * Thrown by an activity that has more to say than a text. Any other error is recorded with the name
 * of its class and its message.
 */
export class ActivityError extends PawlError {
  constructor(
    readonly type: string,
    message: string,
    readonly options: ActivityErrorOptions = {},
  ) {
    super(message);
  }
}
