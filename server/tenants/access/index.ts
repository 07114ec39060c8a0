import type { Logger } from "pino";
import type { PrismaClient } from "../../db/index.ts";
import type { LiveHub } from "../../live/hub.ts";
import type { SecretBox } from "../../secret-box.ts";
import { type Audit, openAudit } from "../audit/audit.ts";
import type { IdentityProvider } from "../people/identity-provider.ts";
import { createPasskeys, type Passkeys } from "../people/passkeys.ts";
import { signInSafety } from "../people/pending-sign-ins.ts";
import { createPeople, type People } from "../people/people.ts";
import { ensureDefaultProject } from "../projects/default-project.ts";
import { createDirectory } from "../projects/directory.ts";
import { createProjects, type Projects } from "../projects/projects.ts";
import { type Browsers, createBrowsers } from "./browser.ts";
import type { TrustedProxies } from "./client-address.ts";
import { createKeys, type Keys } from "./keys.ts";
import { type LocalToken, openLocalToken } from "./local-token.ts";
import { createMachineLogins, type MachineLogins } from "./machine-logins.ts";
import { type Access, createAccess } from "./principal.ts";
import type { Quota } from "./quota.ts";
import { createThrottle } from "./throttle.ts";

export { type Browsers, loginUrl } from "./browser.ts";
export type { Keys } from "./keys.ts";

export interface AccessControl {
  access: Access;
  localToken: LocalToken;
  keys: Keys;
  browsers: Browsers;
  machineLogins: MachineLogins;
  people: People;
  passkeys: Passkeys;
  projects: Projects;
  audit: Audit;
  /** Called when a key or browser session ended, in this process or another. Returns what ends the calls. */
  onEnded(listener: () => void): () => void;
  /** Waits for what is still being written. Before the database is closed. */
  stop(): Promise<void>;
}

/**
 * Everything about who may do what, wired so that a change in one process counts in all.
 * @throws PlimsollError `data_folder_unwritable`
 */
export async function openAccess(options: {
  prisma: PrismaClient;
  hub: Pick<LiveHub, "invalidateKey" | "onInvalidate" | "projectsChanged" | "onProjectsChanged">;
  /** PLIMSOLL_HOME. */
  home: string;
  proxies: TrustedProxies;
  /** PLIMSOLL_ACCESS_TOKEN. */
  accessToken?: string | undefined;
  provider: IdentityProvider | undefined;
  /** PLIMSOLL_OIDC_ADMIN. */
  adminEmail: string | undefined;
  /** Encrypts the tokens of the identity provider, and challenges. */
  box: Pick<SecretBox, "seal" | "open">;
  /** Bounds the calls of each key. */
  reads: Pick<Quota, "take">;
  log: Logger;
}): Promise<AccessControl> {
  const { prisma, hub, home, proxies, accessToken, provider, adminEmail, box, reads, log } = options;
  await ensureDefaultProject(prisma);
  const localToken = await openLocalToken({ home, log });
  const audit = openAudit({ prisma, log });
  const endedListeners = new Set<() => void>();
  const tellEnded = () => {
    for (const listener of endedListeners) listener();
  };
  const announce = (hash: string) => {
    hub.invalidateKey(hash);
    tellEnded();
  };
  const keys = createKeys({ prisma, log, announce });
  const directory = createDirectory({ prisma });
  /** Has every process read a session or key again, by the hex of its sha256. */
  const reread = (hash: string) => {
    keys.forget(hash);
    browsers.forget(hash);
    announce(hash);
  };
  const people = createPeople({
    prisma,
    provider,
    adminEmail,
    projects: directory,
    changed: (credentials) => {
      for (const { hash } of credentials) reread(Buffer.from(hash).toString("hex"));
    },
  });
  const browsers: Browsers = createBrowsers({
    prisma,
    throttle: createThrottle("logins", log),
    accessToken,
    announce,
    failed: audit.loginFailed,
    personByLink: people.admitByLink,
    ...(provider && { identities: { provider, people, box } }),
  });
  const projects = createProjects({ prisma, directory, log, announce: hub.projectsChanged });
  const endHearingProjects = hub.onProjectsChanged(directory.forget);
  const endHearing = hub.onInvalidate((hash) => {
    keys.forget(hash);
    browsers.forget(hash);
    tellEnded();
  });
  return {
    access: createAccess({
      keys,
      browsers,
      localToken,
      projects: directory,
      throttle: createThrottle("keys", log),
      proxies,
      reads,
    }),
    localToken,
    keys,
    browsers,
    machineLogins: createMachineLogins({ prisma, keys, throttle: createThrottle("codes of machines", log) }),
    people,
    passkeys: createPasskeys({ prisma, safety: signInSafety(prisma, box) }),
    projects,
    audit,
    onEnded(listener) {
      endedListeners.add(listener);
      return () => void endedListeners.delete(listener);
    },
    async stop() {
      endHearing();
      endHearingProjects();
      await keys.settle();
      await audit.stop();
    },
  };
}
