import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../../src/platform/config/index.js';
import { envFile } from '../../../src/platform/config/env-file.js';

const directory = mkdtempSync(join(tmpdir(), 'sync-env-'));
afterAll(() => rmSync(directory, { recursive: true }));

const KNOWN = new Set(['SIGNUP_ENABLED', 'PORT', 'AUTH_SECRET']);

function read(content: string | Buffer): unknown {
  const path = join(directory, '.env');
  writeFileSync(path, content);
  return envFile(path, KNOWN);
}

describe('the file .env', () => {
  it.each([
    ['in plain form', 'SIGNUP_ENABLED=false\nPORT=1\n'],
    ['with a byte order mark', '\uFEFFSIGNUP_ENABLED=false\nPORT=1\n'],
    ['with Windows line ends', '\uFEFFSIGNUP_ENABLED=false\r\nPORT=1\r\n'],
    ['with shell syntax', '# SIGNUP_ENABLED\nexport SIGNUP_ENABLED="false"\n\n  PORT = 1 # free'],
  ])('%s is read completely', (_, content) => {
    expect(read(content)).toEqual({ SIGNUP_ENABLED: 'false', PORT: '1' });
  });

  it.each([
    ['UTF-16', Buffer.from('\uFEFFSIGNUP_ENABLED=false', 'utf16le')],
    ['UTF-16 without a mark', Buffer.from('SIGNUP_ENABLED=false', 'utf16le')],
    ['big-endian UTF-16', Buffer.from('\uFEFFSIGNUP_ENABLED=false', 'utf16le').swap16()],
    ['Latin-1', Buffer.from('APP_NAME=über', 'latin1')],
  ])('in %s is refused', (_, content) => {
    expect(() => read(content)).toThrow(OperatorError);
    expect(() => read(content)).toThrow(/^\S+\.env is not UTF-8 text; save it as UTF-8\.$/);
  });

  it.each([
    ['a colon instead of =', 'PORT=1\nSIGNUP_ENABLED: false\n', 2],
    ['a space instead of =', 'PORT=1\n\nSIGNUP_ENABLED false', 3],
    ['a name without a value', 'SIGNUP_ENABLED\nPORT=1', 1],
    ['an invisible character before the name', 'PORT=1\n\u200bSIGNUP_ENABLED=hunter2\n', 2],
  ])('with %s is refused by line number, without its content', (_, content, line) => {
    expect(() => read(content)).toThrow(
      new OperatorError(`Line ${line} of ${join(directory, '.env')} is not NAME=value; fix it.`),
    );
  });

  it('may contain anything inside a value of several lines', () => {
    const text = 'AUTH_SECRET="one\ntwo: three\nfour"\nPORT=1\n';
    expect(read(text)).toEqual({ AUTH_SECRET: 'one\ntwo: three\nfour', PORT: '1' });
  });

  it('may be absent; a directory of that name is reported', () => {
    expect(envFile(join(directory, 'absent'), KNOWN)).toEqual({});
    expect(() => envFile(directory, KNOWN)).toThrow(/cannot be read \(EISDIR\); fix or remove it\.$/);
  });
});
