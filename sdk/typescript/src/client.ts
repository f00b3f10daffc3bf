// Client: runs of a store, seen from outside of them.
import { checkMap, checkOptions, checkText, encodeTags } from "./checks";
import { Closed, NotFound, TimedOut, UsageError, WorkflowCancelled, WorkflowFailed } from "./errors";
import { C, makeError, native, type Handle } from "./native";
import { milliseconds, ON_EXISTING, pick, type Duration, type Event, type Tags } from "./options";
import { outside } from "./outside";
import { decode, decodeFailure, encode, failureOf } from "./payload";
import type { Entry } from "./replay";
import { nameOf, type Names, type WorkflowFunction } from "./workflow";

export interface StartOptions<I> {
  /** The user's; without it a new one is made. */
  id?: string;
  input?: I;
  /** What to do when there is a run with this id. Default: that one is returned. */
  onExisting?: keyof typeof ON_EXISTING;
  tags?: Tags;
}
export interface SignalWithStartOptions<I> extends StartOptions<I> {
  id: string;
  signal: string;
  value?: unknown;
  event?: Event;
}
/** Options may be left out if the workflow takes no input. */
type StartArguments<I> = undefined extends I
  ? [options?: StartOptions<I>]
  : [options: StartOptions<I> & { input: I }];

export type Status =
  | "running" | "waiting" | "compensating" | "completed" | "failed" | "cancelled" | "recurred" | "blocked";

/** What is known about a run, as `pawl show --json` has it. */
export interface Description {
  readonly id: string;
  readonly kind: string;
  readonly status: Status;
  readonly [field: string]: unknown;
}
export interface ListQuery {
  kinds?: readonly string[];
  statuses?: readonly Status[];
  tags?: Tags;
  /** Default 100. */
  limit?: number;
  /** `next` of an earlier answer. */
  cursor?: string;
}
export interface Page {
  readonly runs: Description[];
  /** Empty: there are no more. */
  readonly next: string;
}

export interface Reply {
  readonly payload: string;
  readonly runStatus: number;
  readonly flag: boolean;
}
interface Pending {
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

const START = ["id", "input", "onExisting", "tags"];
const SIGNAL_WITH_START = [...START, "signal", "value", "event"];
const LIST = ["kinds", "statuses", "tags", "limit", "cursor"];

// Longer ones setTimeout() takes for 1 ms.
const TIMER_MAX = 0x7fffffff;

/** Calls it once, later; what is returned stops that. */
function after(delay: number, call: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (left: number): void => {
    timer = setTimeout(() => (left > TIMER_MAX ? wait(left - TIMER_MAX) : call()), Math.min(left, TIMER_MAX));
  };
  wait(delay);
  return () => clearTimeout(timer);
}

/** Calls that were given a tag, and are answered by an event. */
export abstract class Client {
  private readonly pending = new Map<number, Pending>();
  private lastTag = 0;
  protected isClosed = false;
  /** Of the functions that this engine has. */
  abstract readonly names: Names;
  /** Refuses what nobody will ever serve. Elsewhere there may be somebody, so it is for tests. */
  checkServed(_what: "workflow" | "activity", _name: string, _call: string): void {}

  /** For the library. */
  protected constructor(protected readonly handle: Handle) {}

  /** Somebody waits for an answer, or nobody any more. */
  protected abstract waits(isWaiting: boolean): void;

  protected answer(tag: number, status: number, reply: Reply): void {
    const pending = this.pending.get(tag);
    if (pending === undefined) {
      return;
    }
    this.forget(tag);
    if (status === 0) {
      pending.resolve(reply);
    } else {
      pending.reject(makeError(status, reply.payload));
    }
  }
  protected rejectAll(): void {
    for (const [tag, pending] of [...this.pending]) {
      this.forget(tag);
      pending.reject(new Closed("the engine has been closed"));
    }
  }
  private forget(tag: number): void {
    this.pending.delete(tag);
    if (this.pending.size === 0) {
      this.waits(false);
    }
  }

