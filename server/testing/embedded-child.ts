// A process of its own around the supervisor, for tests that kill it. Prints one line of JSON when the
// database is up, and stops cleanly when its input ends.
import { pino } from "pino";
import { startEmbedded } from "../db/postgres/embedded.ts";

const database = await startEmbedded({ home: process.argv[2]!, log: pino({ level: "silent" }) });
process.stdout.write(
  `${JSON.stringify({ pid: database.pid(), adopted: database.adopted, url: database.url })}\n`,
);
process.stdin.resume();
process.stdin.once("end", async () => {
  await database.stop();
  process.exit(0);
});
