/** @jsxImportSource #jsx */
"use client";

import type { KeyView } from "@plimsoll/protocol/api";
import { keyState } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, KeyRound, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Ago, useNow, useZone } from "../clock.tsx";
import { fullTime } from "../format.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { CreateKey } from "./create-key.tsx";
import { expiryStep, expiryText, relationText } from "./key-expiry.ts";
import { RotateKey } from "./rotate-key.tsx";
import { Section } from "./section.tsx";

type Dialog = { kind: "create" } | { kind: "rotate" | "revoke"; key: KeyView };

interface KeysProps {
  /** Those of the person who looks, alone. */
  own?: boolean;
  onCreated?: (secret: string) => void;
}

export function Keys({ own = false, onCreated }: KeysProps) {
  const trpc = useTRPC();
  const query = useQuery(trpc.keys.list.queryOptions());
  const keys = own ? query.data?.keys.filter((key) => key.own) : query.data?.keys;
  const [dialog, setDialog] = useState<Dialog>();
  const now = useNow((last) => expiryStep(query.data?.keys ?? [], last));
  const close = () => setDialog(undefined);
  return (
    <Section
      id="keys"
      title={own ? "Your keys in this project" : "Keys"}
      note={
        own
          ? "Your machines and harnesses authenticate with them. A key may do no more than your role allows, and ends with your account."
          : "Harnesses authenticate with a key. Plimsoll stores only its hash, so the key is shown once."
      }
      action={
        <Button look="primary" onClick={() => setDialog({ kind: "create" })}>
          <KeyRound aria-hidden /> Create key
        </Button>
      }
    >
      {keys === undefined ? (
        <NotLoaded query={query} what="the keys" className="h-24" />
      ) : keys.length === 0 ? (
        <p className="text-[13px] text-muted">No keys yet.</p>
      ) : (
        <ul data-testid="keys">
          {keys.map((key) => (
            <Row
              key={key.id}
              view={key}
              own={own}
              all={keys}
              now={now}
              onRotate={() => setDialog({ kind: "rotate", key })}
              onRevoke={() => setDialog({ kind: "revoke", key })}
            />
          ))}
        </ul>
      )}
      {dialog?.kind === "create" && <CreateKey own={own} onCreated={onCreated} onClose={close} />}
      {dialog?.kind === "rotate" && <RotateKey target={dialog.key} onClose={close} />}
      {dialog?.kind === "revoke" && <RevokeKey target={dialog.key} onClose={close} />}
    </Section>
  );
}

interface RowProps {
  view: KeyView;
  /** In a list of the person's own. */
  own: boolean;
  all: readonly KeyView[];
  /** Epoch ms. */
  now: number;
  onRotate: () => void;
  onRevoke: () => void;
}

function Row({ view, own, all, now, onRotate, onRevoke }: RowProps) {
  const { name, prefix, scopes, last_used_at } = view;
  const state = keyState(view, now);
  const works = state !== "revoked" && state !== "expired";
  const relation = relationText(view, all);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-t py-2 text-[13px] first:border-t-0 sm:grid-cols-[minmax(0,1fr)_5.5rem_9rem_2rem]">
      <span className="min-w-0">
        <Name className={cn("block truncate font-medium", !works && "line-through")} title={name}>
          {name}
        </Name>
        <span className="block truncate text-xs text-muted">
          <code className="font-mono text-faint">{prefix}…</code>
          {view.harness !== null && (
            <>
              {" · agents of "}
              <Name>{view.harness}</Name>
            </>
          )}
          {view.person !== null && !own && (
            <>
              {" · "}
              <Name>{view.person}</Name>
            </>
          )}
        </span>
        {relation !== null && <span className="block text-xs text-muted">{relation}</span>}
      </span>
      <span className="text-muted max-sm:hidden">{scopes.join(", ")}</span>
      <span className="min-w-0 text-muted max-sm:col-span-2 max-sm:row-start-2">
        <span className="sm:hidden">{scopes.join(", ")} · </span>
        {last_used_at === null ? (
          "never used"
        ) : (
          <>
            used <Ago at={last_used_at} />
          </>
        )}
        <Expiry view={view} now={now} />
      </span>
      <span className="text-right max-sm:col-start-2 max-sm:row-start-1">
        {works && (
          <Menu
            trigger={
              <Button look="ghost" size="icon" aria-label={`Actions for ${name}`}>
                <Ellipsis aria-hidden />
              </Button>
            }
            align="end"
            className="min-w-36"
          >
            {state !== "replaced" && (view.person === null || view.own) && (
              <MenuItem onSelect={onRotate}>Rotate</MenuItem>
            )}
            <MenuItem className="text-hard" onSelect={onRevoke}>
              Revoke
            </MenuItem>
          </Menu>
        )}
      </span>
    </li>
  );
}

/** When the key stops working, with a warning in its last week. */
function Expiry({ view, now }: { view: KeyView; now: number }) {
  const zone = useZone();
  const text = expiryText(view, now);
  if (text === null) return null;
  const warn = keyState(view, now) === "expiring";
  const at = view.revoked_at ?? view.expires_at;
  return (
    <>
      <span className="sm:hidden"> · </span>
      <span
        title={at === null ? undefined : fullTime(Date.parse(at), zone)}
        className={`inline-flex items-center gap-1 align-bottom sm:flex ${warn ? "text-warn-ink" : ""}`}
      >
        {warn && <TriangleAlert aria-hidden className="size-3.5 shrink-0" />}
        {text}
      </span>
    </>
  );
}

function RevokeKey({ target, onClose }: { target: KeyView; onClose: () => void }) {
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
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Revoke “${target.name}”?`}
      description={
        <>
          Once revoked, the key <code className="font-mono text-xs">{target.prefix}…</code> no longer works.
          You cannot undo this, but you can create another key.
        </>
      }
    >
      {revoke.isError && <FormError>Failed to revoke the key: {revoke.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate({ id: target.id })}>
          Revoke
        </Button>
      </div>
    </Modal>
  );
}
