import {
  MACHINE_LOGIN_PAGE,
  MACHINE_LOGIN_PATHS,
  type MachineLoginCodes,
  MachineLoginPoll,
  MachineLoginRequest,
} from "@plimsoll/protocol/api";
import type { Hono } from "hono";
import type { z } from "zod";
import { PlimsollError } from "../errors.ts";
import type { Keys } from "../tenants/access/keys.ts";
import { CODE_MS, type MachineLogins } from "../tenants/access/machine-logins.ts";
import { type Access, actorOf, factsOf } from "../tenants/access/principal.ts";
import { limitedBody, type MachineContext, type MachineEnv } from "./app.ts";

export interface MachineLoginDeps {
  access: Pick<Access, "authenticate" | "clientOf">;
  keys: Pick<Keys, "revoke">;
  logins: Pick<MachineLogins, "ask" | "poll">;
  /** Where people open the pages. */
  publicUrl: () => string;
}

const BODY_BYTES = 4_096;

/** How a machine without a browser gets keys, and gives them back. See `MACHINE_LOGIN_PATHS`. */
export const machineLoginRoutes =
  ({ access, keys, logins, publicUrl }: MachineLoginDeps) =>
  (app: Hono<MachineEnv>): void => {
    app.post(MACHINE_LOGIN_PATHS.code, limitedBody(BODY_BYTES), async (c) => {
      const { machine } = await bodyOf(c, MachineLoginRequest);
      const asked = await logins.ask(machine, access.clientOf(factsOf(c.env.incoming)));
      return c.json({
        device_code: asked.deviceCode,
        user_code: asked.userCode,
        verification_uri: publicUrl() + MACHINE_LOGIN_PAGE,
        expires_in: CODE_MS / 1_000,
        interval: asked.interval,
      } satisfies MachineLoginCodes);
    });

    app.post(MACHINE_LOGIN_PATHS.token, limitedBody(BODY_BYTES), async (c) => {
      const { device_code } = await bodyOf(c, MachineLoginPoll);
      return c.json(await logins.poll(device_code));
    });

    app.post(MACHINE_LOGIN_PATHS.revoke, limitedBody(BODY_BYTES), async (c) => {
      const principal = await access.authenticate(factsOf(c.env.incoming));
      if (principal?.keyId === undefined)
        throw new PlimsollError(
          "unauthenticated",
          "Send the key that ends itself: Authorization: Bearer plim_...",
        );
      await keys.revoke(principal.projectId, principal.keyId, actorOf(principal));
      return c.json({ revoked: true });
    });
  };

async function bodyOf<T>(c: MachineContext, schema: z.ZodType<T>): Promise<T> {
  const read = schema.safeParse(await c.req.json().catch(() => undefined));
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  throw new PlimsollError("invalid_field", `${path.join(".") || "The body"}: ${message}`);
}
