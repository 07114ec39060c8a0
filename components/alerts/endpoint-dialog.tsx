/** @jsxImportSource #jsx */
"use client";

import {
  ALERT_ENDPOINT_KINDS,
  type AlertEndpointKind,
  AlertEndpointTarget,
  plainMistake,
} from "@plimsoll/protocol/alerts";
import type { AlertEndpointView } from "@plimsoll/protocol/api";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { ENDPOINT_KIND_TEXT } from "./alert-text.ts";
import { useAlertAction } from "./use-alert-action.ts";

interface TargetField {
  name: string;
  label: string;
  placeholder: string;
  secret?: boolean;
  optional?: boolean;
}

const url = (placeholder: string, label = "Address"): TargetField => ({ name: "url", label, placeholder });

/** The form of each kind. */
const FIELDS: Readonly<Record<AlertEndpointKind, readonly TargetField[]>> = {
  webhook: [url("https://example.com/hook")],
  slack: [url("https://hooks.slack.com/services/…", "Incoming webhook")],
  discord: [url("https://discord.com/api/webhooks/…", "Webhook")],
  teams: [url("https://….webhook.office.com/…", "Workflow webhook")],
  pagerduty: [
    { name: "routing_key", label: "Integration key", placeholder: "R0…", secret: true },
    { ...url("https://events.pagerduty.com", "Address (optional; another one in the EU)"), optional: true },
  ],
  opsgenie: [
    { name: "api_key", label: "API key", placeholder: "", secret: true },
    { ...url("https://api.opsgenie.com", "Address (optional; another one in the EU)"), optional: true },
  ],
  alertmanager: [
    url("http://alertmanager.example.com:9093"),
    { name: "username", label: "User name (optional)", placeholder: "", optional: true },
    { name: "password", label: "Password (optional)", placeholder: "", secret: true, optional: true },
  ],
  ntfy: [
    url("https://ntfy.sh/my-topic", "Topic"),
    { name: "token", label: "Access token (optional)", placeholder: "tk_…", secret: true, optional: true },
  ],
  email: [
    {
      name: "smtp_url",
      label: "Mail server",
      placeholder: "smtps://user:password@mail.example.com",
      secret: true,
    },
    { name: "from", label: "From", placeholder: "plimsoll@example.com" },
    { name: "to", label: "To (separated by commas)", placeholder: "ops@example.com" },
  ],
};

interface Props {
  saved: AlertEndpointView | undefined;
  onClose: () => void;
  onSecret: (name: string, secret: string) => void;
}

/** Creates an endpoint, or changes one. Its target is never shown, so a changed one is written whole. */
export function EndpointDialog({ saved, onClose, onSecret }: Props) {
  const trpc = useTRPC();
  const { refresh } = useAlertAction();
  const [name, setName] = useState(saved?.name ?? "");
  const [kind, setKind] = useState<AlertEndpointKind>(saved?.kind ?? "webhook");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [tried, setTried] = useState(false);
  const isUntouched =
    saved !== undefined && kind === saved.kind && Object.values(values).every((value) => value === "");
  const target = AlertEndpointTarget.safeParse(targetOf(kind, values), { error: plainMistake });
  const mistakes = target.success || isUntouched ? [] : target.error.issues;
  const done = ({
    endpoint,
    signing_secret,
  }: {
    endpoint: AlertEndpointView;
    signing_secret: string | null;
  }) => {
    if (signing_secret === null) {
      toast.success(`Endpoint “${endpoint.name}” saved.`);
      onClose();
    } else onSecret(endpoint.name, signing_secret);
    return refresh();
  };
  const create = useMutation(trpc.alerts.endpoints.create.mutationOptions({ onSuccess: done }));
  const save = useMutation(trpc.alerts.endpoints.save.mutationOptions({ onSuccess: done }));
  const error = create.error ?? save.error;

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (mistakes.length > 0 || name.trim() === "") return;
    if (saved === undefined) {
      if (target.success) create.mutate({ name: name.trim(), target: target.data });
    } else
      save.mutate({
        id: saved.id,
        expected: saved.version,
        name: name.trim(),
        ...(!isUntouched && target.success && { target: target.data }),
      });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={saved === undefined ? "Add endpoint" : `Edit “${saved.name}”`}
      {...(saved !== undefined && {
        description: "To keep its target, leave the fields below the kind empty.",
      })}
    >
      <form onSubmit={submit} noValidate className="grid gap-4">
        <TextField
          label="Name"
          maxLength={100}
          value={name}
          onChange={({ target: input }) => setName(input.value)}
          placeholder="ops"
        />
        <label className="block text-[13px] text-muted">
          Kind
          <select
            className="mt-1 h-9 w-full rounded-md border border-edge bg-bg px-2 text-ink"
            value={kind}
            onChange={({ target: input }) => {
              setKind(input.value as AlertEndpointKind);
              setValues({});
            }}
          >
            {ALERT_ENDPOINT_KINDS.map((one) => (
              <option key={one} value={one}>
                {ENDPOINT_KIND_TEXT[one]}
              </option>
            ))}
          </select>
        </label>
        {FIELDS[kind].map((field) => {
          const mistake = tried ? mistakes.find(({ path }) => path[0] === field.name) : undefined;
          return (
            <div key={field.name}>
              <TextField
                label={field.label}
                placeholder={field.placeholder}
                type={field.secret ? "password" : "text"}
                autoComplete="off"
                spellCheck={false}
                value={values[field.name] ?? ""}
                aria-invalid={mistake !== undefined}
                onChange={({ target: input }) => setValues({ ...values, [field.name]: input.value })}
              />
              {mistake !== undefined && (
                <p role="alert" className="mt-1 text-xs text-hard">
                  {mistake.message}
                </p>
              )}
            </div>
          );
        })}
        {error !== null && <FormError>{error.message}</FormError>}
        {tried && name.trim() === "" && <FormError>Give the endpoint a name.</FormError>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={create.isPending || save.isPending}>
            Save endpoint
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function targetOf(kind: AlertEndpointKind, values: Readonly<Record<string, string>>): unknown {
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
  const { to, ...rest } = filled;
  const recipients = to === undefined ? {} : { to: to.split(",").map((address) => address.trim()) };
  return { kind, ...rest, ...recipients };
}
