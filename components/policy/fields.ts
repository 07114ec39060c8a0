/** How a field is written. `percent` is 0 to 100, `share` 0 to 1. */
export type FieldKind =
  | { type: "threshold" }
  | { type: "choice"; options: readonly { value: string | boolean; label: string }[] }
  | { type: "number"; unit: string; most?: number; whole?: boolean; none?: string }
  | { type: "names" };

export interface Field {
  /** In the settings of a scope, such as `["thresholds", "ceiling"]`. */
  path: readonly [string, ...string[]];
  label: string;
  help: string;
  kind: FieldKind;
}

export interface FieldGroup {
  title: string;
  fields: readonly Field[];
}

const ON_OFF = [
  { value: true, label: "on" },
  { value: false, label: "off" },
] as const;

const threshold = (name: string, help: string): Field => ({
  path: ["thresholds", name],
  label: name,
  help,
  kind: { type: "threshold" },
});
const choice = (
  path: Field["path"],
  label: string,
  help: string,
  options: readonly [string, string][],
): Field => ({
  path,
  label,
  help,
  kind: { type: "choice", options: options.map(([value, text]) => ({ value, label: text })) },
});
const flag = (path: Field["path"], label: string, help: string): Field => ({
  path,
  label,
  help,
  kind: { type: "choice", options: ON_OFF },
});
const number = (
  path: Field["path"],
  label: string,
  help: string,
  unit: string,
  more: { most?: number; whole?: boolean; none?: string } = {},
): Field => ({ path, label, help, kind: { type: "number", unit, whole: true, ...more } });

/** All fields of the form, in the order in which they are shown. */
export const FIELD_GROUPS: readonly FieldGroup[] = [
  {
    title: "Thresholds",
    fields: [
      threshold("warning", "An early warning, counted per session."),
      threshold("ceiling", "The harness hands work over to a fresh window or compacts."),
      threshold("soft", "The harness masks old tool results."),
      threshold("hard", "The harness restarts or compacts, whatever it takes."),
      threshold("reserve", "Tokens kept free for the answer."),
    ],
  },
  {
    title: "Enforcement",
    fields: [
      choice(["enforcement"], "mode", "Warnings alone never change a context.", [
        ["enforce", "act on the thresholds"],
        ["warn_only", "only report crossings"],
      ]),
      choice(["overflow"], "overflow", "What happens to a request that is larger than the window.", [
        ["cut", "cut it to fit"],
        ["refuse", "refuse it"],
        ["send_anyway", "send it anyway"],
      ]),
      number(
        ["loop", "max_context_pct"],
        "loop tick",
        "Of the window, that one tick of a loop may use.",
        "%",
        {
          most: 100,
          whole: false,
        },
      ),
    ],
  },
  {
    title: "Masking",
    fields: [
      flag(["masking", "enabled"], "masking", "Replaces old tool results with placeholders."),
      number(["masking", "keep_turns"], "keep turns", "Newest turns that are never masked.", "turns"),
      number(["masking", "keep_tokens"], "keep tokens", "Newest tool output that is never masked.", "tokens"),
      number(
        ["masking", "min_gain"],
        "least gain",
        "What a batch must free at least, such as 0.1.",
        "of the threshold",
        {
          most: 1,
          whole: false,
        },
      ),
      flag(["masking", "inputs"], "tool inputs", "Also shortens large inputs of old tool calls."),
      {
        path: ["masking", "exclude"],
        label: "never mask",
        help: "Tools whose results stay. Separate names with commas.",
        kind: { type: "names" },
      },
    ],
  },
  {
    title: "Compaction",
    fields: [
      choice(["compaction", "mode"], "compaction", "What happens at the ceiling.", [
        ["compact", "summarise in place"],
        ["fresh_session", "go on in a fresh session"],
        ["off", "off"],
      ]),
      number(["compaction", "keep_turns"], "keep turns", "Newest turns kept word for word.", "turns"),
      number(
        ["compaction", "keep_user_words"],
        "user's words",
        "Room for the user's own words, such as 0.1.",
        "of the threshold",
        {
          most: 1,
          whole: false,
        },
      ),
      number(
        ["compaction", "min_gain"],
        "least gain",
        "What a summary must free at least, such as 0.1.",
        "of the threshold",
        {
          most: 1,
          whole: false,
        },
      ),
      flag(
        ["compaction", "reinject"],
        "put rules back",
        "After a compaction, the user's rules return word for word. Claude Code only.",
      ),
    ],
  },
  {
    title: "Pace",
    fields: [
      number(["pace", "room_turns"], "room", "Turns that fit after an action.", "turns"),
      number(["pace", "min_turns"], "pause", "Turns between two actions.", "turns"),
    ],
  },
  {
    title: "Restart",
    fields: [
      choice(["restart", "mode"], "restart", "What happens at the hard threshold.", [
        ["auto", "restart"],
        ["ask", "ask first"],
        ["off", "off"],
      ]),
      number(["restart", "grace_turns"], "grace", "Turns to finish before a restart.", "turns"),
      number(
        ["restart", "carryover_turns"],
        "carry over",
        "Turns that the next session begins with.",
        "turns",
      ),
      number(["restart", "max"], "at most", "Restarts of one run.", "restarts", { none: "no limit" }),
    ],
  },
  {
    title: "Split",
    fields: [
      number(["split", "issues"], "issues", "A phase with more is split.", "issues"),
      number(["split", "files"], "files", "A phase that touches more is split.", "files"),
      number(["split", "complex_tasks"], "complex tasks", "A phase with more is split.", "tasks"),
      number(["split", "reads"], "reads", "A phase that has read more is split.", "files"),
    ],
  },
  {
    title: "Notifications",
    fields: [
      flag(["notifications", "compacting"], "compacting", "Tells the user when a conversation is compacted."),
      choice(
        ["notifications", "boundary"],
        "boundary",
        "Where one context of a loop ends and the next begins.",
        [
          ["silent", "not shown"],
          ["visible", "shown"],
        ],
      ),
    ],
  },
];
