import type { AckCode } from "./judge.ts";
import { hashOf, isFields, type ServedPolicy } from "./read-answer.ts";

/** A policy that this harness refused. It is not tried again before the generation changes. */
export interface Quarantined {
  generation: number;
  hash: string;
  code: AckCode;
  message: string;
}

/** What is kept across restarts of the process. */
export interface StoredPolicy {
  good: ServedPolicy | undefined;
  quarantined: Quarantined | undefined;
}

/** For whom it is kept. What another server, harness or set of limits left is not used. */
export interface StoreOwner {
  url: string;
  harness: string;
  model: string | undefined;
  /** Hash of the harness's own limits: with other limits, a refused policy gets another try. */
  limits: string;
}

const FORMAT = 1;

/** Writes what is kept as text. */
export async function storedText(owner: StoreOwner, { good, quarantined }: StoredPolicy): Promise<string> {
  const content = { owner, good: good ?? null, quarantined: quarantined ?? null };
  return JSON.stringify({ format: FORMAT, check: await hashOf(content), content });
}

/**
 * Reads what was kept. Never throws.
 * @returns what is wrong with it as text, if it cannot be used
 */
export async function readStored(text: string, owner: StoreOwner): Promise<StoredPolicy | string> {
  const file = parsed(text);
  if (!isFields(file)) return "it is truncated or no JSON";
  if (file.format !== FORMAT) return `its format is ${JSON.stringify(file.format)}, not ${FORMAT}`;
  const { content, check } = file;
  if (!isFields(content) || check === undefined || (await hashOf(content)) !== check)
    return "its content does not have the hash that was written with it";
  const {
    owner: writer,
    good,
    quarantined,
  } = content as unknown as {
    owner: StoreOwner;
    good: ServedPolicy | null;
    quarantined: Quarantined | null;
  };
  if (writer.url !== owner.url || writer.harness !== owner.harness || writer.model !== owner.model)
    return `it belongs to ${writer.harness} at ${writer.url}`;
  if (good !== null && (await hashOf(good.settings)) !== good.hash)
    return "its policy does not have its hash";
  return {
    good: good ?? undefined,
    quarantined: writer.limits === owner.limits ? (quarantined ?? undefined) : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
