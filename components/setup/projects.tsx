/** @jsxImportSource #jsx */
"use client";

import type { ProjectView } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Plus } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { switchHref } from "../projects/address.ts";
import { CreateProject } from "../projects/create-project.tsx";
import { DeleteProject } from "../projects/delete-project.tsx";
import { NameDialog } from "../projects/name-dialog.tsx";
import { useArchiving, useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { Section } from "./section.tsx";

type Dialog = { kind: "create" } | { kind: "rename" | "delete"; project: ProjectView };

/** Creates, renames, archives and deletes projects. There is no empty state: the default project always exists. */
export function Projects() {
  const { query, projects, current } = useProjects();
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  return (
    <Section
      id="projects"
      title="Projects"
      note="A project has its own keys, sessions and numbers. A key sends to its own project and reads nothing else."
      action={
        <Button onClick={() => setDialog({ kind: "create" })}>
          <Plus aria-hidden /> New project
        </Button>
      }
    >
      {projects === undefined ? (
        <NotLoaded query={query} what="the projects" className="h-10" />
      ) : (
        <ul data-testid="projects">
          {projects.map((project) => (
            <Row
              key={project.id}
              project={project}
              isCurrent={project.id === current?.id}
              onRename={() => setDialog({ kind: "rename", project })}
              onDelete={() => setDialog({ kind: "delete", project })}
            />
          ))}
        </ul>
      )}
      {dialog?.kind === "create" && <CreateProject onClose={close} />}
      {dialog?.kind === "rename" && <RenameProject project={dialog.project} onClose={close} />}
      {dialog?.kind === "delete" && <DeleteProject project={dialog.project} onClose={close} />}
    </Section>
  );
}

interface RowProps {
  project: ProjectView;
  isCurrent: boolean;
  onRename: () => void;
  onDelete: () => void;
}

function Row({ project, isCurrent, onRename, onDelete }: RowProps) {
  const { id, name, archived_at, is_default, created_at } = project;
  return (
    <li
      data-testid={`project-${name}`}
      className="flex items-center gap-x-3 border-t py-2 text-[13px] first:border-t-0"
    >
      <span className="min-w-0 flex-1">
        {isCurrent ? (
          <Name className="block truncate font-medium" title={name}>
            {name}
          </Name>
        ) : (
          <a
            // A new document: see projects/current.tsx.
            href={switchHref("/setup", new URLSearchParams(), id)}
            className="flex font-medium text-accent underline underline-offset-2"
            title={name}
          >
            <Name className="truncate">{name}</Name>
          </a>
        )}
        <span className="text-xs text-muted">
          {[isCurrent && "current", is_default && "default", archived_at !== null && "archived"]
            .filter(Boolean)
            .map((word) => `${word} · `)
            .join("")}
          created <Ago at={created_at} />
        </span>
      </span>
      <Actions project={project} onRename={onRename} onDelete={onDelete} />
    </li>
  );
}

function Actions({ project, onRename, onDelete }: Omit<RowProps, "isCurrent">) {
  const { archive, unarchive } = useArchiving();
  const { id, name, is_default, archived_at, hides_names } = project;
  const trpc = useTRPC();
  const client = useQueryClient();
  const hideNames = useMutation(
    trpc.projects.hideNames.mutationOptions({
      onSuccess: ({ hides_names }) => {
        toast.success(
          hides_names
            ? `${name} hides whose a session is while fewer than five people have a role in it.`
            : `${name} shows whose a session is.`,
          { action: { label: "Undo", onClick: () => hideNames.mutate({ id, hidden: !hides_names }) } },
        );
        return client.invalidateQueries();
      },
      onError: (error) => toast.error(`${name} was not changed: ${error.message}`),
    }),
  );
  return (
    <Menu
      trigger={
        <Button look="ghost" size="icon" aria-label={`Actions for ${name}`}>
          <Ellipsis aria-hidden />
        </Button>
      }
      align="end"
      className="min-w-36"
    >
      <MenuItem onSelect={onRename}>Rename</MenuItem>
      <MenuItem onSelect={() => hideNames.mutate({ id, hidden: !hides_names })}>
        {hides_names ? "Show names of people" : "Hide names of few people"}
      </MenuItem>
      {!is_default && (
        <>
          <MenuItem onSelect={() => (archived_at === null ? archive : unarchive).mutate({ id })}>
            {archived_at === null ? "Archive" : "Unarchive"}
          </MenuItem>
          <MenuItem className="text-hard" onSelect={onDelete}>
            Delete
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

function RenameProject({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const rename = useMutation(
    trpc.projects.rename.mutationOptions({
      onSuccess: ({ name }) => {
        toast.success(`${project.name} is now ${name}.`);
        onClose();
        return client.invalidateQueries(trpc.projects.list.queryFilter());
      },
    }),
  );
  return (
    <NameDialog
      title={`Rename “${project.name}”`}
      description="Its links and keys stay valid."
      name={project.name}
      submitLabel="Rename"
      pending={rename.isPending}
      failure={rename.error ? `The project was not renamed: ${rename.error.message}` : undefined}
      onSubmit={(name) => rename.mutate({ id: project.id, name })}
      onClose={onClose}
    />
  );
}
