/** @jsxImportSource #jsx */
"use client";

import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Modal } from "../ui/dialog.tsx";

/** Shows a new key for the only time. */
export function NewKey({ secret, note, onClose }: { secret: string; note?: ReactNode; onClose: () => void }) {
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Copy the key now"
      description="It is not shown again. If you lose it, revoke it and create another."
    >
      <CodeBlock code={secret} label="The new key" testid="secret" wrap />
      {note !== undefined && <p className="mt-3 text-[13px] text-muted">{note}</p>}
      <div className="mt-4 text-right">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Modal>
  );
}
