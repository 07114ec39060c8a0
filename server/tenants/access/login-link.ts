import { constants } from "node:fs";
import { readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { replaceFile } from "../../whole-file.ts";
import { LOGIN_TOKEN_MS } from "./browser.ts";

export const LOGIN_LINK_FILE = "login-link";

const { O_NOFOLLOW = 0, O_RDONLY } = constants;

export interface LoginOffer {
  /** What to print. Holds the link only if it goes to a terminal. */
  text: string;
  /** Removes the file, if there is one. Never rejects. */
  withdraw(): Promise<void>;
}

/**
 * Offers the first login link: on a terminal, else in a file that only this user can read, because journald and Docker
 * keep what a service prints. The file goes when the link is used or too old.
 * @param createUrl calls `used` once the link was used in this process
 */
export async function offerLogin(options: {
  home: string;
  terminal: boolean;
  log: Logger;
  createUrl: (used: () => void) => Promise<string>;
}): Promise<LoginOffer> {
  const { home, terminal, log, createUrl } = options;
  const path = join(home, LOGIN_LINK_FILE);
  let withdrawn: Promise<void> | undefined;
  const withdraw = () => {
    clearTimeout(timer);
    withdrawn ??= removeOwn(path, url).catch((err) =>
      log.warn({ err, path }, "the login link was not removed"),
    );
    return withdrawn;
  };
  const url = await createUrl(() => void withdraw());
  const timer = setTimeout(withdraw, LOGIN_TOKEN_MS).unref();
  if (terminal) {
    clearTimeout(timer);
    withdrawn = Promise.resolve();
    return { text: `  Open this link to log in; it works once:\n  ${url}\n\n`, withdraw };
  }
  try {
    await replaceFile(path, `${url}\n`);
    return { text: `  The login link is in ${path}\n  Another one: npx plimsoll login\n\n`, withdraw };
  } catch (err) {
    log.warn({ err, path }, "the login link was not written");
    return { text: "  To log in, run: npx plimsoll login\n\n", withdraw };
  }
}

/** Another process of this home may have replaced it by its own. */
async function removeOwn(path: string, url: string): Promise<void> {
  const text = await readFile(path, { encoding: "utf8", flag: O_RDONLY | O_NOFOLLOW }).catch(() => "");
  if (text.trim() === url) await unlink(path);
}
