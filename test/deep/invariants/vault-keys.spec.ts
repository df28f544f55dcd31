import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { newMasterKey } from '../../../client/src/core/index.js';
import { unlock } from '../../../client/src/core/vault/unlock.js';
import { verificationHash } from '../../../crypto/src/index.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';
import {
  FAST_CRYPTO,
  FATES,
  keySlotsAt,
  ModelDevice,
  OPERATIONS,
  type Owner,
  type Server,
} from './vault-keys/devices.js';
import { type Answer, type Call, SlotTable } from './vault-keys/slot-table.js';

/** More of them: npm run model -- --keys --runs 20000 */
const RUNS = Number(process.env['KEY_SLOT_RUNS'] ?? 400);
const RUNS_AT_SERVICE = Number(process.env['KEY_SLOT_SERVICE_RUNS'] ?? 50);
const SEED = Number(process.env['KEY_SLOT_SEED'] ?? 1000);
const LONGEST = 60;
const LONGEST_MS = 24 * 60 * 60_000; // as many sequences as were asked for
const PASSWORD = 'the first password';

/** One step of one of two devices: begins an operation, or decides the fate of the request that waits. */
const STEP = fc.record({
  device: fc.constantFrom(0, 1),
  operation: fc.constantFrom(...OPERATIONS),
  fate: fc.constantFrom(...FATES),
});
const STORY = fc.record({
  /** Whether the vault was set up before there were key slots. */
  isOld: fc.boolean(),
  steps: fc.array(STEP, { minLength: 10, maxLength: LONGEST, size: 'max' }),
});
type Story = typeof STORY extends fc.Arbitrary<infer T> ? T : never;

/** Plays a story. After each step the last acknowledged password and all recovery keys open the vault. */
async function play({ isOld, steps }: Story, routes: Server, workspaceId: string): Promise<void> {
  let writes = 0;
  const server: Server = (call) => {
    if (call.method !== 'GET') writes++;
    return routes(call);
  };
  const owner: Owner = { password: PASSWORD, hasForgotten: false, recoveryKeys: [], passwords: 0 };
  const direct = keySlotsAt(server, workspaceId);
  let masterKey = '';
  const look = async (): Promise<void> => {
    // Without slots, the first one replaces the derivation, and no recovery key can make one of a password.
    if (!isOld || !owner.hasForgotten) {
      const opened = hex((await unlock(direct, { password: owner.password }, false)).masterKey);
      masterKey ||= opened;
      expect(opened).toBe(masterKey);
    }
    for (const key of owner.recoveryKeys)
      expect(hex((await unlock(direct, { recoveryKey: key }, true)).masterKey)).toBe(masterKey);
  };
  if (isOld) await setUpAsBefore(server, workspaceId);
  else await setUp(server, workspaceId);
  await look();
  const devices = [0, 1].map(() => new ModelDevice(server, workspaceId, owner));
  for (const { device, operation, fate } of steps) {
    const before = [writes, owner.password, owner.recoveryKeys.length];
    await devices[device]?.step(operation, fate);
    if (before.some((one, index) => one !== [writes, owner.password, owner.recoveryKeys.length][index]))
      await look();
  }
  for (const device of devices) await device.settle();
  await look();
  for (const { failure } of devices) if (failure !== undefined) throw failure as Error;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

async function setUp(server: Server, workspaceId: string): Promise<void> {
  const slots = keySlotsAt(server, workspaceId);
  const [masterKey, slotId] = [newMasterKey(), randomUUID()];
  const slot = await FAST_CRYPTO.makePasswordSlot(slots.place(slotId), masterKey, PASSWORD);
  await slots.put(slotId, slot, await slots.setUp(masterKey));
}

async function setUpAsBefore(server: Server, workspaceId: string): Promise<void> {
  const encryptionSalt = randomBytes(32).toString('hex');
  const verificationSalt = randomBytes(32).toString('hex');
  const masterKey = await FAST_CRYPTO.deriveMasterKey(PASSWORD, encryptionSalt);
  const json = {
    encryptionSalt,
    verificationSalt,
    verificationHash: await verificationHash(masterKey, verificationSalt),
  };
  await server({ method: 'POST', path: `/api/v1/workspaces/${workspaceId}/setup-encryption`, json });
}

/** The service, whose every answer must be that of the table. */
function mirrored(user: TestUser, table: SlotTable): Server {
  return async (call: Call): Promise<Answer> => {
    const { method, path, headers, json } = call;
    const answered = await fetch(user.url + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${user.token}` },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    const answer: Answer = { status: answered.status, body: (await answered.json()) as object };
    const { updatedAt } = answer.body as { updatedAt?: string };
    const expected = table.answer(call, updatedAt);
    expect([method, path, answer.status]).toEqual([method, path, expected.status]);
    if (answer.status < 300) expect(comparable(answer)).toEqual(comparable(expected));
    return answer;
  };
}

function comparable({ body }: Answer): unknown {
  return JSON.parse(JSON.stringify(body), (key, value: unknown) => {
    if (key === 'createdAt') return undefined;
    if (key !== 'slots') return value;
    return (value as { id: string }[]).toSorted((a, b) => (a.id < b.id ? -1 : 1)); // of one millisecond
  });
}

describe('key slots with two devices, lost answers and kills', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => service.close());

  it(
    `always leave a vault that opens, in ${RUNS} sequences`,
    async () => {
      const property = fc.asyncProperty(STORY, async (story) => {
        const table = new SlotTable(randomUUID());
        await play(story, (call) => Promise.resolve(table.answer(call)), table.workspaceId);
      });
      await fc.assert(property, { numRuns: RUNS, seed: SEED });
    },
    LONGEST_MS,
  );

  it(`do so at the service, in ${RUNS_AT_SERVICE} sequences, with the answers of the table`, async () => {
    const user = await service.user('keys');
    const property = fc.asyncProperty(STORY, async (story) => {
      const { id, path } = await user.workspace();
      try {
        await play(story, mirrored(user, new SlotTable(id)), id);
      } finally {
        await user.delete(path).expect(200);
      }
    });
    await fc.assert(property, { numRuns: RUNS_AT_SERVICE, seed: SEED });
  });
});
