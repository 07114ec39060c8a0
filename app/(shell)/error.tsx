/** @jsxImportSource #jsx */
"use client";

import { useEffect } from "react";
import { Button } from "../../components/ui/button.tsx";

const POLL_MS = 2_000;
/** A page that fails again right after a reload would reload forever. */
const RELOAD_AGAIN_AFTER_MS = 30_000;
const RELOADED_AT = "plimsoll-reloaded-at";

/** True if a script chunk failed to load: the server is unreachable, or was upgraded since the page loaded. */
function isChunkLoadError(error: Error): boolean {
  return error.name === "ChunkLoadError";
}

function mayReload(): boolean {
  return Date.now() - Number(sessionStorage.getItem(RELOADED_AT) ?? 0) > RELOAD_AGAIN_AFTER_MS;
}

function reload(): void {
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  window.location.reload();
}

async function serverIsReady(): Promise<boolean> {
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
  const missing = isChunkLoadError(error);
  useEffect(() => {
    if (!missing) return;
    const timer = setInterval(async () => {
      if (mayReload() && (await serverIsReady())) reload();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [missing]);
  return (
    <div className="grid min-h-[60vh] place-items-center">
      <div className="max-w-md text-center" role="alert">
        <h1 className="text-[19px] font-semibold">
          {missing ? "Part of this page failed to load" : "This page crashed"}
        </h1>
        <p className="mt-1 mb-4 text-muted">
          {missing
            ? "The server is unreachable or was upgraded. Recorded data is safe. The page reloads when the server responds."
            : `Recorded data is safe. Try again. If the page crashes again, report it${
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
