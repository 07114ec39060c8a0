/** @jsxImportSource #jsx */
"use client";

import { conditionKind } from "@plimsoll/fold";
import type { AlertPreset } from "@plimsoll/protocol/alerts";
import type { AlertRuleView, AlertTimeline } from "@plimsoll/protocol/api";
import { ALERT_PRESET_NAMES, ALERT_PRESETS } from "@plimsoll/protocol/pure";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Plus } from "lucide-react";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { plural } from "../format.ts";
import { authorText } from "../setup/activity-text.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { usePreload } from "../ui/lazy-module.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { Term } from "../ui/term.tsx";
import { toast } from "../ui/toast.ts";
import { RuleStrip } from "./rule-strip.tsx";
import { Severity } from "./severity.tsx";
import { useAlertAction } from "./use-alert-action.ts";

const RuleDialog = lazyPart(() => import("./rule-dialog.tsx").then(({ RuleDialog }) => RuleDialog));
const RulesImportDialog = lazyPart(() =>
  import("./rules-import-dialog.tsx").then(({ RulesImportDialog }) => RulesImportDialog),
);
const loadDialogs = () => Promise.all([RuleDialog.load(), RulesImportDialog.load()]);

const MINUTE = 60_000;

type Editing = { rule: AlertRuleView | undefined };

export function Rules() {
  usePreload(loadDialogs);
  const trpc = useTRPC();
  const query = useQuery(trpc.alerts.rules.list.queryOptions());
  const timeline = useQuery(trpc.alerts.timeline.queryOptions(undefined, { refetchInterval: MINUTE })).data;
  const [editing, setEditing] = useState<Editing>();
  const [importing, setImporting] = useState(false);
  const rules = query.data?.rules ?? [];
  return (
    <Section
      id="rules"
      title="Rules"
      note={
        <>
          What each rule watches, where it notifies, and when it fired in the last 24 hours. Rules can watch
          an agent's <Term word="load">load</Term>, its <Term word="line">line</Term> and its{" "}
          <Term word="boundary">boundaries</Term>.
        </>
      }
      action={
        <div className="flex gap-2">
          <Button look="primary" onClick={() => setEditing({ rule: undefined })}>
            <Plus aria-hidden /> New rule
          </Button>
          <FileMenu hasRules={rules.length > 0} onImport={() => setImporting(true)} />
        </div>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the rules" className="h-24" />
      ) : (
        <>
          {rules.length > 0 && (
            <ul aria-label="Rules" className="mb-3">
              {rules.map((rule) => (
                <Row key={rule.id} view={rule} timeline={timeline} onEdit={() => setEditing({ rule })} />
              ))}
            </ul>
          )}
          <Presets rules={rules} />
        </>
      )}
      {editing !== undefined && <RuleDialog saved={editing.rule} onClose={() => setEditing(undefined)} />}
      {importing && <RulesImportDialog onClose={() => setImporting(false)} />}
    </Section>
  );
}

/** Rules as YAML, so that they can live in git. */
function FileMenu({ hasRules, onImport }: { hasRules: boolean; onImport: () => void }) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const { failed } = useAlertAction();
  async function download() {
    const { yaml } = await client.fetchQuery(
      trpc.alerts.rules.export.queryOptions(undefined, { staleTime: 0 }),
    );
    const href = URL.createObjectURL(new Blob([yaml], { type: "application/yaml" }));
    const link = document.createElement("a");
    link.href = href;
    link.download = "alerts.yaml";
    link.click();
    URL.revokeObjectURL(href);
  }
  return (
    <Menu
      trigger={
        <Button size="icon" aria-label="Import or export rules">
          <Ellipsis aria-hidden />
        </Button>
      }
      align="end"
      className="min-w-40"
    >
      <MenuItem onSelect={onImport}>Import YAML</MenuItem>
      <MenuItem
        {...(!hasRules && { className: "text-faint" })}
        disabled={!hasRules}
        onSelect={() => void download().catch(failed("export the rules"))}
      >
        Export as YAML
      </MenuItem>
    </Menu>
  );
}

const PRESET_NOTE: Readonly<Record<AlertPreset, string>> = {
  past_line: "an agent is past its line and does not fall",
  over_window: "the window size is probably wrong",
  thrash: "3 boundaries within 10 turns",
  silent_harness: "nothing for 10 min",
  policy_rejected: "a harness refuses its policy",
};

