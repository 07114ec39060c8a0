/** `refused`: the link is of no use any more. `failed`: the server did not check it. */
export interface LoginFailure {
  step: "refused" | "failed";
  message: string;
}

/** Exchanges the token for a session cookie. Returns null on success. */
export async function logIn(token: string): Promise<LoginFailure | null> {
  let response: Response;
  try {
    response = await fetch("/api/v1/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
  } catch {
    return {
      step: "failed",
      message: "The server did not respond. Check that it is running, then open the link again.",
    };
  }
  if (response.ok) return null;
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return {
    step: response.status === 401 ? "refused" : "failed",
    message: body?.error?.message ?? `The server responded with status ${response.status}.`,
  };
}
