import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ApiDocument } from '../../../src/platform/api-docs/index.js';
import { documentText } from '../../kit/api-document.js';
import { itDeep } from '../../kit/rounds.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const CLI = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
const CONFIG = join(ROOT, 'redocly.yaml');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lint-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

interface Report {
  readonly totals: { readonly errors: number; readonly warnings: number };
  readonly problems: readonly {
    readonly ruleId: string;
    readonly location: readonly { pointer: string }[];
  }[];
}

/** Lints a document without network access. */
async function lint(file: string): Promise<Report> {
  const nowhere = 'http://127.0.0.1:9';
  const env = {
    ...{ PATH: process.env['PATH'], HOME: directory, CI: 'true' },
    ...{ REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    ...{ HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere },
  };
  const report = execFileIn(ROOT, env, 'lint', file, '--config', CONFIG, '--format', 'json');
  return JSON.parse(await report) as Report;
}

/** The standard output, even of a run that finds faults. */
async function execFileIn(cwd: string, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, [CLI, ...args], { cwd, env })).stdout;
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe('the lint of redocly', () => {
  it('finds nothing in docs/openapi.json by its recommended rules', async () => {
    const { totals, problems } = await lint('docs/openapi.json');
    expect(problems.map(({ ruleId, location }) => [ruleId, location[0]?.pointer])).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
    expect(await readFile(CONFIG, 'utf8')).toMatch(/^ {2}- recommended-strict$/m);
  });

  itDeep('finds a broken document', async () => {
    const document = JSON.parse(documentText()) as ApiDocument;
    const broken = { ...document, components: { ...document.components, schemas: {} } };
    const file = join(directory, 'broken.json');
    await writeFile(file, JSON.stringify(broken));
    expect((await lint(file)).problems.map(({ ruleId }) => ruleId)).toContain('no-unresolved-refs');
  });
});
