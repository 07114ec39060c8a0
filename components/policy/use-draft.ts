"use client";

import type { WholePolicy } from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";
import { useCallback, useMemo, useState } from "react";
import { policyText, type ReadText, readText } from "./policy-text.ts";

export interface Draft extends ReadText {
  text: string;
  /** What the form and the drawing show: the policy, or the last one without mistakes. */
  shown: PolicyBody;
  /** The version that the draft began with. */
  base: WholePolicy;
  isChanged: boolean;
  setText: (text: string) => void;
  /** Begins anew from a version. */
  reset: (base: WholePolicy) => void;
  /** Keeps the text, as a change of a newer version. */
  rebase: (base: WholePolicy) => void;
}

/** The text of a version, with the comments of its author. */
const textOf = ({ text, policy }: WholePolicy): string => text ?? policyText(policy);

/** The edited policy. The text is the source of truth: the form reads it and changes it. */
export function useDraft(loaded: WholePolicy): Draft {
  const [base, setBase] = useState(loaded);
  const [text, setRawText] = useState(() => textOf(loaded));
  const [valid, setValid] = useState(loaded.policy);
  const read = useMemo(() => readText(text), [text]);
  const setText = useCallback((next: string) => {
    setRawText(next);
    const { body } = readText(next);
    if (body !== undefined) setValid(body);
  }, []);
  const reset = useCallback((next: WholePolicy) => {
    setBase(next);
    setRawText(textOf(next));
    setValid(next.policy);
  }, []);
  const isChanged = text !== textOf(base);
  return { ...read, text, shown: read.body ?? valid, base, isChanged, setText, reset, rebase: setBase };
}
