/** @jsxImportSource #jsx */
"use client";

import type { WholePolicy } from "@plimsoll/protocol/api";
import { POLICY_PRESETS, type PolicyPreset } from "@plimsoll/protocol/policy";
import { useQuery } from "@tanstack/react-query";
import dynamic from "next/dynamic";
import { parseAsInteger, parseAsString, parseAsStringLiteral, useQueryState } from "nuqs";
import { useEffect, useState } from "react";
import { PageHeader } from "../shell/page-header.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { SelectMenu } from "../ui/select-menu.tsx";
import { NotLoaded, Skeleton } from "../ui/states.tsx";
import { CompactionLines } from "./compaction-lines.tsx";
import { HarnessStates } from "./harness-states.tsx";
import { LinePreview } from "./line-preview.tsx";
import { ReplayPanel } from "./replay/replay-panel.tsx";
import { RolloutBanner } from "./rollout-banner.tsx";
import { SaveDialog } from "./save-dialog.tsx";
import { withField, withPreset } from "./scope.ts";
import { scopeKey, scopeOf } from "./scope-key.ts";
import { ScopePicker } from "./scope-picker.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { type Draft, useDraft } from "./use-draft.ts";
import { useLeaveWarning } from "./use-leave-warning.ts";
import { VersionHistory } from "./version-history.tsx";

export function PolicyPage() {
  const query = useQuery(useTRPC().policies.get.queryOptions());
  return (
    <>
      <PageHeader title="Policies" />
      {query.data === undefined ? (
        <NotLoaded query={query} what="the policy" className="h-96" />
      ) : (
        <Policies newest={query.data} />
      )}
    </>
  );
}

const YamlEditor = dynamic(() => import("./yaml-editor.tsx"), {
  ssr: false,
  loading: () => <Skeleton className="h-full min-h-56" />,
});

function Policies({ newest }: { newest: WholePolicy }) {
  const draft = useDraft(newest);
  const [key, setKey] = useQueryState(
    "scope",
    parseAsString.withDefault("").withOptions({ history: "push" }),
  );
  const [saving, setSaving] = useState(false);
  useProposedCeiling(draft, scopeOf(key));
  useLeaveWarning(draft.isChanged);
  const scope = scopeOf(key);
  const isBehind = newest.generation !== draft.base.generation;
  // Without changes of its own, the page follows other editors.
  if (isBehind && !draft.isChanged) draft.reset(newest);
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_380px]">
      <div className="grid min-w-0 gap-4">
        <RolloutBanner onSaved={draft.reset} />
        <section aria-label="Policy" className="panel min-w-0 p-5">
          <Toolbar draft={draft} onSave={() => setSaving(true)} />
          {isBehind && draft.isChanged && (
            <p
              className="mb-3 rounded-md border border-warn px-3 py-2 text-[13px] text-warn-ink"
              role="status"
            >
              Generation {newest.generation} was saved elsewhere. Saving shows you both versions.
            </p>
          )}
          <ScopePicker draft={draft} scope={scope} onChoose={(next) => void setKey(scopeKey(next))} />
          <LinePreview draft={draft} scope={scope} />
          <Editor draft={draft} scope={scope} />
        </section>
        <ReplayPanel policy={draft.body} scope={scope} />
        <VersionHistory newest={newest} onSaved={draft.reset} />
      </div>
      <div className="grid min-w-0 gap-4">
        <HarnessStates onAdjust={(harness) => void setKey(scopeKey({ harness }))} />
        <CompactionLines />
      </div>
      {saving && draft.body !== undefined && (
        <SaveDialog
          base={draft.base}
          policy={draft.body}
          text={draft.text}
          onSaved={(saved) => {
            setSaving(false);
            draft.reset(saved);
          }}
          onRebase={draft.rebase}
          onTakeTheirs={(theirs) => {
            setSaving(false);
            draft.reset(theirs);
          }}
          onClose={() => setSaving(false)}
        />
      )}
    </div>
  );
}

