import type { Logger } from "pino";
import type { PrismaClient } from "../db/index.ts";
import type { LiveHub } from "../live/hub.ts";
import { type Browsers, createBrowsers } from "./browser.ts";
import { createKeys, type Keys } from "./keys.ts";
import { openLocalToken } from "./local-token.ts";
import { type Access, createAccess } from "./principal.ts";
import { ensureDefaultProject } from "./project.ts";

export { type Browsers, loginUrl } from "./browser.ts";
export type { Keys } from "./keys.ts";

export interface AccessControl {
  access: Access;
  keys: Keys;
  browsers: Browsers;
  /** Waits for what is still being written. Before the database is closed. */
  stop(): Promise<void>;
}

/**
 * Everything about who may do what, wired so that a revocation or a logout in one process counts in all.
 * @throws PlimsollError `data_folder_unwritable`
 */
export async function openAccess(options: {
  prisma: PrismaClient;
  hub: Pick<LiveHub, "invalidateKey" | "onInvalidate">;
  /** PLIMSOLL_HOME. */
  home: string;
  log: Logger;
}): Promise<AccessControl> {
  const { prisma, hub, home, log } = options;
  await ensureDefaultProject(prisma);
  const localToken = await openLocalToken({ home, log });
  const keys = createKeys({ prisma, log, announce: hub.invalidateKey });
  const browsers = createBrowsers({ prisma, announce: hub.invalidateKey });
  const endHearing = hub.onInvalidate((hash) => {
    keys.forget(hash);
    browsers.forget(hash);
  });
  return {
    access: createAccess({ keys, browsers, localToken }),
    keys,
    browsers,
    async stop() {
      endHearing();
      await keys.settle();
    },
  };
}
