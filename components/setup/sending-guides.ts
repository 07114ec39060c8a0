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

/** Stands for the name of a machine, which the server cannot know. */
export const HOST_PLACEHOLDER = "my-laptop";

/** All guides. `key` is a key or a placeholder. */
export function sendingGuides(url: string, key: string): SendingGuide[] {
  return [
    {
      id: "curl",
      label: "curl",
      note: "Sends one test turn with curl.",
      samples: [{ id: "curl", code: curlSnippet(url, key) }],
    },
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
  ];
}

function harnessGuide(harness: ConnectableHarness, url: string, key: string): SendingGuide {
  const { family, name, reports, lacks, recordings } = harness;
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
          output_tokens: response.usage.output_tokens,
          basis: "exclusive",
        },
      },
    ],
  }),
});`;
