// Which run's code is executing: set while one is driven, and nothing else happens meanwhile.
import type { Run } from "./run";

let current: Run | undefined;

export function executing(): Run | undefined {
  return current;
}
export function setExecuting(run: Run | undefined): void {
  current = run;
}

const settled = Promise.resolve();
const { nextTick } = process;

/**
 * Calls `next` when no microtask is left. Node runs ticks only when the queue of microtasks is empty,
 * so one that is asked for by a microtask comes after all that follow from it, however deep they
 * nest.
 */
export function afterMicrotasks(next: () => void): void {
  void settled.then(() => {
    nextTick(next);
  });
}
