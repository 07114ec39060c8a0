import * as answerShapes from "./answer-shapes.ts";
import * as recordShapes from "./record-shapes.ts";
import type { UsageShape } from "./usage-shape.ts";

/** Every row of the table, by its name in the code. A function, so that a bundle without it has only the rows that it uses. */
export function usageShapes(): [name: string, shape: UsageShape][] {
  const rows: [string, unknown][] = [...Object.entries(answerShapes), ...Object.entries(recordShapes)];
  return rows.filter((row): row is [string, UsageShape] => typeof row[1] === "object");
}
