import { statusOf, toErrorBody } from "../errors.ts";

/** Nothing but its own style: what failed may be what would have served the rest. */
export const FAILURE_PAGE_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy":
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** Seconds after which the page asks again by itself, when asking again may help. */
const AGAIN_AFTER = 5;

/**
 * What a person sees when a page cannot even be begun, such as while the database is away.
 * @param again where a link leads that tries again; then the page does not try by itself
 */
export function failurePage(
  error: unknown,
  { title, again }: { title: string; again?: string } = { title: "This page cannot be shown now" },
): string {
  const { message } = toErrorBody(error).error;
  const passing = statusOf(error) === 503 && again === undefined;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${passing ? `<meta http-equiv="refresh" content="${AGAIN_AFTER}">` : ""}
<title>Plimsoll</title>
<style>
:root { color-scheme: light dark; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; font: 16px/1.5 system-ui, sans-serif;
  background: light-dark(#f7f8fa, #0d1216); color: light-dark(#14191f, #e6edf3); }
main { max-width: 28rem; padding: 1.5rem; text-align: center; }
h1 { font-size: 1.25rem; margin: 0 0 0.5rem; }
p { margin: 0.25rem 0; color: light-dark(#4a5560, #9aa7b4); }
a { color: inherit; }
</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(message)}</p>
${passing ? `<p>This page does so every ${AGAIN_AFTER} seconds.</p>` : ""}
${again === undefined ? "" : `<p><a href="${escaped(again)}">Back to the sign-in page</a></p>`}
</main>
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}
