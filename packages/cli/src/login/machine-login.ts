import {
  ErrorBody,
  MACHINE_LOGIN_PATHS,
  MachineLoginAnswer,
  MachineLoginCodes,
} from "@plimsoll/protocol/api";
import type { z } from "zod";
import type { CommandContext } from "../command-context.ts";
import { isLoopback } from "../connection.ts";
import { CliError, messageOf } from "../errors.ts";
import { sendRequest } from "../network/send-request.ts";
import { retryWorth, unreachable } from "../network/unreachable.ts";
import { redirectRefusal } from "../request.ts";
import { sleep } from "../sleep.ts";
import { printable } from "../terminal.ts";
import { forgetLogin, readLogin, type StoredLogin, writeLogin } from "./stored-login.ts";

/** For one answer, ms. */
const ANSWER_MS = 30_000;

export interface MachineLoginOptions {
  /** Base URL of the server. */
  url: string;
  /** How this machine calls itself. */
  machine: string;
  /** PLIMSOLL_HOME. */
  home: string;
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Gets keys for this machine, once a person has confirmed its code in a browser, and stores them.
 * @throws CliError if the server refuses or cannot be reached, nobody confirms in time, or the keys cannot be stored
 */
export async function loginMachine(
  { url, machine, home, pause = sleep }: MachineLoginOptions,
  context: CommandContext,
): Promise<void> {
  if (!url.startsWith("https:") && !isLoopback(url)) {
    throw new CliError(`A key would cross the network unencrypted on its way from ${url}.`, {
      hint: `Use HTTPS: npx plimsoll login ${url.replace(/^http:/, "https:")}`,
    });
  }
  const before = await readLogin(home);
  const signal = context.untilStopped();
  const codes = await call(url, MACHINE_LOGIN_PATHS.code, { machine }, MachineLoginCodes);
  context.out.write(
    [
      `Open ${printable(codes.verification_uri)} in a browser on any machine, sign in, and enter this code:\n`,
      `  ${printable(codes.user_code)}\n`,
      `It is valid for ${Math.round(codes.expires_in / 60)} minutes. Waiting for it; press Ctrl+C to stop.\n`,
    ].join("\n"),
  );
  const { project, key, ingest_key } = await untilDecided(url, codes, { context, signal, pause });
  const login = { url, project, key, ingest_key };
  try {
    await writeLogin(home, login);
  } catch (error) {
    await revokeKeys(login);
    throw new CliError(`The login could not be stored in ${home}: ${messageOf(error)}`, { cause: error });
  }
  if (before !== undefined) await revokeKeys(before);
  context.out.write(
    `This machine is logged in at ${printable(url)}, in the project ${printable(project)}, as ${printable(key.name)}.\n` +
      "Connect the harnesses on it with: npx plimsoll connect\n",
  );
  if (context.env.PLIMSOLL_KEY) context.err.write("PLIMSOLL_KEY is set, and commands use it instead.\n");
}

async function untilDecided(
  url: string,
  { device_code, expires_in, interval }: MachineLoginCodes,
  {
    context,
    signal,
    pause,
  }: Required<Pick<MachineLoginOptions, "pause">> & {
    context: CommandContext;
    signal: AbortSignal;
  },
): Promise<MachineLoginAnswer & { status: "approved" }> {
  const end = context.now() + expires_in * 1_000;
  let seconds = interval;
  while (context.now() < end) {
    await pause(seconds * 1_000, signal);
    if (signal.aborted) throw new CliError("Stopped. This machine is not logged in.");
    const answer = await ask();
    if (answer?.status === "approved") return answer;
    if (answer?.status === "denied") throw new CliError("The login of this machine was refused.");
    if (answer?.status === "expired") break;
    if (answer !== undefined && "interval" in answer) seconds = answer.interval;
  }
  throw new CliError("Nobody confirmed the code in time.", {
    hint: `Ask for a new one: npx plimsoll login ${url}`,
  });

  /** Undefined if the server is away for a moment. */
  async function ask(): Promise<MachineLoginAnswer | undefined> {
    try {
      return await call(url, MACHINE_LOGIN_PATHS.token, { device_code }, MachineLoginAnswer);
    } catch (error) {
      if (error instanceof CliError && error.cause !== undefined && retryWorth(error.cause) !== "no")
        return undefined;
      throw error;
    }
  }
}

/** @throws CliError; one without an answer has a cause */
async function call<T>(
  url: string,
  path: string,
  body: object,
  schema: z.ZodType<T>,
  key?: string,
): Promise<T> {
  let response: Response;
  let text: string;
  try {
    response = await sendRequest(url + path, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    text = await response.text();
  } catch (error) {
    throw unreachable({ url }, error);
  }
  const redirect = redirectRefusal(url, response);
  if (redirect !== undefined) throw redirect;
  const answer = parsed(text);
  if (response.status >= 500 && response.status !== 501)
    throw unreachable({ url }, new Error(`HTTP ${response.status}`));
  const read = schema.safeParse(answer);
  if (response.ok && read.success) return read.data;
  const said = ErrorBody.safeParse(answer).data?.error;
  throw new CliError(
    said === undefined || response.status === 404
      ? `${url} does not log machines in.`
      : `${url} answered: ${said.message}`,
    response.status === 404 || response.ok ? { hint: "Check the URL, and the version of the server." } : {},
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ends both keys of a login. @returns whether the server did, or does not know them any more */
async function revokeKeys({
  url,
  key,
  ingest_key,
}: Pick<StoredLogin, "url" | "key" | "ingest_key">): Promise<boolean> {
  const ended = await Promise.all(
    [ingest_key, key].map(async ({ secret }) => {
      const response = await sendRequest(url + MACHINE_LOGIN_PATHS.revoke, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body: "{}",
        signal: AbortSignal.timeout(ANSWER_MS),
      }).catch(() => undefined);
      await response?.body?.cancel();
      return response?.status === 200 || response?.status === 401;
    }),
  );
  return ended.every(Boolean);
}

/**
 * Revokes the keys of this machine, and forgets them also if that fails.
 * @throws CliError if the machine is not logged in, or its keys still work
 */
export async function logoutMachine(home: string, { out }: CommandContext): Promise<void> {
  const login = await readLogin(home);
  if (login === undefined) throw new CliError("This machine is not logged in.");
  const isRevoked = await revokeKeys(login);
  await forgetLogin(home);
  if (!isRevoked) {
    throw new CliError(`The keys are forgotten here, but ${login.url} could not revoke them.`, {
      hint: `Revoke ${login.key.name} and ${login.ingest_key.name} there, under Setup.`,
    });
  }
  out.write(
    `This machine is logged out of ${printable(login.url)}. Harnesses that are connected with its key no longer report.\n`,
  );
}
