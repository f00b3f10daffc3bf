// Context: what workflow code asks the world through. Every call that makes a command records it; on
// replay the recorded outcome is given back, in the order in which it was seen the first time.
import type { Activity, ActivityFunction } from "./activity";
import { checkFunction, checkList, checkMap, checkOptions, checkText, checkWhole, encodeTags, shown } from "./checks";
import { TimedOut, UsageError } from "./errors";
import { decodeEvent, dedupeText, encodeEvent } from "./event";
import { Future, PromiseFuture, SignalFuture, type WithEvent } from "./future";
import { C, native, registers } from "./native";
import {
  milliseconds,
  nativeRetry,
  PARENT_CLOSE,
  pick,
  timeLimit,
  type ChildOptions,
  type Duration,
  type LoopOptions,
  type RunOptions,
  type SendOptions,
  type StepOptions,
  type TaskOptions,
  type TimerOptions,
  type WaitOptions,
} from "./options";
import { decode, encode } from "./payload";
import { Recurred, type Info, type Run } from "./run";
import { sourceOf } from "./source";
import { nameOf, type WorkflowFunction } from "./workflow";

/** What the body of a loop returns: continueWith(state) or breakWith(value). */
export class LoopStep<State, Value> {
  /** For the library. */
  constructor(
    readonly isBreak: boolean,
    readonly state: State | undefined,
    readonly value: Value | undefined,
  ) {}
}
export function continueWith<State>(state: State): LoopStep<State, never> {
  return new LoopStep<State, never>(false, state, undefined);
}
/** `state`: what the loop is recorded to end with, if not with that of its last iteration. */
export function breakWith<Value = undefined, State = never>(value?: Value, state?: State): LoopStep<State, Value> {
  return new LoopStep<State, Value>(true, state, value);
}

/** Kinds of steps, for ctx.removed(). */
export type StepKind = keyof typeof STEP_KINDS;
const STEP_KINDS = {
  task: C.TASK,
  operation: C.OPERATION,
  timer: C.TIMER,
  promise: C.PROMISE,
  child: C.CHILD,
  state: C.STATE,
  signal: C.SIGNAL,
  branch: C.BRANCH,
  loop: C.LOOP,
  version_check: C.VERSION_CHECK,
  compensation: C.COMPENSATION,
  cancel_task: C.CANCEL_TASK,
  cancel_timer: C.CANCEL_TIMER,
} as const;

type Body<R> = (ctx: Context) => R | Promise<R>;
type Values<Futures extends readonly unknown[]> = { -readonly [I in keyof Futures]: Awaited<Futures[I]> };
type Results<Bodies extends readonly Body<unknown>[]> = { -readonly [I in keyof Bodies]: Awaited<ReturnType<Bodies[I]>> };
type LoopBody<State, Value> = (
  ctx: Context,
  state: State,
) => Promise<LoopStep<State, Value> | LoopStep<State, never> | LoopStep<never, Value>>;
/** The winner of any(). */
export interface Winner<T> {
  readonly index: number;
  readonly value: T;
}

// What fails before anybody awaits it must not end the process: it is thrown when it is awaited.
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

const NO_OPTIONS = {};
const STEP = ["stepKey"];
const RUN = ["retry", "timeout", ...STEP, "args"];
const TASK = ["queue", "priority", "timeout", "totalTimeout", "waitTimeout", "heartbeatTimeout", "retry", ...STEP];
const TIMER = ["id", ...STEP];
const WAIT = ["timeout", ...STEP];
const SEND = ["event", ...STEP];
const CHILD = ["parentClose", "tags", ...STEP];
const LOOP = ["checkpointEvery", "while", ...STEP];
let plainTask: string | undefined;

export class Context {
  /** For the library. */
  constructor(
    private readonly owner: Run,
    private readonly branchId: number,
    private readonly version: number,
    private readonly isShielded: boolean,
  ) {}

