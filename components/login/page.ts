/** Built from client.ts. */
const SCRIPT = "/login.js";

const STYLE = `
:root { color-scheme: light dark; }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.5 ui-sans-serif, system-ui, sans-serif;
  background: light-dark(#f7f8f9, #0d1217); color: light-dark(#0f1720, #e8edf2); }
main { min-height: 100dvh; display: grid; place-items: center; padding: 1rem; }
[hidden] { display: none; }
.panel { width: 100%; max-width: 28rem; padding: 1.75rem; border-radius: 10px; overflow-wrap: anywhere;
  background: light-dark(#fff, #141b22); border: 1px solid light-dark(#e1e5ea, #232d37); }
.brand { display: flex; align-items: center; gap: 0.625rem; margin-bottom: 1.25rem; font-size: 15px; font-weight: 600; }
h1 { margin: 0; font-size: 17px; font-weight: 600; }
p { margin: 0.5rem 0 0; color: light-dark(#4f5b67, #a3b0bd); }
[role="alert"] { color: light-dark(#b42318, #f5786c); }
.command { display: flex; align-items: center; gap: 0.5rem; margin-top: 0.5rem; padding: 0.375rem 0.375rem 0.375rem 0.75rem;
  border-radius: 8px; background: light-dark(#f7f8f9, #0d1217); border: 1px solid light-dark(#e1e5ea, #232d37); }
code { flex: 1; font: 12px/1.6 ui-monospace, monospace; }
input { flex: 1; min-width: 0; font: inherit; padding: 0.25rem 0; border: 0; background: none; color: inherit; }
button { font: inherit; font-size: 13px; padding: 0.25rem 0.625rem; border-radius: 6px; cursor: pointer; color: inherit;
  background: light-dark(#fff, #1a232c); border: 1px solid light-dark(#c3cad2, #3a4754); }
:focus-visible { outline: 2px solid light-dark(#0f6f68, #2dd4bf); outline-offset: 2px; }
.button { display: block; width: 100%; margin-bottom: 1.25rem; padding: 0.5rem 0.75rem; border: 0; border-radius: 8px; text-align: center; text-decoration: none;
  font-size: 14px; font-weight: 600; background: light-dark(#0f6f68, #2dd4bf); color: light-dark(#fff, #0d1217); }
@media (pointer: coarse) { button, input { min-height: 2.5rem; } }
`;

/**
 * The login page. It has no framework: it is the first thing that a new browser loads, and what it shows is a few lines.
 * @param nonce that its style needs by the Content-Security-Policy
 */
export const loginPage = (nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f7f8f9">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0d1217">
<title>Log in · Plimsoll</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<style nonce="${nonce}">${STYLE}</style>
<script src="${SCRIPT}"></script>
</head>
<body>
<main id="main">
<div class="panel">
<div class="brand">
<svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.8"><circle cx="11" cy="11" r="7.5"/><path d="M0 11h22"/></svg>
Plimsoll
</div>
<noscript><p>To log in, allow JavaScript for this page.</p></noscript>
<div aria-live="polite">
<div data-step="checking" hidden><h1>Logging in</h1><p>Checking the link.</p></div>
<p hidden><a id="provider" class="button" href="/api/v1/sign-in/start">Sign in</a></p>
<div hidden><button id="passkey" type="button" class="button">Sign in with a passkey</button><p id="passkey-error" role="alert"></p></div>
<div data-step="no-token" hidden>
<h1 id="no-token">Open the link from your terminal</h1>
<p id="no-token-text">Plimsoll printed a one-time link when it started. Open it in this browser, which then stays logged in.</p>
</div>
<div data-step="refused" hidden><h1>This link no longer works</h1><p role="alert"></p></div>
<div data-step="failed" hidden><h1>Login failed</h1><p role="alert"></p></div>
</div>
<form id="access" hidden>
<p id="access-text">Or enter the access token of this server, which its administrator has.</p>
<div class="command"><input id="access-token" name="access-token" type="password" autocomplete="current-password" required maxlength="2000" aria-label="Access token" aria-describedby="access-text access-error"><button type="submit">Log in</button></div>
<p id="access-error" role="alert"></p>
</form>
<div data-step="no-token refused" hidden>
<p>To get a new link, run this command in Plimsoll's folder on the server's machine:</p>
<div class="command"><code id="command">npx plimsoll login</code><button type="button" id="copy" aria-live="polite">Copy</button></div>
</div>
</div>
</main>
</body>
</html>
`;
