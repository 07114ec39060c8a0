import type { PlimsollEvent } from "@plimsoll/protocol/events";
import type { SessionRow } from "../../db/tables/sessions.ts";

/** An event, with what the server knows of its sender. */
export type SentEvent = PlimsollEvent & {
  /** Id of the person whose key sent it. On the first event of each session in a request, and on those of harnesses. */
  person?: string;
};

/** Where a session runs and whose it is. Each part is what the newest event that names it says. Times in epoch ms. */
export type SessionOrigin = Pick<
  SessionRow,
  "machine" | "machineAt" | "repository" | "branch" | "repositoryAt" | "personId" | "personAt"
>;

export const NO_ORIGIN: SessionOrigin = {
  machine: undefined,
  machineAt: undefined,
  repository: undefined,
  branch: undefined,
  repositoryAt: undefined,
  personId: undefined,
  personAt: undefined,
};

/** What an event says of the origin; undefined if it names nothing, as most do. */
export function originOf(event: SentEvent): SessionOrigin | undefined {
  const { machine, repository, branch, person, at } = event;
  if (machine === undefined && repository === undefined && branch === undefined && person === undefined)
    return undefined;
  const isPlace = repository !== undefined || branch !== undefined;
  return {
    machine,
    machineAt: machine === undefined ? undefined : at,
    repository,
    branch,
    repositoryAt: isPlace ? at : undefined,
    personId: person,
    personAt: person === undefined ? undefined : at,
  };
}

/**
 * The newer of each part: of the machine, of repository with branch, and of the person. At the same time, the smaller name counts. The order does not
 * matter.
 */
export function mergeOrigins(a: SessionOrigin, b: SessionOrigin): SessionOrigin {
  const machine = isNewer(b.machineAt, a.machineAt, [b.machine], [a.machine]) ? b : a;
  const place = isNewer(b.repositoryAt, a.repositoryAt, placeOf(b), placeOf(a)) ? b : a;
  const person = isNewer(b.personAt, a.personAt, [b.personId], [a.personId]) ? b : a;
  return {
    machine: machine.machine,
    machineAt: machine.machineAt,
    repository: place.repository,
    branch: place.branch,
    repositoryAt: place.repositoryAt,
    personId: person.personId,
    personAt: person.personAt,
  };
}

const placeOf = ({ repository, branch }: SessionOrigin) => [repository, branch];

function isNewer(
  at: number | undefined,
  than: number | undefined,
  names: readonly (string | undefined)[],
  others: readonly (string | undefined)[],
): boolean {
  if (at === undefined || than === undefined) return at !== undefined;
  return at === than ? JSON.stringify(names) < JSON.stringify(others) : at > than;
}
