/** @jsxImportSource #jsx */
"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { toast } from "../ui/toast.ts";
import { DemoOffer } from "./demo-fleet.tsx";
import { FirstEventStatus } from "./first-event-status.tsx";
import { curlSnippet, KEY_PLACEHOLDER } from "./snippets.ts";
import { useServerUrl } from "./use-server-url.ts";

/** Shown on a new server: one command that sends the first turn. */
export function FirstEvent() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const url = useServerUrl();
  const create = useMutation(
    trpc.keys.create.mutationOptions({
      onSuccess: () => client.invalidateQueries(trpc.keys.list.queryFilter()),
      onError: (error) => toast.error(`Failed to create the key: ${error.message}`),
    }),
  );
  const key = create.data?.secret;
  return (
    <section className="panel mx-auto max-w-3xl p-6" aria-labelledby="first-event-title">
      <h2 id="first-event-title" className="text-[17px] font-semibold">
        Send the first turn
      </h2>
      <p className="mt-1 mb-4 max-w-xl text-muted">
        Plimsoll shows how full each context window is once a harness reports its turns. The command below
        sends one test turn, and the fleet then appears on this page.
      </p>
      <ol className="space-y-5">
        <li>
          <h3 className="mb-2 text-[13px] font-medium">1. Create an ingest key</h3>
          {key === undefined ? (
            <Button
              look="primary"
              disabled={create.isPending}
              onClick={() => create.mutate({ name: "first key", scopes: ["ingest"] })}
            >
              <KeyRound aria-hidden /> {create.isPending ? "Creating" : "Create key"}
            </Button>
          ) : (
            <p className="text-[13px] text-muted" role="status">
              Key created and inserted below. It is shown only once, so copy the command or save the key.
            </p>
          )}
        </li>
        <li>
          <h3 className="mb-2 text-[13px] font-medium">2. Run this command</h3>
          <CodeBlock
            code={curlSnippet(url, key ?? KEY_PLACEHOLDER)}
            label="Command to send one turn"
            testid="first-snippet"
          />
        </li>
      </ol>
      <div className="mt-5 flex flex-wrap items-center justify-between gap-3 border-t pt-4">
        <FirstEventStatus />
        <Link href="/setup" className="text-[13px] text-accent underline underline-offset-2">
          Claude Code, Codex and other harnesses
        </Link>
      </div>
      <div className="mt-4 border-t pt-4">
        <DemoOffer />
      </div>
    </section>
  );
}
