/** @jsxImportSource #jsx */
import type { Metadata } from "next";
import Link from "next/link";
import { Logo } from "../components/shell/logo.tsx";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <main id="main" className="grid min-h-dvh place-items-center p-4">
      <div className="text-center">
        <Logo className="mx-auto mb-4 size-9 text-faint" />
        <h1 className="text-[19px] font-semibold">Page not found</h1>
        <p className="mt-1 mb-4 text-muted">The address may be wrong, or the page has moved.</p>
        <Link href="/" className="text-accent underline underline-offset-2">
          Go to Fleet
        </Link>
      </div>
    </main>
  );
}
