import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NamedRepository, SessionPlace } from "@plimsoll/harnesses/recordings";
import { branchName, repositoryName } from "@plimsoll/protocol/pure";
import { CliError } from "../errors.ts";
import { type Env, homeFolder } from "../home-folder.ts";
import { gitPlace } from "./git-place.ts";

/** How events name the repository and the branch of a session. */
export const REPOSITORY_MODES = ["off", "plain", "hashed"] as const;
export type RepositoryMode = (typeof REPOSITORY_MODES)[number];

/**
 * The setting `PLIMSOLL_REPOSITORY`; undefined if it is not set.
 * @throws CliError for another value
 */
export function repositoryMode(env: Env): RepositoryMode | undefined {
  const given = env.PLIMSOLL_REPOSITORY;
  if (given === undefined || given === "") return undefined;
  const mode = REPOSITORY_MODES.find((one) => one === given);
  if (mode !== undefined) return mode;
  throw new CliError(
    `PLIMSOLL_REPOSITORY=${given} is not a mode. Use one of: ${REPOSITORY_MODES.join(", ")}.`,
  );
}

/**
 * Names the repository and the branch of a session, as the mode asks. Undefined if neither is to be named.
 * @throws CliError if a key for hashes is needed and cannot be stored
 */
export function repositoryNamer(
  mode: RepositoryMode,
  env: Env,
): ((place: SessionPlace) => NamedRepository) | undefined {
  if (mode === "off") return undefined;
  const shown = mode === "plain" ? (name: string) => name : hashWith(hashKey(env));
  return (place) => {
    const found =
      place.folder === undefined || place.remote !== undefined ? undefined : gitPlace(place.folder);
    const repository = repositoryName(place.remote ?? found?.remote ?? "");
    // A branch without its repository means nothing.
    if (repository === undefined) return {};
    const branch = branchName(place.branch ?? found?.branch ?? "");
    return { repository: shown(repository), ...(branch !== undefined && { branch: shown(branch) }) };
  };
}

/**
 * The same of a folder, for a report that nobody waits for: what cannot be named is left out.
 * @param otherwise the mode if the environment sets none
 */
export function reportedPlace(
  folder: string | undefined,
  env: Env,
  otherwise: RepositoryMode = "off",
): NamedRepository {
  try {
    return repositoryNamer(repositoryMode(env) ?? otherwise, env)?.({ folder }) ?? {};
  } catch {
    return {};
  }
}

const HASH_DIGITS = 16;

/** The same name has the same hash wherever the key is the same. Without the key, nobody can try names out. */
const hashWith = (key: string | Buffer) => (name: string) =>
  `hash-${createHmac("sha256", key).update(name).digest("hex").slice(0, HASH_DIGITS)}`;

/** `PLIMSOLL_REPOSITORY_KEY`, else a random key that this machine keeps. */
function hashKey(env: Env): string | Buffer {
  if (env.PLIMSOLL_REPOSITORY_KEY) return env.PLIMSOLL_REPOSITORY_KEY;
  const folder = homeFolder(env);
  const path = join(folder, "repository-key");
  const stored = keyIn(path);
  if (stored !== undefined) return stored;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Another process may make it at the same time: the first one wins.
    writeFileSync(path, randomBytes(32), { flag: "wx", mode: 0o600 });
  } catch {}
  const made = keyIn(path);
  if (made !== undefined) return made;
  throw new CliError(`The key for hashes of repositories cannot be stored in ${path}.`, {
    hint: "Set PLIMSOLL_REPOSITORY_KEY, or PLIMSOLL_HOME to a folder that you may write.",
  });
}

function keyIn(path: string): Buffer | undefined {
  try {
    const key = readFileSync(path);
    return key.length === 32 ? key : undefined;
  } catch {
    return undefined;
  }
}
