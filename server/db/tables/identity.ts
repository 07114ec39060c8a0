import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";

/**
 * Ids that follow from what a sender says, so that every server gives the same session, agent and turn the same id
 * without asking another. UUIDs of version 8 (RFC 9562: made of whatever the application likes).
 */
const ids = new LRUCache<string, string>({ max: 50_000 });

export function sessionId(projectId: number, harness: string, session: string): string {
  return derivedId("session", projectId, harness, session);
}

export function agentId(projectId: number, harness: string, session: string, agent: string): string {
  return derivedId("agent", projectId, harness, session, agent);
}

export function harnessId(projectId: number, harness: string): string {
  return derivedId("harness", projectId, harness);
}

function derivedId(...parts: (string | number)[]): string {
  // No part may contain NUL (the schemas refuse it), so the joined text is unambiguous.
  const text = parts.join("\u0000");
  const known = ids.get(text);
  if (known !== undefined) return known;
  const bytes = hash("sha256", text, "buffer").subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  ids.set(text, id);
  return id;
}

/**
 * The key of a turn or mark within its agent: the first 8 bytes of the sha256 of the sender's id, as a signed decimal. Among
 * 100,000 turns of one agent two keys meet with odds of about 3 in 10 thousand million.
 */
export function eventKey(id: string): string {
  // As a string of bytes: making a Buffer costs more than the hash.
  const bytes = hash("sha256", id, "binary");
  const high = BigInt(word(bytes, 0) | 0);
  return ((high << 32n) | BigInt(word(bytes, 4) >>> 0)).toString();
}

/** A turn by 48 bits of its key, which fit a number: enough to find it among the turns of its agent. */
export function turnMark(key: string): number {
  return Number(BigInt.asUintN(48, BigInt(key)));
}

const marks = new LRUCache<string, number>({ max: 10_000 });

/** A tool by 32 bits of a hash of its name: enough to tell the tools of a project apart, and no name to store. */
export function toolMark(name: string): number {
  let mark = marks.get(name);
  if (mark === undefined) {
    mark = word(hash("sha256", name, "binary"), 0) >>> 0;
    marks.set(name, mark);
  }
  return mark;
}

/** Four bytes as a number, the highest first. */
function word(bytes: string, at: number): number {
  return (
    (bytes.charCodeAt(at) << 24) |
    (bytes.charCodeAt(at + 1) << 16) |
    (bytes.charCodeAt(at + 2) << 8) |
    bytes.charCodeAt(at + 3)
  );
}

/** A model's number within its project before collisions are resolved: 31 bits of a hash. */
export function modelNumber(name: string, attempt: number): number {
  return hash("sha256", `${attempt}\u0000${name}`, "buffer").readUInt32BE(0) >>> 1;
}
