export { ClaudeSession } from "./claude-session.ts";
export type { SessionPrompt } from "./inputs.ts";
export type { SdkMessage, SdkQuery, SdkUserMessage } from "./sdk-types.ts";
export type { ClaudeSessionOptions } from "./session-options.ts";
export { StoppableQuery, type StoppableQueryOptions } from "./stoppable-query.ts";
