// Engine: opens a store. A client for runs there; and, given workflows or activities, it works on
// them: events of the library come in batches, first the code of runs is driven, then all the rest.
import { activityOptions, Attempt, Watch, type Activity, type ActivityFunction, type Operation } from "./activity";
import { checkDefinition, checkFunction, checkMap, checkOptions, checkText, checkWhole } from "./checks";
import { Client } from "./client";
import { Context } from "./context";
import { ActivityError, Cancelled, Closed, NotFound, PayloadError, UsageError } from "./errors";
import { installGuards } from "./guards";
import { C, native, type Handle, type NativeRetry } from "./native";
import { MATCHING, milliseconds, nativeRetry, ON_CHANGE, pick, type Duration } from "./options";
import { outside } from "./outside";
import { decode, encode, encodeDetails, endOf, failureOf, messageOf } from "./payload";
import { forgive, Run, type Host } from "./run";
import { workflowOptions, type WorkflowFunction } from "./workflow";

export interface EngineOptions {
  workflows?: Readonly<Record<string, WorkflowFunction>>;
  activities?: Readonly<Record<string, ActivityFunction>>;
  /** False: clients' calls only. Default: whether there are workflows or activities. */
  work?: boolean;
  /** To take tasks from, and how many at once. Default { default: 64 }. */
  queues?: Readonly<Record<string, number>>;
  /** For people. Default: host and process. */
  workerName?: string;
  /** Default 30 s. */
  lease?: Duration;
  /** For runs that wait in memory. Default 256 MiB. */
  cacheBytes?: number;
  /** Default 64 MiB. */
  payloadBytesMax?: number;
  /** False: Date.now() and the like are not refused in workflow code. */
  guards?: boolean;
  /** Told of trouble that no call can report. Default: a line on standard error, where also goes what it throws. */
  onError?: (message: string) => void;
}

export const ENGINE = [
  "workflows", "activities", "work", "queues", "workerName", "lease", "cacheBytes", "payloadBytesMax", "guards", "onError",
];

/** How many fields an event has, by kind: as the addon writes them. */
const FIELDS: Readonly<Record<number, number>> = {
  [C.EVENT_ACTIVATION]: 7,
  [C.EVENT_OPERATION]: 5,
  [C.EVENT_TASK]: 7,
  [C.EVENT_FORGET]: 1,
  [C.EVENT_REPLY]: 5,
  [C.EVENT_TROUBLE]: 1,
};

// Of what is recorded instead of a failure that cannot be.
const MESSAGE_MAX = 1000;

/** For the library: what only tests may ask for. */
export interface TestOptions {
  isTest?: boolean;
  replayEveryTurn?: boolean;
  fakes?: Readonly<Record<string, (...args: never[]) => unknown>>;
}

export class Engine extends Client implements Host {
  /** For the library. */
  override readonly names = new Map<unknown, string>();
  private readonly runs = new Map<Handle, Run>();
  private readonly turns: Run[] = [];
  private readonly watch = new Watch();
  private readonly poller: unknown;
  private isWorking = false;
  private readonly ended: Promise<void>;
  private end: () => void = () => {};
  protected readonly workflows: ReadonlyMap<string, WorkflowFunction>;
  protected readonly activities: ReadonlyMap<string, ActivityFunction>;
  protected readonly fakes: ReadonlyMap<string, ActivityFunction>;
  /** Events that wait until all code is blocked. */
  private rest: [kind: number, fields: unknown[]][] = [];

  /** Opens a store, "sqlite:app.db" or "postgres://…", and begins to work if there is anything to do. */
  @outside
  static async open(url: string, options: EngineOptions = {}): Promise<Engine> {
    checkText(url, "Engine.open", "the URL");
    checkOptions(options, ENGINE, "Engine.open");
    const engine = new Engine(url, options, {});
    engine.begin(options);
    return engine;
  }

  private static check(options: EngineOptions): void {
    for (const name of ["workflows", "activities", "queues", "fakes"]) {
      checkMap((options as Record<string, unknown>)[name], "options", name);
    }
    if (options.workerName !== undefined) {
      checkText(options.workerName, "options", "workerName");
    }
    checkWhole(options.cacheBytes, "options", "cacheBytes", 0);
    checkWhole(options.payloadBytesMax, "options", "payloadBytesMax", 0);
    if (options.onError !== undefined) {
      checkFunction(options.onError, "options, onError");
    }
    if (options.lease !== undefined && milliseconds(options.lease, "lease") === 0) {
      throw new UsageError("options: lease is longer than 0");
    }
  }

