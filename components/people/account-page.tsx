/** @jsxImportSource #jsx */
"use client";

import type { AccountView } from "@plimsoll/protocol/api";
import { useQuery } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useProjects } from "../projects/use-projects.ts";
import { Browsers } from "../setup/browsers.tsx";
import { Keys } from "../setup/keys.tsx";
import { Section } from "../setup/section.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { signOut } from "../shell/sign-out.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { Passkeys } from "./passkeys.tsx";
import { includesRole } from "./use-account.ts";

/** What belongs to the person who looks: their roles, passkeys, keys and browsers. */
export function AccountPage() {
  const query = useQuery(useTRPC().account.queryOptions());
  const account = query.data;
  return (
    <>
      <PageHeader title="Your account" />
      <div className="grid items-start gap-4 min-[1500px]:grid-cols-2">
        {account === undefined ? (
          <Section id="you" title="You">
            <NotLoaded query={query} what="your account" className="h-16" />
          </Section>
        ) : (
          <>
            <You account={account} />
            {account.person?.invited && <Passkeys />}
            {account.person !== null && includesRole(account.role, "member") && <Keys own />}
            {account.role !== null && <Browsers own={account.person !== null} />}
          </>
        )}
      </div>
    </>
  );
}

function You({ account: { person, role, everywhere, projects } }: { account: AccountView }) {
  const { current } = useProjects();
  return (
    <Section
      id="you"
      title={person === null ? "No account" : "You"}
      note={
        person === null
          ? "This browser signed in with a login link or the access token. It belongs to nobody and may do everything."
          : undefined
      }
      action={
        <Button onClick={() => void signOut()}>
          <LogOut aria-hidden /> Sign out
        </Button>
      }
    >
      {person !== null && (
        <dl
          data-testid="account"
          className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5 text-[13px]"
        >
          <dt className="text-muted">Name</dt>
          <dd className="font-medium wrap-anywhere">
            <Name>{person.name}</Name>
          </dd>
          {person.email !== null && (
            <>
              <dt className="text-muted">Email</dt>
              <dd className="wrap-anywhere">{person.email}</dd>
            </>
          )}
          <dt className="text-muted">Role here</dt>
          <dd className="wrap-anywhere">
            {role ?? "none"}
            {current !== undefined && (
              <>
                {" in "}
                <Name>{current.name}</Name>
              </>
            )}
          </dd>
          {(everywhere !== null || projects.length > 1) && (
            <>
              <dt className="text-muted">All roles</dt>
              <dd className="wrap-anywhere">
                {[
                  ...(everywhere === null ? [] : [`${everywhere} in every project`]),
                  ...projects.map(({ name, role }) => `${role} in ${name}`),
                ].join(", ")}
              </dd>
            </>
          )}
        </dl>
      )}
    </Section>
  );
}
