/** @jsxImportSource #jsx */
"use client";

import type { ProjectView } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { useProjects } from "./use-projects.ts";

/** Deletes a project once its name is typed. Render it to open it. */
export function DeleteProject({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { current } = useProjects();
  const [typed, setTyped] = useState("");
  const remove = useMutation(
    trpc.projects.delete.mutationOptions({
      onSuccess: () => {
        if (current?.id === project.id) {
          window.location.assign("/setup#projects");
          return;
        }
        toast.success(`${project.name} is deleted.`);
        onClose();
        return client.invalidateQueries(trpc.projects.list.queryFilter());
      },
    }),
  );
  function submit(event: FormEvent) {
    event.preventDefault();
    remove.mutate({ id: project.id, name: typed });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Delete “${project.name}”?`}
      description="All of its sessions, numbers and keys are deleted. Senders are refused from now on. This cannot be undone; to keep the data, archive the project."
    >
      <form onSubmit={submit}>
        <TextField
          label={
            <>
              Type <strong className="font-semibold text-ink wrap-anywhere">{project.name}</strong> to confirm
            </>
          }
          autoFocus
          required
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        {remove.isError && <FormError>The project was not deleted: {remove.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Keep it</Button>
          <Button
            type="submit"
            look="danger"
            disabled={typed !== project.name || remove.isPending || remove.isSuccess}
          >
            Delete
          </Button>
        </div>
      </form>
    </Modal>
  );
}
