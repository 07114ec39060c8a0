/** @jsxImportSource #jsx */
"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { Tabs } from "radix-ui";
import { useEffect, useRef, useState } from "react";
import { useProject } from "../projects/current.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { Term } from "../ui/term.tsx";
import { toast } from "../ui/toast.ts";
import { DemoOffer } from "./demo-fleet.tsx";
import { FirstEventStatus } from "./first-event-status.tsx";
import { HarnessEventStatus } from "./harness-event-status.tsx";
import { type FirstChoice, type FirstGuide, firstChoices } from "./sending-guides.ts";
import { KEY_PLACEHOLDER } from "./snippets.ts";
import { useServerUrl } from "./use-server-url.ts";

const TAB =
  "rounded-lg border border-edge px-3 py-2 text-left text-[13px] hover:bg-track/60 data-[state=active]:border-accent data-[state=active]:bg-track data-[state=active]:font-medium";

/** Shown on a new server: asks what one runs, and has one command for each answer. */
export function FirstEvent() {
  const project = useProject();
  const url = useServerUrl();
  const create = useCreateKey();
  const choices = firstChoices(url, create.data?.secret ?? KEY_PLACEHOLDER, project);
  // The demo needs no command, and curl is the last resort.
  const [byCurl, ...rest] = choices.toReversed();
  const tabs = [
    ...rest.toReversed().map(({ id, label }) => ({ id, label })),
    { id: "demo", label: "Demo" },
    { id: byCurl!.id, label: byCurl!.label },
  ];
  const [chosen, choose] = useState(tabs[0]!.id);
  const list = useRef<HTMLDivElement>(null);
  // A press before the page is hydrated only focuses a tab.
  useEffect(() => {
    const pressed = list.current?.querySelector<HTMLElement>("[data-choice]:focus");
    if (pressed != null) choose(pressed.dataset.choice!);
  }, []);
  return (
    <section className="panel mx-auto max-w-3xl p-6" aria-labelledby="first-event-title">
      <h2 id="first-event-title" className="text-[17px] font-semibold">
        What do you run?
      </h2>
      <p className="mt-1 mb-4 max-w-xl text-muted">
        Plimsoll shows how full each <Term word="window">context window</Term> is, once a{" "}
        <Term word="harness">harness</Term> reports its <Term word="turn">turns</Term>. The fleet then appears
        on this page.
      </p>
      <Tabs.Root value={chosen} onValueChange={choose} activationMode="manual">
        <Tabs.List
          ref={list}
          aria-label="What you run"
          className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-3"
        >
          {tabs.map(({ id, label }) => (
            <Tabs.Trigger key={id} value={id} data-choice={id} className={TAB}>
              {label}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {choices.map((choice) => (
          <Tabs.Content key={choice.id} value={choice.id} tabIndex={-1}>
            <Choice choice={choice} create={create} />
          </Tabs.Content>
        ))}
        <Tabs.Content value="demo" tabIndex={-1}>
          <DemoOffer />
        </Tabs.Content>
      </Tabs.Root>
    </section>
  );
}

function useCreateKey() {
  const trpc = useTRPC();
  const client = useQueryClient();
  return useMutation(
    trpc.keys.create.mutationOptions({
      onSuccess: () => client.invalidateQueries(trpc.keys.list.queryFilter()),
      onError: (error) => toast.error(`Failed to create the key: ${error.message}`),
    }),
  );
}

function Choice({ choice, create }: { choice: FirstChoice; create: ReturnType<typeof useCreateKey> }) {
  const { guides } = choice;
  const [chosen, choose] = useState(guides[0]!.id);
  const guide = guides.find(({ id }) => id === chosen) ?? guides[0]!;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      {guides.length > 1 && (
        <div className="flex flex-wrap items-center gap-2 text-[13px]">
          <span className="text-muted">Harness</span>
          <SelectMenu
            name="Harness"
            value={guide.id}
            options={guides.map(({ id, label }) => ({ value: id, label }))}
            onChange={choose}
          />
        </div>
      )}
      <Command guide={guide} create={create} />
      <div className="border-t pt-3">
        {guide.family === undefined ? (
          <FirstEventStatus />
        ) : (
          <HarnessEventStatus family={guide.family} name={guide.label} />
        )}
      </div>
    </div>
  );
}

function Command({ guide, create }: { guide: FirstGuide; create: ReturnType<typeof useCreateKey> }) {
  const { id, label, note, command } = guide;
  const where = command.includes("npx plimsoll") ? " Run it in a folder where Plimsoll is installed." : "";
  return (
    <>
      <p className="text-[13px] text-muted">{`${note}${where}`}</p>
      {command.includes(KEY_PLACEHOLDER) && (
        <div>
          <Button
            look="primary"
            disabled={create.isPending}
            onClick={() => create.mutate({ name: "first key", scopes: ["ingest"] })}
          >
            <KeyRound aria-hidden /> {create.isPending ? "Creating" : "Create key"}
          </Button>
          <span className="ml-2 text-[13px] text-muted">
            The command needs a key, which then takes the place of {KEY_PLACEHOLDER}.
          </span>
        </div>
      )}
      {create.data !== undefined && command.includes(create.data.secret) && (
        <p className="text-[13px] text-muted" role="status">
          Key created and inserted below. It is shown only once, so copy the command or save the key.
        </p>
      )}
      <CodeBlock
        code={command}
        label={`Command for ${label}`}
        testid={`first-${id}`}
        wrap={!command.includes("\n")}
      />
    </>
  );
}
