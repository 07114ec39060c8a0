/** @jsxImportSource #jsx */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { visibleProps } from "./visible-props.ts";

const NAME = "report\u202efdp.exe";
const SHOWN = "report\\u202efdp.exe";

const Row = ({ name }: { name: string }) => (
  <li title={name} aria-label={`Session ${name}`}>
    Title: {name} ({[name, name].map((one, index) => ` ${one}${index}`)})
  </li>
);

/** As a library does it, with React's own function. */
const Foreign = ({ children, title }: { children: string; title?: string }) =>
  createElement("p", { title }, children);

it("every element of ours shows the hidden characters of its text", () => {
  expect(renderToStaticMarkup(<Row name={NAME} />)).toBe(
    `<li title="${SHOWN}" aria-label="Session ${SHOWN}">Title: ${SHOWN} ( ${SHOWN}0 ${SHOWN}1)</li>`,
  );
  const svg = (
    <svg>
      <title>{NAME}</title>
      <text>{NAME}</text>
    </svg>
  );
  expect(renderToStaticMarkup(svg)).toBe(`<svg><title>${SHOWN}</title><text>${SHOWN}</text></svg>`);
});

it("a component that brings its own elements gets text with nothing hidden", () => {
  expect(renderToStaticMarkup(<Foreign title={NAME}>{NAME}</Foreign>)).toBe(
    `<p title="${SHOWN}">${SHOWN}</p>`,
  );
});

it("data, fields and text without hidden characters stay as they are", () => {
  const props = { value: NAME, href: NAME, children: ["مرحبا", 1, null, { a: NAME }] };
  expect(visibleProps(props)).toBe(props);
});

it("every file with elements names our functions for them", () => {
  const root = join(import.meta.dirname, "..", "..");
  const files = ["app", "components"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".tsx"))
      .map((name) => join(root, folder, name)),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(
    files.filter((file) => !readFileSync(file, "utf8").startsWith("/** @jsxImportSource #jsx */")),
  ).toEqual([]);
});
