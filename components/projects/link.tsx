/** @jsxImportSource #jsx */
"use client";

import NextLink from "next/link";
import { type ComponentProps, useState } from "react";
import { withProject } from "./address.ts";
import { useProject } from "./current.tsx";

/**
 * A link within the current project. Its page is prefetched once the reader points at it: a page with many links would ask for
 * all their pages while it loads.
 */
export function Link({ href, ...rest }: ComponentProps<typeof NextLink> & { href: string }) {
  const [isNear, setNear] = useState(false);
  const approach = () => setNear(true);
  return (
    <NextLink
      href={withProject(href, useProject())}
      prefetch={isNear ? "auto" : false}
      onPointerEnter={approach}
      onFocus={approach}
      {...rest}
    />
  );
}