  // --- Activities ---

  /**
   * Calls `body(...args, activity)` in this process, once all that came before is durable, and records
   * what it returns or throws. Maybe more than once. The arguments are recorded, too.
   */
  run<R>(name: string, body: (activity: Activity) => R | Promise<R>, options?: RunOptions & { args?: undefined }): Future<R>;
  run<Args extends unknown[], R>(
    name: string,
    body: (...args: Args) => R | Promise<R>,
    options: RunOptions & { args: Args },
  ): Future<R>;
  run<Args extends unknown[], R>(
    name: string,
    body: (...args: [...Args, Activity]) => R | Promise<R>,
    options: RunOptions & { args: Args },
  ): Future<R>;
  run<R>(
    name: string,
    body: (...args: never[]) => R | Promise<R>,
    options: RunOptions & { args?: unknown[] | undefined } = NO_OPTIONS,
  ): Future<R> {
    const run = this.owner;
    run.check("run");
    checkText(name, "run", "the name");
    const where = `run '${name}'`;
    checkFunction(body, where);
    checkOptions(options, RUN, where);
    const args = options.args;
    if (args !== undefined && !Array.isArray(args)) {
      throw new UsageError(`${where}: args is a list, not ${shown(args)}`);
    }
    const timeout = timeLimit(options.timeout, where);
    const retry = nativeRetry(options.retry, where);
    const payload =
      args === undefined || args.length === 0
        ? undefined
        : encode(args.length === 1 ? args[0] : args, `argument of ${where}`);
    const future = this.open("run", C.OPERATION, name, payload, options.stepKey, sourceOf(this.run));
    if (registers[2] !== 0) {
      const operation = { name, args: args ?? [], body: body as unknown as (...given: unknown[]) => unknown };
      run.call(() => run.host.execute(run, future, operation, retry, timeout));
    }
    return new Future<R>(run, future, C.OPERATION, name, this.isShielded);
  }

  /** Puts a task on a queue, for whichever worker has an activity of this type. */
  schedule<I, O>(activity: ActivityFunction<I, O>, input: I, options?: TaskOptions): Future<Awaited<O>>;
  schedule<O = unknown>(type: string, input?: unknown, options?: TaskOptions): Future<O>;
  schedule(activity: string | ActivityFunction, input?: unknown, options: TaskOptions = NO_OPTIONS): Future<unknown> {
    const type = nameOf(activity, "schedule", this.owner.host.names);
    const where = `schedule '${type}'`;
    if (options?.waitTimeout === undefined && options?.totalTimeout === undefined) {
      this.owner.host.checkServed?.("activity", type, where);
    }
    const payload = input === undefined ? undefined : encode(input, `input of task '${type}'`);
    let extra: string;
    if (options === NO_OPTIONS) {
      extra = plainTask ??= native.taskExtra(undefined, 0, 0, 0, 0, 0, undefined);
    } else {
      checkOptions(options, TASK, where);
      const { queue, priority = 0 } = options;
      if (queue !== undefined && (typeof queue !== "string" || queue === "")) {
        throw new UsageError(`${where}: queue is a text that is not empty`);
      }
      checkWhole(priority, where, "priority", -Infinity);
      extra = native.taskExtra(
        queue,
        priority,
        timeLimit(options.waitTimeout, where),
        timeLimit(options.timeout, where),
        timeLimit(options.totalTimeout, where),
        timeLimit(options.heartbeatTimeout, where),
        nativeRetry(options.retry, where),
      );
    }
    const future = this.open("schedule", C.TASK, type, payload, options.stepKey, sourceOf(this.schedule), 0, extra);
    return new Future(this.owner, future, C.TASK, type, this.isShielded);
  }

  // --- Time ---

