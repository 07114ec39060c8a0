/** @jsxImportSource #jsx */
"use client";

import {
  ALERT_SEVERITIES,
  type AlertConditionType,
  type AlertRuleInput,
  type AlertRuleMistake,
  readAlertRule,
} from "@plimsoll/protocol/alerts";
import type { AlertRuleView } from "@plimsoll/protocol/api";
import { SESSION_KINDS } from "@plimsoll/protocol/events";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { CONDITION_TEXT, durationText, SEVERITY_TEXT } from "./alert-text.ts";
import { Backtest } from "./backtest.tsx";
import { CONDITION_FIELDS, type ConditionField, NEW_CONDITION } from "./condition-fields.ts";
import { MatchersField, matcherLines, readMatcherLines } from "./matchers-field.tsx";
import { useAlertAction } from "./use-alert-action.ts";

const SELECT = "mt-1 h-9 w-full rounded-md border border-edge bg-bg px-2 text-ink";
const TYPES = Object.keys(CONDITION_TEXT) as AlertConditionType[];
const SCOPE = [
  { name: "family", label: "Family", placeholder: "phantom" },
  { name: "harness", label: "Harness", placeholder: "phantom@vm-*" },
  { name: "model", label: "Model", placeholder: "claude-*" },
  { name: "agent", label: "Agent", placeholder: "reviewer" },
] as const;

/** The rule as the form holds it: a rule in the making may have mistakes. */
type RuleDraft = Omit<AlertRuleInput, "condition"> & {
  condition: { type: AlertConditionType; [field: string]: unknown };
};

const NEW_RULE: RuleDraft = {
  name: "",
  condition: { ...NEW_CONDITION.load },
  scope: {},
  for: "0s",
  keep_firing_for: "0s",
  severity: "warning",
  endpoints: [],
};

