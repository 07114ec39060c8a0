import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const LISTED = 30;

/** Where a server's own thread spent its time, as Markdown. Time in a function itself, not in what it called. */
export async function describeProfile(folder: string, pid: number): Promise<string> {
  const files = (await readdir(folder)).filter((name) => name.includes(`.${pid}.`)).sort();
  const file = files.at(-1);
  if (file === undefined) return "no profile was written";
  const profile = JSON.parse(await readFile(join(folder, file), "utf8")) as Profile;
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, number>();
  const places = new Map<string, number>();
  let total = 0;
  let idle = 0;
  for (const [index, sample] of profile.samples.entries()) {
    const spent = profile.timeDeltas[index]!;
    const { functionName, url, lineNumber } = names.get(sample)!;
    if (functionName === "(idle)") {
      idle += spent;
      continue;
    }
    total += spent;
    const place = placeOf(url, functionName);
    const name = `${functionName || "(anonymous)"} (${place}${url === "" ? "" : `:${lineNumber + 1}`})`;
    functions.set(name, (functions.get(name) ?? 0) + spent);
    places.set(place, (places.get(place) ?? 0) + spent);
  }
  const share = (spent: number) => `${((spent / total) * 100).toFixed(1)} %`;
  const top = (counts: Map<string, number>, most: number) =>
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, most)
      .map(([name, spent]) => `| ${share(spent)} | ${name} |`)
      .join("\n");
  const seconds = (micros: number) => (micros / 1e6).toFixed(1);
  return `\nCPU profile ${file}: busy ${seconds(total)} s, idle ${seconds(idle)} s

| self | where |
| --- | --- |
${top(places, 14)}

| self | function |
| --- | --- |
${top(functions, LISTED)}
`;
}

function placeOf(url: string, functionName: string): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "engine";
  if (url.startsWith("node:")) return url;
  const parts = url.split("/node_modules/");
  if (parts.length === 1) return basename(url);
  const [scope, name] = parts.at(-1)!.split("/");
  return scope!.startsWith("@") ? `${scope}/${name}` : scope!;
}
