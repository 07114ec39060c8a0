/** @jsxImportSource #jsx */
"use client";

import { Button } from "../components/ui/button.tsx";

export default function PageError({
  error,
  reset,
}: {
  error: Error & { digest?: string };
  reset: () => void;
}) {
  return (
    <main id="main" className="grid min-h-dvh place-items-center p-4">
      <div className="max-w-md text-center" role="alert">
        <h1 className="text-[19px] font-semibold">This page crashed</h1>
        <p className="mt-1 mb-4 text-muted">
          Recorded data is safe. Try again. If the page crashes again, report it
          {error.digest === undefined ? "" : ` with the code ${error.digest}`}.
        </p>
        <Button look="primary" onClick={reset}>
          Try again
        </Button>
      </div>
    </main>
  );
}