/** Creates a rule, or changes one. */
export function RuleDialog({ saved, onClose }: { saved: AlertRuleView | undefined; onClose: () => void }) {
  const trpc = useTRPC();
  const { refresh } = useAlertAction();
  const [draft, setDraft] = useState<RuleDraft>(() => saved?.rule ?? NEW_RULE);
  const [tried, setTried] = useState(false);
  const [labels, setLabels] = useState(() => matcherLines(draft.scope?.match ?? []));
  const { matchers, mistake: badLabel } = readMatcherLines(labels);
  const { match: _, ...scope } = draft.scope ?? {};
  const read = readAlertRule(
    withoutEmpty({ ...draft, scope: matchers.length === 0 ? scope : { ...scope, match: matchers } }),
  );
  const mistakes = read.ok ? [] : read.mistakes;
  const mistakeAt = (path: string) => (tried ? mistakes.find((mistake) => mistake.path === path) : undefined);
  const done = ({ rule }: AlertRuleView) => {
    toast.success(`Rule “${rule.name}” saved.`);
    onClose();
    return refresh();
  };
  const create = useMutation(trpc.alerts.rules.create.mutationOptions({ onSuccess: done }));
  const save = useMutation(trpc.alerts.rules.save.mutationOptions({ onSuccess: done }));
  const error = create.error ?? save.error;
  const set = (change: Partial<RuleDraft>) => setDraft({ ...draft, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    setTried(true);
    if (!read.ok || badLabel !== undefined) return;
    if (saved === undefined) create.mutate({ rule: read.rule });
    else save.mutate({ id: saved.id, expected: saved.version, rule: read.rule });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={saved === undefined ? "New rule" : "Edit rule"}
    >
      <form onSubmit={submit} noValidate className="grid gap-4">
        <Field mistake={mistakeAt("name")}>
          <TextField
            label="Name"
            maxLength={100}
            value={draft.name}
            onChange={({ target }) => set({ name: target.value })}
          />
        </Field>
        <label className="block text-[13px] text-muted">
          Condition
          <select
            className={SELECT}
            value={draft.condition.type}
            onChange={({ target }) =>
              set({ condition: { ...NEW_CONDITION[target.value as AlertConditionType] } })
            }
          >
            {TYPES.map((type) => (
              <option key={type} value={type}>
                {CONDITION_TEXT[type]}
              </option>
            ))}
          </select>
        </label>
        <ConditionForm draft={draft} onChange={(condition) => set({ condition })} mistakeAt={mistakeAt} />
        <fieldset className="grid gap-3 sm:grid-cols-2">
          <legend className="mb-1 text-[13px] text-muted">
            Only for (empty: all; * matches any characters)
          </legend>
          {SCOPE.map(({ name, label, placeholder }) => (
            <Field key={name} mistake={mistakeAt(`scope.${name}`)}>
              <TextField
                label={label}
                placeholder={placeholder}
                value={draft.scope?.[name] ?? ""}
                onChange={({ target }) => set({ scope: { ...draft.scope, [name]: target.value } })}
              />
            </Field>
          ))}
          <label className="block text-[13px] text-muted">
            Session kind
            <select
              className={SELECT}
              value={draft.scope?.kind ?? ""}
              onChange={({ target }) => {
                const { kind: _, ...others } = draft.scope ?? {};
                const kind = SESSION_KINDS.find((value) => value === target.value);
                set({ scope: kind === undefined ? others : { ...others, kind } });
              }}
            >
              <option value="">All</option>
              {SESSION_KINDS.map((kind) => (
                <option key={kind} value={kind}>
                  {kind}
                </option>
              ))}
            </select>
          </label>
          <MatchersField
            label="Labels"
            placeholder={"session=nightly*\nharness!=phantom@vm-3"}
            text={labels}
            onChange={setLabels}
          />
        </fieldset>
        <div className="grid gap-3 sm:grid-cols-2">
          <Field mistake={mistakeAt("for")}>
            <TextField
              label="Fires after"
              placeholder="2m"
              value={draft.for ?? ""}
              onChange={({ target }) => set({ for: target.value })}
            />
          </Field>
          <Field mistake={mistakeAt("keep_firing_for")}>
            <TextField
              label="Ends after"
              placeholder="1m"
              value={draft.keep_firing_for ?? ""}
              onChange={({ target }) => set({ keep_firing_for: target.value })}
            />
          </Field>
          <label className="block text-[13px] text-muted">
            Severity
            <select
              className={SELECT}
              value={draft.severity}
              onChange={({ target }) => set({ severity: target.value as RuleDraft["severity"] })}
            >
              {ALERT_SEVERITIES.map((severity) => (
                <option key={severity} value={severity}>
                  {SEVERITY_TEXT[severity]}
                </option>
              ))}
            </select>
          </label>
          <RepeatChoice every={draft.repeat_every} onChange={(repeat_every) => set({ repeat_every })} />
        </div>
        <EndpointChoice chosen={draft.endpoints ?? []} onChange={(endpoints) => set({ endpoints })} />
        <Field mistake={mistakeAt("message")}>
          <TextField
            label="Message (optional)"
            placeholder="What to do, or where to read it"
            maxLength={2_000}
            value={draft.message ?? ""}
            onChange={({ target }) => set({ message: target.value })}
          />
        </Field>
        <Backtest rule={read.ok && badLabel === undefined ? read.rule : undefined} />
        {error !== null && <FormError>{error.message}</FormError>}
        {tried && mistakes.length > 0 && <FormError>Correct the fields marked above.</FormError>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={create.isPending || save.isPending}>
            Save rule
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function Field({ mistake, children }: { mistake: AlertRuleMistake | undefined; children: React.ReactNode }) {
  return (
    <div>
      {children}
      {mistake !== undefined && (
        <p role="alert" className="mt-1 text-xs text-hard">
          {mistake.message}
        </p>
      )}
    </div>
  );
}

interface ConditionFormProps {
  draft: RuleDraft;
  onChange: (condition: RuleDraft["condition"]) => void;
  mistakeAt: (path: string) => AlertRuleMistake | undefined;
}

function ConditionForm({ draft: { condition }, onChange, mistakeAt }: ConditionFormProps) {
  const fields = CONDITION_FIELDS[condition.type].filter(
    ({ name }) => !(condition.type === "policy" && name === "within" && condition.state !== "not_applied"),
  );
  if (fields.length === 0) return null;
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {fields.map((field) => (
        <Field key={field.name} mistake={mistakeAt(`condition.${field.name}`)}>
          <ConditionInput
            field={field}
            value={condition[field.name]}
            onChange={(value) => onChange({ ...condition, [field.name]: value })}
          />
        </Field>
      ))}
    </div>
  );
}

function ConditionInput({
  field,
  value,
  onChange,
}: {
  field: ConditionField;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  if (field.kind === "choice")
    return (
      <label className="block text-[13px] text-muted">
        {field.label}
        <select className={SELECT} value={String(value)} onChange={({ target }) => onChange(target.value)}>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      </label>
    );
  if (field.kind === "duration")
    return (
      <TextField
        label={field.label}
        placeholder="10m"
        value={String(value ?? "")}
        onChange={({ target }) => onChange(target.value)}
      />
    );
  const factor = field.kind === "percent" ? 100 : 1;
  const unit = field.kind === "percent" ? "%" : field.unit;
  const shown = typeof value === "number" ? String(Math.round(value * factor * 1_000) / 1_000) : "";
  return (
    <TextField
      label={unit === undefined ? field.label : `${field.label} (${unit})`}
      type="number"
      step="any"
      min={0}
      value={shown}
      onChange={({ target }) => onChange(target.value === "" ? undefined : Number(target.value) / factor)}
    />
  );
}

const REPEATS = ["15m", "1h", "4h", "12h", "1d"] as const;

function RepeatChoice({
  every = "4h",
  onChange,
}: {
  every: string | null | undefined;
  onChange: (every: string | null) => void;
}) {
  const known = every === null || REPEATS.some((repeat) => repeat === every);
  return (
    <label className="block text-[13px] text-muted">
      Repeat while it fires
      <select
        className={SELECT}
        value={every ?? ""}
        onChange={({ target }) => onChange(target.value === "" ? null : target.value)}
      >
        <option value="">never</option>
        {[...REPEATS, ...(known ? [] : [every])].map((repeat) => (
          <option key={repeat} value={repeat}>
            every {durationText(repeat)}
          </option>
        ))}
      </select>
    </label>
  );
}

function EndpointChoice({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  const endpoints = useQuery(useTRPC().alerts.endpoints.list.queryOptions()).data?.endpoints ?? [];
  return (
    <fieldset>
      <legend className="text-[13px] text-muted">Tell</legend>
      {endpoints.length === 0 && (
        <p className="mt-1 text-[13px] text-faint">
          There are no endpoints yet. The alert shows on this page.
        </p>
      )}
      {endpoints.map(({ id, name }) => (
        <label key={id} className="mt-1.5 flex items-center gap-2.5 text-[13px] pointer-coarse:py-1.5">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={chosen.includes(id)}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, id] : chosen.filter((other) => other !== id))
            }
          />
          <span className="min-w-0 wrap-anywhere">{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** An empty field is one that was not written. */
function withoutEmpty({
  scope,
  message,
  for: after,
  keep_firing_for,
  condition,
  ...rest
}: RuleDraft): unknown {
  const filled = (fields: object) =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));
  return {
    ...rest,
    condition: filled(condition),
    scope: filled(scope ?? {}),
    ...filled({ message, for: after, keep_firing_for }),
  };
}
