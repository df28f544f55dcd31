import { randomBytes } from 'node:crypto';
import type supertest from 'supertest';
import { TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { eventually, TestUser, type TestWorkspace } from '../../kit/index.js';
import { ADMIN, runProcess, type ServiceProcess, startProcess } from '../../kit/process.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';

const MIB = 1024 ** 2;
const FULL = 'the service has no disk space for uploads';
const reason = whyNoDisk();

(reason ? describe.skip : describe)(`a disk of 400 MB${reason ? `; ${reason}` : ''}`, () => {
  let disk: SmallDisk;
  let service: ServiceProcess;
  let large: TestWorkspace;
  let small: TestWorkspace;
  let vault: TestVault;
  const stored: string[] = [];

  beforeAll(async () => {
    disk = SmallDisk.mount(400);
    service = await startProcess({ DATA_DIR: disk.path });
    const user = await TestUser.logIn(service.url, 'alice');
    await user.post('/api/v1/subscription/trial').expect(200);
    large = await user.workspace('large');
    small = await user.workspace('small');
    vault = await TestVault.setUp(await user.workspace('vault'));
  });
  afterAll(async () => {
    await service.end('SIGTERM');
    disk.unmount();
  });

  async function restart(signal: NodeJS.Signals): Promise<void> {
    await service.end(signal);
    service = await startProcess({ DATA_DIR: disk.path });
    large = large.as(large.user.at(service.url));
    small = small.as(large.user);
  }

  /** Uploads one after the other until one is refused. @throws on any answer but success and that refusal */
  async function fill(upload: (at: number) => PromiseLike<supertest.Response>): Promise<number> {
    for (let at = 0; ; at += 1) {
      const { status, body, headers } = await upload(at);
      if (status === 201) continue;
      expect([status, body, headers['retry-after']]).toEqual([503, { error: FULL }, '60']);
      return at;
    }
  }

  const fillSmall = (line: string): Promise<number> =>
    fill(async (at) => {
      const path = `${line}-${at}`;
      const answer = await small.put(path, randomBytes(60_000));
      if (answer.status === 201) stored.push(path);
      return answer;
    });

  /** Fills the space that refused large uploads have left. */
  const topUp = (line: string): Promise<number[]> =>
    Promise.all([1, 2, 3, 4].map((part) => fillSmall(`${line}-${part}`)));

  const fillWithAll = (line: string): Promise<number>[] => [
    fillSmall(line),
    fill((at) => large.put(`${line}-${at}`, randomBytes(3 * MIB))),
    fill((at) => TestAssets.of(large).create(`${line}-${at}`, randomBytes(MIB))),
    fill((at) => vault.create(`${line}-${at}.md`, 'text '.repeat(8_000))),
  ];

  it('is filled by files, assets and notes up to the reserve and no further', async () => {
    const lowest = await disk.lowestDuring(async () => {
      const counts = await Promise.all(['a', 'b', 'c', 'd'].flatMap(fillWithAll));
      expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThan(100);
      await topUp('rest');
    });
    expect(lowest).toBeGreaterThan(16 * MIB);
  });

  it('stays readable, ready, and startable after a crash and after a shutdown', async () => {
    const lowest = await disk.lowestDuring(async () => {
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        await restart(signal);
        await topUp(signal);
        await small.user.get('/health/ready').expect(200);
        await small.get(stored[0]!).expect(200);
        await small.user.get('/api/v1/usage').expect(200);
      }
      const { cursor } = await small.status();
      for (let at = 0; at < stored.length; at += 500)
        await small.push(cursor, stored.slice(at, at + 500)).expect(200);
      expect((await small.log()).length).toBe(2 * stored.length);
      expect(await runProcess({ DATA_DIR: disk.path }, ADMIN, ['doctor'])).toMatchObject({ code: 0 });
    });
    expect(lowest).toBeGreaterThan(0);
    service.expectAlive();
  });

  it('accepts uploads again once space is freed', async () => {
    await large.user.delete(large.path).expect(200);
    await eventually(async () => expect((await small.put('again', 'x')).status).toBe(201));
  });
});
