import { keepNavigations } from "./components/live/waiting-navigation.ts";

// Next runs this file before any other code of a page. Without the setting, zod tries whether it may compile code when it
// makes its first schema, and the browser reports the attempt: the Content-Security-Policy forbids it. The setting is where
// zod's own `config()` keeps it, so that pages without schemas load no zod.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

window.fetch = keepNavigations(window.fetch.bind(window));
