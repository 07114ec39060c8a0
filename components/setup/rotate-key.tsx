/** @jsxImportSource #jsx */
"use client";

import type { Grace, KeyView } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useMinute } from "../clock.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Radios } from "../ui/radios.tsx";
import { expiryText } from "./key-expiry.ts";
import { NewKey } from "./new-key.tsx";

const GRACES: readonly { value: Grace; label: string }[] = [
  { value: "now", label: "Not at all" },
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
];

/** Replaces a key by a successor. Render it to open it. */
export function RotateKey({ target, onClose }: { target: KeyView; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const now = useMinute();
  const [grace, setGrace] = useState<Grace>("24h");
  const rotate = useMutation(
    trpc.keys.rotate.mutationOptions({
      onSuccess: () => void client.invalidateQueries(trpc.keys.list.queryFilter()),
    }),
  );

  if (rotate.data !== undefined) {
    const { key, replaced } = rotate.data;
    return (
      <NewKey
        secret={key.secret}
        onClose={onClose}
        note={
          <>
            The old key <code className="font-mono text-xs">{replaced.prefix}…</code>{" "}
            {grace === "now" ? "no longer works" : expiryText(replaced, now)}.
          </>
        }
      />
    );
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Rotate “${target.name}”?`}
      description="Creates a key with the same name, scopes and length of life, which replaces this one."
    >
      <Radios
        legend="How long the old key goes on working"
        value={grace}
        options={GRACES}
        onChange={setGrace}
      />
      {rotate.isError && <FormError>Failed to rotate the key: {rotate.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="primary"
          disabled={rotate.isPending}
          onClick={() => rotate.mutate({ id: target.id, grace })}
        >
          Rotate
        </Button>
      </div>
    </Modal>
  );
}