  sleep(duration: Duration, options: TimerOptions = NO_OPTIONS): Future<void> {
    return this.timer("sleep", milliseconds(duration, "sleep"), options, sourceOf(this.sleep));
  }
  /** Until a moment, in milliseconds since 1970. */
  sleepUntil(time: number | Date, options: TimerOptions = NO_OPTIONS): Future<void> {
    const left = Number(time) - this.now();
    if (!Number.isFinite(left)) {
      throw new UsageError(`sleepUntil: '${String(time)}' is no time; it is a Date, or milliseconds since 1970`);
    }
    return this.timer("sleepUntil", Math.max(0, Math.round(left)), options, sourceOf(this.sleepUntil));
  }
  private timer(call: string, duration: number, options: TimerOptions, source: string): Future<void> {
    checkOptions(options, TIMER, call);
    const id = options.id ?? "";
    const future = this.open(call, C.TIMER, id, undefined, options.stepKey, source, duration);
    return new Future<void>(this.owner, future, C.TIMER, id, this.isShielded);
  }
  /** The time of the last thing that this run has seen, in milliseconds since 1970. */
  now(): number {
    this.owner.check("now");
    return native.now(this.owner.context);
  }
  /**
   * The future's outcome, or TimedOut. Starts a timer, and cancels it when the future comes first. The
   * future itself is not cancelled.
   */
  withTimeout<T>(future: Future<T>, limit: Duration): Promise<T> {
    this.checkOwn("withTimeout", future);
    const duration = milliseconds(limit, "withTimeout");
    const timer = this.timer("withTimeout", duration, NO_OPTIONS, sourceOf(this.withTimeout));
    return handled(this.waitWithTimeout(future, timer, duration));
  }
  private async waitWithTimeout<T>(future: Future<T>, timer: Future<void>, duration: number): Promise<T> {
    const first = await this.first([future, future.isShielded ? timer.shielded() : timer]);
    if (first === 1) {
      throw new TimedOut(`${future.subject} took longer than ${duration} ms`);
    }
    this.cancel(timer);
    return future;
  }

  // --- From outside ---

  /** Waits for the next signal of this name. They queue up while nobody waits. */
  signal<T = unknown>(name: string, options: WaitOptions = NO_OPTIONS): SignalFuture<T> {
    checkText(name, "signal", "the name");
    checkOptions(options, WAIT, `signal '${name}'`);
    const timeout = timeLimit(options.timeout, `signal '${name}'`);
    const future = this.open("signal", C.SIGNAL, name, undefined, options.stepKey, sourceOf(this.signal), timeout);
    return new SignalFuture<T>(this.owner, future, name, this.isShielded);
  }
  /** A signal that nobody has taken is there. */
  hasSignal(name: string): boolean {
    this.owner.check("hasSignal");
    checkText(name, "hasSignal", "the name");
    return native.signalCount(this.owner.context, name) > 0;
  }
  /** Takes it, without waiting; undefined: there is none. */
  trySignal<T = unknown>(name: string): WithEvent<T> | undefined {
    const run = this.owner;
    run.check("trySignal");
    checkText(name, "trySignal", "the name");
    const taken = run.call(() => native.takeSignal(run.context, this.branchId, name));
    return taken && { value: decode(taken[0]) as T, event: decodeEvent(taken[1]) };
  }
  /** Something that somebody outside will resolve or reject, once. */
  promise<T = unknown>(name: string, options: WaitOptions = NO_OPTIONS): PromiseFuture<T> {
    checkText(name, "promise", "the name");
    checkOptions(options, WAIT, `promise '${name}'`);
    const timeout = timeLimit(options.timeout, `promise '${name}'`);
    const future = this.open("promise", C.PROMISE, name, undefined, options.stepKey, sourceOf(this.promise), timeout);
    return new PromiseFuture<T>(this.owner, future, name, this.isShielded);
  }

  // --- Other runs ---

