import { z } from "zod";
import { callText } from "./parameters.ts";

/**
 * How a machine without a browser gets a key, in the shape of RFC 8628: it asks for a code, a signed-in person confirms it on the
 * page, and the machine polls until then.
 */
export const MACHINE_LOGIN_PATHS = {
  /** POST `MachineLoginRequest`; answers `MachineLoginCodes`. */
  code: "/api/v1/device/code",
  /** POST `MachineLoginPoll`; answers `MachineLoginAnswer`. */
  token: "/api/v1/device/token",
  /** POST with a key, which then ends itself. */
  revoke: "/api/v1/device/revoke",
} as const;

/** The page on which a person confirms. */
export const MACHINE_LOGIN_PAGE = "/device";

export const MachineLoginRequest = z.strictObject({
  /** The name that the machine gives itself. It may be anything. */
  machine: callText(64, z.string().trim().min(1)),
});

export const MachineLoginCodes = z.object({
  device_code: z.string(),
  /** For a person, such as `BCDF-GHJK`. */
  user_code: z.string(),
  verification_uri: z.string(),
  /** Seconds until both codes end. */
  expires_in: z.number(),
  /** Seconds between two polls. */
  interval: z.number(),
});
export type MachineLoginCodes = z.infer<typeof MachineLoginCodes>;

export const MachineLoginPoll = z.strictObject({ device_code: z.string().min(1).max(200) });

const MachineKey = z.object({ id: z.string(), name: z.string(), secret: z.string() });

export const MachineLoginAnswer = z.discriminatedUnion("status", [
  /** Poll again after so many seconds; after `slow_down`, they are more than before. */
  z.object({ status: z.enum(["pending", "slow_down"]), interval: z.number() }),
  /** `expired`: also for a code that was used, or that this process does not know. */
  z.object({ status: z.enum(["denied", "expired"]) }),
  z.object({
    status: z.literal("approved"),
    /** Name of the project that both keys belong to. */
    project: z.string(),
    /** For commands: reads and sends. */
    key: MachineKey,
    /** For the settings of harnesses, which their agents can read: it only sends. */
    ingest_key: MachineKey,
  }),
]);
export type MachineLoginAnswer = z.infer<typeof MachineLoginAnswer>;

/** As a person typed it: with or without the dash, in any case. */
export const MachineCodeInput = z.object({ user_code: callText(40) });

/** A machine that waits for a person. */
export const WaitingMachine = z.object({
  user_code: z.string(),
  machine: z.string(),
  /** From which the machine asked, as far as trusted proxies tell. */
  address: z.string(),
  asked_at: z.iso.datetime({ offset: true }),
  expires_at: z.iso.datetime({ offset: true }),
});
export type WaitingMachine = z.infer<typeof WaitingMachine>;

export const DecideMachineInput = MachineCodeInput.extend({ approve: z.boolean() });
