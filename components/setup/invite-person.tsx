/** @jsxImportSource #jsx */
"use client";

import type { PersonLink, PersonView, Role } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useZone } from "../clock.tsx";
import { fullTime } from "../format.ts";
import { useProjects } from "../projects/use-projects.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { Radios } from "../ui/radios.tsx";

interface InviteProps {
  roles: readonly { value: string; label: string; note?: string }[];
  onClose: () => void;
}

/** Adds a person, who signs in with a link. Render it to open it. */
export function InvitePerson({ roles, onClose }: InviteProps) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { current } = useProjects();
  const [name, setName] = useState("");
  const [role, setRole] = useState("member");
  const [where, setWhere] = useState<"project" | "everywhere">("project");
  const invite = useMutation(
    trpc.people.invite.mutationOptions({
      onSuccess: () => client.invalidateQueries(trpc.people.list.queryFilter()),
    }),
  );
  if (invite.data !== undefined) return <LinkToSend link={invite.data} onClose={onClose} />;

  function submit(event: FormEvent) {
    event.preventDefault();
    const project_id = where === "everywhere" || current === undefined ? null : current.id;
    invite.mutate({ name: name.trim(), role: role as Role, project_id });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Invite a person"
      description="They sign in with a link that you send them. No email is sent."
    >
      <form onSubmit={submit}>
        <TextField
          label="Name"
          required
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="Ada Lovelace"
          autoComplete="off"
        />
        <Radios legend="Role" value={role} options={roles} onChange={setRole} />
        <p className="mt-1.5 text-xs text-muted">{roles.find(({ value }) => value === role)?.note}</p>
        <Radios
          legend="Where"
          value={where}
          options={[
            { value: "project", label: current?.name ?? "This project" },
            { value: "everywhere", label: "Every project" },
          ]}
          onChange={setWhere}
        />
        {invite.isError && <FormError>Not invited: {invite.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={invite.isPending || name.trim() === ""}>
            Invite
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** Another link for an invited person. Render it to open it. */
export function NewLink({ person, onClose }: { person: PersonView; onClose: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const make = useMutation(
    trpc.people.makeLink.mutationOptions({
      onSuccess: () => client.invalidateQueries(trpc.people.list.queryFilter()),
    }),
  );
  if (make.data !== undefined) return <LinkToSend link={make.data} onClose={onClose} />;
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`New sign-in link for ${person.name}?`}
      description="For a new browser, or if they have no passkey. An earlier link that was not used stops working."
    >
      {make.isError && <FormError>No link was made: {make.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" disabled={make.isPending} onClick={() => make.mutate({ id: person.id })}>
          Make link
        </Button>
      </div>
    </Modal>
  );
}

function LinkToSend({ link, onClose }: { link: PersonLink; onClose: () => void }) {
  const zone = useZone();
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Send this link to ${link.person.name}`}
      description={`It signs one browser in as ${link.person.name}, once, until ${fullTime(Date.parse(link.expires_at), zone)}. It is not shown again.`}
    >
      <CodeBlock code={link.url} label="The link" testid="person-link" wrap />
      <div className="mt-4 text-right">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Modal>
  );
}
