"use client";

import NextLink from "next/link";
import type { ComponentProps } from "react";
import { withProject } from "./address.ts";
import { useProject } from "./current.tsx";

/** A link within the current project. */
export function Link({ href, ...rest }: ComponentProps<typeof NextLink> & { href: string }) {
  return <NextLink href={withProject(href, useProject())} {...rest} />;
}
