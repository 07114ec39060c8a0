/** @jsxImportSource #jsx */
"use client";

import { Tabs } from "radix-ui";
import { CodeBlock } from "../ui/copy.tsx";
import { HarnessEventStatus } from "./harness-event-status.tsx";
import { HOST_PLACEHOLDER, type SendingGuide, sendingGuides } from "./sending-guides.ts";
import { KEY_PLACEHOLDER } from "./snippets.ts";
import { useServerUrl } from "./use-server-url.ts";

/** One tab for each way to report. `secret` is the key that was just created. */
export function SendingTabs({ secret }: { secret: string | undefined }) {
  const all = sendingGuides(useServerUrl(), secret ?? KEY_PLACEHOLDER);
  return (
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
      {all.map((guide) => (
        <Tabs.Content key={guide.id} value={guide.id} tabIndex={-1}>
          <Guide guide={guide} />
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}

function Guide({ guide: { label, note, family, samples } }: { guide: SendingGuide }) {
  return (
    <div className="grid min-w-0 gap-3">
      <div>
        {family !== undefined && <HarnessEventStatus family={family} name={label} />}
        <p className="text-[13px] text-muted">{note}</p>
      </div>
      {samples.map(({ id, title, code }) => (
        <div key={id} className="min-w-0">
          {title !== undefined && <h3 className="mb-1.5 text-[13px] font-medium wrap-anywhere">{title}</h3>}
          <CodeBlock code={code} label={title ?? `${label} snippet`} testid={`snippet-${id}`} />
          {code.includes(HOST_PLACEHOLDER) && (
            <p className="mt-1.5 text-[13px] text-muted">
              Replace {HOST_PLACEHOLDER} with a name for the machine.
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
