export type { ServerRefusal } from "../http/answers.ts";
export { type EventBody, eventOf, type Identity } from "./events.ts";
export type { LogLine, ReporterOptions, ReporterStats, Spool, Trouble } from "./options.ts";
export { createReporter, Reporter } from "./reporter.ts";
export { type SendOutcome, type SendTarget, sendEvents } from "./send.ts";