  /** Starts a run of its own. If there is one with this id, it fails: ChildFailed. */
  child<I, O>(workflow: WorkflowFunction<I, O>, id: string, input?: I, options?: ChildOptions): Future<Awaited<O>>;
  child<O = unknown>(kind: string, id: string, input?: unknown, options?: ChildOptions): Future<O>;
  child(workflow: string | WorkflowFunction, id: string, input?: unknown, options: ChildOptions = NO_OPTIONS): Future<unknown> {
    const kind = nameOf(workflow, "child", this.owner.host.names);
    if (kind === "") {
      throw new UsageError("child: the kind must not be empty");
    }
    checkText(id, "child", "the id");
    const where = `child '${id}'`;
    this.owner.host.checkServed?.("workflow", kind, where);
    checkOptions(options, CHILD, where);
    const payload = input === undefined ? undefined : encode(input, `input of ${where}`);
    const close = pick(PARENT_CLOSE, options.parentClose ?? "cancel", where);
    const extra = native.childExtra(close, encodeTags(options.tags, where));
    const future = this.open("child", C.CHILD, id, payload, options.stepKey, sourceOf(this.child), 0, extra, kind);
    return new Future(this.owner, future, C.CHILD, id, this.isShielded);
  }
  /**
   * Sends a signal, once. Complete when it is on its way; nobody gets it if there is no run with this
   * id, or if it has ended.
   */
  sendSignal(runId: string, signal: string, value?: unknown, options: SendOptions = NO_OPTIONS): Future<void> {
    checkText(runId, "sendSignal", "the run's id");
    checkText(signal, "sendSignal", "the name");
    checkOptions(options, SEND, "sendSignal");
    checkMap(options.event, "sendSignal", "event");
    if (runId === "" || signal === "") {
      throw new UsageError("sendSignal: the run's id and the name must not be empty");
    }
    const run = this.owner;
    const payload = encode(value, `signal '${signal}'`);
    const extra = encodeEvent(signal, options.event);
    const name = `send ${signal}`;
    const future = this.open("sendSignal", C.OPERATION, name, payload, options.stepKey, sourceOf(this.sendSignal));
    if (registers[2] !== 0) {
      run.call(() => run.host.send(run, future, runId, signal, payload, extra, dedupeText(options.event)));
    }
    return new Future<void>(run, future, C.OPERATION, name, this.isShielded);
  }

  // --- State: values that people can see from outside while the run goes on ---

  set(key: string, value: unknown, options: StepOptions = NO_OPTIONS): void {
    checkOptions(options, STEP, "set");
    this.open("set", C.STATE, key, encode(value, `state '${key}'`), options.stepKey, sourceOf(this.set));
  }
  /** undefined: it is not set. */
  get<T = unknown>(key: string): T | undefined {
    this.owner.check("get");
    checkText(key, "get", "the key");
    const payload = native.state(this.owner.context, key);
    return payload === undefined ? undefined : (decode(payload) as T);
  }
  clear(key: string, options: StepOptions = NO_OPTIONS): void {
    checkOptions(options, STEP, "clear");
    const source = sourceOf(this.clear);
    this.open("clear", C.STATE, key, undefined, options.stepKey, source, 0, undefined, undefined, 0, true);
  }

  // --- Instead of what must not be used in a workflow ---

  uuid(): string {
    this.owner.check("uuid");
    return this.owner.call(() => native.uuid(this.owner.context, this.branchId));
  }
  /** In [0, 1), as Math.random(). */
  random(): number {
    this.owner.check("random");
    return this.owner.call(() => native.random(this.owner.context, this.branchId));
  }

  // --- Cancelling ---

  /** A cancel request has been delivered. */
  get cancelled(): boolean {
    this.owner.check("cancelled");
    return native.cancelled(this.owner.context) !== undefined;
  }
  /** Asks to cancel a task or a timer. Nothing happens if it is complete or was asked before. */
  cancel(future: Future<unknown>): void {
    this.checkOwn("cancel", future);
    const source = sourceOf(this.cancel);
    this.open("cancel", C.CANCEL_TASK, undefined, undefined, undefined, source, 0, undefined, undefined, future.id);
  }
  /**
   * The same context; a cancel request does not interrupt waiting for what it gives out, wherever that is awaited. For a
   * future that is there already: its own shielded().
   */
  shielded(): Context {
    return new Context(this.owner, this.branchId, this.version, true);
  }

