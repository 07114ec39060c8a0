/** @jsxImportSource #jsx */
"use client";

import type { PersonList, PersonView, Role } from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { Section } from "./section.tsx";

const NO_ROLE = "none";
const ROLE_OPTIONS = [
  { value: NO_ROLE, label: "No role" },
  { value: "viewer", label: "Viewer", note: "sees everything" },
  { value: "member", label: "Member", note: "also notes, tags, silences, own machines" },
  { value: "editor", label: "Editor", note: "also policies, alert rules, windows, deletion" },
  { value: "admin", label: "Admin", note: "also keys and settings" },
] as const satisfies readonly { value: Role | typeof NO_ROLE; label: string; note?: string }[];
type RoleOption = (typeof ROLE_OPTIONS)[number]["value"];

/** Who may do what, as far as people sign in with an identity provider. */
export function People() {
  const query = useQuery(useTRPC().people.list.queryOptions());
  return (
    <Section
      id="people"
      title="People"
      note={
        query.data?.roles_from_provider
          ? "Roles come from the identity provider at each sign-in."
          : "The higher of a person's two roles counts: the one in every project and the one in this project."
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the people" className="h-10" />
      ) : query.data.people.length === 0 ? (
        <NobodyYet provider={query.data.provider} />
      ) : (
        <ul data-testid="people">
          {query.data.people.map((person) => (
            <Row key={person.id} person={person} fixed={query.data.roles_from_provider} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function NobodyYet({ provider }: Pick<PersonList, "provider">) {
  return (
    <p className="max-w-xl text-[13px] text-muted">
      {provider === null
        ? "Everybody with a login link may do everything. To give people accounts and roles, set PLIMSOLL_OIDC_ISSUER and start Plimsoll again."
        : `Nobody has signed in with ${provider} yet. A person appears here after the first sign-in.`}
    </p>
  );
}

function Row({ person, fixed }: { person: PersonView; fixed: boolean }) {
  const { current } = useProjects();
  const [removing, setRemoving] = useState(false);
  const inProject = person.roles.projects.find(({ project_id }) => project_id === current?.id)?.role ?? null;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t py-2 text-[13px] first:border-t-0">
      <span className="min-w-0 flex-1 max-sm:basis-full">
        <Name className="block truncate font-medium" title={person.name}>
          {person.name}
        </Name>
        <span className="block text-xs text-muted wrap-anywhere">
          {person.email !== null && `${person.email} · `}
          signed in <Ago at={person.last_login_at} />
        </span>
      </span>
      <RoleMenu
        person={person}
        projectId={null}
        role={person.roles.everywhere}
        where="Every project"
        fixed={fixed}
      />
      {current !== undefined && (
        <RoleMenu
          person={person}
          projectId={current.id}
          role={inProject}
          where={current.name}
          fixed={fixed}
        />
      )}
      <Button size="small" onClick={() => setRemoving(true)} aria-label={`Remove ${person.name}`}>
        Remove
      </Button>
      {removing && <RemovePerson person={person} onClose={() => setRemoving(false)} />}
    </li>
  );
}

interface RoleMenuProps {
  person: PersonView;
  /** Null: every project. */
  projectId: number | null;
  role: Role | null;
  where: string;
  fixed: boolean;
}

function RoleMenu({ person, projectId, role, where, fixed }: RoleMenuProps) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const label = (value: RoleOption) => ROLE_OPTIONS.find((option) => option.value === value)!.label;
  const refresh = () => client.invalidateQueries(trpc.people.list.queryFilter());
  const set = useMutation(
    trpc.people.setRole.mutationOptions({
      onSuccess: (_, { role: given }) => {
        toast.success(`${person.name}: ${label(given ?? NO_ROLE)} in ${where}.`, {
          action: {
            label: "Undo",
            onClick: () => set.mutate({ id: person.id, project_id: projectId, role }),
          },
        });
        return refresh();
      },
      onError: (error) => toast.error(`The role of ${person.name} was not changed: ${error.message}`),
    }),
  );
  const value: RoleOption = role ?? NO_ROLE;
  return (
    <span className="grid gap-0.5">
      <Name className="max-w-36 truncate text-xs text-muted">{where}</Name>
      {fixed ? (
        label(value)
      ) : (
        <SelectMenu
          name={`Role of ${person.name} in ${where}`}
          value={value}
          options={ROLE_OPTIONS}
          onChange={(next) =>
            set.mutate({
              id: person.id,
              project_id: projectId,
              role: ROLES.find((one) => one === next) ?? null,
            })
          }
        />
      )}
    </span>
  );
}

function RemovePerson({ person, onClose }: { person: PersonView; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const remove = useMutation(
    trpc.people.remove.mutationOptions({
      onSuccess: () => {
        toast.success(`${person.name} is removed.`);
        onClose();
        return client.invalidateQueries(trpc.people.list.queryFilter());
      },
    }),
  );
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Remove ${person.name}?`}
      description="Ends all their browser sessions and takes their roles away. Keys that they made keep working. They can sign in again until the identity provider refuses them."
    >
      {remove.isError && <FormError>Not removed: {remove.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate({ id: person.id })}>
          Remove
        </Button>
      </div>
    </Modal>
  );
}
