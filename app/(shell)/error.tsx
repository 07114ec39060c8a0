"use client";

import { Button } from "../../components/ui/button.tsx";

export default function ShellError({
  error,
  reset,
}: {
  error: Error & { digest?: string };
  reset: () => void;
}) {
  return (
    <div className="grid min-h-[60vh] place-items-center">
      <div className="max-w-md text-center" role="alert">
        <h1 className="text-[19px] font-semibold">This page broke</h1>
        <p className="mt-1 mb-4 text-muted">
          Nothing recorded is lost. Try again; if it breaks again, please report it
          {error.digest === undefined ? "" : ` with the code ${error.digest}`}.
        </p>
        <Button look="primary" onClick={reset}>
          Try again
        </Button>
      </div>
    </div>
  );
}
