/** @jsxImportSource #jsx */
"use client";

import NextLink from "next/link";
import { type ComponentProps, useState } from "react";
import { withProject } from "./address.ts";
import { useProject } from "./current.tsx";

/** A link within the current project. */
export function Link({ href, ...rest }: ComponentProps<typeof NextLink> & { href: string }) {
  return <NextLink href={withProject(href, useProject())} {...rest} />;
}

/** The link of a row in a list. Its page is prefetched once the reader points at it: a long list would ask for all its pages. */
export function RowLink(props: ComponentProps<typeof Link>) {
  const [isNear, setNear] = useState(false);
  const approach = () => setNear(true);
  return (
    <Link
      {...props}
      data-row-link
      prefetch={isNear ? "auto" : false}
      onPointerEnter={approach}
      onFocus={approach}
    />
  );
}
