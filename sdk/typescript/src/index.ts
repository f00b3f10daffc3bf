export { Context, breakWith, continueWith } from "./context";
export * from "./errors";
export { Recurred } from "./run";