/** A link may propose a ceiling, in tokens: it becomes a change of the draft. */
function useProposedCeiling(draft: Draft, scope: ReturnType<typeof scopeOf>) {
  const [ceiling, setCeiling] = useQueryState("ceiling", parseAsInteger);
  useEffect(() => {
    if (ceiling === null) return;
    if (ceiling > 0)
      draft.setText(withField(draft.text, draft.shown, scope, ["thresholds", "ceiling"], ceiling));
    void setCeiling(null);
  }, [ceiling, draft, scope, setCeiling]);
}

const PRESETS = [
  { value: "", label: "Presets" },
  { value: "phantom", label: "Phantom", note: "15 and 20%" },
  { value: "ouroboros", label: "Ouroboros", note: "70 and 90%" },
  { value: "autopilot", label: "autopilot", note: "warns, splits" },
  { value: "watcher", label: "Watcher", note: "keeps 15% free" },
] as const satisfies readonly { value: PolicyPreset | ""; label: string; note?: string }[];

function Toolbar({ draft, onSave }: { draft: Draft; onSave: () => void }) {
  const [key] = useQueryState("scope", parseAsString.withDefault(""));
  const { mistakes, isChanged, base } = draft;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <p className="mr-auto text-[13px] text-muted" role="status">
        {base.generation === 0 ? "No policy yet" : `Generation ${base.generation}`}
        {isChanged && ", changed"}
        {mistakes.length > 0 && (
          <span className="text-hard">
            , {mistakes.length === 1 ? "1 mistake" : `${mistakes.length} mistakes`} (line {mistakes[0]!.line})
          </span>
        )}
      </p>
      <SelectMenu
        name="Preset"
        value=""
        options={PRESETS}
        onChange={(preset) => {
          if (preset !== "")
            draft.setText(withPreset(draft.text, draft.shown, scopeOf(key), POLICY_PRESETS[preset]));
        }}
      />
      <Button disabled={!isChanged} onClick={() => draft.reset(base)}>
        Discard changes
      </Button>
      <Button look="primary" disabled={!isChanged || draft.body === undefined} onClick={onSave}>
        Review and save
      </Button>
    </div>
  );
}

const VIEWS = ["form", "yaml"] as const;

/** Form and YAML side by side; one at a time where there is no room for both. */
function Editor({ draft, scope }: { draft: Draft; scope: ReturnType<typeof scopeOf> }) {
  const [view, setView] = useQueryState(
    "edit",
    parseAsStringLiteral(VIEWS).withDefault("form").withOptions({ history: "replace" }),
  );
  return (
    <>
      <fieldset className="mt-4 mb-2 flex gap-1 lg:hidden">
        <legend className="sr-only">Edit as</legend>
        {VIEWS.map((one) => (
          <Button
            key={one}
            size="small"
            aria-pressed={view === one}
            look={view === one ? "primary" : "plain"}
            onClick={() => void setView(one)}
          >
            {one === "form" ? "Form" : "YAML"}
          </Button>
        ))}
      </fieldset>
      <div className="mt-2 grid gap-5 lg:mt-4 lg:grid-cols-2">
        <div className={view === "form" ? "min-w-0" : "min-w-0 max-lg:hidden"}>
          {!draft.isYaml && (
            <p className="mb-2 text-[13px] text-hard" role="alert">
              The YAML has a syntax error on line {draft.mistakes[0]?.line}. Fix it to use the form.
            </p>
          )}
          <SettingsForm draft={draft} scope={scope} />
        </div>
        <div className={view === "yaml" ? "min-w-0" : "min-w-0 max-lg:hidden"}>
          <div className="h-full min-h-72 lg:sticky lg:top-4 lg:max-h-[80dvh]">
            <YamlEditor text={draft.text} onChange={draft.setText} />
          </div>
        </div>
      </div>
    </>
  );
}
