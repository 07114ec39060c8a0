import { jsonText } from "./json-text.ts";
import { mutateBytes } from "./mutate-bytes.ts";
import type { Random } from "./random.ts";

/** What only YAML has, or reads in another way than JSON. */
const PARTS = [
  ...[
    "# a comment\n",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "\t",
    "\u0000",
    "\ud800",
    "\ufeff",
    "'",
    "? ",
    "!!js/function ",
  ],
  ...[
    "&a [*a, *a, *a, *a, *a, *a, *a, *a, *a]",
    "<<: *a\n",
    "*missing",
    "!!binary ////",
    "!!set {a, b}",
    "!x ",
  ],
  ...[
    "|\n  text\n",
    ">-\n  text\n",
    "1_000",
    "0o17",
    "0x1F",
    ".nan",
    "-.inf",
    "1e999",
    "2026-11-20",
    "yes",
    "~",
    "50%",
  ],
  ...[
    "[".repeat(3_000),
    "- ".repeat(3_000),
    "a: ".repeat(300),
    "__proto__: {polluted: 1}\n",
    "constructor: x\n",
  ],
  "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: &d [*c, *c, *c]\ne: [*d, *d, *d]\n",
];

/** A value as a person may write it in an editor of YAML: its members as lines, with what breaks a parser among them. */
export function yamlText(random: Random, value: unknown): string {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const lines =
    members.length > 0 && !random.oneIn(4)
      ? members.map(([name, one]) => `${name}: ${jsonText(one)}\n`)
      : [`${jsonText(value)}\n`];
  for (let left = random.below(3); left > 0; left--)
    lines.splice(random.below(lines.length + 1), 0, random.pick(PARTS));
  const text = lines.join("");
  return random.oneIn(3) ? mutateBytes(random, Buffer.from(text)).toString() : text;
}
