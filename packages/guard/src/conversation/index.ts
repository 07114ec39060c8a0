export type { FitOptions } from "../fit.ts";
export { Conversation } from "./conversation.ts";
export type {
  Action,
  ConversationOptions,
  GuardReading,
  Observation,
  ObserveFacts,
  Prepared,
} from "./types.ts";