  protected constructor(
    url: string,
    private readonly options: EngineOptions,
    test: TestOptions,
  ) {
    Engine.check(options);
    super(
      native.engineOpen(
        url,
        options.workerName,
        options.lease === undefined ? 0 : milliseconds(options.lease, "lease"),
        options.cacheBytes ?? 0,
        options.payloadBytesMax ?? 0,
        options.queues && JSON.stringify(options.queues),
        test.isTest ?? false,
        test.replayEveryTurn ?? false,
      ),
    );
    this.workflows = new Map(Object.entries(options.workflows ?? {}));
    this.activities = new Map(Object.entries(options.activities ?? {}));
    this.fakes = new Map(Object.entries((test.fakes ?? {}) as Record<string, ActivityFunction>));
    this.ended = new Promise((resolve) => (this.end = resolve));
    try {
      this.register(test.isTest ?? false);
    } catch (error) {
      native.engineFree(this.handle);
      throw error;
    }
    this.poller = native.poll(this.handle, (events) => this.dispatch(events));
    native.hold(this.poller, false);
  }

  private register(isTest: boolean): void {
    for (const [kind, body] of this.workflows) {
      checkDefinition(body, `workflow '${kind}'`);
      this.names.set(body, kind);
      const { matching, fingerprint, onChange } = workflowOptions(body);
      native.addWorkflow(
        this.handle,
        kind,
        pick(MATCHING, matching ?? "strict", `matching of workflow '${kind}'`),
        // Tests have one version of the code: what does not agree with its history fails, and is not blocked.
        fingerprint || (isTest ? "test" : undefined),
        pick(ON_CHANGE, onChange ?? "verify", `onChange of workflow '${kind}'`),
      );
    }
    for (const name of new Set([...this.activities.keys(), ...this.fakes.keys()])) {
      const body = this.activities.get(name);
      const fake = this.fakes.get(name);
      if (fake !== undefined) {
        checkDefinition(fake, `fake '${name}'`);
      }
      if (body === undefined) {
        native.addActivity(this.handle, name, undefined);
        continue;
      }
      checkDefinition(body, `activity '${name}'`);
      this.names.set(body, name);
      native.addActivity(this.handle, name, nativeRetry(activityOptions(body).compensationRetry, `activity '${name}'`));
    }
  }

  protected begin(options: EngineOptions): void {
    if (!(options.work ?? this.workflows.size + this.activities.size > 0)) {
      return;
    }
    if (options.guards !== false && this.workflows.size > 0) {
      installGuards();
    }
    this.isWorking = true;
    native.engineStart(this.handle);
    native.hold(this.poller, true);
  }

