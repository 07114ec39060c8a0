/** @jsxImportSource #jsx */
"use client";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Ago } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { parseTokens } from "./parse-tokens.ts";
import { recomputingText } from "./recomputing-text.ts";
import { Section } from "./section.tsx";

/** Milliseconds between two reads while agents are being recomputed. */
const PROGRESS_MS = 1_000;

/** Window sizes for models that the catalog does not know. `requestedModel` comes from a "set it" link. */
export function ModelWindows({ requestedModel }: { requestedModel: string | null }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const query = useQuery({
    ...trpc.windows.list.queryOptions(),
    refetchInterval: ({ state }) => ((state.data?.recomputing ?? 0) > 0 ? PROGRESS_MS : false),
  });
  const recomputing = query.data?.recomputing ?? 0;
  const [model, setModel] = useState(requestedModel ?? "");
  const [size, setSize] = useState("");
  const tokens = parseTokens(size);
  // A window size affects utilization, lines and loads on every page.
  const refresh = () => client.invalidateQueries();
  const set = useMutation(
    trpc.windows.set.mutationOptions({
      onSuccess: (window) => {
        toast.success(`Window of ${window.model} set to ${exact(window.tokens)} tokens.`);
        setModel("");
        setSize("");
        return refresh();
      },
    }),
  );
  const remove = useMutation(trpc.windows.remove.mutationOptions({ onSuccess: refresh }));

  function submit(event: FormEvent) {
    event.preventDefault();
    if (tokens !== null) set.mutate({ model: model.trim(), tokens });
  }

  return (
    <Section
      id="windows"
      title="Model windows"
      note="Plimsoll uses the size a harness reports, else the size set here, else the model catalog. Without a size, it shows tokens without a percentage."
    >
      {(query.data?.unknown.length ?? 0) > 0 && (
        <div className="mb-4 rounded-lg border border-warn px-3 py-2 text-[13px]">
          <p className="mb-1.5 text-warn-ink">
            {query.data?.unknown.length === 1 ? "Model" : "Models"} without a size
          </p>
          <div className="flex flex-wrap gap-1.5">
            {query.data?.unknown.map((name) => (
              <Button
                key={name}
                size="wrapped"
                onClick={() => setModel(name)}
                aria-label={`Set the size of ${name}`}
              >
                {name}
              </Button>
            ))}
            {(query.data?.more_unknown ?? 0) > 0 && (
              <span className="self-center text-muted">and {exact(query.data?.more_unknown ?? 0)} more</span>
            )}
          </div>
        </div>
      )}
      <form onSubmit={submit} className="mb-1 grid items-end gap-3 sm:grid-cols-[minmax(0,1fr)_170px_auto]">
        <TextField
          label="Model"
          required
          maxLength={200}
          value={model}
          onChange={(event) => setModel(event.target.value)}
          placeholder="Model ID from the harness"
        />
        <TextField
          label="Tokens"
          required
          inputMode="text"
          value={size}
          onChange={(event) => setSize(event.target.value)}
          placeholder="128k or 131072"
          aria-describedby="size-read"
          aria-invalid={size !== "" && tokens === null}
        />
        <Button
          type="submit"
          look="primary"
          size="field"
          disabled={tokens === null || model.trim() === "" || set.isPending}
        >
          Set size
        </Button>
      </form>
      <p id="size-read" className="mb-1 min-h-5 text-xs text-faint" aria-live="polite">
        {size === ""
          ? ""
          : tokens === null
            ? "Enter a whole number, such as 131072, 128k or 1M."
            : `${exact(tokens)} tokens`}
      </p>
      {set.isError && (
        <p role="alert" className="mb-3 text-[13px] text-hard">
          Failed to set the size: {set.error.message}
        </p>
      )}
      <p role="status" data-testid="recomputing" className="text-[13px] text-muted">
        {recomputing > 0 && (
          <span className="mb-2 block" title="Until then, some pages show utilization by the old size.">
            {recomputingText(recomputing)}
          </span>
        )}
      </p>
      {query.data === undefined ? (
        <NotLoaded query={query} what="the model windows" className="h-10" />
      ) : query.data.windows.length === 0 ? (
        <p className="text-[13px] text-muted">No sizes set here.</p>
      ) : (
        <ul data-testid="windows">
          {query.data.windows.map((window) => (
            <li
              key={window.model}
              className="flex items-center gap-3 border-t py-2 text-[13px] first:border-t-0"
            >
              <span className="min-w-0 flex-1 font-medium wrap-anywhere">{window.model}</span>
              <span>{plural(window.tokens, "token")}</span>
              <span className="w-28 text-right text-muted max-sm:hidden">
                set <Ago at={window.updated_at} />
              </span>
              <Button
                size="small"
                disabled={remove.isPending}
                onClick={() => remove.mutate({ model: window.model })}
                aria-label={`Remove the size of ${window.model}`}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
