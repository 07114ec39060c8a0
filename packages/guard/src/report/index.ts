export { type EventBody, eventOf, type Identity } from "./events.ts";
export type { LogLine, ReporterOptions, ReporterStats, Spool, Trouble } from "./options.ts";
export { createReporter, Reporter } from "./reporter.ts";
export { backoffMs, type SendOutcome, type SendTarget, type ServerRefusal, sendEvents } from "./send.ts";
