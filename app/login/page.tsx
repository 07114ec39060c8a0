import type { Metadata } from "next";
import { Suspense } from "react";
import { Login } from "../../components/shell/login.tsx";

export const metadata: Metadata = { title: "Log in" };

export default function Page() {
  return (
    <Suspense>
      <Login />
    </Suspense>
  );
}
