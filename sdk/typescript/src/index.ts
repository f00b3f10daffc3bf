// Pawl: durable execution. A workflow is an ordinary async function; every step is recorded, and
// after a crash it goes on where it was.
export { activity, type Activity, type ActivityFunction, type ActivityOptions } from "./activity";
export {
  RunHandle,
  type Description,
  type ListQuery,
  type Page,
  type SignalWithStartOptions,
  type StartOptions,
  type Status,
} from "./client";
export { breakWith, Context, continueWith, LoopStep, type StepKind, type Winner } from "./context";
export { Engine, type EngineOptions } from "./engine";
export * from "./errors";
export { Future, PromiseFuture, SignalFuture, type WithEvent } from "./future";
export type {
  ChildOptions,
  Duration,
  Event,
  LoopOptions,
  Matching,
  Retry,
  RunOptions,
  SendOptions,
  StepOptions,
  Tags,
  TaskOptions,
  TimerOptions,
  WaitOptions,
} from "./options";
export { Recurred, type Info } from "./run";
export { workflow, type WorkflowFunction, type WorkflowOptions } from "./workflow";
