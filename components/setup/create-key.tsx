/** @jsxImportSource #jsx */
"use client";

import type { Scope } from "@plimsoll/protocol/api";
import { familyOf, ROLE_OF_SCOPE } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { includesRole } from "../people/use-account.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { Radios } from "../ui/radios.tsx";
import { chosenExpiry, LIFETIMES, type Lifetime } from "./key-expiry.ts";
import { harnessNote } from "./key-harness.ts";
import { NewKey } from "./new-key.tsx";

const SCOPES: readonly { scope: Scope; label: string; note: string }[] = [
  { scope: "ingest", label: "ingest", note: "send events" },
  { scope: "read", label: "read", note: "read metrics and exports" },
  { scope: "self", label: "self", note: "an agent asks how full its own window is" },
  { scope: "policy:read", label: "policy:read", note: "a harness reads its policy" },
  { scope: "policy:write", label: "policy:write", note: "change policies" },
  { scope: "alerts:write", label: "alerts:write", note: "change alert rules and silences" },
  { scope: "sessions:write", label: "sessions:write", note: "tag sessions, write notes, save views" },
  { scope: "admin", label: "admin", note: "full access, including keys" },
];

const OWNERS = [
  { value: "me", label: "You: ends with your account" },
  { value: "service", label: "A service: stays when you leave" },
] as const;

interface Props {
  /** Only a key of the person who makes it. */
  own: boolean;
  onCreated: ((secret: string) => void) | undefined;
  onClose: () => void;
}

/** Render it to open it. */
export function CreateKey({ own, onCreated, onClose }: Props) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { data: account } = useQuery(trpc.account.queryOptions());
  const role = account?.role ?? null;
  const [owner, setOwner] = useState<(typeof OWNERS)[number]["value"]>(own ? "me" : "service");
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["ingest"]);
  const [harness, setHarness] = useState("");
  const [lifetime, setLifetime] = useState<Lifetime>("never");
  const [date, setDate] = useState("");
  const create = useMutation(
    trpc.keys.create.mutationOptions({
      onSuccess: ({ secret }) => {
        onCreated?.(secret);
        void client.invalidateQueries(trpc.keys.list.queryFilter());
      },
    }),
  );
  const isSelf = scopes.includes("self");
  const names = useId();
  const harnesses = useQuery(trpc.harnesses.queryOptions({}, { enabled: isSelf })).data?.harnesses.map(
    ({ instance }) => instance,
  );
  const known = [...new Set(harnesses?.flatMap((instance) => [instance, familyOf(instance)]))].sort();
  const over = lifetime === "date" && date !== "" && chosenExpiry(lifetime, date, Date.now()) === null;

  function submit(event: FormEvent) {
    event.preventDefault();
    const expires_at = chosenExpiry(lifetime, date, Date.now());
    if (expires_at === null) return;
    create.mutate({
      name: name.trim(),
      scopes: [...scopes],
      ...(isSelf && { harness: harness.trim() }),
      expires_at,
      service: owner === "service",
    });
  }
  function toggle(scope: Scope) {
    setScopes(scopes.includes(scope) ? scopes.filter((other) => other !== scope) : [...scopes, scope]);
  }

  if (create.data !== undefined) return <NewKey secret={create.data.secret} onClose={onClose} />;
  return (
    <Modal open onOpenChange={(open) => !open && onClose()} title="Create key">
      <form onSubmit={submit}>
        <TextField
          label="Name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="Phantom on the build machine"
        />
        <fieldset className="mt-4">
          <legend className="text-[13px] text-muted">Scopes</legend>
          {SCOPES.filter(({ scope }) => includesRole(role, ROLE_OF_SCOPE[scope])).map(
            ({ scope, label, note }) => (
              <label
                key={scope}
                className="mt-1.5 flex items-center gap-2.5 text-[13px] pointer-coarse:py-1.5"
              >
                <input
                  type="checkbox"
                  checked={scopes.includes(scope)}
                  onChange={() => toggle(scope)}
                  className="size-4 shrink-0 accent-accent"
                />
                <code className="w-28 shrink-0 font-mono text-xs">{label}</code>
                <span className="text-muted">{note}</span>
              </label>
            ),
          )}
        </fieldset>
        {isSelf && (
          <div className="mt-3">
            <TextField
              label="Harness"
              required
              maxLength={128}
              value={harness}
              onChange={(event) => setHarness(event.target.value)}
              placeholder="support@web-1, or support for all instances"
              list={names}
              aria-describedby={`${names}-note`}
            />
            <datalist id={names}>
              {known.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
            <p id={`${names}-note`} className="mt-1 text-xs text-faint" data-testid="harness-note">
              {harnessNote(harness.trim(), harnesses)}
            </p>
          </div>
        )}
        {!own && account?.person && (
          <Radios legend="Belongs to" value={owner} options={OWNERS} onChange={setOwner} />
        )}
        <Radios legend="Expires" value={lifetime} options={LIFETIMES} onChange={setLifetime} />
        {lifetime === "date" && (
          <div className="mt-3 max-w-48">
            <TextField
              label="Expiry date"
              type="date"
              required
              value={date}
              onChange={(event) => setDate(event.target.value)}
              aria-invalid={over}
            />
          </div>
        )}
        {over && (
          <FormError>Choose a date in the future. The key stops working when that day begins.</FormError>
        )}
        {create.isError && <FormError>Failed to create the key: {create.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={
              create.isPending ||
              scopes.length === 0 ||
              name.trim() === "" ||
              (isSelf && harness.trim() === "") ||
              over
            }
          >
            Create
          </Button>
        </div>
      </form>
    </Modal>
  );
}
