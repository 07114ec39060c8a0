export type { ResultPart } from "./history.ts";
export { clip, placeholderFor, summaryOf } from "./placeholder.ts";
export {
  type Part,
  type PartKind,
  parsedInput,
  plainShape,
  type Shape,
  type ToolCall,
  textOf,
} from "./shape.ts";