/** Rules that one click switches on. Those that exist are not offered. */
function Presets({ rules }: { rules: readonly AlertRuleView[] }) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const endpoints = useQuery(trpc.alerts.endpoints.list.queryOptions()).data?.endpoints ?? [];
  const remove = useMutation(
    trpc.alerts.rules.remove.mutationOptions({ onSuccess: refresh, onError: failed("undo") }),
  );
  const create = useMutation(
    trpc.alerts.rules.createPreset.mutationOptions({
      onSuccess: ({ id, rule }) => {
        toast.success(`Rule “${rule.name}” is on.`, {
          action: { label: "Undo", onClick: () => remove.mutate({ id }) },
        });
        return refresh();
      },
      onError: failed("create the rule"),
    }),
  );
  const names = new Set(rules.map(({ rule }) => rule.name));
  const offered = ALERT_PRESET_NAMES.filter((preset) => !names.has(ALERT_PRESETS[preset].name));
  if (offered.length === 0) return null;
  return (
    <div>
      <h3 className="mb-2 text-[13px] text-muted">
        {rules.length === 0 ? "No rules yet. Switch on a preset; you can change it later." : "Presets"}
      </h3>
      <ul className="flex flex-wrap gap-2" aria-label="Presets">
        {offered.map((preset) => (
          <li key={preset}>
            <Button
              disabled={create.isPending}
              onClick={() => create.mutate({ preset, endpoints: endpoints.map(({ id }) => id).slice(0, 20) })}
            >
              <Plus aria-hidden />
              {ALERT_PRESETS[preset].name}
              <span className="text-faint max-sm:hidden">{PRESET_NOTE[preset]}</span>
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  view: AlertRuleView;
  timeline: AlertTimeline | undefined;
  onEdit: () => void;
}

function Row({ view, timeline, onEdit }: RowProps) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const { id, version, enabled, rule, pending, firing } = view;
  const toggle = useMutation(
    trpc.alerts.rules.switch.mutationOptions({ onSuccess: refresh, onError: failed("switch the rule") }),
  );
  const restore = useMutation(
    trpc.alerts.rules.create.mutationOptions({ onSuccess: refresh, onError: failed("bring the rule back") }),
  );
  const remove = useMutation(
    trpc.alerts.rules.remove.mutationOptions({
      onSuccess: () => {
        toast.success(`Rule “${rule.name}” deleted.`, {
          action: { label: "Undo", onClick: () => restore.mutate({ rule, enabled }) },
        });
        return refresh();
      },
      onError: failed("delete the rule"),
    }),
  );
  // The box shows what was asked for until the server has answered.
  const on = toggle.isPending ? toggle.variables.enabled : enabled;
  const told =
    rule.endpoints.length === 0 ? "shown here only" : `to ${plural(rule.endpoints.length, "endpoint")}`;
  return (
    <li className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 border-t py-2 text-[13px] first:border-t-0 lg:grid-cols-[auto_minmax(0,1fr)_15rem_auto]">
      <input
        type="checkbox"
        checked={on}
        aria-disabled={toggle.isPending}
        aria-label={`Rule ${rule.name}`}
        onChange={() => {
          if (!toggle.isPending) toggle.mutate({ id, expected: version, enabled: !enabled });
        }}
        className="size-4 accent-accent"
      />
      <div className="min-w-0">
        <p className={on ? "font-medium wrap-anywhere" : "font-medium text-faint wrap-anywhere"}>
          {rule.name}
        </p>
        <p className="text-muted wrap-anywhere">{conditionKind(rule.condition).phrase(rule.condition)}</p>
        <p className="flex flex-wrap gap-x-3 text-xs text-faint">
          <Severity severity={rule.severity} />
          <span>{told}</span>
          {firing > 0 && <span className="text-hard">{plural(firing, "alert fires", "alerts fire")}</span>}
          {pending > 0 && <span>{pending} pending</span>}
          <span>
            {authorText(view)}, <Ago at={view.updated_at} />
          </span>
        </p>
      </div>
      <div className="min-w-0 max-lg:order-1 max-lg:col-span-3">
        {timeline !== undefined && <RuleStrip timeline={timeline} ruleId={id} firing={firing} />}
      </div>
      <Menu
        trigger={
          <Button look="ghost" size="icon" aria-label={`Actions for ${rule.name}`}>
            <Ellipsis aria-hidden />
          </Button>
        }
        align="end"
        className="min-w-36"
      >
        <MenuItem onSelect={onEdit}>Edit</MenuItem>
        <MenuItem className="text-hard" onSelect={() => remove.mutate({ id })}>
          Delete
        </MenuItem>
      </Menu>
    </li>
  );
}
