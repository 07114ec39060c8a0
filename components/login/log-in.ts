/** `refused`: the link is of no use any more. `failed`: the server did not check it. */
export interface LoginFailure {
  step: "refused" | "failed";
  message: string;
}

/** What a person signs in with: the token of a link, or the access token of the server. */
export type LoginSecret = { token: string } | { access_token: string };

/** Exchanges a secret for a session cookie. Returns null on success. */
export async function logIn(secret: LoginSecret): Promise<LoginFailure | null> {
  let response: Response;
  try {
    response = await fetch("/api/v1/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(secret),
    });
  } catch {
    const again = "token" in secret ? "open the link again" : "try again";
    return {
      step: "failed",
      message: `The server did not respond. Check that it is running, then ${again}.`,
    };
  }
  if (response.ok) return null;
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return {
    step: response.status === 401 ? "refused" : "failed",
    message: body?.error?.message ?? `The server responded with status ${response.status}.`,
  };
}
