/** @jsxImportSource #jsx */
import type { AlertRuleInput, AlertScope } from "@plimsoll/protocol/alerts";
import { TextField } from "../ui/field.tsx";
import { MatchersField } from "./matchers-field.tsx";
import { Field, type MistakeAt, SELECT } from "./rule-field.tsx";

const PATTERNS = [
  { name: "family", label: "Family", placeholder: "phantom" },
  { name: "harness", label: "Harness", placeholder: "phantom@vm-*" },
  { name: "model", label: "Model", placeholder: "claude-*" },
  { name: "agent", label: "Agent", placeholder: "reviewer" },
] as const;

interface Props {
  /** The fields that the subject of the condition has. */
  fields: readonly (keyof AlertScope)[];
  /** The kinds of sessions to choose from. */
  kinds: readonly NonNullable<AlertScope["kind"]>[];
  scope: NonNullable<AlertRuleInput["scope"]>;
  onChange: (scope: NonNullable<AlertRuleInput["scope"]>) => void;
  labels: string;
  onLabels: (text: string) => void;
  mistakeAt: MistakeAt;
}

/** Which agents, sessions or harnesses a rule watches. */
export function RuleScope({ fields, kinds, scope, onChange, labels, onLabels, mistakeAt }: Props) {
  if (fields.length === 0) return <p className="text-[13px] text-muted">Watches the whole project.</p>;
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-[13px] text-muted">Only for (empty: all; * matches any characters)</legend>
      {PATTERNS.filter(({ name }) => fields.includes(name)).map(({ name, label, placeholder }) => (
        <Field key={name} mistake={mistakeAt(`scope.${name}`)}>
          <TextField
            label={label}
            placeholder={placeholder}
            value={scope[name] ?? ""}
            aria-invalid={mistakeAt(`scope.${name}`) !== undefined}
            onChange={({ target }) => onChange({ ...scope, [name]: target.value })}
          />
        </Field>
      ))}
      {fields.includes("kind") && (
        <label className="block text-[13px] text-muted">
          Session kind
          <select
            className={SELECT}
            value={scope.kind ?? ""}
            onChange={({ target }) => {
              const { kind: _, ...others } = scope;
              const kind = kinds.find((value) => value === target.value);
              onChange(kind === undefined ? others : { ...others, kind });
            }}
          >
            <option value="">All</option>
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </label>
      )}
      {fields.includes("match") && (
        <MatchersField
          label="Labels"
          placeholder={"session=nightly*\nharness!=phantom@vm-3"}
          text={labels}
          onChange={onLabels}
        />
      )}
    </fieldset>
  );
}
