export * from "./loop/index.ts";
export * from "./orchestrate/index.ts";
export * from "./sessions/index.ts";
