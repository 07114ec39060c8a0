"use client";

import { useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { CodeBlock } from "../ui/copy.tsx";
import { Logo } from "./logo.tsx";
import { rememberRequestedPath, takeRequestedPath } from "./requested-page.ts";
import { safeRedirect } from "./safe-redirect.ts";

type LoginState =
  | { step: "reading" }
  | { step: "entering" }
  | { step: "no-token" }
  | { step: "refused"; message: string };

/** The address opened from the terminal carries a token behind the `#`, which no server log ever sees. */
export function LoginPage() {
  const asked = useSearchParams().get("next");
  const [state, setState] = useState<LoginState>({ step: "reading" });

  useEffect(() => {
    function read() {
      const token = window.location.hash.slice(1);
      if (token === "") {
        rememberRequestedPath(safeRedirect(asked));
        setState((state) => (state.step === "reading" ? { step: "no-token" } : state));
        return;
      }
      window.history.replaceState(null, "", window.location.pathname + window.location.search);
      setState({ step: "entering" });
      enter(token).then(
        (message) => {
          if (message === null) {
            const wanted = takeRequestedPath();
            window.location.replace(asked === null ? wanted : safeRedirect(asked));
          } else setState({ step: "refused", message });
        },
        () => setState({ step: "refused", message: "The server did not answer. Is it still running?" }),
      );
    }
    read();
    // The link pasted into a tab that already shows this page changes only what stands behind the `#`.
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, [asked]);

  // Which of the two it is stands behind the `#`, which only the browser sees: better nothing than the wrong one.
  if (state.step === "reading") return <main id="main" className="min-h-dvh" />;
  return (
    <main id="main" className="grid min-h-dvh place-items-center p-4">
      <div className="panel w-full max-w-md p-7">
        <div className="mb-5 flex items-center gap-2.5 text-[15px] font-semibold">
          <Logo /> Plimsoll
        </div>
        <div aria-live="polite">
          {state.step === "entering" ? (
            <>
              <h1 className="text-[17px] font-semibold">Logging in</h1>
              <p className="mt-1 text-muted">One moment.</p>
            </>
          ) : (
            <Explain state={state} />
          )}
        </div>
      </div>
    </main>
  );
}

function Explain({ state }: { state: Extract<LoginState, { step: "no-token" | "refused" }> }) {
  return (
    <>
      <h1 className="text-[17px] font-semibold">
        {state.step === "refused" ? "This link no longer works" : "Open the link from your terminal"}
      </h1>
      {state.step === "refused" && (
        <p role="alert" className="mt-2 text-hard">
          {state.message}
        </p>
      )}
      {state.step === "no-token" && (
        <p className="mt-2 text-muted">
          Plimsoll printed a one-time link when it started. Open that link in this browser; it works once, and
          this browser stays logged in.
        </p>
      )}
      <p className="mt-3 mb-2 text-muted">
        {state.step === "no-token" ? "If it is gone, on" : "On"} the machine that runs Plimsoll this prints a
        new one:
      </p>
      <CodeBlock code="plimsoll login" label="Command for a new link" />
    </>
  );
}

/** Null when let in, else why not. */
async function enter(token: string): Promise<string | null> {
  const response = await fetch("/api/v1/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (response.ok) return null;
  const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
  return body?.error?.message ?? `The server answered ${response.status}.`;
}
