/** @jsxImportSource #jsx */
"use client";

import { CONDITION_TYPES, type ConditionField, conditionKind, writtenDuration } from "@plimsoll/fold";
import {
  ALERT_SEVERITIES,
  type AlertConditionType,
  type AlertRuleInput,
  type AlertSubjectKind,
  readAlertRule,
  scopeFieldsOf,
  subjectKindOf,
} from "@plimsoll/protocol/alerts";
import type { AlertRuleView } from "@plimsoll/protocol/api";
import { SESSION_KINDS } from "@plimsoll/protocol/events";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { toast } from "../ui/toast.ts";
import { mistakeText, SEVERITY_TEXT } from "./alert-text.ts";
import { Backtest } from "./backtest.tsx";
import { matcherLines, readMatcherLines } from "./matchers-field.tsx";
import { Field, type MistakeAt, SELECT } from "./rule-field.tsx";
import { RuleScope } from "./rule-scope.tsx";
import { useAlertAction } from "./use-alert-action.ts";
import { UsualCost } from "./usual-cost.tsx";

const newCondition = (type: AlertConditionType) => ({ ...conditionKind({ type }).start });
/** The conditions, by what they watch. */
const GROUPS: readonly { label: string; kinds: readonly AlertSubjectKind[] }[] = [
  { label: "An agent", kinds: ["agent", "cache"] },
  { label: "A session", kinds: ["session"] },
  { label: "A harness", kinds: ["harness"] },
  { label: "The project", kinds: ["cost", "project"] },
];
/** The rule as the form holds it: a rule in the making may have mistakes. */
type RuleDraft = Omit<AlertRuleInput, "condition"> & {
  condition: { type: AlertConditionType; [field: string]: unknown };
};

