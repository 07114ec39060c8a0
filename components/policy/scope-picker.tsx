/** @jsxImportSource #jsx */
"use client";

import type { PolicyScope } from "@plimsoll/protocol/policy";
import { Plus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { withValue } from "./policy-text.ts";
import { layerOf } from "./scope.ts";
import { type EditedScope, scopeKey, scopeText } from "./scope-key.ts";
import type { Draft } from "./use-draft.ts";

interface Props {
  draft: Draft;
  scope: EditedScope;
  onChoose: (scope: EditedScope) => void;
}

/** Chooses what the form edits: the settings of all agents, or of some. The more specific wins, field by field. */
export function ScopePicker({ draft, scope, onChoose }: Props) {
  const [adding, setAdding] = useState(false);
  const { layers } = draft.shown;
  const chosen = scopeKey(scope);
  const scopes: EditedScope[] = [undefined, ...layers.map((layer) => layer.scope)];
  // A scope from the URL has no layer until its first setting.
  if (scope !== undefined && layerOf(draft.shown, scope) < 0) scopes.push(scope);
  const layer = layerOf(draft.shown, scope);
  return (
    <fieldset className="flex min-w-0 flex-wrap items-center gap-1.5">
      <legend className="sr-only">Applies to</legend>
      {scopes.map((one) => (
        <Button
          key={scopeKey(one)}
          size="small"
          aria-pressed={scopeKey(one) === chosen}
          look={scopeKey(one) === chosen ? "primary" : "plain"}
          className="max-w-full"
          onClick={() => onChoose(one)}
        >
          <span className="truncate">{scopeText(one)}</span>
        </Button>
      ))}
      <Button size="small" look="ghost" onClick={() => setAdding(true)} disabled={!draft.isYaml}>
        <Plus aria-hidden /> Add scope
      </Button>
      {layer >= 0 && (
        <Button
          size="small"
          look="ghost"
          disabled={!draft.isYaml}
          onClick={() => {
            draft.setText(withValue(draft.text, ["layers", layer], undefined));
            onChoose(undefined);
          }}
        >
          <Trash2 aria-hidden /> Remove {scopeText(scope)}
        </Button>
      )}
      {adding && (
        <AddScope
          onAdd={(added) => {
            setAdding(false);
            onChoose(added);
          }}
          onClose={() => setAdding(false)}
        />
      )}
    </fieldset>
  );
}

function AddScope({ onAdd, onClose }: { onAdd: (scope: PolicyScope) => void; onClose: () => void }) {
  const [parts, setParts] = useState({ family: "", model: "", harness: "" });
  const scope = Object.fromEntries(
    Object.entries(parts).flatMap(([part, text]) => (text.trim() === "" ? [] : [[part, text.trim()]])),
  ) as PolicyScope;
  const field = (part: keyof typeof parts) => ({
    value: parts[part],
    onChange: ({ target }: { target: HTMLInputElement }) => setParts({ ...parts, [part]: target.value }),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    onAdd(scope);
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Add scope"
      description="Settings for some agents. An instance wins over a model, and a model over a family."
    >
      <form onSubmit={submit} className="grid gap-3">
        <TextField
          label="Harness family, the part of its name before @"
          autoFocus
          maxLength={128}
          placeholder="phantom"
          {...field("family")}
        />
        <TextField
          label="Model, where * matches anything"
          maxLength={200}
          placeholder="claude-opus-*"
          {...field("model")}
        />
        <TextField
          label="One harness instance"
          maxLength={128}
          placeholder="phantom@vm-3"
          {...field("harness")}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={Object.keys(scope).length === 0}>
            Add scope
          </Button>
        </div>
      </form>
    </Modal>
  );
}
