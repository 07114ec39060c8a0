"use client";

import type { KeyView, Scope } from "@plimsoll/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { toast } from "sonner";
import { Ago } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { Section } from "./section.tsx";

const SCOPES: readonly { scope: Scope; label: string; note: string }[] = [
  { scope: "ingest", label: "ingest", note: "send events" },
  { scope: "read", label: "read", note: "read metrics and exports" },
  { scope: "admin", label: "admin", note: "full access, including keys" },
];

export function Keys({ onCreated }: { onCreated: (secret: string) => void }) {
  const trpc = useTRPC();
  const query = useQuery(trpc.keys.list.queryOptions());
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<KeyView | null>(null);
  return (
    <Section
      id="keys"
      title="Keys"
      note="Harnesses authenticate with a key. Plimsoll stores only its hash, so the key is shown once."
      action={
        <Button look="primary" onClick={() => setCreating(true)}>
          <KeyRound aria-hidden /> Create key
        </Button>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the keys" className="h-24" />
      ) : query.data.keys.length === 0 ? (
        <p className="text-[13px] text-muted">No keys yet.</p>
      ) : (
        <KeyTable keys={query.data.keys} onRevoke={setRevoking} />
      )}
      <CreateKey open={creating} onOpenChange={setCreating} onCreated={onCreated} />
      <RevokeKey target={revoking} onClose={() => setRevoking(null)} />
    </Section>
  );
}

function KeyTable({ keys, onRevoke }: { keys: KeyView[]; onRevoke: (key: KeyView) => void }) {
  return (
    <ul data-testid="keys">
      {keys.map((key) => (
        <li
          key={key.id}
          className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-t py-2 text-[13px] first:border-t-0 sm:grid-cols-[minmax(0,1fr)_6.5rem_6.5rem_4rem]"
        >
          <span className="min-w-0">
            <span
              className={`block truncate font-medium ${key.revoked_at === null ? "" : "line-through"}`}
              title={key.name}
            >
              {key.name}
            </span>
            <code className="font-mono text-xs text-faint">{key.prefix}…</code>
          </span>
          <span className="text-muted max-sm:hidden">{key.scopes.join(", ")}</span>
          <span className="text-muted max-sm:row-start-2">
            <span className="sm:hidden">{key.scopes.join(", ")} · </span>
            {key.last_used_at === null ? (
              "never used"
            ) : (
              <>
                used <Ago at={key.last_used_at} />
              </>
            )}
          </span>
          <span className="text-right max-sm:col-start-2 max-sm:row-span-2 max-sm:row-start-1">
            {key.revoked_at === null ? (
              <Button size="small" onClick={() => onRevoke(key)} aria-label={`Revoke ${key.name}`}>
                Revoke
              </Button>
            ) : (
              <span className="text-xs text-faint">revoked</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function CreateKey({
  open,
  onOpenChange,
  onCreated,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  onCreated: (secret: string) => void;
}) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["ingest"]);
  const create = useMutation(
    trpc.keys.create.mutationOptions({
      onSuccess: ({ secret }) => {
        onCreated(secret);
        void client.invalidateQueries(trpc.keys.list.queryFilter());
      },
    }),
  );

  function close(next: boolean) {
    onOpenChange(next);
    if (next) return;
    create.reset();
    setName("");
    setScopes(["ingest"]);
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    create.mutate({ name: name.trim(), scopes: [...scopes] });
  }
  function toggle(scope: Scope) {
    setScopes(scopes.includes(scope) ? scopes.filter((other) => other !== scope) : [...scopes, scope]);
  }

  if (create.data !== undefined) {
    return (
      <Modal
        open={open}
        onOpenChange={close}
        title="Copy the key now"
        description="It is not shown again. If you lose it, revoke it and create another."
      >
        <CodeBlock code={create.data.secret} label="The new key" testid="secret" wrap />
        <div className="mt-4 text-right">
          <Button look="primary" onClick={() => close(false)}>
            Done
          </Button>
        </div>
      </Modal>
    );
  }
  return (
    <Modal open={open} onOpenChange={close} title="Create key">
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
          {SCOPES.map(({ scope, label, note }) => (
            <label key={scope} className="mt-1.5 flex items-center gap-2.5 text-[13px] pointer-coarse:py-1.5">
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={() => toggle(scope)}
                className="size-4 accent-accent"
              />
              <code className="w-16 shrink-0 font-mono text-xs">{label}</code>
              <span className="text-muted">{note}</span>
            </label>
          ))}
        </fieldset>
        {create.isError && <FormError>Failed to create the key: {create.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => close(false)}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={create.isPending || scopes.length === 0 || name.trim() === ""}
          >
            Create
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function RevokeKey({ target, onClose }: { target: KeyView | null; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const revoke = useMutation(
    trpc.keys.revoke.mutationOptions({
      onSuccess: (key) => {
        toast.success(`Key “${key.name}” revoked.`);
        onClose();
        return client.invalidateQueries(trpc.keys.list.queryFilter());
      },
    }),
  );
  return (
    <Modal
      open={target !== null}
      onOpenChange={(open) => !open && onClose()}
      title={`Revoke “${target?.name ?? "the key"}”?`}
      description={
        <>
          Once revoked, the key <code className="font-mono text-xs">{target?.prefix}…</code> no longer works.
          You cannot undo this, but you can create another key.
        </>
      }
    >
      {revoke.isError && <FormError>Failed to revoke the key: {revoke.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="danger"
          disabled={revoke.isPending}
          onClick={() => target !== null && revoke.mutate({ id: target.id })}
        >
          Revoke
        </Button>
      </div>
    </Modal>
  );
}
