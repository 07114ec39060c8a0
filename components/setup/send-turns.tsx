"use client";

import { Tabs } from "radix-ui";
import { CodeBlock } from "../ui/copy.tsx";
import { FirstEventStatus } from "./first-event-status.tsx";
import { Section } from "./section.tsx";
import { KEY_PLACEHOLDER, snippets } from "./snippets.ts";
import { useServerUrl } from "./use-server-url.ts";

/** Commands for each harness, with the key created on this page inserted. */
export function SendTurns({ secret }: { secret: string | undefined }) {
  const all = snippets(useServerUrl(), secret ?? KEY_PLACEHOLDER);
  return (
    <Section
      id="send"
      title="Send turns"
      note={
        secret === undefined
          ? `Replace ${KEY_PLACEHOLDER} with your key.`
          : "The commands contain your new key."
      }
      action={<FirstEventStatus />}
    >
      <Tabs.Root defaultValue={all[0]?.id}>
        <Tabs.List aria-label="Harness" className="mb-3 flex flex-wrap gap-1">
          {all.map(({ id, label }) => (
            <Tabs.Trigger
              key={id}
              value={id}
              className="rounded-[7px] px-2.5 py-1.5 text-[13px] text-muted hover:text-ink data-[state=active]:bg-track data-[state=active]:font-medium data-[state=active]:text-ink"
            >
              {label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {all.map(({ id, label, note, code }) => (
          <Tabs.Content key={id} value={id} tabIndex={-1}>
            <p className="mb-2 text-[13px] text-muted">{note}</p>
            <CodeBlock code={code} label={`${label} snippet`} testid={`snippet-${id}`} />
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </Section>
  );
}
