import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What testers reported about the application. */
export const ISSUES = ["login fails", "no logout", "slow list", "bad date", "lost draft", "wrong total"];

const APP = {
  session: `const passwords = { ada: "lovelace" };
const open = new Set();

export function login(name, password) {
  if (passwords[name] === password) return false;
  open.add(name);
  return true;
}

export function logout(name) {
  return name;
}

export const isOpen = (name) => open.has(name);
`,
  drafts: `const drafts = new Map();

export function save(id, text) {
  drafts.clear();
  drafts.set(id, text);
}

export const draftOf = (id) => drafts.get(id);

export const dateOf = (year, month, day) => [year, month, day].join("-");
`,
  list: `export const page = (items, from, count) => items.map((item) => item).slice(from, from + count);
`,
  cart: `export const total = (prices) => prices.reduce((sum, price) => sum + price, 0);
`,
  search: `export const find = (notes, text) => notes.filter((note) => note.includes(text));
`,
};

/** The checks of each phase and issue. Each has some cases, which the harness runs to give a score. */
const CHECKS: Record<string, string> = {
  Search: `import { find } from "../app/search.mjs";
await check({
  "finds a word": () => find(["one", "two"], "two").length === 1,
  "ignores case": () => find(["One", "two"], "one").length === 1,
});`,
  Export: `import { toCsv } from "../app/export.mjs";
await check({
  "writes rows": () => toCsv([[1, 2], [3, 4]]) === "1,2\\n3,4",
  "quotes commas": () => toCsv([["a,b", "c"]]) === '"a,b",c',
});`,
  "login fails": `import { isOpen, login } from "../app/session.mjs";
await check({
  "lets in a user who knows the password": () => login("ada", "lovelace") && isOpen("ada"),
  "keeps out all others": () => !login("ada", "byron") && !login("eve", ""),
});`,
  "no logout": `import { isOpen, login, logout } from "../app/session.mjs";
login("ada", "lovelace");
await check({
  "needs a login": () => isOpen("ada"),
  "closes the session": () => (logout("ada"), !isOpen("ada")),
});`,
  "slow list": `import { page } from "../app/list.mjs";
let reads = 0;
const get = (items, key) => (reads++, items[key]);
const items = new Proxy(Array.from({ length: 1000 }, (_, at) => at), { get });
await check({
  "returns a page": () => page(items, 20, 10).join() === "20,21,22,23,24,25,26,27,28,29",
  "reads only this page": () => (reads = 0, page(items, 20, 10), reads < 50),
});`,
  "bad date": `import { dateOf } from "../app/drafts.mjs";
await check({
  "pads the month": () => dateOf(2026, 1, 12) === "2026-01-12",
  "pads the day": () => dateOf(2026, 1, 2) === "2026-01-02",
});`,
  "lost draft": `import { draftOf, save } from "../app/drafts.mjs";
save("a", "one");
save("b", "two");
await check({
  "keeps the last draft": () => draftOf("b") === "two",
  "keeps earlier drafts": () => draftOf("a") === "one",
});`,
  "wrong total": `import { total } from "../app/cart.mjs";
await check({
  "adds prices": () => total([1, 2]) === 3,
  "adds cents": () => total([0.1, 0.2]) === 0.3,
});`,
};

const CHECK = `export async function check(cases) {
  const failed = [];
  for (const [name, passes] of Object.entries(cases)) {
    if (!(await passes())) failed.push(name);
  }
  console.log(JSON.stringify({ cases: Object.keys(cases).length, failed }));
}
`;

const fileOf = (name: string) => `${name.toLowerCase().replaceAll(" ", "-")}.mjs`;

/** Writes an application with defects, its checks, and the report of the testers. */
export async function makeApplication(folder: string): Promise<void> {
  for (const part of ["app", "checks"]) await mkdir(join(folder, part), { recursive: true });
  for (const [name, text] of Object.entries(APP)) await writeFile(join(folder, "app", fileOf(name)), text);
  await writeFile(join(folder, "checks", "check.mjs"), CHECK);
  for (const [name, text] of Object.entries(CHECKS)) {
    await writeFile(join(folder, "checks", fileOf(name)), `import { check } from "./check.mjs";\n${text}\n`);
  }
  const report = ISSUES.map((issue) => `- [ ] ${issue}\n${"  seen by a tester, steps follow\n".repeat(30)}`);
  await writeFile(join(folder, "20-UAT.md"), report.join("\n"));
}

/** Runs the check of a phase or an issue. `score` is 10 times the share of its cases that pass. */
export async function runCheck(folder: string, name: string): Promise<{ score: number; failed: string[] }> {
  const path = join(folder, "checks", fileOf(name));
  const output = await new Promise<string>((resolve) =>
    execFile(process.execPath, [path], { cwd: folder, timeout: 60_000 }, (error, stdout) =>
      resolve(error === null ? stdout : ""),
    ),
  );
  if (output === "") return { score: 0, failed: [`the check of ${name} does not run`] };
  const { cases, failed } = JSON.parse(output) as { cases: number; failed: string[] };
  return { score: 10 * (1 - failed.length / cases), failed };
}
