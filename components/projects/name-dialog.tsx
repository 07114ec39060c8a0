"use client";

import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";

export const FIELD =
  "mt-1 h-9 w-full rounded-md border border-edge bg-bg px-2.5 text-ink placeholder:text-faint";

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
        <label className="block text-[13px] text-muted">
          Name
          <input
            // biome-ignore lint/a11y/noAutofocus: the dialog asks for nothing else
            autoFocus
            required
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder="billing"
            className={FIELD}
          />
        </label>
        {(digits || failure !== undefined) && (
          <p role="alert" className="mt-3 text-[13px] text-hard">
            {digits ? "A name needs something other than digits." : failure}
          </p>
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
