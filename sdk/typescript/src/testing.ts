// The test kit: an engine on virtual time, with a store of its own, and replaying histories.
//
//   const env = await TestEnvironment.open({ workflows: { order }, fakes: { charge: () => "p-1" } });
//   const run = await env.start(order, { input: { id: 17 } });
//   await env.advance("24h");
//   assert.equal(await run.result(), "p-1");
import { checkOptions } from "./checks";
import { Engine, ENGINE, type EngineOptions } from "./engine";
import { UsageError } from "./errors";
import { native } from "./native";
import { milliseconds, type Duration } from "./options";
import { outside } from "./outside";

export { replay, type Entry, type Replayed, type ReplayOptions } from "./replay";

export interface TestEnvironmentOptions extends EngineOptions {
  /** Called instead of the operations and activities of these names: with the same arguments. */
  fakes?: Readonly<Record<string, (...args: never[]) => unknown>>;
  /** Every run is thrown out of memory after each turn and comes back by replay: finds code that is not deterministic. */
  replayEveryTurn?: boolean;
}

/**
 * An engine for tests, with all its calls. Time stands still but for when somebody waits for a result or
 * advances it, and there is nothing else to do: then it jumps to the next moment at which something is
 * due. Sleeps cost nothing.
 */
export class TestEnvironment extends Engine {
  @outside
  static override async open(options: TestEnvironmentOptions | string = {}): Promise<TestEnvironment> {
    if (typeof options === "string") {
      throw new UsageError("TestEnvironment.open: it has a store of its own, and takes options only");
    }
    checkOptions(options, [...ENGINE, "fakes", "replayEveryTurn"], "TestEnvironment.open");
    const { fakes = {}, replayEveryTurn = false } = options;
    const env = new TestEnvironment("", options, { isTest: true, replayEveryTurn, fakes });
    env.begin({ work: true, ...options });
    return env;
  }

  /** For the library. */
  override checkServed(what: "workflow" | "activity", name: string, call: string): void {
    const there = what === "workflow" ? [...this.workflows.keys()] : [...this.activities.keys(), ...this.fakes.keys()];
    if (name !== "" && !there.includes(name)) {
      const others = there.length > 0 ? `, only ${there.join(", ")}` : "";
      const advice = what === "activity" ? ": give it one, or a fake" : "";
      throw new UsageError(`${call}: this test environment has no ${what} '${name}'${others}${advice}`);
    }
  }

  /** Milliseconds since 1970. */
  now(): number {
    return native.testNow(this.handle);
  }
  /** Lets time pass, with all that becomes due on the way. */
  @outside
  async advance(duration: Duration): Promise<void> {
    const length = milliseconds(duration, "advance");
    await this.ask((engine, tag) => native.testAdvance(engine, tag, length));
  }
}
