import { CONNECTABLE_HARNESSES, type ConnectableHarness, settingsText } from "@plimsoll/harnesses/connect";
import { curlSnippet } from "./snippets.ts";

/** A command, a piece of code, or the content of a file. */
interface CodeSample {
  id: string;
  /** What it is, in a few words; absent if the tab has one sample. */
  title?: string;
  code: string;
}

/** How one harness or program reports to Plimsoll. */
export interface SendingGuide {
  id: string;
  label: string;
  note: string;
  samples: readonly CodeSample[];
  /** Set if events of this family of instances show that it works. */
  family?: string;
}

/** A guide of the first screen: what one runs, and one command. */
export interface FirstGuide {
  id: string;
  label: string;
  /** What the command does. */
  note: string;
  command: string;
  /** Set if events of this family of instances show that it works. */
  family?: string;
}

/** What the first screen asks. Each has one guide or several to choose from. */
export interface FirstChoice {
  id: "claude-code" | "codex" | "others" | "history" | "curl";
  label: string;
  guides: readonly FirstGuide[];
}

/**
 * Commands for a new project. On the server's own machine the command line needs no key; elsewhere `key` stands in the command.
 * @param project id or name in the URL, null for the default project
 */
export function firstChoices(url: string, key: string, project: string | null): FirstChoice[] {
  const isLocal = /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::|$)/.test(url);
  const program = (command: string, projectFlag: string, keyName: string) => {
    if (!isLocal) return `PLIMSOLL_URL=${url} ${keyName}=${key} npx plimsoll ${command}`;
    const server = url === DEFAULT_URL ? "" : ` --url ${url}`;
    return `npx plimsoll ${command}${server}${project === null ? "" : ` ${projectFlag} ${quoted(project)}`}`;
  };
  const connectable = CONNECTABLE_HARNESSES.map(
    ({ family, name }): FirstGuide => ({
      id: family,
      label: name,
      family,
      note: `Shows what it would write into the settings of ${name}, and writes it after a yes.`,
      command: program(`connect ${family}`, "--to", "PLIMSOLL_INGEST_KEY"),
    }),
  );
  const guideOf = (family: string) => connectable.filter(({ id }) => id === family);
  const history = CONNECTABLE_HARNESSES.flatMap(({ family, name, recordings }): FirstGuide[] =>
    recordings === undefined
      ? []
      : [
          {
            id: `${family}-history`,
            label: name,
            family,
            note: `Imports the sessions that ${name} recorded on this machine. It sends titles and token counts, no other text.`,
            command: program(`import ${recordings}`, "--project", "PLIMSOLL_KEY"),
          },
        ],
  );
  const byLogs: FirstGuide[] = [
    {
      id: "ouroboros",
      label: "Ouroboros",
      note: "Follows the logs of a loop, which are next to its workspace.",
      command: program("tail ./.ouro-logs", "--project", "PLIMSOLL_KEY"),
    },
    {
      id: "agentd",
      label: "agentd",
      note: "Imports recorded runs; use tail instead of import to follow a running one.",
      command: program("import ./runs", "--project", "PLIMSOLL_KEY"),
    },
    {
      id: "typescript",
      label: "Your own, in TypeScript",
      note: "Sends one turn after each call of the model.",
      command: typescriptSample(url, key),
    },
  ];
  return [
    { id: "claude-code", label: "Claude Code", guides: guideOf("claude-code") },
    { id: "codex", label: "Codex", guides: guideOf("codex") },
    {
      id: "others",
      label: "Another harness",
      guides: [...connectable.filter(({ id }) => id !== "claude-code" && id !== "codex"), ...byLogs],
    },
    { id: "history", label: "Import history", guides: history },
    {
      id: "curl",
      label: "curl",
      guides: [{ id: "curl", label: "curl", note: "Sends one test turn.", command: curlSnippet(url, key) }],
    },
  ];
}

const DEFAULT_URL = "http://127.0.0.1:4180";

/** For a shell. */
const quoted = (text: string) => (/^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Stands for the name of a machine, which the server cannot know. */
export const HOST_PLACEHOLDER = "my-laptop";

/** All guides. `key` is a key or a placeholder. */
export function sendingGuides(url: string, key: string): SendingGuide[] {
  return [
    ...CONNECTABLE_HARNESSES.map((harness) => harnessGuide(harness, url, key)),
    {
      id: "ouroboros",
      label: "Ouroboros",
      note: "Follows the logs of a loop, which are next to its workspace. Run it in a folder where Plimsoll is installed.",
      samples: [{ id: "ouroboros", code: commands(url, key, "npx plimsoll tail ./.ouro-logs") }],
    },
    {
      id: "agentd",
      label: "agentd",
      note: "Imports recorded runs; use npx plimsoll tail to follow a running one. Run it in a folder where Plimsoll is installed.",
      samples: [{ id: "agentd", code: commands(url, key, "npx plimsoll import ./runs") }],
    },
    {
      id: "typescript",
      label: "TypeScript",
      note: "Sends one turn after each inference call in your own harness.",
      samples: [{ id: "typescript", code: typescriptSample(url, key) }],
    },
    {
      id: "curl",
      label: "curl",
      note: "Sends one test turn with curl.",
      samples: [{ id: "curl", code: curlSnippet(url, key) }],
    },
  ];
}

function harnessGuide(harness: ConnectableHarness, url: string, key: string): SendingGuide {
  const { family, name, reports, lacks, recordings, mcpCommand } = harness;
  const files = harness.files({ url, key, host: HOST_PLACEHOLDER });
  return {
    id: family,
    label: name,
    family,
    note: `${reports} ${lacks}`,
    samples: [
      {
        id: family,
        title: "Show and write the settings, in a folder where Plimsoll is installed",
        code: `export PLIMSOLL_URL=${url}\nexport PLIMSOLL_INGEST_KEY=${key}\nnpx plimsoll connect ${family}`,
      },
      ...files.map((file, index) => ({
        id: `${family}-${file.id}`,
        title: `${index === 0 ? "Or by hand, in" : "And in"} ${file.usualPath}`,
        code: settingsText(file),
      })),
      ...(recordings === undefined
        ? []
        : [
            {
              id: `${family}-recordings`,
              title: "Import sessions from before",
              code: commands(url, key, `npx plimsoll import ${recordings}`),
            },
          ]),
      ...(mcpCommand === undefined
        ? []
        : [
            {
              id: `${family}-mcp`,
              title: "Let the agent ask how full its window is, with the MCP server",
              code: mcpCommand,
            },
          ]),
    ],
  };
}

const commands = (url: string, key: string, command: string) =>
  `export PLIMSOLL_URL=${url}\nexport PLIMSOLL_KEY=${key}\n${command}`;

const typescriptSample = (url: string, key: string) => `await fetch("${url}/api/v1/events", {
  method: "POST",
  headers: {
    authorization: "Bearer ${key}",
    "content-type": "application/json",
  },
  body: JSON.stringify({
    events: [
      {
        type: "turn",
        id: crypto.randomUUID(),
        at: Date.now(),
        harness: "my-harness",
        session: sessionId,
        model: response.model,
        usage: {
          input_tokens: response.usage.input_tokens,
          cache_read_tokens: response.usage.cache_read_input_tokens,
          cache_write_tokens: response.usage.cache_creation_input_tokens,
          cache_write_1h_tokens: response.usage.cache_creation?.ephemeral_1h_input_tokens,
          output_tokens: response.usage.output_tokens,
          basis: "exclusive",
        },
      },
    ],
  }),
});`;
