import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfiguration } from '../../../src/platform/config/index.js';

const directory = mkdtempSync(join(tmpdir(), 'sync-secrets-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('a secret in a file', () => {
  it.each([
    ['AUTH_SECRET', 'authSecret', 'x'.repeat(40)],
    ['DATABASE_URL', 'databaseUrl', 'postgres://sync:secret@db/sync'],
    ['REDIS_URL', 'redisUrl', 'redis://:secret@redis:6379'],
    ['DEV_LOGIN_KEY', 'devLoginKey', 'y'.repeat(40)],
  ] as const)('is read from %s_FILE, without the line end', (name, property, secret) => {
    const configuration = loadConfiguration({ [`${name}_FILE`]: file(name, `${secret}\n`) });
    expect(configuration[property]).toBe(secret);
  });

  it('may have a byte order mark and Windows line ends', () => {
    const path = file('marked', `\uFEFF${'x'.repeat(40)}\r\n`);
    expect(loadConfiguration({ AUTH_SECRET_FILE: path }).authSecret).toBe('x'.repeat(40));
  });

  it.each([
    ['UTF-16', Buffer.from(`\uFEFF${'x'.repeat(40)}`, 'utf16le')],
    ['UTF-16 without a mark', Buffer.from('x'.repeat(40), 'utf16le')],
    ['Latin-1', Buffer.from('ä'.repeat(40), 'latin1')],
  ])('is refused in %s, which would be read as another secret', (_, content) => {
    const load = (): unknown => loadConfiguration({ AUTH_SECRET_FILE: file('encoded', content) });
    expect(load).toThrow('the file in AUTH_SECRET_FILE is not UTF-8 text; save it as UTF-8.');
  });

  it('is validated like one in the environment, and never printed', () => {
    const load = (): unknown => loadConfiguration({ AUTH_SECRET_FILE: file('short', 'tooshort') });
    expect(load).toThrow(/AUTH_SECRET /);
    expect(load).not.toThrow(/tooshort/);
  });

  it('is reported with all other faults when it is also in the environment, empty or missing', () => {
    const load = (): unknown =>
      loadConfiguration({
        AUTH_SECRET: 'x'.repeat(40),
        AUTH_SECRET_FILE: file('both', 'x'.repeat(40)),
        REDIS_URL_FILE: file('empty', '\n'),
        DATABASE_URL_FILE: join(directory, 'absent'),
        PORT: 'http',
      });
    expect(load).toThrow('AUTH_SECRET and AUTH_SECRET_FILE are both set');
    expect(load).toThrow('the file in REDIS_URL_FILE is empty');
    expect(load).toThrow('the file in DATABASE_URL_FILE cannot be read (ENOENT)');
    expect(load).toThrow(/PORT/);
  });

  it('is not supported for settings that are no secrets', () => {
    expect(loadConfiguration({ PORT_FILE: file('port', '9') }).port).toBe(8787);
  });
});
