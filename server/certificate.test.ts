import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Certificate, hasOpenssl, makeCertificate } from "../packages/guard/src/testing/certificate.ts";
import { openCertificate, type WatchedCertificate } from "./certificate.ts";

let folder: string;
let said: { level: number; msg: string; fault?: string }[];
const log = pino({ level: "info" }, { write: (line: string) => void said.push(JSON.parse(line)) });
let watched: WatchedCertificate | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plimsoll-cert-"));
  said = [];
});
afterEach(() => {
  watched?.stop();
  watched = undefined;
  rmSync(folder, { recursive: true });
});

const made = (name: string) => makeCertificate(folder, name, ["DNS:plimsoll.example"]);
const files = () => ({ cert: join(folder, "live.crt"), key: join(folder, "live.key") });

function place({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(files().cert, cert);
  writeFileSync(files().key, key);
}

async function watch(pair: Certificate) {
  place(pair);
  watched = await openCertificate(files(), log);
  const used: string[] = [];
  watched.onChange(({ cert }) => used.push(cert.toString()));
  return { watched, used };
}

/** A fault counts at its second look. */
async function lookTwice(certificate: WatchedCertificate): Promise<void> {
  await certificate.look();
  await certificate.look();
}

describe.skipIf(!hasOpenssl)("a certificate that changes", () => {
  it("is used when its files are rewritten", async () => {
    const { watched, used } = await watch(made("old"));
    await watched.look();
    expect(used).toEqual([]);
    const next = made("new");
    place(next);
    await watched.look();
    expect(used).toEqual([next.cert]);
    expect(watched.pair().key.toString()).toBe(next.key);
    expect(said).toMatchObject([{ level: 30, msg: "uses a new TLS certificate" }]);
  });

  it("is used when its files are renamed into place, as certbot's hooks do", async () => {
    const { watched, used } = await watch(made("old"));
    const next = made("new");
    renameSync(next.certFile, files().cert);
    renameSync(next.keyFile, files().key);
    await watched.look();
    expect(used).toEqual([next.cert]);
  });

  it("is used when a link to its folder is swapped, as Kubernetes does", async () => {
    const versions = ["1", "2"].map((name) => {
      const pair = made(name);
      mkdirSync(join(folder, `..${name}`));
      writeFileSync(join(folder, `..${name}`, "tls.crt"), pair.cert);
      writeFileSync(join(folder, `..${name}`, "tls.key"), pair.key);
      return pair;
    });
    symlinkSync("..1", join(folder, "..data"));
    symlinkSync("..data/tls.crt", join(folder, "tls.crt"));
    symlinkSync("..data/tls.key", join(folder, "tls.key"));
    watched = await openCertificate({ cert: join(folder, "tls.crt"), key: join(folder, "tls.key") }, log);
    expect(watched.pair().cert.toString()).toBe(versions[0]!.cert);
    symlinkSync("..2", join(folder, "..next"));
    renameSync(join(folder, "..next"), join(folder, "..data"));
    await watched.look();
    expect(watched.pair().cert.toString()).toBe(versions[1]!.cert);
  });

  it("is not missed between the two files of a pair, and says nothing of it", async () => {
    const { watched, used } = await watch(made("old"));
    const next = made("new");
    writeFileSync(files().cert, next.cert);
    await watched.look();
    writeFileSync(files().key, next.key);
    await watched.look();
    expect(used).toEqual([next.cert]);
    expect(said.filter(({ level }) => level > 30)).toEqual([]);
    expect(watched.state().fault).toBeUndefined();
  });

  it.each<[string, (other: Certificate) => void, RegExp]>([
    [
      "with the key of another",
      (other) => writeFileSync(files().cert, other.cert),
      /live\.key: it is the key of another/,
    ],
    ["that is no PEM", () => writeFileSync(files().cert, "hello"), /live\.crt: it is no PEM/],
    ["that is empty", () => writeFileSync(files().key, ""), /live\.key/],
    ["that is gone", () => rmSync(files().key), /live\.key: there is no such file/],
    [
      "that is a folder",
      () => {
        rmSync(files().key);
        mkdirSync(files().key);
      },
      /live\.key: it is no file/,
    ],
    ["that is endless", () => writeFileSync(files().cert, Buffer.alloc(2_000_000, 65)), /larger than 1 MiB/],
    [
      "that is a pipe",
      () => {
        rmSync(files().key);
        execFileSync("mkfifo", [files().key]);
      },
      /live\.key: it is no file/,
    ],
    [
      "whose key is encrypted",
      (other) =>
        execFileSync(
          "openssl",
          [..."ec -aes256 -passout pass:x -in".split(" "), other.keyFile, "-out", files().key],
          { stdio: "ignore" },
        ),
      /live\.key: /,
    ],
  ])("leaves the one before in use: a pair %s", async (_, spoil, expected) => {
    const { watched, used } = await watch(made("old"));
    const before = watched.pair();
    spoil(made("other"));
    await lookTwice(watched);
    expect(watched.pair()).toBe(before);
    expect(used).toEqual([]);
    expect(watched.state().fault).toMatch(expected);
    await lookTwice(watched);
    expect(said.filter(({ level }) => level === 50)).toHaveLength(1);
    expect(JSON.stringify(said)).not.toContain("PRIVATE");

    rmSync(files().key, { recursive: true, force: true });
    place({ cert: before.cert.toString(), key: before.key.toString() });
    await watched.look();
    expect(watched.state().fault).toBeUndefined();
    expect(said.at(-1)?.msg).toContain("in order again");
  });

  it("is refused at the start if it cannot be used", async () => {
    const [one, other] = [made("one"), made("other")];
    const opened = openCertificate({ cert: one.certFile, key: other.keyFile }, log);
    await expect(opened).rejects.toMatchObject({
      code: "setting_invalid",
      message: expect.stringMatching(/other\.key: it is the key of another certificate\.$/),
    });
  });

  it("tells when it expires", async () => {
    const { watched } = await watch(made("old"));
    const days = (watched.state().expiresAt - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29);
    expect(days).toBeLessThan(31);
  });
});
