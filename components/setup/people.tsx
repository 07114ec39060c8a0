/** @jsxImportSource #jsx */
"use client";

import type { PersonList, PersonView, Role } from "@plimsoll/protocol/api";
import { ROLES } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, UserPlus } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { InvitePerson, NewLink } from "./invite-person.tsx";
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

/** Who may do what. */
export function People() {
  const query = useQuery(useTRPC().people.list.queryOptions());
  const [inviting, setInviting] = useState(false);
  return (
    <Section
      id="people"
      title="People"
      note={
        query.data?.roles_from_provider
          ? "Roles come from the identity provider at each sign-in."
          : "The higher of a person's two roles counts: the one in every project and the one in this project."
      }
      action={
        <Button onClick={() => setInviting(true)}>
          <UserPlus aria-hidden /> Invite person
        </Button>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the people" className="h-10" />
      ) : query.data.people.length === 0 ? (
        <NobodyYet provider={query.data.provider} />
      ) : (
        <ul data-testid="people">
          {query.data.people.map((person) => (
            <Row key={person.id} person={person} fixed={query.data.roles_from_provider && !person.invited} />
          ))}
        </ul>
      )}
      {inviting && <InvitePerson roles={ROLE_OPTIONS.slice(1)} onClose={() => setInviting(false)} />}
    </Section>
  );
}

function NobodyYet({ provider }: Pick<PersonList, "provider">) {
  return (
    <p className="max-w-xl text-[13px] text-muted">
      {provider === null
        ? "Everybody with a login link may do everything. Invite people to give each an account and a role."
        : `Nobody has signed in with ${provider} yet. A person appears here after the first sign-in, or when you invite them.`}
    </p>
  );
}

function Row({ person, fixed }: { person: PersonView; fixed: boolean }) {
  const { current } = useProjects();
  const [dialog, setDialog] = useState<"link" | "remove">();
  const close = () => setDialog(undefined);
  const inProject = person.roles.projects.find(({ project_id }) => project_id === current?.id)?.role ?? null;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t py-2 text-[13px] first:border-t-0">
      <span className="min-w-0 flex-1 max-sm:basis-full">
        <Name className="block truncate font-medium" title={person.name}>
          {person.name}
        </Name>
        <span className="block text-xs text-muted wrap-anywhere">
          {person.email !== null && `${person.email} · `}
          {person.last_login_at === null ? (
            "has not signed in yet"
          ) : (
            <>
              signed in <Ago at={person.last_login_at} />
            </>
          )}
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
      <Menu
        trigger={
          <Button look="ghost" size="icon" aria-label={`Actions for ${person.name}`}>
            <Ellipsis aria-hidden />
          </Button>
        }
        align="end"
        className="min-w-36"
      >
        {person.invited && <MenuItem onSelect={() => setDialog("link")}>New sign-in link</MenuItem>}
        <MenuItem className="text-hard" onSelect={() => setDialog("remove")}>
          Remove
        </MenuItem>
      </Menu>
      {dialog === "link" && <NewLink person={person} onClose={close} />}
      {dialog === "remove" && <RemovePerson person={person} onClose={close} />}
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
      description={`Ends their browser sessions, keys and passkeys.${person.invited ? "" : " They can sign in again until the identity provider refuses them."} Keys of services that they made stay.`}
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