  // --- Several at once ---

  /** Waits for all, and gives their values; the first failure that is delivered is thrown at once. */
  all<const Futures extends readonly Future<unknown>[]>(futures: Futures): Promise<Values<Futures>> {
    checkList(futures, "all", "futures");
    for (const future of futures) {
      this.checkOwn("all", future);
    }
    const ids = futures.map((future) => future.id);
    const read = (failed: number): Values<Futures> => {
      futures.find((future) => failed !== 0 && future.id === failed)?.value();
      return futures.map((future) => future.value()) as Values<Futures>;
    };
    return handled(this.owner.wait("all", C.AWAIT_ALL, ids, this.shields(futures), read));
  }
  /** Waits for the first one to be delivered. If that failed, it is thrown. */
  any<const Futures extends readonly Future<unknown>[]>(futures: Futures): Promise<Winner<Values<Futures>[number]>> {
    const read = (index: number) => ({ index, value: (futures[index] as Future<unknown>).value() });
    return handled(this.firstOf("any", futures).then(read)) as Promise<Winner<Values<Futures>[number]>>;
  }
  /** The same, but says only which one it is, whether it failed or not. */
  first(futures: readonly Future<unknown>[]): Promise<number> {
    return this.firstOf("first", futures);
  }
  private firstOf(call: string, futures: readonly Future<unknown>[]): Promise<number> {
    checkList(futures, call, "futures");
    if (futures.length === 0) {
      throw new UsageError(`${call}: there are no futures, it would wait for ever`);
    }
    for (const future of futures) {
      this.checkOwn(call, future);
    }
    const ids = futures.map((future) => future.id);
    return handled(this.owner.wait(call, C.AWAIT_ANY, ids, this.shields(futures), (winner) => ids.indexOf(winner)));
  }

  // --- Structure ---

