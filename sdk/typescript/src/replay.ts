// Replaying a history with the code of a workflow, without an engine.
import type { Activity, Operation } from "./activity";
import { checkDefinition, checkOptions } from "./checks";
import { Context } from "./context";
import { UsageError, type DeterminismViolation } from "./errors";
import { executing, setExecuting } from "./executing";
import { installGuards } from "./guards";
import { C, native } from "./native";
import { MATCHING, pick, type Duration, type Matching } from "./options";
import { encode, encodeFailure } from "./payload";
import { forgive, Run, type Host } from "./run";
import { workflowOptions, type WorkflowFunction } from "./workflow";

/** An entry of a history; see docs/formats/scenario.md. */
export type Entry = Record<string, unknown>;

export interface ReplayOptions<I = unknown> {
  /** Entries, or their JSON, as run.history() has them. */
  history?: string | readonly Entry[];
  input?: I;
  /** The user's; default: the UUID. */
  id?: string;
  uuid?: string;
  /** Of the run with this id. Default 1. */
  number?: number;
  /** Default: the function's name. */
  kind?: string;
  /** Default: the workflow's own, or strict. */
  matching?: Matching;
  /** Milliseconds since 1970. Default 0. */
  startedAt?: number;
  definitionThen?: string;
  definitionNow?: string;
  /** False: operations that are not in the history are left open, and nothing is called. */
  execute?: boolean;
  /** False: Date.now() and the like are not refused. */
  guards?: boolean;
}

export interface Replayed<O = unknown> {
  outcome: "completed" | "failed" | "cancelled" | "recurred" | "suspended" | "violation";
  result?: O;
  /** What the code threw. */
  error?: unknown;
  violation?: DeterminismViolation;
  /** What it would record. */
  added: Entry[];
  /** Locations of what it waits for. */
  waiting: string[];
  /** Locations of recorded commands that the code did not ask for. */
  orphaned: string[];
}

const REPLAY = [
  "history", "input", "id", "uuid", "number", "kind", "matching", "startedAt", "definitionThen", "definitionNow", "execute",
  "guards",
];
const NIL = "00000000-0000-0000-0000-000000000000";
const OUTCOMES = {
  [C.END_COMPLETED]: "completed",
  [C.END_FAILED]: "failed",
  [C.END_CANCELLED]: "cancelled",
  [C.END_RECURRED]: "recurred",
} as const;

function lastSeq(entries: readonly Entry[]): number {
  return entries.reduce((last, entry) => (typeof entry["seq"] === "number" ? entry["seq"] : last + 1), 0);
}

/** Operations are executed where they are issued; time passes by a millisecond for each entry. */
class ReplayHost implements Host {
  readonly added: Entry[] = [];
  readonly running = new Set<Promise<void>>();

  constructor(
    private readonly startedAt: number,
    private seq: number,
    private readonly executes: boolean,
  ) {}

  take(run: Run): void {
    for (const entry of JSON.parse(native.takeNew(run.context)) as Entry[]) {
      this.added.push(entry);
      this.seq = entry["seq"] as number;
    }
  }
  tick(run: Run): void {
    this.take(run);
    native.setTime(run.context, this.startedAt + this.seq + 1);
  }
  execute(run: Run, future: number, operation: Operation, _retry: unknown, _timeout: Duration): void {
    if (!this.executes) {
      return;
    }
    const complete = (outcome: number, payload: string): void => {
      this.tick(run);
      run.call(() => native.complete(run.context, future, outcome, payload));
    };
    const attempt = new NoAttempt(run.info.id, operation.name, native.commandId(run.context, future));
    const call = (): unknown => operation.body(...operation.args, attempt);
    const where = `result of '${operation.name}'`;
    let result: unknown;
    if (operation.body.constructor.name === "AsyncFunction") {
      // It takes its time, so it may as well begin when no workflow code runs.
      result = new Promise((resolve) => setImmediateOutside(() => resolve(call())));
    } else {
      const self = executing();
      let payload = "";
      let isLater = false;
      let failure: string | undefined;
      setExecuting(undefined); // It is no workflow code.
      try {
        result = call();
        isLater = typeof (result as PromiseLike<unknown> | undefined)?.then === "function";
        payload = isLater ? "" : encode(result, where);
      } catch (error) {
        forgive(error);
        failure = encodeFailure(error);
      } finally {
        setExecuting(self);
      }
      if (!isLater) {
        return failure === undefined ? complete(C.VALUE, payload) : complete(C.FAILED, failure);
      }
    }
    const running: Promise<void> = Promise.resolve(result)
      .then((value) => encode(value, where))
      .then(
        (payload) => complete(C.VALUE, payload),
        (error: unknown) => {
          forgive(error);
          complete(C.FAILED, encodeFailure(error));
        },
      )
      .finally(() => this.running.delete(running));
    this.running.add(running);
  }
  send(run: Run, future: number): void {
    if (this.executes) {
      this.tick(run);
      native.complete(run.context, future, C.VALUE, "null");
    }
  }
}

