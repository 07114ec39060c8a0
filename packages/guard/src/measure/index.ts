export { catalogWindow } from "@plimsoll/fold";
export type { Prediction } from "./calibrate.ts";
export { estimateTokens, type Tokenizer, tokenizerScale } from "./estimate.ts";
export { CallForecast, type CallGrowth } from "./forecast.ts";
export { type NoTurn, type NoTurnReason, type ReadTurn, readUsage, type UsageReading } from "./usage.ts";
