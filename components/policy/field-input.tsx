/** @jsxImportSource #jsx */
"use client";

import type { ThresholdValue } from "@plimsoll/protocol/policy";
import { useEffect, useId, useState } from "react";
import type { Field, FieldKind } from "./fields.ts";
import {
  changedForm,
  THRESHOLD_FORMS,
  type ThresholdForm,
  thresholdOf,
  thresholdParts,
} from "./threshold-value.ts";

interface Props {
  field: Field;
  /** Undefined if the scope does not set it. */
  value: unknown;
  /** What applies instead, in words. */
  inherited: string;
  mistake: string | undefined;
  onChange: (value: unknown) => void;
}

const CONTROL =
  "h-8 min-w-0 rounded-md border border-edge bg-bg px-2 text-[13px] text-ink disabled:opacity-55 aria-invalid:border-hard pointer-coarse:h-10";

export function FieldInput({ field, value, inherited, mistake, onChange }: Props) {
  const id = useId();
  const describedBy = `${id}-help`;
  return (
    <div className="grid grid-cols-[92px_minmax(0,1fr)] items-start gap-x-3 gap-y-0.5 py-1.5">
      <label htmlFor={id} className="pt-1.5 text-[13px]">
        {field.label}
      </label>
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-2">
          <Control
            kind={field.kind}
            id={id}
            name={field.label}
            describedBy={describedBy}
            invalid={mistake !== undefined}
            value={value}
            onChange={onChange}
          />
          {value === undefined && mistake === undefined && (
            <span className="text-xs text-faint">{inherited}</span>
          )}
        </div>
        <p
          id={describedBy}
          className={mistake === undefined ? "mt-0.5 text-xs text-faint" : "mt-0.5 text-xs text-hard"}
        >
          {mistake ?? field.help}
        </p>
      </div>
    </div>
  );
}

interface ControlProps<Kind> {
  kind: Kind;
  id: string;
  name: string;
  describedBy: string;
  invalid: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Control({ kind, ...rest }: ControlProps<FieldKind>) {
  switch (kind.type) {
    case "threshold":
      return <ThresholdControl {...rest} />;
    case "choice":
      return <ChoiceControl kind={kind} {...rest} />;
    case "number":
      return <NumberControl kind={kind} {...rest} />;
    case "names":
      return <NamesControl {...rest} />;
  }
}

const FORM_LABELS: Readonly<Record<ThresholdForm, string>> = {
  unset: "not set",
  off: "off",
  percent: "% of window",
  tokens: "tokens",
  remaining: "tokens left",
  floored: "% and at least",
};

function ThresholdControl({
  id,
  name,
  describedBy,
  invalid,
  value,
  onChange,
}: Omit<ControlProps<never>, "kind">) {
  const [parts, setParts] = useTyped(value, (given) => thresholdParts(given as ThresholdValue | undefined));
  const change = (next: typeof parts) => {
    setParts(next);
    const numbers = [next.amount, next.form === "floored" ? next.floor : "1"];
    if (next.form === "unset" || next.form === "off" || numbers.every(isNumber)) onChange(thresholdOf(next));
  };
  const typed = parts.form !== "unset" && parts.form !== "off";
  return (
    <>
      <select
        id={id}
        className={CONTROL}
        value={parts.form}
        aria-describedby={describedBy}
        onChange={({ target }) => change(changedForm(parts, target.value as ThresholdForm))}
      >
        {THRESHOLD_FORMS.map((form) => (
          <option key={form} value={form}>
            {FORM_LABELS[form]}
          </option>
        ))}
      </select>
      {typed && (
        <NumberBox
          label={
            parts.form === "percent" || parts.form === "floored" ? `${name} in percent` : `${name} in tokens`
          }
          text={parts.amount}
          invalid={invalid}
          onChange={(amount) => change({ ...parts, amount })}
        />
      )}
      {parts.form === "floored" && (
        <NumberBox
          label={`${name}, at least, in tokens`}
          text={parts.floor}
          invalid={invalid}
          onChange={(floor) => change({ ...parts, floor })}
        />
      )}
    </>
  );
}

function NumberBox({
  label,
  text,
  invalid,
  onChange,
  ...rest
}: {
  label: string;
  text: string;
  invalid: boolean;
  onChange: (text: string) => void;
  id?: string;
}) {
  const isNoNumber = text !== "" && !isNumber(text);
  return (
    <>
      <input
        {...rest}
        className={`${CONTROL} ${text.length > 4 ? "w-24" : "w-16"}`}
        inputMode="decimal"
        aria-label={rest.id === undefined ? label : undefined}
        aria-invalid={invalid || isNoNumber}
        value={text}
        onChange={({ target }) => onChange(target.value)}
      />
      {isNoNumber && (
        <span role="alert" className="text-xs text-hard">
          Not a number, so nothing changes. Write digits only, such as 1500.
        </span>
      )}
    </>
  );
}

const UNSET = "unset";
const NONE = "none";

function ChoiceControl({
  kind,
  id,
  describedBy,
  value,
  onChange,
}: ControlProps<Extract<FieldKind, { type: "choice" }>>) {
  return (
    <select
      id={id}
      className={CONTROL}
      aria-describedby={describedBy}
      value={value === undefined ? UNSET : String(value)}
      onChange={({ target }) =>
        onChange(kind.options.find((option) => String(option.value) === target.value)?.value)
      }
    >
      <option value={UNSET}>not set</option>
      {kind.options.map((option) => (
        <option key={String(option.value)} value={String(option.value)}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

function NumberControl({
  kind,
  id,
  name,
  invalid,
  value,
  onChange,
}: ControlProps<Extract<FieldKind, { type: "number" }>>) {
  const [text, setText] = useTyped(value, (given) => (typeof given === "number" ? String(given) : ""));
  const change = (next: string) => {
    setText(next);
    if (next.trim() === "") onChange(undefined);
    else if (isNumber(next)) onChange(Number(next));
  };
  return (
    <>
      {value !== null && <NumberBox id={id} label={name} text={text} invalid={invalid} onChange={change} />}
      {value !== null && <span className="text-xs text-faint">{kind.unit}</span>}
      {kind.none !== undefined && (
        <label className="flex items-center gap-1.5 text-xs text-muted">
          <input
            {...(value === null && { id })}
            type="checkbox"
            name={NONE}
            className="size-4 accent-accent"
            checked={value === null}
            onChange={({ target }) => onChange(target.checked ? null : undefined)}
          />
          {kind.none}
        </label>
      )}
    </>
  );
}

function NamesControl({ id, describedBy, invalid, value, onChange }: Omit<ControlProps<never>, "kind">) {
  const [text, setText] = useTyped(value, (given) => (Array.isArray(given) ? given.join(", ") : ""));
  const change = (next: string) => {
    setText(next);
    const names = next
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    onChange(names.length === 0 ? undefined : names);
  };
  return (
    <input
      id={id}
      className={`${CONTROL} w-full max-w-72`}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      value={text}
      onChange={({ target }) => change(target.value)}
    />
  );
}

const isNumber = (text: string) => text.trim() !== "" && Number.isFinite(Number(text));

/** What is being typed, until the value changes elsewhere. */
function useTyped<T>(value: unknown, partsOf: (value: unknown) => T): [T, (next: T) => void] {
  const key = JSON.stringify(value);
  const [typed, setTyped] = useState({ key, parts: partsOf(value) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the value
  useEffect(() => {
    setTyped((known) => (known.key === key ? known : { key: key!, parts: partsOf(value) }));
  }, [key]);
  return [typed.parts, (parts) => setTyped(({ key: before }) => ({ key: before, parts }))];
}
