import type { Harness } from "../harness.ts";
import { qwenCodeRecordings } from "./recordings.ts";

export const qwenCode = {
  name: "Qwen Code",
  recordings: qwenCodeRecordings,
  ownLine: "qwen-code",
} satisfies Harness;
