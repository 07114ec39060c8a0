import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { overLimit } from "../bodies/body-budget.ts";
import { scanJson } from "../bodies/scan-json.ts";
import { PlimsollError } from "../errors.ts";
import type { BodyRoom } from "./body-room.ts";
import { readBody } from "./read-body.ts";

/** Bytes of a call. No input of a procedure comes near it. */
export const CALL_BYTES = 1024 * 1024;
/** Values of a call, which is parsed and checked without a pause. */
const CALL_VALUES = 50_000;

/**
 * Reads the JSON of a call, and holds it to the limits of every body before anything parses it. Its memory is accounted for
 * until `use` is done.
 * @throws PlimsollError `too_large`, `bad_request`, `unsupported_media_type` or `overloaded`, and what `use` throws
 */
export async function withCallBody<T>(
  room: BodyRoom,
  projectId: number,
  incoming: IncomingMessage,
  use: (bytes: Buffer) => Promise<T> | T,
): Promise<T> {
  refuseForms(incoming.headers["content-type"]);
  const hold = room.enter(projectId);
  try {
    const bytes = await readBody(incoming, hold.budget, CALL_BYTES);
    if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
    const { values } = await room.turns.run(scanJson(bytes, hold.budget));
    if (values > CALL_VALUES)
      throw overLimit(`The body has ${values} values; the limit is ${CALL_VALUES}.`, CALL_VALUES, "values");
    hold.budget.holdValues(values);
    return await use(bytes);
  } finally {
    hold.leave();
  }
}

/** @throws PlimsollError `bad_request` */
export function parsedJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new PlimsollError("bad_request", "The body is not JSON. Send JSON.", { cause });
  }
}

/** The adapters parse forms too, which no limit here covers. */
function refuseForms(contentType = ""): void {
  if (!/^\s*(multipart|application\/x-www-form-urlencoded)/i.test(contentType)) return;
  throw new PlimsollError(
    "unsupported_media_type",
    `Content-Type ${contentType.slice(0, 128)} is not understood: send application/json.`,
  );
}
