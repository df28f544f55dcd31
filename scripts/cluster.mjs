// Runs several instances behind nginx, on one PostgreSQL and one S3 server, as in production: for trying out and tests.
//
//   npm run cluster -- [INSTANCES]     default: two
//
// Run scripts/test-servers.sh once before. Prints one line of JSON: { url, instances: [{ url, pid }], env }; env is for
// the admin command and further instances. Stops everything that it has started on SIGINT, SIGTERM or the end of its
// standard input, and deletes its data. The environment is passed on; DATABASE_URL, when set, is the database.
import './build-if-needed.mjs';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from './embedded-database.mjs';
import { freePorts } from './free-ports.mjs';
import { HEAP_FLAGS } from './heap-flags.mjs';
import { startS3Server } from './s3-server.mjs';
import { testServers } from './unpacked-servers.mjs';

const ROOT = join(import.meta.dirname, '..');
const INSTANCES = Number(process.argv[2] ?? 2);

/** Functions that stop what was started, in order of starting. */
const started = [];
let ending;

/** @param status exit status of this process. Whatever is started during the shutdown is stopped by its starter. */
function end(status) {
  ending ??= (async () => {
    for (const stop of started.reverse()) await stop();
    process.exit(status);
  })();
  return ending;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end(0));
process.stdin.resume().once('end', () => void end(0));

try {
  process.stdout.write(`${JSON.stringify(await startCluster())}\n`);
} catch (error) {
  console.error(error.message);
  await end(1);
}

async function startCluster() {
  const home = await mkdtemp(join(tmpdir(), 'sync-c-')); // short, because it contains sockets
  started.push(() => rm(home, { recursive: true, force: true }));
  const [DATABASE_URL, s3] = await Promise.all([
    process.env.DATABASE_URL ?? startDatabase(join(home, 'database')),
    startS3(home),
  ]);
  const first = await freePorts(INSTANCES + 1);
  const ports = Array.from({ length: INSTANCES }, (_, index) => first + 1 + index);
  const url = `http://127.0.0.1:${first}`;
  const env = {
    ...{ BASE_URL: url, DATABASE_URL, TRUST_PROXY: 'true', AUTH_SECRET: randomBytes(32).toString('hex') },
    ...{
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY: s3.accessKey,
      S3_SECRET_KEY: s3.secretKey,
      S3_BUCKET: 'cluster',
    },
    DATA_DIR: join(home, 'data'),
  };
  await mkdir(env.DATA_DIR);
  // Concurrently, on an empty database: the instances coordinate the set-up themselves.
  const pids = await Promise.all(ports.map((port) => startInstance({ ...env, PORT: String(port) })));
  await startProxy(join(home, 'nginx'), first, ports);
  const instances = ports.map((port, index) => ({ url: `http://127.0.0.1:${port}`, pid: pids[index] }));
  return { url, instances, env };
}

async function startDatabase(dataDir) {
  const { runningServerUrl } = await import('../dist/src/platform/database/index.js');
  await mkdir(dataDir);
  const server = await startEmbeddedDatabase(dataDir, (error) => {
    console.error(error.message);
    void end(1);
  });
  started.push(() => server.stop());
  return runningServerUrl(dataDir);
}

async function startS3(home) {
  const { address, stop } = await startS3Server(home);
  started.push(stop);
  return address;
}

/** @returns its process id */
async function startInstance(env) {
  const child = spawn(process.execPath, [...HEAP_FLAGS, join(ROOT, 'dist', 'service', 'main.js')], {
    cwd: env.DATA_DIR,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(() => stopProcess(child, 'SIGTERM'));
  child.stdout.pipe(process.stderr, { end: false });
  await answers(`http://127.0.0.1:${env.PORT}/health/ready`, child);
  return child.pid;
}

async function startProxy(directory, port, instancePorts) {
  await mkdir(directory);
  await writeFile(join(directory, 'nginx.conf'), await nginxConfig(port, instancePorts));
  const child = spawn('nginx', ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off;'], {
    env: { ...process.env, ...testServers.environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  started.push(() => stopProcess(child, 'SIGTERM'));
  await answers(`http://127.0.0.1:${port}/health`, child);
}

/** A complete configuration around the files in ops/nginx, which Debian's nginx.conf includes otherwise. */
async function nginxConfig(port, instancePorts) {
  const nginx = join(ROOT, 'ops', 'nginx');
  const upstreams = instancePorts.map((instance) => `server 127.0.0.1:${instance};`);
  const http = await readFile(join(nginx, 'conf.d', 'cloud-sync.conf'), 'utf8');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${of};`,
  );
  return `
    worker_processes 1;
    pid nginx.pid;
    error_log stderr warn;
    events { worker_connections 8192; }
    http {
      access_log off;
      ${temporary.join('\n      ')}
      ${http.replace(/server 127.*/, () => upstreams.join('\n  '))}
      server {
        listen 127.0.0.1:${port};
        include ${join(nginx, 'snippets', 'cloud-sync.conf')};
      }
    }`;
}

async function stopProcess(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Waits until the URL answers 200. @throws when the process ends first, or after a minute */
async function answers(url, child) {
  let failure;
  child.once('error', (error) => (failure = error));
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    if (failure ?? (child.exitCode !== null || child.signalCode !== null))
      throw failure ?? new Error(`${child.spawnargs.join(' ')} has exited`);
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not respond`);
}
