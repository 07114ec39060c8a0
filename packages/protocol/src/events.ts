export * from "./events/events.ts";
export * from "./events/parse-event.ts";
export * from "./terms.ts";
