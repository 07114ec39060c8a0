/** @jsxImportSource #jsx */
"use client";

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { cn } from "./cn.ts";
import { ScrollRegion } from "./scroll-region.tsx";
import { toast } from "./toast.ts";

/** Copies text. Returns false if the browser blocks the clipboard, as it does on plain HTTP. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  async function copy() {
    if (await copyText(text)) setCopied(true);
    else toast.error("The browser blocked the clipboard. Select the text and copy it.");
  }
  return (
    <Button size="small" onClick={copy}>
      {copied ? <Check aria-hidden className="text-ok" /> : <Copy aria-hidden />}
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </Button>
  );
}

interface CodeProps {
  code: string;
  label: string;
  testid?: string;
  /** Breaks lines anywhere, so that a long secret is fully visible. */
  wrap?: boolean;
}

export function CodeBlock({ code, label, testid, wrap = false }: CodeProps) {
  return (
    <div className="relative rounded-lg border border-rule bg-bg">
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={code} />
      </div>
      <ScrollRegion
        label={label}
        className={cn(
          "overflow-x-auto rounded-lg p-3 text-left sm:pr-24",
          code.includes("\n") ? "pt-11 sm:pt-3" : "pr-24",
        )}
      >
        <pre
          data-testid={testid}
          className={cn(
            "font-mono text-xs leading-relaxed text-ink",
            wrap && "break-all whitespace-pre-wrap",
          )}
        >
          {code}
        </pre>
      </ScrollRegion>
    </div>
  );
}
