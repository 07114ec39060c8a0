import { z } from "zod";
import { rowId } from "./parameters.ts";

const time = z.iso.datetime({ offset: true });

/** A browser that is signed in. */
export const BrowserView = z.object({
  id: z.string(),
  /** Who signed in; null for a login link or the access token. */
  person: z.string().nullable(),
  /** The browser that asks. */
  current: z.boolean(),
  /** Of the person who asks. */
  own: z.boolean(),
  /** Such as `Firefox on Linux`; null if it never said. */
  browser: z.string().nullable(),
  /** The client's address when it was last seen; null for a session from before addresses were stored. */
  address: z.string().nullable(),
  created_at: time,
  /** Accurate to one hour. */
  last_seen_at: time,
  /** Later uses put it off. */
  expires_at: time,
});
export type BrowserView = z.infer<typeof BrowserView>;

/** Most recently seen first. */
export const BrowserList = z.object({ browsers: z.array(BrowserView) });

export const SignOutInput = z.object({ id: rowId });
/** `own`: only those of the person who asks. */
export const SignOutOthersInput = z.object({ own: z.boolean().optional() });
