/** @jsxImportSource #jsx */
"use client";

import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";

interface Props {
  title: string;
  description?: string;
  /** What the field holds at first. */
  name?: string;
  submitLabel: string;
  pending: boolean;
  /** Why the last attempt failed. */
  failure: string | undefined;
  onSubmit: (name: string) => void;
  onClose: () => void;
}

/** Asks for a project's name. Render it to open it. */
export function NameDialog({
  title,
  description,
  submitLabel,
  pending,
  failure,
  onSubmit,
  onClose,
  ...rest
}: Props) {
  const [name, setName] = useState(rest.name ?? "");
  const digits = /^\d+$/.test(name.trim());
  function submit(event: FormEvent) {
    event.preventDefault();
    onSubmit(name.trim());
  }
  return (
    <Modal open onOpenChange={(open) => !open && onClose()} title={title} description={description}>
      <form onSubmit={submit}>
        <TextField
          label="Name"
          autoFocus
          required
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="billing"
        />
        {(digits || failure !== undefined) && (
          <FormError>{digits ? "A name needs something other than digits." : failure}</FormError>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={pending || digits || name.trim() === ""}>
            {submitLabel}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
