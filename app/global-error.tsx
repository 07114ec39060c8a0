"use client";

/** The last resort, when even the layout failed: no styles can be counted on here. */
export default function GlobalError({ reset }: { error: Error; reset: () => void }) {
  return (
    <html lang="en">
      <body style={{ font: "15px/1.5 system-ui, sans-serif", padding: "15vh 24px", textAlign: "center" }}>
        <title>Plimsoll</title>
        <h1 style={{ fontSize: 20 }}>Plimsoll could not be shown</h1>
        <p>Nothing recorded is lost. Reload the page; if it stays like this, restart the server.</p>
        <button type="button" onClick={reset}>
          Try again
        </button>
      </body>
    </html>
  );
}
