// The test kit: replaying histories, and an engine for tests.
export { replay, type Entry, type Replayed, type ReplayOptions } from "./replay";
