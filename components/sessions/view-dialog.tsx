/** @jsxImportSource #jsx */
"use client";

import type { SavedSessionView } from "@plimsoll/protocol/api";
import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { callOf, useSavedViews } from "./use-saved-views.ts";

interface Props {
  /** Absent to save a new view. */
  view: SavedSessionView | undefined;
  /** What a new view holds. */
  query: string;
  onSaved: (view: SavedSessionView) => void;
  onClose: () => void;
}

/** Names a view: a new one, or one that is renamed. Render it to open it. */
export function ViewDialog({ view, query, onSaved, onClose }: Props) {
  const { save, isPending } = useSavedViews();
  const [id] = useState(() => view?.id ?? crypto.randomUUID());
  const [name, setName] = useState(view?.name ?? "");
  const [isDefault, setDefault] = useState(view?.is_default ?? false);
  const [problem, setProblem] = useState<string>();
  async function submit(event: FormEvent) {
    event.preventDefault();
    try {
      const call = view === undefined ? { id, query, name, is_default: isDefault } : callOf(view);
      onSaved(await save({ ...call, name: name.trim(), is_default: isDefault }));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }
  return (
    <Modal
      open
      onOpenChange={onClose}
      title={view === undefined ? "Save view" : "Rename view"}
      description={
        view === undefined
          ? "Saves the filters, the order, the range and the columns for everyone in this project."
          : undefined
      }
    >
      <form onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={60}
          autoFocus
          required
        />
        <label className="mt-3 flex items-center gap-2 text-[13px]">
          <input
            type="checkbox"
            checked={isDefault}
            onChange={(event) => setDefault(event.target.checked)}
            className="size-4 accent-accent"
          />
          Open this view first
        </label>
        {problem !== undefined && <FormError>{problem}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={isPending || name.trim() === ""}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
