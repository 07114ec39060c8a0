"use client";

import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { CodeBlock } from "../ui/copy.tsx";
import { Logo } from "./logo.tsx";
import { rememberRequestedPath, takeRequestedPath } from "./requested-page.ts";
import { safeRedirect } from "./safe-redirect.ts";

type LoginState = { step: "reading" } | { step: "logging-in" } | { step: "no-token" } | Failure;

interface Failure {
  /** `refused`: the link is of no use any more. `failed`: the server did not check it. */
  step: "refused" | "failed";
  message: string;
}

/** Logs in with the token in the URL fragment, which browsers never send to a server. */
export function LoginPage() {
  const next = useSearchParams().get("next");
  const [state, setState] = useState<LoginState>({ step: "reading" });

  useEffect(() => {
    function read() {
      const token = window.location.hash.slice(1);
      if (token === "") {
        rememberRequestedPath(safeRedirect(next));
        setState((state) => (state.step === "reading" ? { step: "no-token" } : state));
        return;
      }
      window.history.replaceState(null, "", window.location.pathname + window.location.search);
      setState({ step: "logging-in" });
      logIn(token).then(
        (failure) => {
          if (failure === null) {
            const requested = takeRequestedPath();
            window.location.replace(next === null ? requested : safeRedirect(next));
          } else setState(failure);
        },
        () =>
          setState({
            step: "failed",
            message: "The server did not respond. Check that it is running, then open the link again.",
          }),
      );
    }
    read();
    // Pasting the link into a tab that shows this page changes only the fragment.
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, [next]);

  // The server cannot see the fragment, so render nothing until it is read.
  if (state.step === "reading") return <main id="main" className="min-h-dvh" />;
  return (
    <main id="main" className="grid min-h-dvh place-items-center p-4">
      <div className="panel w-full max-w-md p-7">
        <div className="mb-5 flex items-center gap-2.5 text-[15px] font-semibold">
          <Logo /> Plimsoll
        </div>
        <div aria-live="polite">
          {state.step === "logging-in" ? (
            <>
              <h1 className="text-[17px] font-semibold">Logging in</h1>
              <p className="mt-1 text-muted">Checking the link.</p>
            </>
          ) : (
            <Explain state={state} />
          )}
        </div>
      </div>
    </main>
  );
}

const TITLES = {
  "no-token": "Open the link from your terminal",
  refused: "This link no longer works",
  failed: "Login failed",
} as const;

function Explain({ state }: { state: Extract<LoginState, { step: keyof typeof TITLES }> }) {
  return (
    <>
      <h1 className="text-[17px] font-semibold">{TITLES[state.step]}</h1>
      {state.step !== "no-token" && (
        <p role="alert" className="mt-2 text-hard">
          {state.message}
        </p>
      )}
      {state.step === "no-token" && (
        <p className="mt-2 text-muted">
          Plimsoll printed a one-time link when it started. Open it in this browser, which then stays logged
          in.
        </p>
      )}
      {state.step !== "failed" && (
        <>
          <p className="mt-3 mb-2 text-muted">
            To get a new link, run this command in Plimsoll's folder on the server's machine:
          </p>
          <CodeBlock code="npx plimsoll login" label="Command to get a new link" />
        </>
      )}
    </>
  );
}

/** Exchanges the token for a session cookie. Returns null on success. */
async function logIn(token: string): Promise<Failure | null> {
  const response = await fetch("/api/v1/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (response.ok) return null;
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return {
    step: response.status === 401 ? "refused" : "failed",
    message: body?.error?.message ?? `The server responded with status ${response.status}.`,
  };
}
