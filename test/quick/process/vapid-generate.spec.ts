import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfiguration } from '../../../src/platform/config/index.js';
import { isVapidKeyPair } from '../../../src/domain/devices/web-push/web-push.service.js';
import { adminJson } from '../../kit/admin.js';
import { adminEnded } from '../../kit/ended.js';
import { ADMIN, runProcess } from '../../kit/process.js';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sync-vapid-'));
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

const BESIDE = { DATABASE_URL: 'postgres://127.0.0.1:1/none' };

const env = (): Record<string, string> => ({ DATA_DIR: dataDir, ...BESIDE });

const asEnvironment = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
  );

describe('npm run admin -- vapid generate', () => {
  it('prints the three variables as the service reads them, without a database or a file', async () => {
    const command = ['vapid', 'generate', '--subject', 'mailto:ops@example.org'];
    const { code, output } = await runProcess(env(), ADMIN, command);
    expect(code).toBe(0);
    const environment = asEnvironment(output);
    expect(Object.keys(environment)).toEqual(['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY', 'VAPID_SUBJECT']);
    const { vapidPublicKey, vapidPrivateKey, vapidSubject } = loadConfiguration(environment);
    expect(vapidSubject).toBe('mailto:ops@example.org');
    expect(isVapidKeyPair(vapidPublicKey, vapidPrivateKey)).toBe(true);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('prints them as JSON with --json, a new pair each time', async () => {
    const { stdout } = await adminEnded(env(), 'vapid', 'generate', '--json');
    const other = await adminJson(BESIDE, '--json', 'vapid', 'generate');
    const pairs = [JSON.parse(stdout), other] as Record<string, string>[];
    for (const pair of pairs) {
      expect(loadConfiguration(pair).hasWebPush).toBe(true);
      expect(isVapidKeyPair(pair.VAPID_PUBLIC_KEY, pair.VAPID_PRIVATE_KEY)).toBe(true);
    }
    expect(pairs[0]?.VAPID_PRIVATE_KEY).not.toBe(pairs[1]?.VAPID_PRIVATE_KEY);
  });

  it('exits 2 for a malformed subject', async () => {
    expect((await adminEnded(env(), 'vapid', 'generate', '--subject', 'me')).code).toBe(2);
  });
});
