export { catalogWindow } from "@plimsoll/protocol/pure";
export { estimateTokens, type Tokenizer } from "./estimate.ts";
export { type NoTurn, type NoTurnReason, type ReadTurn, readUsage, type UsageReading } from "./usage.ts";
