import { commandsOf, runCommands } from '../../kit/documented-commands.js';
import { startService, type TestService } from '../../kit/index.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** What is equal in every run of a line like `{"a":1,"b":["…"]} 200`; other values become their type. */
function formOf(line: string): unknown {
  const [, body = '', status] = /^(.*) (\d{3})$/.exec(line) ?? [];
  if (status === undefined) return line;
  return { status, body: body === '' ? null : formOfValue(JSON.parse(body)) };
}

function formOfValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(formOfValue);
  if (typeof value !== 'object' || value === null) return isTold(value) ? value : kindOf(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, formOfValue(one)]));
}

const kindOf = (value: unknown): string => (typeof value === 'string' ? 'some text' : typeof value);

const isTold = (value: unknown): boolean =>
  typeof value === 'string'
    ? !/…$|^[0-9a-f]{64}$|^[0-9a-f]{8}-|^\d{4}-\d{2}-\d{2}T/.test(value)
    : !(typeof value === 'number' && value > 1e12);

describe('docs/guide/writing-a-client.md', () => {
  it('has commands with the answers that it shows', async () => {
    const blocks = await commandsOf('guide/writing-a-client.md');
    expect(blocks.length).toBeGreaterThan(15);

    const { printed, stderr } = await runCommands(blocks, {
      PATH: process.env['PATH'],
      SYNC_URL: service.url,
    });
    expect(stderr).toBe('');
    for (const [at, { text, answers }] of blocks.entries()) {
      const lines = (printed[at] ?? '').split('\n').filter(Boolean);
      expect([text, lines.map(formOf)]).toEqual([text, (answers ?? []).map(formOf)]);
    }
  });
});