const NEW_RULE: RuleDraft = {
  name: "",
  condition: newCondition("load"),
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
  /** How often a person tried to save. */
  const [tries, setTries] = useState(0);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (tries > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [tries]);
  const [labels, setLabels] = useState(() => matcherLines(draft.scope?.match ?? []));
  const { matchers, mistake: badLabel } = readMatcherLines(labels);
  const scopeFields = scopeFieldsOf(draft.condition.type);
  // What the subject of another condition has is kept, and comes back with that condition.
  const scope = Object.fromEntries(
    Object.entries({ ...draft.scope, match: matchers.length === 0 ? undefined : matchers }).filter(([name]) =>
      scopeFields.some((field) => field === name),
    ),
  );
  const written = { ...draft, scope };
  const read = readAlertRule(withoutEmpty(written));
  // A rule can be tried before it has a name.
  const nameless = readAlertRule(withoutEmpty({ ...written, name: draft.name.trim() || "New rule" }));
  const hasBadLabel = badLabel !== undefined && scopeFields.includes("match");
  const tryable = nameless.ok && !hasBadLabel ? nameless.rule : undefined;
  const mistakes = read.ok ? [] : read.mistakes;
  const mistakeAt = (path: string) => {
    const mistake = tries > 0 ? mistakes.find((one) => one.path === path) : undefined;
    return mistake && mistakeText(mistake.message);
  };
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
    setTries(tries + 1);
    if (!read.ok || hasBadLabel) return;
    if (saved === undefined) create.mutate({ rule: read.rule });
    else save.mutate({ id: saved.id, expected: saved.version, rule: read.rule });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={saved === undefined ? "New rule" : "Edit rule"}
    >
      <form ref={form} onSubmit={submit} noValidate className="grid gap-4">
        <Field mistake={mistakeAt("name")}>
          <TextField
            label="Name"
            maxLength={100}
            aria-invalid={mistakeAt("name") !== undefined}
            value={draft.name}
            onChange={({ target }) => set({ name: target.value })}
          />
        </Field>
        <div>
          <label className="block text-[13px] text-muted">
            Condition
            <select
              className={SELECT}
              value={draft.condition.type}
              onChange={({ target }) => set({ condition: newCondition(target.value as AlertConditionType) })}
            >
              {GROUPS.map(({ label, kinds }) => (
                <optgroup key={label} label={label}>
                  {CONDITION_TYPES.filter((type) => kinds.includes(subjectKindOf(type))).map((type) => (
                    <option key={type} value={type}>
                      {conditionKind({ type }).title}
                    </option>
                  ))}
                </optgroup>
              ))}
            </select>
          </label>
          <p className="mt-1 min-h-4 text-xs text-faint wrap-anywhere" data-testid="rule-phrase">
            {tryable !== undefined && `Fires: ${conditionKind(tryable.condition).phrase(tryable.condition)}`}
          </p>
        </div>
        <ConditionForm draft={draft} onChange={(condition) => set({ condition })} mistakeAt={mistakeAt} />
        <RuleScope
          fields={scopeFields}
          kinds={SESSION_KINDS}
          scope={draft.scope ?? {}}
          onChange={(changed) => set({ scope: changed })}
          labels={labels}
          onLabels={setLabels}
          mistakeAt={mistakeAt}
        />
        <div className="grid gap-3 sm:grid-cols-2">
          <Field mistake={mistakeAt("for")}>
            <TextField
              label="Fires after"
              placeholder="2m"
              aria-invalid={mistakeAt("for") !== undefined}
              value={draft.for ?? ""}
              onChange={({ target }) => set({ for: target.value })}
            />
          </Field>
          <Field mistake={mistakeAt("keep_firing_for")}>
            <TextField
              label="Ends after"
              placeholder="1m"
              aria-invalid={mistakeAt("keep_firing_for") !== undefined}
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
            aria-invalid={mistakeAt("message") !== undefined}
            value={draft.message ?? ""}
            onChange={({ target }) => set({ message: target.value })}
          />
        </Field>
        {subjectKindOf(draft.condition.type) === "agent" ? (
          <Backtest rule={tryable} />
        ) : (
          <p className="text-xs text-faint">A backtest runs conditions about agents only.</p>
        )}
        {error !== null && <FormError>{error.message}</FormError>}
        {tries > 0 && mistakes.length > 0 && <FormError>Correct the fields marked above.</FormError>}
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

interface ConditionFormProps {
  draft: RuleDraft;
  onChange: (condition: RuleDraft["condition"]) => void;
  mistakeAt: MistakeAt;
}

function ConditionForm({ draft: { condition }, onChange, mistakeAt }: ConditionFormProps) {
  const fields = Object.entries<ConditionField>(conditionKind(condition).fields).filter(
    ([, { shownIf }]) => shownIf === undefined || condition[shownIf.field] === shownIf.is,
  );
  if (fields.length === 0) return null;
  const conditionMistake = (name: string, field: ConditionField) => {
    const mistake = mistakeAt(`condition.${name}`);
    if (mistake === undefined || field.kind !== "percent") return mistake;
    return condition[name] === undefined ? "Enter a percentage." : "Enter a percentage above 0, such as 90.";
  };
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {fields.map(([name, field]) => (
        <Field key={name} mistake={conditionMistake(name, field)}>
          <ConditionInput
            field={field}
            value={condition[name]}
            invalid={mistakeAt(`condition.${name}`) !== undefined}
            onChange={(value) => onChange({ ...condition, [name]: value })}
          />
        </Field>
      ))}
      {condition.type === "cost_rate" && condition.per === "day" && (
        <div className="sm:col-span-2">
          <UsualCost onChoose={(usd) => onChange({ ...condition, at_least_usd: usd })} />
        </div>
      )}
    </div>
  );
}

function ConditionInput({
  field,
  value,
  invalid,
  onChange,
}: {
  field: ConditionField;
  value: unknown;
  invalid: boolean;
  onChange: (value: unknown) => void;
}) {
  if (field.kind === "choice")
    return (
      <label className="block text-[13px] text-muted">
        {field.label}
        <select className={SELECT} value={String(value)} onChange={({ target }) => onChange(target.value)}>
          {field.options.map((option) => (
            <option key={option} value={option}>
              {option.replaceAll("_", " ")}
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
        aria-invalid={invalid}
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
      aria-invalid={invalid}
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
            every {writtenDuration(repeat)}
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
      <legend className="text-[13px] text-muted">Notify</legend>
      {endpoints.length === 0 && (
        <p className="mt-1 text-[13px] text-faint">
          There are no endpoints yet: the alert shows on the Alerts page only.
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
