/** @jsxImportSource #jsx */
"use client";

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { importedText } from "./alert-text.ts";
import { useAlertAction } from "./use-alert-action.ts";

/** Saves rules from YAML, all of them or none. */
export function RulesImportDialog({ onClose }: { onClose: () => void }) {
  const trpc = useTRPC();
  const { refresh } = useAlertAction();
  const [yaml, setYaml] = useState("");
  const [replace, setReplace] = useState(false);
  const save = useMutation(
    trpc.alerts.rules.import.mutationOptions({
      onSuccess: (done) => {
        toast.success(importedText(done));
        onClose();
        return refresh();
      },
    }),
  );
  function submit(event: FormEvent) {
    event.preventDefault();
    save.mutate({ yaml, replace });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Import rules"
      description="A rule replaces the one of the same name. If the text has a mistake, nothing is saved."
    >
      <form onSubmit={submit} className="grid gap-3">
        <label className="text-[13px] text-muted">
          File
          <input
            type="file"
            accept=".yaml,.yml,.json"
            onChange={({ target }) => void target.files?.[0]?.text().then(setYaml)}
            className="mt-1 block w-full text-[13px] file:mr-3 file:h-8 file:rounded-md file:border file:border-edge file:bg-raised file:px-3 file:text-ink"
          />
        </label>
        <label className="text-[13px] text-muted">
          YAML
          <textarea
            value={yaml}
            onChange={({ target }) => setYaml(target.value)}
            rows={10}
            spellCheck={false}
            placeholder={"rules:\n  - name: Nearly full\n    condition: { type: load, at_least: 0.9 }"}
            className="mt-1 block w-full rounded-md border border-edge bg-bg p-2.5 font-mono text-xs text-ink placeholder:text-faint"
          />
        </label>
        <label className="flex items-center gap-2.5 text-[13px]">
          <input
            type="checkbox"
            checked={replace}
            onChange={({ target }) => setReplace(target.checked)}
            className="size-4 accent-accent"
          />
          Delete the rules that the text does not name
        </label>
        {save.isError && <FormError>{save.error.message}</FormError>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={yaml.trim() === "" || save.isPending}>
            Import
          </Button>
        </div>
      </form>
    </Modal>
  );
}
