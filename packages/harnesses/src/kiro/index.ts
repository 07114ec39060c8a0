import { type Harness, none } from "../harness.ts";
import { kiroRecordings } from "./recordings.ts";

export const kiro = {
  name: "Kiro CLI",
  recordings: kiroRecordings,
  contents: none("It counts no tokens of single calls, and its log has no times."),
  telemetry: none("Its spans tell a share of the window alone, without the size or a count of tokens."),
  connect: none("Its settings are not written by connect."),
  bridge: none("No setting moves the level at which it compacts."),
  line: none("Where it compacts is not known."),
  statusLine: none("It passes no level to a command."),
} satisfies Harness;
