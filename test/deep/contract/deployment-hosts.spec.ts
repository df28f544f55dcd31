import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  statSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';
import { type Configuration, knownVariables, loadConfiguration } from '../../../src/platform/config/index.js';
import { DatabaseLink } from '../../kit/database-link.js';
import { HEAP_FLAGS, ROOT, text } from '../../kit/deployment.js';
import { createDatabase } from '../../kit/index.js';

const UNIT = 'ops/systemd/cloud-sync.service';

/** Values of a unit's key, in order; lines that end with a backslash are joined. */
function unitValues(key: string): string[] {
  const lines = text(UNIT)
    .replace(/\\\n\s*/g, ' ')
    .split('\n');
  return lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1));
}

describe('ops/systemd/cloud-sync.service', () => {
  const root = mkdtempSync(join(tmpdir(), 'unit-'));
  beforeAll(() => {
    mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
    mkdirSync(join(root, 'opt/cloud-sync/node_modules/.bin'), { recursive: true });
    mkdirSync(join(root, 'usr/lib/systemd'), { recursive: true });
    cpSync(join(ROOT, UNIT), join(root, 'etc/systemd/system/cloud-sync.service'));
    writeFileSync(join(root, 'opt/cloud-sync/node_modules/.bin/node'), '#!/bin/sh\n', { mode: 0o755 });
    if (existsSync('/usr/lib/systemd/system'))
      cpSync('/usr/lib/systemd/system', join(root, 'usr/lib/systemd/system'), {
        recursive: true,
        verbatimSymlinks: true,
      });
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const analyze = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const itWithSystemd = analyze('--version').status === 0 ? it : it.skip;

  itWithSystemd('is a valid unit', () => {
    expect(analyze('verify', `--root=${root}`, 'cloud-sync.service')).toMatchObject({
      status: 0,
      stderr: '',
    });
  });

  itWithSystemd('has an exposure of at most 1.5 for systemd-analyze security', () => {
    const args = ['security', '--offline=yes', '--no-pager', '--threshold=15', join(ROOT, UNIT)];
    expect(analyze(...args).status).toBe(0);
  });

  it('starts the service under its watchdog with the flags of npm start, and gives it time to stop', () => {
    const node = '/opt/cloud-sync/node_modules/.bin/node';
    expect(unitValues('ExecStart')[0]!.split(/\s+/)).toEqual([
      ...[node, '--max-old-space-size=32', 'ops/watchdog.mjs'],
      ...[node, ...HEAP_FLAGS, 'dist/service/main.js'],
    ]);
    expect([unitValues('TimeoutStopSec'), unitValues('KillMode')]).toEqual([['50'], ['mixed']]);
    expect(unitValues('Restart')).toEqual(['always']);
  });

  it('passes the secrets as credentials, which the service reads', () => {
    const directory = mkdtempSync(join(tmpdir(), 'credentials-'));
    const loaded = unitValues('LoadCredential').map((line) => line.split(':')[0]!);
    for (const name of loaded)
      writeFileSync(join(directory, name), name === 'auth_secret' ? 'x'.repeat(40) : SOCKET);
    const set = unitValues('Environment').flatMap((line) => line.split(' '));
    const environment = Object.fromEntries(
      set.map((one) => one.replace('%d', directory).replace('%S', '/var/lib').split(/=(.*)/s).slice(0, 2)),
    ) as Record<string, string>;
    const settings = { BASE_URL: 'https://sync.example.org', SIGNUP_ENABLED: 'false' };
    const configuration = loadConfiguration({ ...environment, ...settings });
    expect(configuration).toMatchObject({
      databaseUrl: SOCKET,
      dataDir: '/var/lib/cloud-sync',
      nodeEnv: 'production',
    });
    expect(text(UNIT)).not.toMatch(/^(?:#\s*)?Environment=.*(SECRET|PASSWORD|_URL)=/m);
    rmSync(directory, { recursive: true });
  });
});

const describeAsRoot = process.getuid?.() === 0 && process.platform === 'linux' ? describe : describe.skip;

describeAsRoot('ops/systemd/cloud-sync-admin', () => {
  it('runs a command as the user of the service, with its settings and secrets, and leaves no copy of them', async () => {
    const database = await createDatabase();
    const link = await DatabaseLink.to(database); // the server's own socket accepts one user alone
    const root = mkdtempSync(join(tmpdir(), 'admin-'));
    const [settings, data, temporary] = ['etc', 'data', 'tmp'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    chmodSync(root, 0o755);
    mkdirSync(join(settings, 'credentials'), { recursive: true, mode: 0o700 });
    for (const directory of [data, temporary]) mkdirSync(directory);
    chownSync(data, NOBODY, NOBODY);
    chmodSync(temporary, 0o1777);
    writeFileSync(join(settings, 'credentials/auth_secret'), 'x'.repeat(40), { mode: 0o600 });
    writeFileSync(join(settings, 'credentials/database_url'), link.url, { mode: 0o600 });
    const lines = [
      '# settings',
      'BASE_URL="https://sync.example.org"',
      'SIGNUP_ENABLED=false',
      `DATA_DIR=${data}`,
    ];
    writeFileSync(join(settings, 'env'), lines.join('\n'));
    const env = { CLOUD_SYNC_PROGRAM: ROOT, CLOUD_SYNC_SETTINGS: settings, CLOUD_SYNC_USER: 'nobody' };
    const args = ['user', 'create', 'ada@example.org'];
    const child = spawn(join(ROOT, 'ops/systemd/cloud-sync-admin'), args, {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: temporary, ...env },
    });
    const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
    expect([stdout, stderr]).toEqual([expect.stringContaining('ada@example.org'), '']);
    expect(readdirSync(temporary)).toEqual([]);
    const owners = new Set(
      readdirSync(data, { recursive: true }).map((path) => statSync(join(data, String(path))).uid),
    );
    expect([...owners]).toEqual([NOBODY]);
    await link.cut();
    await database.drop();
    rmSync(root, { recursive: true });
  });
});

const NOBODY = 65534;

/** As on the install page: over the socket, where PostgreSQL knows the user from the system. */
const SOCKET = 'postgres://cloud-sync@%2Fvar%2Frun%2Fpostgresql/cloud-sync';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const BASE = 'ops/kubernetes/base';
const EXAMPLE = 'ops/kubernetes/example';

function manifestsIn(directory: string): { file: string; manifest: Manifest }[] {
  const files = readdirSync(join(ROOT, directory)).filter((name) => name !== 'kustomization.yaml');
  return files.flatMap((file) =>
    parseAllDocuments(text(`${directory}/${file}`)).map((document) => ({
      file: `${directory}/${file}`,
      manifest: document.toJS() as Manifest,
    })),
  );
}

const manifests = [...manifestsIn(BASE), ...manifestsIn(EXAMPLE)];
const of = (kind: string): unknown => manifests.find(({ manifest }) => manifest.kind === kind)!.manifest;

/** Type errors of manifests, by types that are generated from the schema of Kubernetes. */
function faultsIn(all: readonly Manifest[]): string[] {
  const source = all.map(({ apiVersion, kind, ...rest }, index) => {
    const module = `kubernetes-models/${apiVersion}`;
    return `const m${index}: import('${module}').I${kind} = ${JSON.stringify({ apiVersion, kind, ...rest })};`;
  });
  const name = join(ROOT, 'test', 'manifests.ts');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (file) => file === name || fileExists.call(host, file);
  host.getSourceFile = (file, ...rest) =>
    file === name
      ? ts.createSourceFile(file, source.join('\n'), ts.ScriptTarget.ES2022)
      : getSourceFile.call(host, file, ...rest);
  const program = ts.createProgram([name], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: { readonly rollingUpdate: object };
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: object;
        readonly containers: readonly {
          readonly image: string;
          readonly env: readonly { readonly name: string; readonly value: string }[];
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
          readonly securityContext: object;
        }[];
      };
    };
  };
}

describe('ops/kubernetes', () => {
  it('has manifests that match the schema of Kubernetes, without unknown keys', async () => {
    for (const { file, manifest } of manifests) {
      const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<
        string,
        new (data: object) => { validate(): void }
      >;
      expect([file, () => new models[manifest.kind]!(manifest).validate()]).toEqual([
        file,
        expect.any(Function),
      ]);
      new models[manifest.kind]!(manifest).validate();
    }
    expect(faultsIn(manifests.map(({ manifest }) => manifest))).toEqual([]);
    const misspelt = JSON.parse(
      JSON.stringify(of('Deployment')).replace('"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'),
    ) as Manifest;
    expect(faultsIn([misspelt]).join()).toContain('readonlyRootFilesystem');
  });

  it('is built by kubectl, where that is installed', () => {
    const { status, stdout, error } = spawnSync('kubectl', ['kustomize', join(ROOT, EXAMPLE)], {
      encoding: 'utf8',
    });
    if (error) return;
    expect(status).toBe(0);
    const built = parseAllDocuments(stdout).map((document) => (document.toJS() as Manifest).kind);
    expect(built.sort()).toEqual(
      [
        'ConfigMap',
        'Deployment',
        'Ingress',
        'Namespace',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'Service',
        'Service',
      ].sort(),
    );
    expect(stdout).not.toContain('kind: Secret');
  });

  it('lists all files but the example of a Secret', () => {
    for (const directory of [BASE, EXAMPLE]) {
      const { resources } = parse(text(`${directory}/kustomization.yaml`)) as { resources: string[] };
      const files = readdirSync(join(ROOT, directory)).filter(
        (name) => !/^(kustomization|secret\.example)\.yaml$/.test(name),
      );
      expect(resources.filter((name) => name !== '../base').sort()).toEqual(files.sort());
    }
  });

  it('runs instances as Pod Security Standards require, and replaces one at a time', () => {
    const { strategy, replicas, selector, template } = (of('Deployment') as Deployment).spec;
    expect(replicas).toBeGreaterThan(1);
    expect(strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    expect(template.spec.terminationGracePeriodSeconds).toBe(50);
    expect(template.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(template.spec.containers.map(({ securityContext }) => securityContext)).toEqual([
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    ]);
  });

  it('is a configuration that the service accepts, with the keys of the Secret', () => {
    const directory = mkdtempSync(join(tmpdir(), 'kubernetes-'));
    const { stringData } = of('Secret') as { stringData: Record<string, string> };
    // The value of the example is too short on purpose, so that the service refuses it.
    const secrets = { ...stringData, auth_secret: 'x'.repeat(32) };
    for (const [key, value] of Object.entries(secrets)) writeFileSync(join(directory, key), value);
    expect(stringData.auth_secret!.length).toBeLessThan(32);
    const [container] = (of('Deployment') as Deployment).spec.template.spec.containers;
    const { configMapGenerator } = parse(text(`${EXAMPLE}/kustomization.yaml`)) as {
      configMapGenerator: { literals: string[] }[];
    };
    const settings = configMapGenerator[0]!.literals.map(
      (one) => one.split(/=(.*)/s).slice(0, 2) as [string, string],
    );
    const given = container!.env.map(
      ({ name, value }) => [name, value.replace('/run/secrets/cloud-sync', directory)] as const,
    );
    const environment = Object.fromEntries([...settings, ...given]) as Record<string, string>;
    const image = { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '8787', DATA_DIR: '/data' };
    const configuration: Configuration = loadConfiguration({ ...image, ...environment });
    expect(configuration).toMatchObject({
      trustProxy: true,
      hasS3: true,
      signupEnabled: false,
      metricsPort: 9464,
    });
    expect(Object.keys(environment).filter((name) => !knownVariables().has(name))).toEqual([]);
    expect(container!.ports.map(({ containerPort }) => containerPort)).toEqual([
      8787,
      configuration.metricsPort,
    ]);
    rmSync(directory, { recursive: true });
  });
});

describe('the network policy of ops/kubernetes', () => {
  interface Policy extends Manifest {
    readonly spec: {
      readonly policyTypes: string[];
      readonly egress: {
        readonly to: { readonly ipBlock?: { readonly cidr: string; readonly except: string[] } }[];
        readonly ports: { readonly port: number; readonly protocol: string }[];
      }[];
    };
  }
  const { policyTypes, egress } = (of('NetworkPolicy') as Policy).spec;
  const allowed = egress.flatMap(({ ports }) => ports.map(({ port, protocol }) => `${protocol} ${port}`));

  it('allows exactly the ports that the service connects to', () => {
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(allowed.sort()).toEqual([
      'TCP 443',
      'TCP 465',
      'TCP 53',
      'TCP 5432',
      'TCP 587',
      'TCP 6379',
      'UDP 53',
    ]);
    for (const { to, ports } of egress) expect([to.length > 0, ports.length > 0]).toEqual([true, true]);
  });

  it('lets the example reach its database and stores', () => {
    const { stringData } = of('Secret') as { stringData: Record<string, string> };
    const files = [`${EXAMPLE}/kustomization.yaml`, 'ops/kubernetes/backup/kustomization.yaml'];
    const settings = files.flatMap((file) =>
      (parse(text(file)) as { configMapGenerator: { literals: string[] }[] }).configMapGenerator.flatMap(
        ({ literals }) => literals,
      ),
    );
    const endpoints = settings.flatMap((one) => /_ENDPOINT=(.*)/.exec(one)?.[1] ?? []);
    expect(endpoints).toHaveLength(2);
    for (const url of [stringData.database_url!, ...endpoints].map((one) => new URL(one)))
      expect(allowed).toContain(`TCP ${url.port || { 'https:': 443, 'http:': 80 }[url.protocol]}`);
  });

  it('blocks the metadata service of the cloud, which has credentials of the node', () => {
    const blocks = egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
    const wide = blocks.filter(({ cidr }) => cidr.endsWith('/0'));
    expect(wide.length).toBeGreaterThan(0);
    for (const { cidr, except } of wide)
      expect(except).toContain(cidr === '::/0' ? 'fd00:ec2::/32' : '169.254.0.0/16');
  });

  it('names every setting that is the address of a server', () => {
    const servers = [
      ...['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'S3_ENDPOINT', 'BACKUP_S3_ENDPOINT', 'OIDC_ISSUER'],
      'STRIPE_API_BASE',
    ];
    const policy = text(`${BASE}/network-policy.yaml`);
    expect(servers.filter((name) => !knownVariables().has(name) || !policy.includes(name))).toEqual([]);
    const addresses = /_ENDPOINT$|_ISSUER$|_API_BASE$|^(?:DATABASE|REDIS|SMTP)_URL$/;
    expect([...knownVariables()].filter((name) => addresses.test(name)).sort()).toEqual(servers.sort());
  });
});

describe('ops/kubernetes/backup', () => {
  interface Patch extends Manifest {
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly containers: readonly { readonly name: string; readonly env: readonly NameAndValue[] }[];
          readonly volumes: readonly {
            readonly name: string;
            readonly emptyDir: unknown;
            readonly ephemeral: object;
          }[];
        };
      };
    };
  }
  interface NameAndValue {
    readonly name: string;
    readonly value: string;
  }
  const patch = parse(text('ops/kubernetes/backup/deployment.yaml')) as Patch;
  const { containers, volumes } = patch.spec.template.spec;

  it('patches existing parts of the Deployment by name, and the result matches the schema', () => {
    const base = of('Deployment') as Patch;
    expect([patch.kind, patch.metadata.name]).toEqual([base.kind, base.metadata.name]);
    const { spec } = base.spec.template;
    const merged = {
      ...spec,
      containers: spec.containers.map((one) => ({ ...one, env: [...one.env, ...containers[0]!.env] })),
      volumes: spec.volumes.map((one) =>
        one.name === volumes[0]!.name ? { name: one.name, ephemeral: volumes[0]!.ephemeral } : one,
      ),
    };
    expect(containers[0]!.name).toBe(spec.containers[0]!.name);
    expect([volumes.map(({ name }) => name), volumes[0]!.emptyDir]).toEqual([['data'], null]);
    expect(merged.volumes).not.toEqual(spec.volumes);
    const manifest = { ...base, spec: { ...base.spec, template: { ...base.spec.template, spec: merged } } };
    expect(faultsIn([manifest])).toEqual([]);
  });

  it('is a configuration that the service accepts, with keys that the example of a Secret has', () => {
    const directory = mkdtempSync(join(tmpdir(), 'kubernetes-'));
    const { stringData } = of('Secret') as { stringData: Record<string, string> };
    for (const [key, value] of Object.entries(stringData)) writeFileSync(join(directory, key), value);
    const { configMapGenerator } = parse(text('ops/kubernetes/backup/kustomization.yaml')) as {
      configMapGenerator: { literals: string[] }[];
    };
    const settings = configMapGenerator[0]!.literals.map((one) => one.split(/=(.*)/s).slice(0, 2));
    const env = containers[0]!.env.map(({ name, value }) => [
      name,
      value.replace('/run/secrets/cloud-sync', directory),
    ]);
    const environment = Object.fromEntries([...settings, ...env]) as Record<string, string>;
    const { backupDir, backupStore } = loadConfiguration(environment);
    expect([backupDir, backupStore?.isOwn]).toEqual(['s3://cloud-sync-backups', true]);
    rmSync(directory, { recursive: true });
  });

  it('is built by kubectl over the example, where that is installed', () => {
    const overlay = mkdtempSync(join(tmpdir(), 'overlay-'));
    cpSync(join(ROOT, 'ops/kubernetes'), join(overlay, 'kubernetes'), { recursive: true });
    const file = join(overlay, 'kubernetes/example/kustomization.yaml');
    writeFileSync(file, text(`${EXAMPLE}/kustomization.yaml`).replace('# components:', 'components:'));
    const { status, stdout, error } = spawnSync(
      'kubectl',
      ['kustomize', join(overlay, 'kubernetes/example')],
      {
        encoding: 'utf8',
      },
    );
    rmSync(overlay, { recursive: true });
    if (error) return;
    expect([status, /ephemeral:/.test(stdout), /emptyDir:\n\s+sizeLimit: 1Gi/.test(stdout)]).toEqual([
      0,
      true,
      false,
    ]);
    expect(stdout).toContain('BACKUP_DIR: s3://cloud-sync-backups');
  });
});

describe('.github/workflows', () => {
  const workflows = readdirSync(join(ROOT, '.github/workflows')).map((name) =>
    text(`.github/workflows/${name}`),
  );

  it('pin every action by the commit of a release', () => {
    const used = workflows.flatMap((workflow) =>
      [...workflow.matchAll(/uses: (.*)/g)].map(([, action]) => action),
    );
    expect(used.length).toBeGreaterThan(5);
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('publish both architectures with an SBOM and provenance', () => {
    const [step] = workflows.flatMap((workflow) => {
      const { jobs } = parse(workflow) as {
        jobs: Record<string, { steps: { uses?: string; with?: Record<string, unknown> }[] }>;
      };
      return Object.values(jobs).flatMap(({ steps }) =>
        steps.filter(({ uses }) => uses?.startsWith('docker/build-push-action@')),
      );
    });
    expect(step!.with).toMatchObject({
      platforms: 'linux/amd64,linux/arm64',
      sbom: true,
      provenance: 'mode=max',
      push: true,
    });
  });
});
