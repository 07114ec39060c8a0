import type { Metadata } from "next";
import { SetupPage } from "../../../components/setup/setup-page.tsx";

export const metadata: Metadata = { title: "Setup" };

export default function Page() {
  return <SetupPage />;
}
