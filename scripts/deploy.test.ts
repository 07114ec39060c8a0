import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Deployment } from "kubernetes-models/apps/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readSettings, settingNames } from "../server/settings.ts";
import { checkHost } from "../server/tenants/access/origin.ts";

const read = (path: string) => readFile(fileURLToPath(new URL(`../deploy/${path}`, import.meta.url)), "utf8");
const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));

describe("deploy/kubernetes.yaml", async () => {
  const text = await read("kubernetes.yaml");
  const documents = parseAllDocuments(text).map((one) => one.toJS());
  const deployment = new Deployment(documents[0]);
  const service = new Service(documents[1]);
  const budget = new PodDisruptionBudget(documents[2]);
  const container = deployment.spec!.template!.spec!.containers[0]!;

  it("fits the schemas of Kubernetes, which refuse a wrong type", () => {
    expect(documents.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "PodDisruptionBudget"]);
    for (const one of [deployment, service, budget]) expect(() => one.validate()).not.toThrow();
    const wrong = new Deployment({ ...documents[0], spec: { ...documents[0].spec, replicas: "two" } });
    expect(() => wrong.validate()).toThrow("replicas");
  });

  it("keeps one of two servers through a drain, and finds both by the same labels", () => {
    expect(deployment.spec!.replicas).toBe(2);
    expect(budget.spec!.minAvailable).toBe(1);
    const labels = deployment.spec!.template!.metadata!.labels;
    for (const selector of [
      deployment.spec!.selector.matchLabels,
      budget.spec!.selector!.matchLabels,
      service.spec!.selector,
    ]) {
      expect(selector).toEqual(labels);
    }
    // The progress of a replay is in the memory of one server.
    expect(service.spec!.sessionAffinity).toBe("ClientIP");
    expect(service.spec!.ports![0]!.targetPort).toBe(container.ports![0]!.name);
  });

  it("probes with a host name that the server accepts", () => {
    for (const probe of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
      const host = probe!.httpGet!.httpHeaders!.find(({ name }) => name === "Host")!.value;
      expect(checkHost(host, { port: container.ports![0]!.containerPort, names: [] })).toBe(true);
    }
  });

  it("runs without root, privileges and a writable root", () => {
    expect(deployment.spec!.template!.spec!.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    // A stop takes up to 14 s.
    expect(deployment.spec!.template!.spec!.terminationGracePeriodSeconds).toBeGreaterThan(14);
  });

  it("has settings that the server starts with, together with the secret that its head names", () => {
    const made = [...text.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name!);
    const env = Object.fromEntries(container.env!.map(({ name, value }) => [name, value]));
    expect(settingNames).toEqual(expect.arrayContaining([...Object.keys(env), ...made]));
    const value = (name: string) => (name === "DATABASE_URL" ? "postgresql://a/b" : "x".repeat(32));
    const secret = Object.fromEntries(made.map((name) => [name, value(name)]));
    expect(() => readSettings({ ...env, ...secret })).not.toThrow();
    expect(() => readSettings({ ...env, ...secret, PLIMSOLL_ACCESS_TOKEN: "" })).toThrow(
      "PLIMSOLL_ACCESS_TOKEN",
    );
  });
});

describe("the compose files", () => {
  it("run a hardened server with one volume, and a database that only this machine reaches", async () => {
    const { services, volumes } = parse(await read("compose.yaml"));
    expect(Object.keys(services)).toEqual(["plimsoll"]);
    expect(Object.keys(volumes)).toEqual(["plimsoll"]);
    expect(services.plimsoll).toMatchObject({ read_only: true, cap_drop: ["ALL"], tmpfs: ["/tmp"] });
    const more = parse(await read("compose.postgres.yaml"));
    expect(Object.keys(more.services)).toEqual(["plimsoll", "postgres"]);
    for (const port of more.services.postgres.ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it("name the image of this release", async () => {
    const { services } = parse(await read("compose.yaml"));
    expect(services.plimsoll.image).toBe(`plimsoll:${version}`);
    expect(await read("kubernetes.yaml")).toContain(`image: plimsoll:${version}`);
  });
});
