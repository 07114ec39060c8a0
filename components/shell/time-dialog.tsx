/** @jsxImportSource #jsx */
"use client";

import { useRouter } from "next/navigation";
import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { Prepared } from "../ui/prepared.tsx";
import { jumpTo, toField } from "./time-jump.ts";

/** Asks for a time, and shows what happened then: the turn of an open session, else the hour around it on Fleet. */
export function TimeDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Prepared open={open}>
      <Modal open={open} onOpenChange={(open) => !open && onClose()} title="Go to a time">
        <TimeForm onClose={onClose} />
      </Modal>
    </Prepared>
  );
}

function TimeForm({ onClose }: { onClose: () => void }) {
  const router = useRouter();
  const [text, setText] = useState(() => toField(Date.now()));
  const at = Date.parse(text);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (Number.isNaN(at)) return;
    onClose();
    router.push(jumpTo(window.location.pathname, window.location.search, at));
  }
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          label="In your time zone"
          type="datetime-local"
          autoFocus
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <Button type="submit" look="primary" disabled={Number.isNaN(at)}>
        Go
      </Button>
    </form>
  );
}
