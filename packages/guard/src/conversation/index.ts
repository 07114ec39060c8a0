export type { FitOptions } from "../fit.ts";
export { checkNames, type OptionNames } from "../policy/check-names.ts";
export { Conversation } from "./conversation.ts";
export type {
  Action,
  ConversationOptions,
  GuardReading,
  Observation,
  ObserveFacts,
  Prepared,
} from "./types.ts";