  /** For the library. */
  ask(send: (engine: Handle, tag: number) => void, timeout?: Duration): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) {
        throw new Closed("the engine has been closed");
      }
      const tag = ++this.lastTag;
      send(this.handle, tag);
      this.pending.set(tag, { resolve, reject });
      this.waits(true);
      if (timeout !== undefined) {
        const limit = milliseconds(timeout, "timeout");
        const stop = after(limit, () => {
          this.forget(tag);
          reject(new TimedOut(`no answer in ${limit} ms`));
        });
        this.pending.set(tag, {
          resolve: (reply) => (stop(), resolve(reply)),
          reject: (error) => (stop(), reject(error)),
        });
      }
    });
  }

  /** Starts a run. Its handle comes when that is durable. */
  start<I, O>(workflow: WorkflowFunction<I, O>, ...options: StartArguments<I>): Promise<RunHandle<Awaited<O>>>;
  start<O = unknown>(kind: string, options?: StartOptions<unknown>): Promise<RunHandle<O>>;
  @outside
  start(workflow: string | WorkflowFunction, options: StartOptions<unknown> = {}): Promise<RunHandle<unknown>> {
    return this.startRun(workflow, options, "start");
  }
  /** Starts a run if there is none with this id, and sends it a signal: both or nothing. */
  @outside
  signalWithStart<I, O>(
    workflow: WorkflowFunction<I, O> | string,
    options: SignalWithStartOptions<I>,
  ): Promise<RunHandle<Awaited<O>>> {
    return this.startRun(workflow, options, "signalWithStart") as Promise<RunHandle<Awaited<O>>>;
  }
  private async startRun(
    workflow: string | WorkflowFunction,
    options: StartOptions<unknown> & Partial<SignalWithStartOptions<unknown>>,
    call: string,
  ): Promise<RunHandle<unknown>> {
    const kind = nameOf(workflow, call, this.names);
    const where = `${call} '${kind}'`;
    checkOptions(options, call === "start" ? START : SIGNAL_WITH_START, where);
    this.checkServed("workflow", kind, where);
    if (call === "signalWithStart" || options.id !== undefined) {
      checkText(options.id, where, "id");
    }
    if (call === "signalWithStart" && !options.signal) {
      throw new UsageError(`${where}: the signal's name must not be empty`);
    }
    const input = encode(options.input, `input of workflow '${kind}'`);
    checkMap(options.event, where, "event");
    const existing = pick(ON_EXISTING, options.onExisting ?? "return", where);
    const tags = encodeTags(options.tags, where);
    const value = options.signal && encode(options.value, `signal '${options.signal}'`);
    const event = options.event && JSON.stringify(options.event);
    const { payload, flag } = await this.ask((engine, tag) =>
      native.clientStart(engine, tag, kind, options.id, input, existing, tags, options.signal, value, event),
    );
    return new RunHandle(this, payload, flag);
  }

  /** The newest run with this id, whether there is one or not. */
  get<O = unknown>(id: string): RunHandle<O> {
    checkText(id, "get", "the id");
    return new RunHandle<O>(this, id, false);
  }
  @outside
  async list(query: ListQuery = {}): Promise<Page> {
    checkOptions(query, LIST, "list");
    const { payload } = await this.ask((engine, tag) => native.clientList(engine, tag, JSON.stringify(query)));
    return JSON.parse(payload) as Page;
  }
  /** The same for a promise that is known by its token. */
  @outside
  async resolve(token: string, value?: unknown): Promise<void> {
    checkText(token, "resolve", "the token");
    const [run, promise] = native.tokenParts(token);
    await this.get(run).resolve(promise, value);
  }
  @outside
  async reject(token: string, error: unknown): Promise<void> {
    checkText(token, "reject", "the token");
    const [run, promise] = native.tokenParts(token);
    await this.get(run).reject(promise, error);
  }
}

