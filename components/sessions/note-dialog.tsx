/** @jsxImportSource #jsx */
"use client";

import type { SessionNoteText } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { exact } from "../format.ts";
import { codeOf } from "../query-client.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";

const LONGEST = 5_000;

interface Props {
  sessionId: string;
  note: SessionNoteText;
  onClose: () => void;
}

/** Edits the note of a session. Render it to open it. */
export function NoteDialog({ sessionId, note: latest, onClose }: Props) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [before, setBefore] = useState(latest);
  const [text, setText] = useState(latest.note);
  const save = useMutation(
    trpc.sessions.saveNote.mutationOptions({
      onSuccess: onClose,
      onSettled: () => client.invalidateQueries({ queryKey: trpc.sessions.pathKey() }),
    }),
  );
  const isConflict = codeOf(save.error) === "CONFLICT";
  function submit(event: FormEvent) {
    event.preventDefault();
    save.mutate({ id: sessionId, note: text, expected: before.revision });
  }
  /** The next attempt replaces what the other person wrote, now that it has been seen. */
  function acceptConflict() {
    setBefore(latest);
    save.reset();
  }
  return (
    <Modal
      open
      onOpenChange={onClose}
      title="Note"
      description="Everyone who can see this session can read the note."
    >
      <form onSubmit={submit}>
        <label className="block text-[13px] text-muted">
          Text
          <textarea
            value={text}
            onChange={(event) => setText(event.target.value)}
            rows={8}
            maxLength={LONGEST}
            className="mt-1 w-full rounded-md border border-edge bg-bg px-2.5 py-2 text-ink"
          />
        </label>
        <p className="text-right text-xs text-faint">
          {exact(text.length)} of {exact(LONGEST)} characters
        </p>
        {save.isError && !isConflict && <FormError>{save.error.message}</FormError>}
        {isConflict && (
          <div role="alert" className="mt-3 rounded-lg border border-warn p-3 text-[13px]">
            <p className="text-warn-ink">
              {latest.updated_by ?? "Somebody"} changed this note while you were writing. It now reads:
            </p>
            <p className="mt-1.5 max-h-32 overflow-auto whitespace-pre-wrap wrap-anywhere">
              {latest.note === "" ? "(empty)" : latest.note}
            </p>
            <Button size="small" className="mt-2" onClick={acceptConflict}>
              Keep my text
            </Button>
          </div>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={save.isPending || isConflict || text.trim() === before.note}
          >
            {save.isPending ? "Saving…" : "Save"}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
