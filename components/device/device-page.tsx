/** @jsxImportSource #jsx */
"use client";

import type { WaitingMachine } from "@plimsoll/protocol/api";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Ago } from "../clock.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { Section } from "../setup/section.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";

/** Where a person confirms that a machine gets keys. */
export function DevicePage() {
  const [machine, setMachine] = useState<WaitingMachine>();
  const [decided, setDecided] = useState<{ machine: string; approved: boolean }>();
  return (
    <>
      <PageHeader title="Log a machine in" />
      <div className="grid max-w-xl gap-6">
        {machine === undefined ? (
          <>
            {decided !== undefined && <Decided {...decided} />}
            <EnterCode
              onFound={(found) => {
                setDecided(undefined);
                setMachine(found);
              }}
            />
          </>
        ) : (
          <Confirm
            machine={machine}
            onDone={(approved) => {
              setDecided(approved === undefined ? undefined : { machine: machine.machine, approved });
              setMachine(undefined);
            }}
          />
        )}
      </div>
    </>
  );
}

function EnterCode({ onFound }: { onFound: (machine: WaitingMachine) => void }) {
  const [code, setCode] = useState("");
  const look = useMutation(useTRPC().machines.look.mutationOptions({ onSuccess: onFound }));
  function submit(event: FormEvent) {
    event.preventDefault();
    look.mutate({ user_code: code });
  }
  return (
    <Section
      id="code"
      title="Enter the code of the machine"
      note={
        <>
          The command <code className="font-mono text-xs">plimsoll login</code> shows it on the machine that
          will report here.
        </>
      }
    >
      <form onSubmit={submit}>
        <div className="flex flex-wrap items-end gap-3">
          <div className="w-44 font-mono">
            <TextField
              label="Code"
              required
              maxLength={40}
              value={code}
              onChange={(event) => setCode(event.target.value)}
              placeholder="BCDF-GHJK"
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
            />
          </div>
          <Button type="submit" look="primary" size="field" disabled={look.isPending || code.trim() === ""}>
            Continue
          </Button>
        </div>
        {look.isError && <FormError>{look.error.message}</FormError>}
      </form>
    </Section>
  );
}

/** @param onDone called with the decision; without one if the person goes back */
function Confirm({
  machine: { user_code, machine, address, asked_at },
  onDone,
}: {
  machine: WaitingMachine;
  onDone: (approved?: boolean) => void;
}) {
  const { current: project } = useProjects();
  const decide = useMutation(
    useTRPC().machines.decide.mutationOptions({ onSuccess: ({ approved }) => onDone(approved) }),
  );
  const facts = useRef<HTMLDListElement>(null);
  useEffect(() => facts.current?.focus(), []);
  const decideOn = (approve: boolean) => decide.mutate({ user_code, approve });
  return (
    <Section
      id="machine"
      title="Is this your machine?"
      note="It gets a key that sends events and reads metrics, and one for its harnesses that only sends. They work until you revoke them on Setup."
    >
      <dl
        ref={facts}
        tabIndex={-1}
        data-testid="machine"
        className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5 text-[13px] outline-none"
      >
        <dt className="text-muted">Machine</dt>
        <dd className="font-medium wrap-anywhere">
          <Name>{machine}</Name>
        </dd>
        <dt className="text-muted">Address</dt>
        <dd className="font-mono wrap-anywhere">{address}</dd>
        <dt className="text-muted">Code</dt>
        <dd className="font-mono">{user_code}</dd>
        <dt className="text-muted">Asked</dt>
        <dd>
          <Ago at={asked_at} />
        </dd>
        <dt className="text-muted">Project</dt>
        <dd className="wrap-anywhere">
          <Name>{project?.name ?? "default"}</Name>
        </dd>
      </dl>
      <p className="mt-4 rounded-md border border-hard/40 bg-hard/5 p-3 text-[13px]">
        Confirm only if you just ran <code className="font-mono text-xs">plimsoll login</code> yourself. If
        somebody sent you this code, they want to read your metrics: refuse it.
      </p>
      {decide.isError && <FormError>{decide.error.message}</FormError>}
      <div className="mt-4 flex flex-wrap gap-2">
        <Button look="primary" disabled={decide.isPending} onClick={() => decideOn(true)}>
          Log this machine in
        </Button>
        <Button look="danger" disabled={decide.isPending} onClick={() => decideOn(false)}>
          Refuse
        </Button>
        <Button look="ghost" onClick={() => onDone()}>
          Enter another code
        </Button>
      </div>
    </Section>
  );
}

function Decided({ machine, approved }: { machine: string; approved: boolean }) {
  return (
    <p role="status" className="panel p-5 text-[13px]">
      <Name className="font-medium wrap-anywhere">{machine}</Name>
      {approved
        ? " is logged in. Go back to its terminal: it continues within seconds."
        : " was refused. It got no key."}
    </p>
  );
}
