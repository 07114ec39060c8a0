import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canMount, inMountNamespace } from "../../testing/small-disk.ts";
import { parseAccounts, whyUnfit } from "./database-user.ts";

describe("an account", () => {
  it("is read from a line as in /etc/passwd", () => {
    const text = "root:x:0:0:root:/root:/bin/bash\nplimsoll:x:995:994::/nonexistent:/usr/sbin/nologin\n";
    expect(parseAccounts(text)).toEqual([
      { name: "root", uid: 0, gid: 0 },
      { name: "plimsoll", uid: 995, gid: 994 },
    ]);
    const broken = ["", "#plimsoll", "plimsoll:x::994::/:/", "plimsoll:x:-1:1::/:/", "+::::::", "a:x:1:1"];
    expect(parseAccounts(broken.join("\n"))).toEqual([]);
  });

  it("is unfit if it is root's, or if another user shares its uid", () => {
    const plimsoll = { name: "plimsoll", uid: 995, gid: 994 };
    expect(whyUnfit(plimsoll, [plimsoll])).toBeUndefined();
    expect(whyUnfit({ ...plimsoll, uid: 0 }, [])).toBe("has uid 0");
    expect(whyUnfit({ ...plimsoll, gid: 0 }, [])).toBe("has gid 0");
    const daemon = { name: "daemon", uid: 995, gid: 1 };
    expect(whyUnfit(plimsoll, [plimsoll, daemon])).toBe("shares its uid with daemon");
  });
});

/** Everything runs in a mount namespace with an /etc of its own. */
describe.runIf(canMount)("the user of PostgreSQL on a system without it", () => {
  let etc: string;

  beforeEach(async () => {
    etc = join(await mkdtemp(join(tmpdir(), "plimsoll-etc-")), "etc");
    await cp("/etc", etc, { recursive: true, verbatimSymlinks: true });
    for (const name of ["passwd", "group", "shadow", "gshadow"]) {
      await rm(join(etc, `${name}-`), { force: true });
      await change(name, (text) => text.replaceAll(/^plimsoll:.*\n/gm, ""));
    }
  });
  afterEach(() => rm(join(etc, ".."), { recursive: true, force: true }));

  const change = async (name: string, edit: (text: string) => string) =>
    writeFile(join(etc, name), edit(await readFile(join(etc, name), "utf8")));

  /** Finds the user in as many processes as there are owners, all at once. */
  function find(dataOwners: (number | undefined)[] = [undefined], prepare = "true") {
    const module = fileURLToPath(new URL("./database-user.ts", import.meta.url));
    const script = `
      import { databaseUser } from ${JSON.stringify(module)};
      const said = [];
      const log = { info: (_, text) => said.push(text) };
      const outcome = (error) => ({ code: error.code, message: error.message, hint: error.hint });
      const found = await databaseUser(log, JSON.parse(process.argv[1]) ?? undefined).catch(outcome);
      console.log(JSON.stringify({ ...found, said }));`;
    const one = (owner: number | undefined) =>
      `node --import tsx --input-type=module -e "$SCRIPT" ${owner ?? null} &`;
    const command = `mount --bind '${etc}' /etc && ${prepare} && { ${dataOwners.map(one).join(" ")} wait; }`;
    return inMountNamespace(command, { SCRIPT: script })
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  it("is created once by several processes that start at once", async () => {
    const found = find([undefined, undefined, undefined, undefined]);
    expect(found).toHaveLength(4);
    const [line] = /^plimsoll:.*$/m.exec(await readFile(join(etc, "passwd"), "utf8"))!;
    const [account] = parseAccounts(line);
    for (const { uid, gid } of found) expect({ name: "plimsoll", uid, gid }).toEqual(account);
    expect(account!.uid).toBeLessThan(1000);
    expect(line).toMatch(/:\/nonexistent:\/usr\/sbin\/nologin$/);
    expect(found.flatMap(({ said }) => said)).toEqual(["created a user for PostgreSQL"]);
  });

  it("gets the uid of an existing data folder, unless it has a name", async () => {
    expect(find([54_321])).toMatchObject([{ uid: 54_321 }]);
    await change("passwd", (text) => text.replaceAll(/^plimsoll:.*\n/gm, ""));
    await change("group", (text) => text.replaceAll(/^plimsoll:.*\n/gm, ""));
    const [daemon] = find([1]);
    expect(daemon.uid).toBeGreaterThan(1);
  });

  it("is created in a group that an earlier one has left", async () => {
    await change("group", (text) => `${text}plimsoll:x:54322:\n`);
    expect(find()).toMatchObject([{ gid: 54_322 }]);
  });

  it.each([
    ["has uid 0", "plimsoll:x:0:0::/:/bin/sh"],
    ["has gid 0", "plimsoll:x:54321:0::/:/bin/sh"],
    ["shares its uid with nobody", "plimsoll:x:65534:65534::/:/bin/sh"],
  ])("is refused if it %s", async (why, line) => {
    await change("passwd", (text) => `${text}${line}\n`);
    const [refused] = find();
    expect(refused).toMatchObject({ code: "root_unsupported" });
    expect(refused.message).toContain(`plimsoll ${why}`);
  });

  it("is asked for, with the command, where it cannot be created", async () => {
    const [refused] = find([undefined], "mount -o remount,bind,ro /etc");
    expect(refused).toMatchObject({ code: "root_unsupported" });
    expect(refused.message).toContain("could not create that user");
    expect(refused.hint).toContain("ordinary user");
    expect(refused.hint).toContain("useradd --system --no-create-home");
  });
});
