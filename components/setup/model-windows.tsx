/** @jsxImportSource #jsx */
"use client";

import type { ObservedWindowView } from "@plimsoll/protocol/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Ago } from "../clock.tsx";
import { compact, exact, plural } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { parseTokens } from "./parse-tokens.ts";
import { recomputingText } from "./recomputing-text.ts";
import { Section } from "./section.tsx";
import { useSetWindow, WindowOffers } from "./window-offers.tsx";

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
  const set = useSetWindow(() => {
    setModel("");
    setSize("");
  });
  const remove = useMutation(trpc.windows.remove.mutationOptions({ onSuccess: refresh }));

  function submit(event: FormEvent) {
    event.preventDefault();
    if (tokens !== null) set.mutate({ model: model.trim(), tokens });
  }

  return (
    <Section
      id="windows"
      title="Model windows"
      note="Plimsoll uses the size a session reports, else the size set here, else the size other sessions reported, else the model catalog. Without a size, it shows tokens without a percentage."
    >
      {(query.data?.unknown.length ?? 0) > 0 && (
        <div className="mb-4 rounded-lg border border-warn px-3 py-2 text-[13px]">
          <p className="mb-1.5 text-warn-ink">
            {query.data?.unknown.length === 1 ? "Model" : "Models"} without a size
          </p>
          <ul className="grid gap-1.5">
            {query.data?.offers.map(({ model: name, offers }) => (
              <li key={name} className="flex flex-wrap items-center gap-1.5">
                <Button size="wrapped" onClick={() => setModel(name)} aria-label={`Set the size of ${name}`}>
                  <Name>{name}</Name>
                </Button>
                <WindowOffers model={name} offers={offers} />
              </li>
            ))}
            {(query.data?.more_unknown ?? 0) > 0 && (
              <li className="text-muted">and {exact(query.data?.more_unknown ?? 0)} more</li>
            )}
          </ul>
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
      <Observed observed={query.data?.observed ?? []} />
    </Section>
  );
}

/** What the project learned from its harnesses. */
function Observed({ observed }: { observed: readonly ObservedWindowView[] }) {
  if (observed.length === 0) return null;
  return (
    <details className="mt-3 border-t pt-2 text-[13px]">
      <summary className="cursor-pointer text-muted">{plural(observed.length, "reported size")}</summary>
      <ul data-testid="observed-windows">
        {observed.map(({ harness, model, tokens, sizes }) => (
          <li key={`${harness} ${model}`} className="flex flex-wrap gap-x-3 py-1.5">
            <span className="min-w-0 flex-1 font-medium wrap-anywhere">{model}</span>
            <span>{tokens === null ? "differs by session" : plural(tokens, "token")}</span>
            <span className="text-muted">
              {harness}:{" "}
              {sizes
                .map(
                  (size) => `${compact(size.tokens)} from ${witnessNames(size.witnesses)}, ${size.last_on}`,
                )
                .join("; ")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const witnessNames = (witnesses: readonly string[]) =>
  witnesses.map((name) => name.replace("_", " ")).join(" and ");
