import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startService, type TestService } from '../../kit/index.js';

/** The programs of docs/guide/generated-clients.md, generated, compiled and run as they stand there. */
const ROOT = join(import.meta.dirname, '..', '..', '..');
const GUIDE = join(ROOT, 'docs/guide/generated-clients.md');
const FILE = /^```\w+ file=(\S+)\n(.*?)^```$/gms;
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const OPENAPI_TS = /^npx openapi-ts (.*)$/m;

let service: TestService;
let directory: string;
beforeAll(async () => {
  service = await startService();
  directory = await mkdtemp(join(tmpdir(), 'generated-clients-'));
  const guide = await readFile(GUIDE, 'utf8');
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }');
  const document = await (await fetch(`${service.url}/openapi.json`)).text();
  await writeFile(join(directory, 'openapi.json'), document);
  for (const [, name = '', text = ''] of guide.matchAll(FILE)) await writeFile(join(directory, name), text);
  await run('generate.mjs');
  const [, args = ''] = OPENAPI_TS.exec(guide) ?? [];
  await run(join(ROOT, 'node_modules/@hey-api/openapi-ts/bin/run.js'), ...args.split(' '));
});
afterAll(async () => {
  await service.close();
  await rm(directory, { recursive: true, force: true });
});

/** Runs a program in the directory. @throws Error with its output when it fails */
async function run(program: string, ...args: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: directory, SYNC_URL: service.url };
  const options = { cwd: directory, env, encoding: 'utf8' } as const;
  try {
    return (await promisify(execFile)(process.execPath, [program, ...args], options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}

describe('clients that are generated from the served document', () => {
  it('compile strictly, sign in and sync a file', async () => {
    const settings = JSON.parse(await readFile(join(directory, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: { strict?: boolean };
    };
    expect(settings.compilerOptions.strict).toBe(true);
    await run(TSC);
    for (const program of ['with-openapi-fetch', 'with-openapi-ts'])
      expect([program, await run(`out/${program}.js`)]).toEqual([program, 'upsert 1000 true\n']);
  });
});
