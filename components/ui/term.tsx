/** @jsxImportSource #jsx */
"use client";

import type { ReactNode } from "react";
import { GLOSSARY, type Word } from "../glossary.ts";
import { cn } from "./cn.ts";
import { Hint } from "./tooltip.tsx";

interface Props {
  /** The word of the glossary that it explains, or several. */
  word?: Word | readonly Word[];
  /** What it means here, before the definition. */
  here?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** A word of our own, underlined with dots. Its definition appears on hover, on focus and on tap. */
export function Term({ word = [], here, className, children }: Props) {
  const words = typeof word === "string" ? [word] : word;
  const definitions = words.map((one) => GLOSSARY[one]).join(" ");
  return (
    <Hint
      text={
        <>
          {here}
          {here !== undefined && words.length > 0 && " "}
          {definitions}
        </>
      }
    >
      <button
        type="button"
        data-term
        className={cn(
          // A target of 24 px that leaves the line its height.
          "-my-1 max-w-full cursor-help rounded-sm py-1 text-left underline decoration-dotted underline-offset-3",
          className,
        )}
      >
        {children}
      </button>
    </Hint>
  );
}
