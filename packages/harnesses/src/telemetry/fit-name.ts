import { createHash } from "node:crypto";

/** Characters of a digest, and the dash before it. */
const SUFFIX = 13;

/** An id or name that events may hold. A text that is too long is cut and gets a digest, so that it stays distinct. */
export function fitName(text: string, length: number): string {
  const clean = text.replaceAll("\u0000", "\ufffd").toWellFormed();
  if (clean.length <= length) return clean;
  const digest = createHash("sha256")
    .update(clean)
    .digest("hex")
    .slice(0, SUFFIX - 1);
  return `${clean.slice(0, length - SUFFIX).toWellFormed()}-${digest}`;
}