// The guard is for workflow code, which asked for this but does not do it.
const setImmediateOutside = setImmediate;

class NoAttempt implements Activity {
  readonly attempt = 1;
  readonly lastDetails = undefined;
  readonly shouldStop = false;
  readonly signal = new AbortController().signal;
  constructor(
    readonly runId: string,
    readonly name: string,
    readonly key: string,
  ) {}
  heartbeat(): boolean {
    return true;
  }
}

/**
 * What the code of a workflow makes of a history. Operations that the history does not hold are
 * executed where they are issued; tasks, timers and so on stay open.
 */
export async function replay<I, O>(
  workflow: WorkflowFunction<I, O>,
  options: ReplayOptions<I> = {},
): Promise<Replayed<Awaited<O>>> {
  checkDefinition(workflow, "replay: what it is given");
  checkOptions(options, REPLAY, "replay");
  const text = typeof options.history === "string" ? options.history : JSON.stringify(options.history ?? []);
  const startedAt = options.startedAt ?? 0;
  if (options.guards !== false) {
    installGuards();
  }
  const matching = pick(MATCHING, options.matching ?? workflowOptions(workflow).matching ?? "strict", "matching");
  const context = native.create(options.uuid, matching, startedAt, text, options.definitionThen, options.definitionNow);
  try {
    const entries = JSON.parse(text) as unknown;
    if (!Array.isArray(entries)) {
      throw new UsageError("history: a list of entries is expected");
    }
    const host = new ReplayHost(startedAt, lastSeq(entries as Entry[]), options.execute ?? true);
    const { uuid = NIL, id = uuid, number = 1, kind = workflow.name } = options;
    const run = new Run(context, { id, number, kind, uuid }, host);
    // The code must not share what it gets with whoever calls.
    const input = options.input === undefined ? undefined : JSON.parse(encode(options.input, "input"));
    run.begin(() => workflow(new Context(run, 0, 0, false), input as I));
    while (true) {
      // From the event loop: nobody else's microtasks are there then.
      await new Promise<void>((resolve) => setImmediateOutside(() => run.turn(resolve)));
      if (host.running.size === 0 || run.isOver || run.disagreement !== undefined) {
        break;
      }
      await Promise.race(host.running);
    }
    return read<Awaited<O>>(run, host);
  } finally {
    native.free(context);
  }
}

function read<O>(run: Run, host: ReplayHost): Replayed<O> {
  const { waiting, orphaned } = JSON.parse(native.report(run.context)) as { waiting: string[]; orphaned: string[] };
  if (run.disagreement !== undefined) {
    return { outcome: "violation", error: run.disagreement, violation: run.disagreement, added: [], waiting, orphaned };
  }
  host.take(run);
  const replayed: Replayed<O> = { outcome: "suspended", added: host.added, waiting, orphaned };
  const end = run.ended;
  if (end !== undefined) {
    replayed.outcome = OUTCOMES[end.kind] as Replayed["outcome"];
    replayed.waiting = [];
    if (replayed.outcome === "completed") {
      replayed.result = (end.value ?? null) as O;
    } else {
      replayed.error = end.value;
    }
  }
  return replayed;
}
