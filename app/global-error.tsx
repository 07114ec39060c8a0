/** @jsxImportSource #jsx */
"use client";

/** Shown when the root layout fails. It cannot rely on any stylesheet. */
export default function GlobalError({ reset }: { error: Error; reset: () => void }) {
  return (
    <html lang="en">
      <body style={{ font: "15px/1.5 system-ui, sans-serif", padding: "15vh 24px", textAlign: "center" }}>
        <title>Plimsoll</title>
        <h1 style={{ fontSize: 20 }}>Plimsoll failed to load</h1>
        <p>Recorded data is safe. Reload the page. If that does not help, restart the server.</p>
        <button type="button" onClick={reset}>
          Try again
        </button>
      </body>
    </html>
  );
}
