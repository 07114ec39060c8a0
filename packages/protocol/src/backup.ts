export * from "./backup/format.ts";
export * from "./backup/reader.ts";
