import type { LoginAnswer } from "@plimsoll/protocol/api";

/** `refused`: the link is of no use any more. `failed`: the server did not check it. */
export interface LoginFailure {
  step: "refused" | "failed";
  message: string;
}

/** What a person signs in with: the token of a link, or the access token of the server. */
export type LoginSecret = { token: string } | { access_token: string };

/** Exchanges a secret for a session cookie. */
export function logIn(secret: LoginSecret): Promise<LoginAnswer | LoginFailure> {
  const again = "token" in secret ? "open the link again" : "try again";
  return post<LoginAnswer>("/api/v1/login", secret, again);
}

/** Has the browser ask for a passkey, and exchanges its answer for a session cookie. */
export async function logInWithPasskey(): Promise<LoginAnswer | LoginFailure> {
  const options = await post<PublicKeyCredentialRequestOptionsJSON>("/api/v1/sign-in/passkey/start", {});
  if ("step" in options) return options;
  const credential = await askForPasskey(options);
  if (credential === undefined)
    return { step: "failed", message: "No passkey was used. Try again, or open a sign-in link." };
  return post<LoginAnswer>("/api/v1/sign-in/passkey", { credential });
}

/** Undefined without a passkey: browsers do not say why, on purpose. Some password managers answer with an object of their own. */
async function askForPasskey(options: PublicKeyCredentialRequestOptionsJSON): Promise<object | undefined> {
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return ((await navigator.credentials.get({ publicKey })) as PublicKeyCredential).toJSON();
  } catch {
    return undefined;
  }
}

async function post<Answer>(path: string, sent: object, again = "try again"): Promise<Answer | LoginFailure> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(sent),
    });
  } catch {
    return {
      step: "failed",
      message: `The server did not respond. Check that it is running, then ${again}.`,
    };
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok && body !== null) return body as Answer;
  const { error } = (body ?? {}) as { error?: { message?: string } };
  return {
    step: response.status === 401 ? "refused" : "failed",
    message: error?.message ?? `The server responded with status ${response.status}.`,
  };
}
