export * from "./mapping/json-path.ts";
export * from "./mapping/map-command.ts";
export * from "./mapping/mapped-turn.ts";
export * from "./mapping/match-text.ts";
export * from "./mapping/record-mapping.ts";
