import type { Logger } from "pino";
import type { PrismaClient } from "../db/index.ts";
import type { LiveHub } from "../live/hub.ts";
import { ensureDefaultProject } from "../projects/default-project.ts";
import { createDirectory } from "../projects/directory.ts";
import { createProjects, type Projects } from "../projects/projects.ts";
import { type Browsers, createBrowsers } from "./browser.ts";
import type { TrustedProxies } from "./client-address.ts";
import { createKeys, type Keys } from "./keys.ts";
import { type LocalToken, openLocalToken } from "./local-token.ts";
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
  projects: Projects;
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
  /** Bounds the calls of each key. */
  reads: Quota;
  log: Logger;
}): Promise<AccessControl> {
  const { prisma, hub, home, proxies, reads, log } = options;
  await ensureDefaultProject(prisma);
  const localToken = await openLocalToken({ home, log });
  const keys = createKeys({ prisma, log, announce: hub.invalidateKey });
  const browsers = createBrowsers({
    prisma,
    throttle: createThrottle("login links", log),
    announce: hub.invalidateKey,
  });
  const directory = createDirectory({ prisma });
  const projects = createProjects({ prisma, directory, log, announce: hub.projectsChanged });
  const endHearingProjects = hub.onProjectsChanged(directory.forget);
  const endHearing = hub.onInvalidate((hash) => {
    keys.forget(hash);
    browsers.forget(hash);
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
    projects,
    async stop() {
      endHearing();
      endHearingProjects();
      await keys.settle();
    },
  };
}
