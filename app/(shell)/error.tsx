"use client";

import { useEffect } from "react";
import { Button } from "../../components/ui/button.tsx";

const ASK_MS = 2_000;
/** A page that breaks right after it was loaded anew would do so for ever. */
const RELOAD_AGAIN_AFTER_MS = 30_000;
const RELOADED_AT = "plimsoll-reloaded-at";

/** A part of the page could not be fetched: the server is away, or was upgraded under an open page. */
function isMissingPart(error: Error): boolean {
  return error.name === "ChunkLoadError";
}

function mayReload(): boolean {
  return Date.now() - Number(sessionStorage.getItem(RELOADED_AT) ?? 0) > RELOAD_AGAIN_AFTER_MS;
}

function reload(): void {
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  window.location.reload();
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch("/readyz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

export default function ShellError({
  error,
  reset,
}: {
  error: Error & { digest?: string };
  reset: () => void;
}) {
  const missing = isMissingPart(error);
  useEffect(() => {
    if (!missing) return;
    const timer = setInterval(async () => {
      if (mayReload() && (await answers())) reload();
    }, ASK_MS);
    return () => clearInterval(timer);
  }, [missing]);
  return (
    <div className="grid min-h-[60vh] place-items-center">
      <div className="max-w-md text-center" role="alert">
        <h1 className="text-[19px] font-semibold">
          {missing ? "A part of this page is missing" : "This page broke"}
        </h1>
        <p className="mt-1 mb-4 text-muted">
          {missing
            ? "The server is away or was upgraded. Nothing recorded is lost, and the page comes back by itself."
            : `Nothing recorded is lost. Try again; if it breaks again, please report it${
                error.digest === undefined ? "" : ` with the code ${error.digest}`
              }.`}
        </p>
        <Button look="primary" onClick={missing ? reload : reset}>
          Try again
        </Button>
      </div>
    </div>
  );
}
