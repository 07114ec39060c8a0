/** @jsxImportSource #jsx */
"use client";

import { familyDefaults } from "@plimsoll/harnesses/lines";
import { resolveForHarness, type ThresholdValue } from "@plimsoll/protocol/policy";
import { thresholdText } from "@plimsoll/protocol/pure";
import { cn } from "../ui/cn.ts";
import { FieldInput } from "./field-input.tsx";
import { FIELD_GROUPS, type Field } from "./fields.ts";
import { fieldOf, originText, subjectOf, valueAt, withField } from "./scope.ts";
import type { EditedScope } from "./scope-key.ts";
import type { Draft } from "./use-draft.ts";

/** The settings of one scope as a form. What it leaves open shows what applies instead, and where that comes from. */
export function SettingsForm({ draft, scope }: { draft: Draft; scope: EditedScope }) {
  const subject = subjectOf(scope);
  const { settings, origins } = resolveForHarness(draft.shown, subject, familyDefaults(subject.harness));
  const inherited = ({ path }: Field) => {
    const value = valueAt(settings, path);
    const origin = origins[path.join(".")];
    return value === undefined
      ? "set by the harness"
      : `${valueText(value)}, ${originText(origin, subject.harness)}`;
  };
  return (
    <fieldset disabled={!draft.isYaml} className="min-w-0">
      <legend className="sr-only">Settings</legend>
      {FIELD_GROUPS.map(({ title, fields }, index) => (
        <details key={title} open={index === 0} className="border-t first:border-t-0">
          <summary className="py-2 text-[13px] font-medium select-none">
            {title}
            <SetCount
              count={fields.filter(({ path }) => fieldOf(draft.shown, scope, path) !== undefined).length}
            />
          </summary>
          <div className="pb-3">
            {fields.map((field) => (
              <FieldInput
                key={`${field.path.join(".")}/${draft.base.generation}`}
                field={field}
                value={fieldOf(draft.shown, scope, field.path)}
                inherited={inherited(field)}
                mistake={mistakeAt(draft, scope, field)}
                onChange={(value) =>
                  draft.setText(withField(draft.text, draft.shown, scope, field.path, value))
                }
              />
            ))}
          </div>
        </details>
      ))}
    </fieldset>
  );
}

function SetCount({ count }: { count: number }) {
  return (
    <span className={cn("ml-2 text-xs font-normal", count === 0 ? "text-faint" : "text-accent")}>
      {count === 0 ? "nothing set" : `${count} set`}
    </span>
  );
}

function mistakeAt({ mistakes, shown }: Draft, scope: EditedScope, { path }: Field): string | undefined {
  const layer =
    scope === undefined
      ? "settings"
      : `layers.${shown.layers.findIndex((one) => one.scope === scope)}.settings`;
  const own = `${layer}.${path.join(".")}`;
  return mistakes.find(
    (mistake) =>
      mistake.path === own ||
      // A part of the value, such as one name of a list.
      mistake.path.startsWith(`${own}.`) ||
      (scope !== undefined && mistake.path.endsWith(`settings.${path.join(".")}`)),
  )?.message;
}

function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  if (typeof value === "number" && value < 0) return `${-value} tokens free`;
  return thresholdText(value as ThresholdValue).replaceAll("_", " ");
}