  /** Runs `body(ctx)` with locations of its own. */
  branch<R>(body: Body<R>, options: StepOptions = NO_OPTIONS): Promise<R> {
    checkFunction(body, "branch");
    checkOptions(options, STEP, "branch");
    const inner = this.openBranch("branch", options.stepKey, sourceOf(this.branch));
    return handled(inner.runBody(body));
  }
  /**
   * Runs several of them concurrently, till all have ended, and gives their results. The first error,
   * in the order of the list, is thrown then.
   */
  join<const Bodies extends readonly Body<unknown>[]>(bodies: Bodies): Promise<Results<Bodies>> {
    checkList(bodies, "join", "functions");
    for (const body of bodies) {
      checkFunction(body, "join");
    }
    const source = sourceOf(this.join);
    return handled(this.runArms(bodies, source));
  }
  private async runArms<const Bodies extends readonly Body<unknown>[]>(bodies: Bodies, source: string): Promise<Results<Bodies>> {
    const branches = bodies.map(() => this.openBranch("join", undefined, source));
    const arms = this.owner.startNext(
      bodies.map((body, i) => () => (branches[i] as Context).runBody(body as Body<unknown>)),
    );
    const results = await Promise.allSettled(arms);
    return results.map((result) => {
      if (result.status === "rejected") {
        throw result.reason;
      }
      return result.value;
    }) as Results<Bodies>;
  }
  /**
   * Runs `body(ctx, state)` until it returns breakWith(value). What finished iterations recorded is
   * replaced by the state every now and then: nothing that was made in one iteration may be used in
   * another, but by way of the state.
   */
  loop<State, Value>(
    state: State,
    body: LoopBody<State, Value>,
    options: LoopOptions<State> & { while: (state: State) => boolean },
  ): Promise<State | Value>;
  loop<State, Value>(
    state: State,
    body: LoopBody<State, Value>,
    options?: LoopOptions<State>,
  ): Promise<Value>;
  loop<State, Value>(state: State, body: LoopBody<State, Value>, options: LoopOptions<State> = NO_OPTIONS): Promise<State | Value> {
    checkFunction(body, "loop");
    checkOptions(options, LOOP, "loop");
    checkWhole(options.checkpointEvery, "loop", "checkpointEvery", 1);
    if (options.while !== undefined) {
      checkFunction(options.while, "loop, while");
    }
    return handled(this.runLoop(state, body, options, sourceOf(this.loop)));
  }
  private async runLoop<State, Value>(
    state: State,
    body: LoopBody<State, Value>,
    options: LoopOptions<State>,
    source: string,
  ): Promise<State | Value> {
    const run = this.owner;
    const holds = options.while ?? (() => true);
    const every = options.checkpointEvery ?? 0;
    const first = encode(state, "state of a loop");
    const started = this.open("loop", C.LOOP, undefined, first, options.stepKey, source, 0, undefined, undefined, 0, false, every);
    const loop = registers[1] as number;
    await this.pass(started);
    const position = run.call(() => native.loopPosition(run.context, loop));
    const [, , isDone] = position;
    let [, encoded, , result] = position;
    let isBroken = isDone && result !== "";
    let goesOn = !isDone && holds(decode(encoded) as State);
    while (goesOn) {
      run.check("loop");
      const iteration = run.call(() => native.enterIteration(run.context, loop));
      const inner = new Context(run, iteration, 0, this.isShielded);
      try {
        const step = await body(inner, decode(encoded) as State);
        if (!(step instanceof LoopStep)) {
          throw new UsageError("loop: its body returns neither continueWith(state) nor breakWith(value)");
        }
        isBroken = step.isBreak;
        if (isBroken) {
          result = encode(step.value, "result of a loop");
        }
        if (!isBroken || step.state !== undefined) {
          encoded = encode(step.state, "state of a loop");
        }
      } catch (error) {
        if (run.disagreement === undefined) {
          run.host.tick?.(run);
          run.call(() => native.abandonLoop(run.context, loop));
        }
        throw error;
      }
      goesOn = !isBroken && holds(decode(encoded) as State);
      if (goesOn) {
        run.check("loop");
        run.host.tick?.(run);
        await this.pass(run.call(() => native.continueLoop(run.context, loop, encoded)));
      }
    }
    if (!isDone) {
      run.check("loop");
    }
    run.host.tick?.(run);
    await this.pass(run.call(() => native.endLoop(run.context, loop, encoded, result)));
    return (isBroken ? decode(result) : decode(encoded)) as State | Value;
  }
  /**
   * Ends this run; the next one of the same id starts with `input`. Never returns: it throws something
   * that must not be held up.
   */
  recur(input?: unknown): never {
    this.owner.check("recur");
    this.owner.nextInput = encode(input, "input of recur");
    throw new Recurred();
  }

  // --- Changes of code that has open runs ---

  /** The steps made by way of the returned context have this version: ctx.v(2).run(…). */
  v(version: number): Context {
    if (!Number.isInteger(version) || version < 1) {
      throw new UsageError("v: versions are whole numbers and begin with 1");
    }
    return new Context(this.owner, this.branchId, version, this.isShielded);
  }
  /** Stands for a step that the code once had. No name: any. */
  removed(kind: StepKind, name = "", options: StepOptions = NO_OPTIONS): void {
    const run = this.owner;
    run.check("removed");
    checkText(name, "removed", "the name");
    checkOptions(options, STEP, "removed");
    const source = sourceOf(this.removed);
    run.host.tick?.(run);
    const number = pick(STEP_KINDS, kind, "removed");
    run.call(() => native.removed(run.context, number, this.branchId, name, options.stepKey, this.version, source));
  }
  /** Which version of the code this run follows here: `latest` if it gets here for the first time. */
  checkVersion(latest: number): number {
    const run = this.owner;
    run.check("checkVersion");
    const source = sourceOf(this.checkVersion);
    run.host.tick?.(run);
    return run.call(() => native.checkVersion(run.context, this.branchId, latest, source));
  }

