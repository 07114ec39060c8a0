"use client";

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { toast } from "sonner";
import { Button } from "./button.tsx";
import { ScrollRegion } from "./scroll-region.tsx";

/** Copies, and says so. Without a clipboard (plain http on another host) the text is selected by hand. */
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
    else toast.error("The browser refused to copy. Select the text and copy it by hand.");
  }
  return (
    <Button size="small" onClick={copy}>
      {copied ? <Check aria-hidden className="text-ok" /> : <Copy aria-hidden />}
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </Button>
  );
}

export function CodeBlock({ code, label, testid }: { code: string; label: string; testid?: string }) {
  return (
    <div className="relative rounded-lg border border-rule bg-bg">
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={code} />
      </div>
      <ScrollRegion label={label} className="overflow-x-auto rounded-lg p-3 pt-11 text-left sm:pt-3 sm:pr-24">
        <pre data-testid={testid} className="font-mono text-xs leading-relaxed text-ink">
          {code}
        </pre>
      </ScrollRegion>
    </div>
  );
}
