import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import type { NamedRepository, ReaderOptions } from "./reader.ts";
import { digest, fitName, shorten } from "./text.ts";

/**
 * The fields that all events of one session share.
 * @param session empty for a file that is called `.jsonl`
 */
export function sessionFields(options: ReaderOptions, session: string) {
  return { harness: fitName(options.harness, 128), session: fitName(session, 256) || "unnamed" };
}

export function sessionStarted(
  fields: ReturnType<typeof sessionFields>,
  started: {
    at: number;
    kind: "conversation" | "loop" | "phase" | "agent";
    title: string | undefined;
    place?: NamedRepository | undefined;
  },
): PlimsollEventInput {
  const title = started.title === undefined ? undefined : shorten(started.title);
  return {
    ...fields,
    // The server stores each id once, so a later title needs another id.
    id: title === undefined ? "started" : `started/${digest(title)}`,
    type: "session",
    status: "started",
    at: started.at,
    kind: started.kind,
    ...started.place,
    ...(title !== undefined && title !== "" && { title }),
  };
}