  // --- Sagas ---

  /**
   * Registers a compensation: an activity that runs, without the workflow's code, when the run fails or
   * is cancelled. Last in, first out.
   */
  compensate<I>(activity: ActivityFunction<I>, input: I, options?: StepOptions): void;
  compensate(activity: string, input?: unknown, options?: StepOptions): void;
  compensate(activity: string | ActivityFunction, input?: unknown, options: StepOptions = NO_OPTIONS): void {
    const name = nameOf(activity, "compensate", this.owner.host.names);
    checkOptions(options, STEP, "compensate");
    this.owner.host.checkServed?.("activity", name, "compensate");
    const payload = encode(input, `input of compensation '${name}'`);
    this.open("compensate", C.COMPENSATION, name, payload, options.stepKey, sourceOf(this.compensate));
  }

  get info(): Info {
    return this.owner.info;
  }

  // --- Inside ---

  /** Returns the future; the registers have the rest. */
  private open(
    call: string,
    kind: number,
    name: string | undefined,
    payload: string | undefined,
    stepKey: string | undefined,
    source: string,
    number = 0,
    extra?: string,
    childKind?: string,
    target = 0,
    clear = false,
    checkpointEvery = 0,
  ): number {
    const run = this.owner;
    run.check(call);
    if (name !== undefined) {
      checkText(name, call, "the name");
    }
    if (stepKey !== undefined) {
      checkText(stepKey, call, "stepKey");
    }
    if (name === "" && kind !== C.TIMER) {
      throw new UsageError(`${call}: the ${kind === C.CHILD ? "id" : "name"} must not be empty`);
    }
    run.host.tick?.(run);
    try {
      native.open(run.context, kind, this.branchId, name, payload, stepKey, this.version, source, number, extra,
        childKind, target, clear, checkpointEvery);
    } catch (error) {
      throw run.refused(error);
    }
    return registers[0] as number;
  }

  private openBranch(call: string, stepKey: string | undefined, source: string): Context {
    this.open(call, C.BRANCH, undefined, undefined, stepKey, source);
    return new Context(this.owner, registers[1] as number, 0, this.isShielded);
  }

  /** The code of one branch: whatever happens in it, the branch is closed at its end. */
  private async runBody<R>(body: Body<R>): Promise<R> {
    const close = (): void => {
      if (this.owner.disagreement === undefined) {
        this.owner.host.tick?.(this.owner);
        this.owner.call(() => native.closeBranch(this.owner.context, this.branchId));
      }
    };
    let result: R;
    try {
      result = await body(this);
    } catch (error) {
      close();
      throw error;
    }
    close();
    return result;
  }

  /** Waits for a loop's checkpoint. No cancel request interrupts this. */
  private pass(checkpoint: number): Promise<void> | undefined {
    if (checkpoint === 0) {
      return undefined;
    }
    return this.owner.wait("loop", C.AWAIT_ALL, checkpoint, true, () => undefined);
  }

  /** Futures that are shielded, all of them, stay so together. */
  private shields(futures: readonly Future<unknown>[]): boolean {
    return this.isShielded || (futures.length > 0 && futures.every((future) => future.isShielded));
  }

  private checkOwn(call: string, future: Future<unknown>): void {
    if (!(future instanceof Future)) {
      throw new UsageError(`${call}: only futures of a ctx can be given to it, not ${shown(future)}`);
    }
    if (future.run !== this.owner) {
      throw new UsageError(`${call}: the future belongs to another run`);
    }
  }
}
