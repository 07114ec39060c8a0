import { defineTable } from "./table.ts";

/** Model names, so that a turn stores four bytes instead of a string. */
export const models = defineTable("models", ["id"], {
  id: "int4",
  name: "text",
  /** When the first turn of the model was received. */
  addedAt: "time",
});
