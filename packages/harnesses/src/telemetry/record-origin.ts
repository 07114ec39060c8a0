import { textOf } from "./attributes.ts";
import type { Attributes } from "./telemetry-record.ts";

/** Where a program runs, as its resource says. The server cleans the names. */
interface RecordOrigin {
  machine?: string;
  repository?: string;
  branch?: string;
}

const NAMES = {
  machine: ["host.name"],
  // Earlier versions of the semantic conventions have other names.
  repository: ["vcs.repository.url.full", "vcs.repository.url"],
  branch: ["vcs.ref.head.name", "vcs.repository.ref.name"],
} as const;

/** Repository and branch are there only if a person sets them: no harness does by itself. */
export function originOf(resource: Attributes): RecordOrigin {
  const origin: RecordOrigin = {};
  for (const field of ["machine", "repository", "branch"] as const) {
    const text = textOf(resource, NAMES[field]);
    if (text !== undefined) origin[field] = text;
  }
  return origin;
}
