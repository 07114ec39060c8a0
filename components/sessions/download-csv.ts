import { projectHeaders } from "../projects/current.tsx";

/** Saves these sessions as a CSV file. @throws Error with the reason in words */
export async function downloadCsv(ids: readonly string[]): Promise<void> {
  const response = await fetch("/api/v1/sessions.csv", {
    method: "POST",
    headers: { "content-type": "application/json", ...projectHeaders() },
    body: JSON.stringify({ ids }),
  });
  if (!response.ok) throw new Error(await reasonOf(response));
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = "plimsoll-sessions.csv";
  link.click();
  URL.revokeObjectURL(url);
}

async function reasonOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `the server answered ${response.status}.`;
}