  /** Gives back the runs. Activities that are running are told by their signal, and not waited for. */
  @outside
  async close(): Promise<void> {
    if (!this.isClosed) {
      this.isClosed = true;
      native.hold(this.poller, true);
      this.watch.abortAll();
      await native.engineStop(this.handle);
    }
    await this.ended;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  protected override waits(isWaiting: boolean): void {
    if (!this.isWorking && !this.isClosed) {
      native.hold(this.poller, isWaiting);
    }
  }

  // --- Events ---

  private dispatch(events: unknown[] | undefined): void {
    if (events === undefined) {
      this.runs.clear();
      this.rejectAll();
      native.engineFree(this.handle);
      this.end();
      return;
    }
    for (let at = 0; at < events.length; ) {
      const kind = events[at] as number;
      const fields = events.slice(at + 1, at + 1 + (FIELDS[kind] as number));
      at += 1 + fields.length;
      if (kind === C.EVENT_ACTIVATION) {
        this.activate(...(fields as Parameters<Engine["activate"]>));
      } else {
        this.rest.push([kind, fields]);
      }
    }
    this.nextTurn();
  }

  private activate(
    context: Handle, isNew: boolean, number: number, id: string, uuid: string, kind: string, input: string,
  ): void {
    if (isNew) {
      this.create(context, { id, number, kind, uuid }, input);
    }
    const run = this.runs.get(context);
    if (run !== undefined) {
      this.turns.push(run);
    } else {
      this.giveBack(context);
    }
  }

  private create(context: Handle, info: Run["info"], input: string): void {
    const run = new Run(context, info, this);
    const body = this.workflows.get(info.kind) as WorkflowFunction;
    this.runs.set(context, run);
    run.begin(() => body(new Context(run, 0, 0, false), decode(input)));
  }

  // One run after the other, each until it is blocked: nothing else may run meanwhile.
  private nextTurn(): void {
    const run = this.turns.shift();
    if (run === undefined) {
      this.handleRest();
      return;
    }
    run.turn(() => {
      if (run.isOver || run.disagreement !== undefined) {
        this.runs.delete(run.context);
      }
      this.giveBack(run.context);
      this.nextTurn();
    });
  }

  private handleRest(): void {
    const events = this.rest;
    this.rest = [];
    for (const [kind, fields] of events) {
      switch (kind) {
        case C.EVENT_OPERATION: {
          const [context, future, handle, number, key] = fields as [Handle, number, Handle, number, string];
          const run = this.runs.get(context);
          const operation = run?.operations.get(future);
          const [id, name] = [run?.info.id ?? "", operation?.name ?? ""];
          const attempt = new Attempt(this.handle, this.watch, handle, id, name, key, number, "");
          this.attemptTo(attempt, () => this.callOperation(operation, attempt));
          break;
        }
        case C.EVENT_TASK: {
          const [handle, number, runId, name, payload, key, details] = fields as [
            Handle, number, string, string, string, string, string,
          ];
          const attempt = new Attempt(this.handle, this.watch, handle, runId, name, key, number, details);
          this.attemptTo(attempt, () => this.callActivity(name, payload, attempt));
          break;
        }
        case C.EVENT_FORGET:
          this.runs.delete(fields[0] as Handle);
          break;
        case C.EVENT_REPLY: {
          const [tag, status, payload, runStatus, flag] = fields as [number, number, string, number, boolean];
          this.answer(tag, status, { payload, runStatus, flag });
          break;
        }
        default:
          this.report(fields[0] as string);
      }
    }
  }

  // What onError throws must not keep the events behind this one from those who wait for them.
  private report(message: string): void {
    const { onError = (text: string) => console.error(`pawl: ${text}`) } = this.options;
    try {
      onError(message);
    } catch (error) {
      console.error(`pawl: ${message}; and onError threw:`, error);
    }
  }

  // --- Attempts ---

  private callOperation(operation: Operation | undefined, attempt: Attempt): unknown {
    if (operation === undefined) {
      throw new Cancelled("its run has been given back");
    }
    const body = (this.fakes.get(operation.name) as Operation["body"] | undefined) ?? operation.body;
    return body(...operation.args, attempt);
  }

  private callActivity(name: string, payload: string, attempt: Activity): unknown {
    const body = this.fakes.get(name) ?? this.activities.get(name);
    if (body === undefined) {
      throw new UsageError(`there is no activity '${name}' here`);
    }
    return body(payload === "" ? undefined : decode(payload), attempt);
  }

  private attemptTo(attempt: Attempt, call: () => unknown): void {
    new Promise((resolve) => resolve(call())).then(
      (value) => this.complete(attempt, value),
      (error: unknown) => this.fail(attempt, error),
    );
  }

  private complete(attempt: Attempt, value: unknown): void {
    attempt.end();
    try {
      const payload = encode(value, `result of '${attempt.name}'`);
      this.tell(() => native.attemptComplete(this.handle, attempt.handle, payload));
    } catch (error) {
      this.fail(attempt, error);
    }
  }

  private fail(attempt: Attempt, error: unknown): void {
    attempt.end();
    forgive(error);
    try {
      this.tellFailure(attempt, error);
    } catch (mistake) {
      // What was thrown cannot be told as it is; whoever waits for the attempt gets an answer all the same.
      const { type } = failureOf(mistake);
      const message = `${messageOf(mistake)}; thrown was: ${messageOf(error)}`.slice(0, MESSAGE_MAX);
      this.tell(() => native.attemptFail(this.handle, attempt.handle, type, message, undefined, true, false, undefined));
    }
  }
  private tellFailure(attempt: Attempt, error: unknown): void {
    const { type, message, details } = endOf(error);
    const options = error instanceof ActivityError ? error.options : {};
    const isFinal = options.final === true || error instanceof PayloadError;
    const text = encodeDetails(details);
    checkOptions(options, ["final", "nextDelay", "details"], "ActivityError");
    const delay = options.nextDelay === undefined ? undefined : milliseconds(options.nextDelay, "nextDelay");
    this.tell(() => {
      const isCancelled = attempt.shouldStop && (error instanceof Cancelled || (error as Error)?.name === "AbortError");
      native.attemptFail(this.handle, attempt.handle, type, message, text, isFinal, isCancelled, delay);
    });
  }

  // What is told to an engine that stops, or about an attempt that nobody waits for, is of no use: an
  // attempt that ends because it was told so has not done its work, and is made again.
  private tell(call: () => void): void {
    if (this.isClosed) {
      return;
    }
    try {
      call();
    } catch (error) {
      if (!(error instanceof Closed || error instanceof NotFound)) {
        throw error;
      }
    }
  }

  private giveBack(context: Handle): void {
    try {
      native.yield(context);
    } catch {
      // It was taken back before.
    }
  }

  // --- Host ---

  /** For the library. */
  execute(run: Run, future: number, operation: Operation, retry: NativeRetry, timeout: number): void {
    run.operations.set(future, operation);
    native.execute(run.context, future, retry, timeout);
  }
  /** For the library. */
  send(run: Run, future: number, to: string, signal: string, payload: string, extra: string, dedupe: string): void {
    native.send(run.context, future, to, signal, payload, extra, dedupe);
  }
}
