// Clients' calls are for code outside of workflows: a workflow would make them again at each replay.
import { UsageError } from "./errors";
import { executing } from "./executing";

/**
 * Of a client's call: refuses it in workflow code. Throws there, since a promise that is rejected and that nobody awaits
 * would end the process and not the run.
 */
export function outside<Call extends (...args: never[]) => Promise<unknown>>(
  call: Call,
  { name }: ClassMethodDecoratorContext,
): Call {
  const guarded = function (this: unknown, ...args: never[]): Promise<unknown> {
    if (executing() !== undefined) {
      throw new UsageError(
        `${String(name)}: clients' calls are not for workflow code; use ctx.child(), ctx.sendSignal(), or an activity`,
      );
    }
    return call.apply(this, args);
  };
  return guarded as Call;
}
