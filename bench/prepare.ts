import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { runningServerUrl } from '../src/platform/database/index.js';
import { send } from './load.js';

const WORKSPACES = 50;
const CHANGES_TO_PULL = 200;
const DEV_LOGIN_KEY = 'the-key-of-the-benchmark';

export interface Bench {
  readonly serviceUrl: string;
  readonly referenceUrl: string;
  readonly token: string;
  readonly workspaces: string[];
  /** A workspace with a log to pull. */
  readonly readWorkspace: string;
  /** A workspace to be filled past the service. */
  readonly emptyWorkspace: string;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

/** The service on an embedded database, the reference server on the same one, a user with workspaces. */
export async function prepare(dataDir: string): Promise<Bench> {
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: '0',
    DEV_LOGIN_KEY,
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '0',
  };
  const service = await start(join(import.meta.dirname, '../src/main.js'), env);
  const reference = await start(join(import.meta.dirname, 'reference-server.js'), env);

  const login = await post(
    `${service.url}/api/v1/auth/dev-login`,
    { email: 'bench@example.org', name: 'Bench' },
    {
      'x-dev-login-key': DEV_LOGIN_KEY,
    },
  );
  const token = String(login.token);
  const headers = { authorization: `Bearer ${token}` };
  await post(`${service.url}/api/v1/subscription/trial`, {}, headers);
  const workspaces: string[] = [];
  for (let i = 0; i < WORKSPACES + 2; i++) {
    workspaces.push(
      String((await post(`${service.url}/api/v1/workspaces`, { name: `bench ${i}` }, headers)).id),
    );
  }
  const readWorkspace = workspaces.pop() ?? '';
  const emptyWorkspace = workspaces.pop() ?? '';
  for (let i = 0; i < CHANGES_TO_PULL; i++) {
    await send(`${service.url}/api/v1/workspaces/${readWorkspace}/files/note-${i}`, 'PUT', {
      headers: { ...headers, 'x-device-id': 'bench', 'x-content-hash': EMPTY_HASH },
      body: Buffer.alloc(0),
    });
  }
  const stop = async (): Promise<void> => {
    await end(reference.child);
    await end(service.child);
  };
  return {
    serviceUrl: service.url,
    referenceUrl: reference.url,
    token,
    workspaces,
    readWorkspace,
    emptyWorkspace,
    databaseUrl: (await runningServerUrl(dataDir)) ?? '',
    stop,
  };
}

const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

async function post(
  url: string,
  body: object,
  headers: Record<string, string>,
): Promise<Record<string, unknown>> {
  const answer = await send(url, 'POST', {
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(JSON.stringify(body)),
  });
  return JSON.parse(answer.toString()) as Record<string, unknown>;
}

async function start(script: string, env: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
      const found = /http:\/\/[^:\s]+:(\d+)/.exec(text)?.[1];
      if (found) resolve(found);
    });
    child.once('exit', () => reject(new Error(`${script} ended before it listened`)));
  });
  return { child, url: `http://127.0.0.1:${port}` };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
