import type { Harness } from "../harness.ts";
import { codexRecordings } from "./recordings.ts";

export const codex = {
  name: "Codex",
  recordings: codexRecordings,
  ownLine: "codex",
} satisfies Harness;
