import type { ExaminedCertificate } from "./certificate.ts";
import type { DoctorConnection } from "./connection.ts";

/** What a check works with. */
export interface CheckContext {
  projectId: number;
  databaseUrl: string;
  /** Of the key with which this server encrypts secrets. */
  keyId: string;
  connection: DoctorConnection;
  /** Absent without TLS. */
  certificate: ExaminedCertificate | undefined;
  /** When the time for this check ends, by the examination's clock in ms. May be infinite. */
  deadline: number;
}

/** What one step of a check examined. */
export interface Step {
  examined: number;
  /** Units that may differ until upkeep has reached them, so they are not compared. */
  waiting?: number;
  /** One entry for each unit that differs, such as "agent main of s1 (agents.load)". */
  faults: string[];
  /** Where the next step starts; undefined if everything is examined. */
  next: string | undefined;
  /** How many units there are; the first step says it. */
  of?: number;
  /** What a check without units found, in a sentence. */
  message?: string;
}

export interface Check {
  name: string;
  /** What is counted and what happened to it, such as "agents computed again". Undefined for a check in one step. */
  units: { plural: string; done: string } | undefined;
  /** True if what it finds is never a fault. */
  note?: boolean;
  /** Share of the time that is left, compared with the checks after it. */
  weight: number;
  /** Units, or rows a statement, in the first step and at most in any step. */
  size: number;
  maxSize: number;
  /** Examines about `size` units, all of them at one moment. `position` is `next` of the previous step. */
  step(context: CheckContext, position: string | undefined, size: number): Promise<Step>;
}

const grouped = new Intl.NumberFormat("en-US");

/** A number with separators: 1,234,567. */
export function count(value: number): string {
  return grouped.format(value);
}

/** Such as `1 turn` and `2,000 turns`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}
