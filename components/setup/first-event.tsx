"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { toast } from "sonner";
import { Link } from "../projects/link.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { DemoOffer } from "./demo.tsx";
import { curlSnippet, KEY_PLACEHOLDER } from "./snippets.ts";
import { useOrigin } from "./use-origin.ts";
import { WaitingForFirstEvent } from "./waiting.tsx";

/** What a fresh server shows: one command that makes the first row appear. */
export function FirstEvent() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const url = useOrigin();
  const create = useMutation(
    trpc.keys.create.mutationOptions({
      onSuccess: () => client.invalidateQueries(trpc.keys.list.queryFilter()),
      onError: (error) => toast.error(`The key was not created: ${error.message}`),
    }),
  );
  const key = create.data?.secret;
  return (
    <section className="panel mx-auto max-w-3xl p-6" aria-labelledby="first-event-title">
      <h2 id="first-event-title" className="text-[17px] font-semibold">
        Send the first turn
      </h2>
      <p className="mt-1 mb-4 max-w-xl text-muted">
        Plimsoll shows how full every context window is once a harness reports its turns. This command sends
        one; the fleet appears here by itself.
      </p>
      <ol className="space-y-5">
        <li>
          <h3 className="mb-2 text-[13px] font-medium">1. Create a key for sending</h3>
          {key === undefined ? (
            <Button
              look="primary"
              disabled={create.isPending}
              onClick={() => create.mutate({ name: "first key", scopes: ["ingest"] })}
            >
              <KeyRound aria-hidden /> {create.isPending ? "Creating" : "Create a key"}
            </Button>
          ) : (
            <p className="text-[13px] text-muted" role="status">
              Created and filled in below. It is shown only now, so copy the command or keep the key.
            </p>
          )}
        </li>
        <li>
          <h3 className="mb-2 text-[13px] font-medium">2. Run this where your agents run</h3>
          <CodeBlock
            code={curlSnippet(url, key ?? KEY_PLACEHOLDER)}
            label="Command to send one turn"
            testid="first-snippet"
          />
        </li>
      </ol>
      <div className="mt-5 flex flex-wrap items-center justify-between gap-3 border-t pt-4">
        <WaitingForFirstEvent />
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
