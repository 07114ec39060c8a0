import type { Harness } from "../harness.ts";
import { geminiCliRecordings } from "./recordings.ts";

export const geminiCli = {
  name: "Gemini CLI",
  recordings: geminiCliRecordings,
  ownLine: "gemini-cli",
} satisfies Harness;
