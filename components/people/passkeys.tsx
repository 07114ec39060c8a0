/** @jsxImportSource #jsx */
"use client";

import type { AddPasskeyInput, PasskeyView } from "@plimsoll/protocol/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Fingerprint } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Ago } from "../clock.tsx";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";

/** Why this page cannot have passkeys; null if it can. Undefined on the server. */
function usePasskeyFault(): string | null | undefined {
  return useSyncExternalStore(
    () => () => {},
    () =>
      /^\[|^[\d.]+$/.test(window.location.hostname)
        ? `Browsers make no passkeys for the address ${window.location.hostname}. Open Plimsoll by a name, such as localhost.`
        : !window.isSecureContext
          ? "Browsers make passkeys over HTTPS alone."
          : window.PublicKeyCredential?.parseCreationOptionsFromJSON === undefined
            ? "This browser has no passkeys, or is too old."
            : null,
    () => undefined,
  );
}

/** With which an invited person signs in again. */
export function Passkeys() {
  const trpc = useTRPC();
  const client = useQueryClient();
  const query = useQuery(trpc.passkeys.list.queryOptions());
  const fault = usePasskeyFault();
  const begin = useMutation(trpc.passkeys.begin.mutationOptions());
  const keep = useMutation(trpc.passkeys.add.mutationOptions());
  const add = useMutation({
    async mutationFn() {
      const options = (await begin.mutateAsync({})) as unknown as PublicKeyCredentialCreationOptionsJSON;
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
      const made = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
      const date = new Date().toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
      const credential = made.toJSON() as unknown as AddPasskeyInput["credential"];
      return keep.mutateAsync({ name: `Passkey of ${date}`, credential });
    },
    onSuccess() {
      toast.success("You can sign in with this passkey from now on.");
      return client.invalidateQueries(trpc.passkeys.list.queryFilter());
    },
  });
  return (
    <Section
      id="passkeys"
      title="Passkeys"
      note="With a passkey you sign in by fingerprint, face or PIN. Without one, each browser needs a link from an administrator."
      action={
        <Button look="primary" disabled={fault !== null || add.isPending} onClick={() => add.mutate()}>
          <Fingerprint aria-hidden /> Add passkey
        </Button>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="your passkeys" className="h-10" />
      ) : query.data.passkeys.length === 0 ? (
        <p className="text-[13px] text-muted">{fault ?? "No passkeys yet."}</p>
      ) : (
        <ul data-testid="passkeys">
          {query.data.passkeys.map((passkey) => (
            <Row key={passkey.id} passkey={passkey} />
          ))}
        </ul>
      )}
      {add.isError && <FormError>No passkey was added: {whyOf(add.error)}</FormError>}
    </Section>
  );
}

/** Browsers say no more than that it was not allowed, on purpose. */
const whyOf = ({ name, message }: Error) =>
  name === "NotAllowedError" ? "you cancelled, or the browser waited too long." : message;

function Row({ passkey }: { passkey: PasskeyView }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const remove = useMutation(
    trpc.passkeys.remove.mutationOptions({
      onSuccess() {
        toast.success(`${passkey.name} is removed.`);
        return client.invalidateQueries(trpc.passkeys.list.queryFilter());
      },
      onError: (error) => toast.error(`${passkey.name} was not removed: ${error.message}`),
    }),
  );
  return (
    <li className="flex items-center gap-x-3 border-t py-2 text-[13px] first:border-t-0">
      <span className="min-w-0 flex-1">
        <Name className="block truncate font-medium">{passkey.name}</Name>
        <span className="block text-xs text-muted wrap-anywhere">
          for {passkey.site} ·{" "}
          {passkey.last_used_at === null ? (
            "never used"
          ) : (
            <>
              used <Ago at={passkey.last_used_at} />
            </>
          )}
        </span>
      </span>
      <Button
        size="small"
        disabled={remove.isPending}
        onClick={() => remove.mutate({ id: passkey.id })}
        aria-label={`Remove ${passkey.name}`}
      >
        Remove
      </Button>
    </li>
  );
}
