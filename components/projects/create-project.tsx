/** @jsxImportSource #jsx */
"use client";

import { useMutation } from "@tanstack/react-query";
import { useTRPC } from "../trpc.ts";
import { withProject } from "./address.ts";
import { NameDialog } from "./name-dialog.tsx";

/** Creates a project and opens it. */
export function CreateProject({ onClose }: { onClose: () => void }) {
  const create = useMutation(
    useTRPC().projects.create.mutationOptions({
      onSuccess: ({ id }) => window.location.assign(withProject("/", String(id))),
    }),
  );
  return (
    <NameDialog
      title="New project"
      description="A project has its own keys, sessions and numbers."
      submitLabel="Create"
      // The new project's page is on its way.
      pending={create.isPending || create.isSuccess}
      failure={create.error ? `The project was not created: ${create.error.message}` : undefined}
      onSubmit={(name) => create.mutate({ name })}
      onClose={onClose}
    />
  );
}
