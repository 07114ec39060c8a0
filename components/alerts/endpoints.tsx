/** @jsxImportSource #jsx */
"use client";

import type { AlertAttempt, AlertEndpointView } from "@plimsoll/protocol/api";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Ellipsis, Plus, Send, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { plural } from "../format.ts";
import { authorText } from "../setup/activity-text.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { ENDPOINT_KIND_TEXT, endpointProblem, outcomeText } from "./alert-text.ts";
import { AttemptView } from "./attempt-view.tsx";
import { SigningSecret } from "./signing-secret.tsx";
import { useAlertAction } from "./use-alert-action.ts";

const EndpointDialog = lazyPart(() =>
  import("./endpoint-dialog.tsx").then(({ EndpointDialog }) => EndpointDialog),
);

type Open =
  | { kind: "edit"; endpoint: AlertEndpointView | undefined }
  | { kind: "secret"; name: string; secret: string };

export function Endpoints() {
  usePreload(EndpointDialog.load);
  const query = useQuery(useTRPC().alerts.endpoints.list.queryOptions());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <Section
      id="endpoints"
      title="Endpoints"
      note="Where notifications go: a webhook, a chat, a pager, or e-mail."
      action={
        <Button onClick={() => setOpen({ kind: "edit", endpoint: undefined })}>
          <Plus aria-hidden /> Add endpoint
        </Button>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the endpoints" className="h-16" />
      ) : query.data.endpoints.length === 0 ? (
        <p className="text-[13px] text-muted">
          No endpoints yet. Without one, alerts only show on this page.
        </p>
      ) : (
        <ul aria-label="Endpoints">
          {query.data.endpoints.map((endpoint) => (
            <Row
              key={endpoint.id}
              endpoint={endpoint}
              onEdit={() => setOpen({ kind: "edit", endpoint })}
              onSecret={(secret) => setOpen({ kind: "secret", name: endpoint.name, secret })}
            />
          ))}
        </ul>
      )}
      {open?.kind === "edit" && (
        <EndpointDialog
          saved={open.endpoint}
          onClose={close}
          onSecret={(name, secret) => setOpen({ kind: "secret", name, secret })}
        />
      )}
      {open?.kind === "secret" && <SigningSecret name={open.name} secret={open.secret} onClose={close} />}
    </Section>
  );
}

interface RowProps {
  endpoint: AlertEndpointView;
  onEdit: () => void;
  onSecret: (secret: string) => void;
}

function Row({ endpoint, onEdit, onSecret }: RowProps) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const [tested, setTested] = useState<AlertAttempt>();
  const { id, name, kind, address, pause_reason, waiting, last_attempt, updated_at } = endpoint;
  const author = authorText(endpoint);
  const changed = { onSuccess: refresh, onError: failed("change the endpoint") };
  const pause = useMutation(trpc.alerts.endpoints.pause.mutationOptions(changed));
  const resume = useMutation(trpc.alerts.endpoints.resume.mutationOptions(changed));
  const rotate = useMutation(
    trpc.alerts.endpoints.rotate.mutationOptions({
      onSuccess: ({ signing_secret }) => {
        if (signing_secret !== null) onSecret(signing_secret);
        return refresh();
      },
      onError: failed("make a new secret"),
    }),
  );
  const [deleting, setDeleting] = useState(false);
  const test = useMutation(
    trpc.alerts.endpoints.test.mutationOptions({
      onSuccess: (attempt) => {
        setTested(attempt);
        return refresh();
      },
      onError: failed("send the test"),
    }),
  );
  const problem = endpointProblem(endpoint);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1 border-t py-2.5 text-[13px] first:border-t-0">
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">
          <Name>{name}</Name>
        </p>
        <p className="text-muted wrap-anywhere">
          {ENDPOINT_KIND_TEXT[kind]} · {address}
        </p>
        <p className="text-xs text-faint">
          {last_attempt === null ? (
            "never used"
          ) : (
            <>
              {problem === null ? outcomeText(last_attempt.outcome, last_attempt.status) : "last tried"}{" "}
              <Ago at={last_attempt.at} />
            </>
          )}
          {waiting > 0 && ` · ${plural(waiting, "delivery waits", "deliveries wait")}`}
          {author !== null && (
            <>
              {` · changed by ${author} `}
              <Ago at={updated_at} />
            </>
          )}
        </p>
      </div>
      <div className="flex items-start gap-1">
        <Button
          size="small"
          disabled={test.isPending}
          onClick={() => test.mutate({ id })}
          aria-label={`Send a test to ${name}`}
        >
          <Send aria-hidden /> {test.isPending ? "Sending…" : "Send test"}
        </Button>
        <Menu
          trigger={
            <Button look="ghost" size="icon" aria-label={`Actions for ${name}`} className="-mt-0.5">
              <Ellipsis aria-hidden />
            </Button>
          }
          align="end"
          className="min-w-40"
        >
          <MenuItem onSelect={onEdit}>Edit</MenuItem>
          {kind === "webhook" && (
            <MenuItem onSelect={() => rotate.mutate({ id })}>New signing secret</MenuItem>
          )}
          {pause_reason === null ? (
            <MenuItem onSelect={() => pause.mutate({ id })}>Pause</MenuItem>
          ) : (
            <MenuItem onSelect={() => resume.mutate({ id })}>Resume</MenuItem>
          )}
          <MenuItem className="text-hard" onSelect={() => setDeleting(true)}>
            Delete
          </MenuItem>
        </Menu>
      </div>
      {problem !== null && (
        <p className="col-span-2 flex items-start gap-1.5 text-warn-ink">
          <TriangleAlert aria-hidden className="mt-0.5 size-3.5 shrink-0" />
          <span>
            {problem}{" "}
            {pause_reason !== null && (
              <button type="button" className="underline" onClick={() => resume.mutate({ id })}>
                Resume
              </button>
            )}
          </span>
        </p>
      )}
      {tested !== undefined && (
        <div className="col-span-2" role="status">
          <AttemptView attempt={tested} />
        </div>
      )}
      {deleting && <DeleteEndpoint endpoint={endpoint} onClose={() => setDeleting(false)} />}
    </li>
  );
}

function DeleteEndpoint({
  endpoint: { id, name },
  onClose,
}: {
  endpoint: AlertEndpointView;
  onClose: () => void;
}) {
  const { refresh } = useAlertAction();
  const remove = useMutation(
    useTRPC().alerts.endpoints.remove.mutationOptions({
      onSuccess: () => {
        toast.success(`Endpoint “${name}” deleted.`);
        onClose();
        return refresh();
      },
    }),
  );
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Delete “${name}”?`}
      description="Its deliveries are deleted with it. You cannot undo this: its address and secrets are not kept."
    >
      {remove.isError && <FormError>Failed to delete the endpoint: {remove.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate({ id })}>
          Delete endpoint
        </Button>
      </div>
    </Modal>
  );
}
