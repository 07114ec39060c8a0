export { type EventBody, eventOf, type Identity } from "../events.ts";
export {
  createReporter,
  type LogLine,
  Reporter,
  type ReporterOptions,
  type ReporterStats,
  type Spool,
  type Trouble,
} from "./reporter.ts";
export { backoffMs, type SendOutcome, type SendTarget, type ServerRefusal, sendEvents } from "./send.ts";
