/** @jsxImportSource #jsx */
"use client";

import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { PolicyBody } from "@plimsoll/protocol/policy";
import { getNonce } from "get-nonce";
import { useEffect, useRef } from "react";
import { z } from "zod";
import { readText } from "./policy-text.ts";
import { suggestions, unknownFields } from "./yaml-completion.ts";

interface Props {
  text: string;
  onChange: (text: string) => void;
}

const SCHEMA = z.toJSONSchema(PolicyBody, { io: "input", unrepresentable: "any" });

const EXAMPLE = `settings:
  thresholds:
    warning: 60%
    ceiling: 80%
layers:
  - scope: { family: phantom }
    settings:
      thresholds: { ceiling: 20% }`;

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--line)" },
  { tag: tags.string, color: "var(--ink)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const LOOK = EditorView.theme({
  "&": { fontSize: "13px", backgroundColor: "var(--bg)", color: "var(--ink)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-content": { fontFamily: "var(--font-mono)", caretColor: "var(--ink)", minHeight: "220px" },
  ".cm-gutters": { backgroundColor: "var(--bg)", color: "var(--faint)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--accent-ink)",
  },
  ".cm-placeholder": { color: "var(--faint)", whiteSpace: "pre" },
});

/** The whole policy as YAML, with suggestions from its schema and each mistake marked where it is. */
export default function YamlEditor({ text, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(onChange);
  changed.current = onChange;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once; the next effect gives it later texts
  useEffect(() => {
    const editor = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(getNonce() ?? ""),
          lineNumbers(),
          history(),
          drawSelection(),
          indentUnit.of("  "),
          EditorView.lineWrapping,
          yaml(),
          syntaxHighlighting(COLOURS),
          lintGutter(),
          linter(({ state }) => diagnosticsOf(state.doc.toString()), { delay: 200 }),
          autocompletion({ override: [complete] }),
          placeholder(EXAMPLE),
          keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.contentAttributes.of({ "aria-label": "Policy as YAML" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.isUserEvent("sync")))
              changed.current(update.state.doc.toString());
          }),
          LOOK,
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    const shown = editor.state.doc.toString();
    if (shown === text) return;
    const { selection } = editor.state;
    const anchor = Math.min(selection.main.anchor, text.length);
    editor.dispatch({
      changes: { from: 0, to: shown.length, insert: text },
      selection: { anchor },
      userEvent: "sync",
    });
  }, [text]);

  return (
    <div ref={place} className="h-full overflow-hidden rounded-md border border-edge" data-testid="yaml" />
  );
}

function diagnosticsOf(text: string): Diagnostic[] {
  const { mistakes, body, placeIn } = readText(text);
  const marks = mistakes.map(
    ({ path, message, from, to }): Diagnostic => ({
      from: Math.min(from, text.length),
      to: Math.min(to, text.length),
      severity: "error",
      message: path === "" ? message : `${path}: ${message}`,
    }),
  );
  // Kept, because a newer harness may know them.
  const unknown = unknownFields(SCHEMA, body).map((path): Diagnostic => {
    const { from = 0, to = 0 } = placeIn?.(path) ?? {};
    return { from, to, severity: "warning", message: `${path}: no harness of this version uses this field` };
  });
  return [...marks, ...unknown];
}

function complete(context: CompletionContext) {
  const word = context.matchBefore(/[\w%.-]*/);
  if (!context.explicit && (word === null || word.from === word.to)) return null;
  const from = word?.from ?? context.pos;
  const options = suggestions(SCHEMA, context.state.doc.sliceString(0, from));
  return options.length === 0 ? null : { from, options, validFor: /^[\w%.-]*$/ };
}
