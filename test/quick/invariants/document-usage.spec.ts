import { Doctor, type Finding } from '../../../src/platform/doctor.js';
import { UsageCheck } from '../../../src/domain/files/rows-check.js';
import { Retention } from '../../../src/domain/retention/index.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { holdRow, holdTable } from '../../kit/hold.js';
import { expectCountedDocuments, expectDenseLogs } from '../../kit/oracles.js';

const QUOTA = 10_000;
const DAY = 24 * 60 * 60_000;

let service: TestService;
let other: TestService;
beforeAll(async () => {
  service = await startService({ env: { DOCUMENT_QUOTA_PRO_BYTES: String(QUOTA) } });
  other = await startService({ env: { DOCUMENT_QUOTA_PRO_BYTES: String(QUOTA) }, beside: service });
});
afterAll(async () => {
  await other.close();
  await service.close();
});

const usedBytes = async ({ user }: TestWorkspace): Promise<number> =>
  (await user.get('/api/v1/usage').expect(200)).body.documents.usedBytes;

let count = 0;
const newWorkspace = async (): Promise<TestWorkspace> =>
  (await service.user(`somebody-${(count += 1)}`)).workspace();

describe('the quota of documents', () => {
  it('is reached and never crossed by uploads that race for it in one workspace, on two instances', async () => {
    const workspace = await newWorkspace();
    const elsewhere = workspace.as(workspace.user.at(other.url));
    const upload = async (at: number): Promise<number> =>
      (await (at % 2 ? workspace : elsewhere).put(`file-${at}`, Buffer.alloc(600, String(at)))).status;
    const answers = await Promise.all(Array.from({ length: 60 }, (_, at) => upload(at)));
    expect(answers.filter((status) => status === 201)).toHaveLength(Math.floor(QUOTA / 600));
    expect(answers.filter((status) => status !== 201 && status !== 507)).toEqual([]);
    expect(await usedBytes(workspace)).toBe(Math.floor(QUOTA / 600) * 600);
    await expectDenseLogs(service.database);
  });

  it('is exceeded at most by uploads under way, when workspaces of one account race for it', async () => {
    const first = await newWorkspace();
    const second = await first.user.workspace('second');
    const third = (await first.user.workspace('third')).as(first.user.at(other.url));
    for (let at = 0; at < 30; at += 1)
      await Promise.all(
        [first, second, third].map((workspace) =>
          workspace.put(`file-${at}`, Buffer.alloc(600, `${workspace.id}${at}`)),
        ),
      );
    const used = await usedBytes(first);
    expect(used).toBeGreaterThan(QUOTA - 600);
    expect(used).toBeLessThanOrEqual(QUOTA + 2 * 600);
    await expectCountedDocuments(service.database);
  });

  it('gets back what retention thins out, except bytes that a kept version shares', async () => {
    service.clock.stopAt(new Date('2026-03-09T00:00:00.000Z'));
    const user = await service.user('thinned');
    const workspace = await user.workspace();
    for (const size of [10, 200, 3_000])
      await workspace.put('YQ', Buffer.alloc(size)).expect(({ status }) => expect(status).toBeLessThan(300));
    const [, second] = await workspace.versions('YQ');
    await workspace.restore('YQ', second!.id).expect(200);
    expect(await usedBytes(workspace)).toBe(3_210);
    await service.app.get(Retention).run(new Date(service.clock.now().getTime() + 2 * DAY));
    expect(await usedBytes(workspace)).toBe(200);
    await expectCountedDocuments(service.database);
  });
});

describe('the doctor', () => {
  const examine = async (fix: boolean): Promise<Finding[]> => {
    const findings: Finding[] = [];
    const examination = { now: service.clock.now(), isDeep: false, fix };
    for await (const finding of service.app.get(Doctor).examine(examination)) findings.push(finding);
    return findings.filter(({ fault }) => fault === 'usage drift');
  };

  it('finds wrong counters and corrects them', async () => {
    const workspace = await newWorkspace();
    await workspace.put('YQ', 'one').expect(201);
    await workspace.put('YQ', 'three').expect(200);
    expect(await examine(false)).toEqual([]);
    await service.database.query('UPDATE workspaces SET document_bytes = 7 WHERE id = $1', [workspace.id]);
    const finding = {
      fault: 'usage drift',
      subject: `workspace ${workspace.id}`,
      problem: 'The usage counter is 7 bytes; the kept versions take 8 bytes.',
      cure: 'Run `doctor --fix` to correct the counter.',
    };
    expect(await examine(false)).toEqual([{ ...finding, isFixed: false }]);
    expect(await examine(true)).toEqual([{ ...finding, isFixed: true }]);
    expect(await examine(false)).toEqual([]);
    expect(await usedBytes(workspace)).toBe(8);
  });

  it('corrects each counter once, even during uploads and another run of the doctor', async () => {
    const workspace = await newWorkspace();
    await workspace.put('YQ', 'one').expect(201);
    await service.database.query('UPDATE workspaces SET document_bytes = 7 WHERE id = $1', [workspace.id]);
    const row = await holdRow(service.database, 'workspaces', 'id', workspace.id);
    const all = Promise.all([examine(true), examine(true), workspace.put('Yg', 'three').expect(201)]);
    await row.waiting(3);
    await row.release();
    const [first, second] = await all;
    expect([...first, ...second]).toHaveLength(1);
    expect(await usedBytes(workspace)).toBe(8);
    await expectCountedDocuments(service.database);
  });

  it('counts on a connection of its own, not on one that requests need', async () => {
    const versions = await holdTable(service.database, 'versions');
    const check = service.app.get(UsageCheck, { strict: false });
    const first = check.drift({ now: service.clock.now(), isDeep: false, fix: false }).next();
    await service.database.eventually(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND application_name = 'cloud-sync-service doctor'`,
    );
    await versions.release();
    expect(await first).toEqual({ done: true, value: undefined });
  });
});