/** A run, by its id. */
export class RunHandle<O> {
  /** For the library. */
  constructor(
    private readonly client: Client,
    readonly id: string,
    /** start() has made it. */
    readonly isNew: boolean,
  ) {}

  /**
   * Waits for its end, and for that of those it recurs to. Throws WorkflowFailed or WorkflowCancelled if
   * it ended so.
   */
  @outside
  async result(options: { timeout?: Duration } = {}): Promise<O> {
    checkOptions(options, ["timeout"], "result");
    const { payload, runStatus } = await this.client.ask(
      (engine, tag) => native.clientResult(engine, tag, this.id),
      options.timeout,
    );
    if (runStatus === C.RUN_COMPLETED) {
      return decode(payload) as O;
    }
    const { type, message, details } = decodeFailure(payload);
    if (runStatus === C.RUN_CANCELLED) {
      throw new WorkflowCancelled(this.id, message);
    }
    throw new WorkflowFailed(`run '${this.id}'`, type, message, details);
  }
  /** False: an event with this id and source has been sent before. */
  @outside
  async signal(name: string, value?: unknown, options: { event?: Event } = {}): Promise<boolean> {
    checkText(name, "signal", "the name");
    checkOptions(options, ["event"], `signal '${name}'`);
    checkMap(options.event, `signal '${name}'`, "event");
    const payload = encode(value, `signal '${name}'`);
    const event = options.event && JSON.stringify(options.event);
    return (await this.client.ask((engine, tag) => native.clientSignal(engine, tag, this.id, name, payload, event))).flag;
  }
  @outside
  async resolve(promise: string, value?: unknown): Promise<void> {
    checkText(promise, "resolve", "the promise's name");
    const payload = encode(value, `value of promise '${promise}'`);
    await this.client.ask((engine, tag) => native.clientResolve(engine, tag, this.id, promise, payload));
  }
  @outside
  async reject(promise: string, error: unknown): Promise<void> {
    checkText(promise, "reject", "the promise's name");
    const { type, message, details } = failureOf(error);
    const text = details === undefined ? undefined : encode(details, "details of the failure");
    await this.client.ask((engine, tag) => native.clientReject(engine, tag, this.id, promise, type, message, text));
  }
  /** Asks it to end; its code may clean up. */
  @outside
  async cancel(reason = ""): Promise<void> {
    checkText(reason, "cancel", "the reason");
    await this.client.ask((engine, tag) => native.clientCancel(engine, tag, this.id, reason));
  }
  /** At once: no code of it runs any more. */
  @outside
  async terminate(reason = ""): Promise<void> {
    checkText(reason, "terminate", "the reason");
    await this.client.ask((engine, tag) => native.clientTerminate(engine, tag, this.id, reason));
  }
  /** False: it was paused before. */
  @outside
  async pause(): Promise<boolean> {
    return (await this.client.ask((engine, tag) => native.clientPause(engine, tag, this.id, true))).flag;
  }
  @outside
  async unpause(): Promise<boolean> {
    return (await this.client.ask((engine, tag) => native.clientPause(engine, tag, this.id, false))).flag;
  }
  /** Has a blocked run tried again. */
  @outside
  async resume(): Promise<void> {
    await this.client.ask((engine, tag) => native.clientResume(engine, tag, this.id));
  }
  @outside
  async describe(): Promise<Description> {
    const { payload } = await this.client.ask((engine, tag) => native.clientDescribe(engine, tag, this.id));
    return JSON.parse(payload) as Description;
  }
  @outside
  async exists(): Promise<boolean> {
    try {
      await this.describe();
      return true;
    } catch (error) {
      if (error instanceof NotFound) {
        return false;
      }
      throw error;
    }
  }
  /** Its log; what replay() takes. */
  @outside
  async history(): Promise<Entry[]> {
    const { payload } = await this.client.ask((engine, tag) => native.clientHistory(engine, tag, this.id));
    return JSON.parse(payload) as Entry[];
  }
}
