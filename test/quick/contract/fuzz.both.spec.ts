import { writeFile } from 'node:fs/promises';
import { allRoutes, type NamedOperation, operationsOf } from '../../kit/api-document.js';
import { expectExactUsage } from '../../kit/assets.js';
import { faultOf, report, Tally } from '../../kit/fuzz/judge.js';
import { Lane } from '../../kit/fuzz/lane.js';
import type { Sender } from '../../kit/fuzz/senders.js';
import { CALLBACK } from '../../kit/fuzz/things.js';
import { requestOf } from '../../kit/fuzz/request.js';
import { Values } from '../../kit/fuzz/values.js';
import { Wire } from '../../kit/fuzz/wire.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { expectDenseLogs, scrub } from '../../kit/oracles.js';
import { Random } from '../../kit/random.js';
import { rounds } from '../../kit/rounds.js';

const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? rounds(400, 2000));
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const LANES = 4;
const MOST_REPORTED = 20;

/** Each of these costs a hash of a password, or a user with all data. */
const RARE = new Set([
  ...['identity.signIn', 'identity.signUp', 'identity.signOut', 'identity.changePassword'],
  ...['automation.openKeySession', 'AccountPage.signIn', 'AccountPage.signOut', 'AccountPage.endSession'],
  ...['AccountPage.endOtherSessions', 'workspaces.delete', 'auth.deleteMe'],
]);

/** Routes that accept a cookie. */
const FOR_BROWSERS = /^\/(?:account|auth|api\/auth)\b/;

const document = allRoutes();
const operations = operationsOf(document).flatMap((one) =>
  Array<NamedOperation>(RARE.has(one.operation.operationId) ? 1 : 6).fill(one),
);

describe(`${REQUESTS} hostile requests (FUZZ_SEED=${SEED})`, () => {
  let service: TestService;
  let bystander: TestWorkspace;
  let before: unknown;
  const tally = new Tally();
  const faults: string[] = [];
  const senders = new Map<string, string>();

  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'warn', EDITOR_CALLBACK_URL: CALLBACK } });
    bystander = await (await service.user('bystander')).workspace();
    for (const path of ['YQ', 'Yg']) await bystander.put(path, 'of the bystander').expect(201);
    await bystander.checkpoint();
    before = await seenBy(bystander);
  });
  afterAll(async () => {
    await service.close();
  });

  it('are each answered as documented, with flat errors only and without a fault', async () => {
    const wire = new Wire(service.url);
    const foreign = await thingsOf(bystander);
    const lanes = await Promise.all(
      Array.from({ length: LANES }, (_, i) => Lane.open(service, `lane-${i}`, foreign)),
    );
    await Promise.all(lanes.map((lane, index) => run(wire, lane, index)));
    wire.close();
    if (process.env['FUZZ_REPORT']) await writeFile(process.env['FUZZ_REPORT'], `${tally.toString()}\n`);
    expect(faults).toEqual([]);
  }, 3_600_000);

  it('reach the domain, at least a third of them', () => {
    const { accepted, decided } = tally.reached;
    expect((accepted + decided) / tally.total).toBeGreaterThan(1 / 3);
  });

  it('leave no error in the log', () => {
    const errors = service
      .logged()
      .split('\n')
      .filter((line) => /"level":"(?:error|fatal)"/.test(line));
    const told = errors.map(
      (line) => `${senders.get(/"requestId":"([^"]+)"/.exec(line)?.[1] ?? '') ?? ''} ${line}`,
    );
    expect(told.slice(0, MOST_REPORTED)).toEqual([]);
  });

  it('change nothing of other users, and leave every log, count and blob in order', async () => {
    const later = bystander.as(await service.user('bystander')); // a JWT lives for 15 minutes
    expect(await seenBy(later)).toEqual(before);
    await expectDenseLogs(service.database);
    await expectExactUsage(service.database);
    await scrub(service.database, service.dataDir);
  });

  /** Sends the requests of a lane one after the other. */
  async function run(wire: Wire, lane: Lane, index: number): Promise<void> {
    const random = new Random(SEED * 1000 + index);
    const values = new Values(random, document, (name) => lane.known(name));
    for (let turn = index; turn < REQUESTS && faults.length < MOST_REPORTED; turn += LANES) {
      const operation = values.pick(operations);
      const usual = FOR_BROWSERS.test(operation.path) ? lane.browser : lane.owner;
      const sender: Sender = values.chance(0.7) ? usual : values.pick(lane.others);
      const request = requestOf(operation, sender, lane, values);
      const answer = await wire.send(request);
      tally.add(request, answer.status);
      const where = `seed ${SEED}, request ${turn}`;
      senders.set(String(answer.headers['x-request-id']), where);
      const fault = faultOf(request, answer);
      if (fault !== undefined) faults.push(report(request, answer, fault, service.url, where));
      await lane.learn(request.operation, sender, answer.status, answer.body);
    }
  }
});

/** All that its owner sees of a workspace. */
async function seenBy(workspace: TestWorkspace): Promise<unknown> {
  const { user, path } = workspace;
  const of = async (address: string): Promise<unknown> => (await user.get(address).expect(200)).body;
  return {
    own: await of(path),
    status: await workspace.status(),
    files: await workspace.list(),
    log: await workspace.log(),
    checkpoints: await workspace.checkpoints(),
    tokens: await of('/api/v1/auth/tokens'),
    devices: await of('/api/v1/devices'),
  };
}

/** The ids in a workspace, by the names of parameters. */
async function thingsOf(workspace: TestWorkspace): Promise<Map<string, readonly string[]>> {
  const versions = (await workspace.versions('YQ')).map(({ id }) => id);
  const checkpoints = (await workspace.checkpoints()).map(({ id }) => id);
  const things = new Map<string, readonly string[]>();
  for (const name of ['id', 'workspaceId', 'X-Workspace-Id']) things.set(name, [workspace.id]);
  for (const name of ['vid', 'versionId', 'pageCursor']) things.set(name, versions);
  return things.set('cpId', checkpoints);
}
