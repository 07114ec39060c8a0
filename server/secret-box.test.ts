import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSecretBox, SECRET_FILE, SecretBox } from "./secret-box.ts";

let home: string;
beforeEach(async () => {
  home = join(await mkdtemp(join(tmpdir(), "plimsoll-secret-")), "home");
});
afterEach(() => rm(join(home, ".."), { recursive: true }));

const box = new SecretBox("a secret of more than thirty characters");

describe("encrypted secrets", () => {
  it("open with the same key for the same owner only", () => {
    const sealed = box.seal("https://hooks.example/T0/secret", "1/a");
    expect(Buffer.from(sealed).toString("latin1")).not.toContain("secret");
    expect(box.open(sealed, "1/a")).toBe("https://hooks.example/T0/secret");
    expect(new SecretBox("a secret of more than thirty characters").open(sealed, "1/a")).toBeDefined();
    expect(box.open(sealed, "1/b")).toBeUndefined();
    expect(new SecretBox("another secret of thirty characters").open(sealed, "1/a")).toBeUndefined();
  });

  it("do not open if a single bit was changed or bytes are missing", () => {
    const sealed = box.seal("text", "1/a");
    for (let place = 0; place < sealed.length; place++) {
      const changed = Uint8Array.from(sealed);
      changed[place]! ^= 1;
      expect(box.open(changed, "1/a")).toBeUndefined();
      expect(box.open(sealed.subarray(0, place), "1/a")).toBeUndefined();
    }
  });

  it("look different each time", () => {
    expect(box.seal("text", "1/a")).not.toEqual(box.seal("text", "1/a"));
  });
});

describe("the secret of a server", () => {
  it("is a file that only its owner can read, and the same at the next start", async () => {
    const first = await openSecretBox({ home, secret: undefined });
    const path = join(home, SECRET_FILE);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await openSecretBox({ home, secret: undefined })).keyId).toBe(first.keyId);
    expect(first.keyId).not.toContain((await readFile(path, "utf8")).slice(0, 8));
    expect(await readdir(home)).toEqual([SECRET_FILE]);
  });

  it("is one and the same for processes that start at once", async () => {
    const boxes = await Promise.all(
      Array.from({ length: 20 }, () => openSecretBox({ home, secret: undefined })),
    );
    expect(new Set(boxes.map(({ keyId }) => keyId)).size).toBe(1);
    expect(await readdir(home)).toEqual([SECRET_FILE]);
  });

  it("can be a setting, and no file is made then", async () => {
    const secret = "x".repeat(32);
    const { keyId } = await openSecretBox({ home, secret });
    expect(keyId).toBe(new SecretBox(secret).keyId);
    await expect(stat(home)).rejects.toThrow();
  });

  it("is never replaced if the file is damaged: what it encrypted would be lost", async () => {
    await openSecretBox({ home, secret: undefined });
    await writeFile(join(home, SECRET_FILE), "");
    await expect(openSecretBox({ home, secret: undefined })).rejects.toMatchObject({
      code: "data_folder_unwritable",
    });
  });
});
