import { connection } from "next/server";
import type { ReactNode } from "react";
import { ClockProvider } from "../../components/clock.tsx";
import { Shell } from "../../components/shell/shell.tsx";

export default async function ShellLayout({ children }: { children: ReactNode }) {
  // The time below belongs to this request, not to the build.
  await connection();
  return (
    <ClockProvider start={Date.now()}>
      <Shell>{children}</Shell>
    </ClockProvider>
  );
}
