import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

export const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/**
 * Makes a certificate that signs itself.
 * @param names such as `DNS:plimsoll.example` or `IP:192.0.2.2`
 */
export function makeCertificate(folder: string, name: string, names: readonly string[]): Certificate {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  execFileSync(
    "openssl",
    [
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(" "),
      ...["-days", "30", "-subj", `/CN=${name}`, "-addext", `subjectAltName=${names.join(",")}`],
      ...["-keyout", keyFile, "-out", certFile],
    ],
    { stdio: "ignore" },
  );
  return {
    certFile,
    keyFile,
    cert: readFileSync(certFile, "utf8"),
    key: readFileSync(keyFile, "utf8"),
  };
}
