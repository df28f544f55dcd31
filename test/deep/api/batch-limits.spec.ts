import { BatchSlots } from '../../../src/domain/files/batches/batch-upload.js';
import { COMMIT_UPLOADS } from '../../../src/domain/files/index.js';
import { Configuration } from '../../../src/platform/config/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { InFlightRequests, ServiceUnavailable } from '../../../src/platform/http/index.js';
import { LOOKS_OF_INTERVAL } from '../../../src/platform/http/waiting-clients.js';
import { Blobs, FreeSpace } from '../../../src/platform/storage/index.js';
import { CHANGES } from '../../../src/domain/workspaces/index.js';
import { begunBatch, downloadBatch, firstGroup, itemsIn, upload, uploadBatch } from '../../kit/batches.js';
import {
  eventually,
  startService,
  stopIntervals,
  TestSocket,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectDenseLogs } from '../../kit/oracles.js';
import { earlyAnswer, headOf, openSocket, received } from '../../kit/raw-http.js';

const MIB = 1024 * 1024;
const LIMIT = 2;
const QUOTA = 1_000_000;
const MAX_FILE_BYTES = 700_000;

let service: TestService;
let names = 0;
const somebody = (): Promise<TestUser> => service.user(`batch-limits-${++names}`);
const many = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const notes = (count: number, from = 0): ReturnType<typeof upload>[] =>
  many(count).map((i) => upload(`note${from + i}`, `${i}`));
const headOfLog = async ({ id }: TestWorkspace): Promise<number> =>
  (await service.database.query('SELECT FROM changes WHERE workspace_id = $1', [id])).length;

async function statusesOf(answer: ReturnType<typeof uploadBatch>): Promise<number[]> {
  const { body } = await answer.expect(200);
  return (body as { results: { status: number }[] }).results.map(({ status }) => status);
}

describe('the request limit', () => {
  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } });
  });
  afterAll(() => service.close());
  beforeEach(() => service.clock.stopAt(new Date(service.clock.now().getTime() + 60_000)));

  /** Advances the clock by a minute, since setting up a user takes two requests. */
  async function workspace(): Promise<TestWorkspace> {
    const user = await somebody();
    service.clock.advance(60_000);
    const made = await user.workspace();
    service.clock.advance(60_000);
    return made;
  }

  it('counts each item of an upload as a transfer', async () => {
    const one = await workspace();
    await uploadBatch(one, notes(50)).expect(200); // and the request itself is one
    const { headers } = await uploadBatch(one, notes(49, 50)).expect(429);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(await headOfLog(one)).toBe(50);
    service.clock.advance(60_000);
    await uploadBatch(one, notes(49, 50)).expect(200);
  });

  it('counts each item of a download as a transfer', async () => {
    const one = await workspace();
    const items = many(50).map((i) => ({ encryptedPath: `note${i}` }));
    await downloadBatch(one, items).expect(200);
    const { headers } = await downloadBatch(one, items).expect(429);
    expect(headers['retry-after']).toMatch(/^\d+$/);
  });
});

describe('a batch', () => {
  beforeAll(async () => {
    const env = { DOCUMENT_QUOTA_PRO_BYTES: String(QUOTA), MIN_FREE_BYTES: '1' };
    service = await startService({ env: { ...env, MAX_FILE_BYTES: String(MAX_FILE_BYTES) } });
  });
  afterAll(() => service.close());
  afterEach(() => jest.restoreAllMocks());

  it('stores the items that fit into the quota, and answers 507 for the others', async () => {
    const user = await somebody();
    const one = await user.workspace();
    const items = [600_000, 600_000, 300_000, 200_000, 100_000].map((size, i) =>
      upload(`note${i}`, Buffer.alloc(size, i)),
    );
    const { body } = await uploadBatch(one, items).expect(200);
    const results = body.results as { status: number }[];
    expect(results.map(({ status }) => status)).toEqual([201, 507, 201, 507, 201]);
    expect(results[1]).toMatchObject({ id: null, error: 'the storage quota is used up' });
    expect((await user.get('/api/v1/usage').expect(200)).body.documents).toMatchObject({ usedBytes: QUOTA });
    await expectDenseLogs(service.database);
  });

  it('is 413 with an item that is too large for a PUT', async () => {
    const one = await (await somebody()).workspace();
    const content = Buffer.alloc(MAX_FILE_BYTES + 1);
    await one.put('large', content).expect(413);
    await uploadBatch(one, [upload('large', content)]).expect(413);
    expect(await headOfLog(one)).toBe(0);
    expect(await statusesOf(uploadBatch(one, [upload('large', content.subarray(1))]))).toEqual([201]);
  });

  it('is announced once for each group, and its changes reach every other device once', async () => {
    const one = await (await somebody()).workspace();
    const [laptop, phone] = [await TestSocket.join(one, 'laptop'), await TestSocket.join(one, 'phone')];
    const publish = jest.spyOn(service.app.get(EventBus), 'publish');
    const announced = (): number => publish.mock.calls.filter(([{ topic }]) => topic === CHANGES).length;

    const items = notes(2 * COMMIT_UPLOADS + 2);
    await uploadBatch(one, items, 'laptop').expect(200);
    expect(announced()).toBe(3);
    await eventually(() => expect(phone.of('changes').at(-1)?.['cursor']).toBe(items.length));
    await uploadBatch(one, items, 'laptop').expect(200);
    expect(announced()).toBe(3);

    await phone.settled();
    await laptop.settled();
    const changes = phone.of('changes').flatMap((frame) => frame['changes'] as { encryptedPath: string }[]);
    expect(changes.map(({ encryptedPath }) => encryptedPath)).toEqual(
      items.map(({ encryptedPath }) => encryptedPath),
    );
    expect(laptop.of('changes')).toEqual([]);
    await Promise.all([laptop.close(), phone.close()]);
  });

  it('is refused with 503 before its body is read while the disk has no room', async () => {
    const one = await (await somebody()).workspace();
    stopIntervals(service);
    const configuration = service.app.get(Configuration);
    Object.assign(configuration, { minFreeBytes: 2 ** 52 }); // no disk has so much free
    await service.app.get(FreeSpace).look();
    const socket = begun(one, 'batch-upload', 1_000);
    const { status, headers } = await earlyAnswer(socket);
    socket.destroy();
    expect([status, headers['retry-after']]).toEqual([503, '60']);
    await uploadBatch(one, notes(3)).expect(503);
    await downloadBatch(one, [{ encryptedPath: 'note0' }]).expect(200);
    Object.assign(configuration, { minFreeBytes: 1 });
    await service.app.get(FreeSpace).look();
    expect(await headOfLog(one)).toBe(0);
    expect(await statusesOf(uploadBatch(one, notes(3)))).toEqual([201, 201, 201]);
  });

  it('stops between two groups when the reserve of the disk is reached', async () => {
    const one = await (await somebody()).workspace();
    stopIntervals(service);
    const finish = await begunBatch(service.database, one, notes(3));
    const configuration = service.app.get(Configuration);
    Object.assign(configuration, { minFreeBytes: 2 ** 52 });
    await service.app.get(FreeSpace).look();
    expect((await finish()).status).toBe(503);
    Object.assign(configuration, { minFreeBytes: 1 });
    await service.app.get(FreeSpace).look();
    expect(await headOfLog(one)).toBe(COMMIT_UPLOADS);
  });

  it('waits for a slot while its user has eight under way; other users do not wait', async () => {
    const slots = service.app.get(BatchSlots, { strict: false });
    const [hostile, victim] = [await (await somebody()).workspace(), await (await somebody()).workspace()];
    const held = await Promise.all(many(8).map(() => slots.take(hostile.user.id)));
    const ninth = statusesOf(uploadBatch(hostile, notes(1)));
    const tenth = downloadBatch(hostile, [{ encryptedPath: 'note0' }])
      .expect(200)
      .then(({ body }) => itemsIn(body as Buffer).map(({ status }) => status));
    await eventually(() => expect(slots.queued).toBe(2));
    expect(await statusesOf(uploadBatch(victim, notes(1)))).toEqual([201]);
    expect(await headOfLog(hostile)).toBe(0);
    held[0]!();
    expect(await ninth).toEqual([201]);
    expect([[200], [404]]).toContainEqual(await tenth);
    for (const release of held) release();
    await eventually(() => expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]));
  });

  it('is refused with 503 when 32 batches of its user are waiting', async () => {
    const slots = service.app.get(BatchSlots, { strict: false });
    const one = await (await somebody()).workspace();
    const held = await Promise.all(many(8).map(() => slots.take(one.user.id)));
    const waiting = many(32).map(() => slots.take(one.user.id));
    const { headers } = await uploadBatch(one, notes(1)).expect(503);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    await downloadBatch(one, [{ encryptedPath: 'a' }]).expect(503);
    for (const release of held) release();
    for (const taken of waiting) (await taken)();
    expect([slots.taken, slots.queued, slots.owners]).toEqual([0, 0, 0]);
  });
});

describe('a slow client', () => {
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());
  afterEach(() => jest.restoreAllMocks());

  it('that pauses an upload holds no slot and no reserve, and is 408 below the minimum pace', async () => {
    const slots = service.app.get(BatchSlots, { strict: false });
    const space = service.app.get(FreeSpace);
    const { waiting } = service.app.get(InFlightRequests);
    const one = await (await somebody()).workspace();
    const finish = await begunBatch(service.database, one, notes(COMMIT_UPLOADS));
    await eventually(() => expect([slots.taken, space.takenBytes, waiting.unsentBodies]).toEqual([0, 0, 1]));
    for (let look = 0; look < 2 * LOOKS_OF_INTERVAL; look++) waiting.look();
    await eventually(() => expect(waiting.size).toBe(0));
    expect((await finish()).status).toBe(408);
    expect(await headOfLog(one)).toBe(COMMIT_UPLOADS);
  });

  it('that continues after a pause has its whole batch stored', async () => {
    const one = await (await somebody()).workspace();
    const finish = await begunBatch(service.database, one, notes(COMMIT_UPLOADS));
    expect((await finish()).status).toBe(200);
    expect(await headOfLog(one)).toBe(firstGroup().length + COMMIT_UPLOADS);
  });

  it('that does not read its download holds no slot and can read all of it later', async () => {
    const slots = service.app.get(BatchSlots, { strict: false });
    const { waiting } = service.app.get(InFlightRequests);
    const { one, items } = await large();
    const socket = begun(one, 'batch-download', JSON.stringify({ items })).pause();
    await eventually(() => expect([slots.taken, slots.owners, waiting.size]).toEqual([0, 0, 1]));
    const bytes = received(socket);
    socket.resume();
    await eventually(() => expect(waiting.size).toBe(0));
    socket.end();
    expect((await bytes).length).toBeGreaterThan(items.length * MIB);
  });

  it('whose download waits for its slot holds no bytes', async () => {
    const { waiting } = service.app.get(InFlightRequests);
    const one = await (await somebody()).workspace();
    await uploadBatch(one, notes(1)).expect(200);
    const slots = service.app.get(BatchSlots, { strict: false });
    const take = slots.take.bind(slots);
    let begin = (): void => undefined;
    const turn = new Promise<void>((resolve) => (begin = resolve));
    jest.spyOn(slots, 'take').mockImplementation((owner) => turn.then(() => take(owner)));
    const answer = downloadBatch(one, [{ encryptedPath: 'note0' }]).then(({ body }) =>
      itemsIn(body as Buffer),
    );
    await eventually(() => expect([waiting.size, waiting.heldBytes]).toEqual([1, 0]));
    begin();
    expect(await answer).toHaveLength(1);
  });

  it('whose download has begun gets all of it although slots are refused meanwhile', async () => {
    const { one, items } = await large();
    const slots = service.app.get(BatchSlots, { strict: false });
    const take = slots.take.bind(slots);
    let calls = 0;
    const refused = [1, 2, 5]; // not the first one, which decides the status
    jest.spyOn(slots, 'take').mockImplementation(async (owner) => {
      if (refused.includes(calls++)) throw new ServiceUnavailable('too many batches at once', 5);
      return take(owner);
    });
    expect(itemsIn((await downloadBatch(one, items).expect(200)).body as Buffer)).toHaveLength(items.length);
    expect(calls).toBeGreaterThan(6);
    await eventually(() => expect([slots.taken, slots.owners]).toEqual([0, 0]));
  });

  it('that disconnects before the first bytes are sent leaves no content open', async () => {
    const { one, items } = await large();
    const blobs = service.app.get(Blobs, { strict: false });
    const original = blobs.pieces.bind(blobs);
    let [opened, open] = [0, 0];
    jest.spyOn(blobs, 'pieces').mockImplementation(async function* (blob) {
      socket.destroy();
      await eventually(() => expect(service.app.get(InFlightRequests).count).toBe(0));
      [opened, open] = [opened + 1, open + 1];
      try {
        yield* original(blob);
      } finally {
        open--;
      }
    });
    const socket = begun(one, 'batch-download', JSON.stringify({ items }));
    await eventually(() => expect([opened, open]).toEqual([1, 0]));
  });

  it('that has read for a minute gets the rest without contents', async () => {
    const { one, items } = await large();
    const request = one.user
      .post(`${one.path}/files/batch-download`)
      .send({ items })
      .buffer(true)
      .parse((response, done) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          // The first bytes are there: the next groups are read when there is room for them.
          if (chunks.push(chunk) === 1) service.clock.advance(60_001);
        });
        response.on('end', () => done(null, Buffer.concat(chunks)));
      });
    const { body } = await request.expect(200);
    const received = itemsIn(body as Buffer);
    expect(received.map(({ status }) => status)).toEqual(items.map(() => 200));
    const withContent = received.map(({ content }) => content !== undefined);
    expect(withContent).toEqual(withContent.toSorted().toReversed());
    expect(withContent[0]).toBe(true);
    expect(withContent.at(-1)).toBe(false);
  });

  /** A workspace with as much content as one response may have. */
  async function large(): Promise<{ one: TestWorkspace; items: { encryptedPath: string }[] }> {
    const one = await (await somebody()).workspace();
    const items = many(32).map((i) => upload(`note${i}`, Buffer.alloc(MIB, i)));
    await uploadBatch(one, items).expect(200);
    return { one, items: many(32).map((i) => ({ encryptedPath: `note${i}` })) };
  }
});

/** A request on its own socket: a number announces so many body bytes and sends none, a string is sent. */
function begun(one: TestWorkspace, route: string, body: number | string): ReturnType<typeof openSocket> {
  const socket = openSocket(one.user.url);
  const length = String(typeof body === 'number' ? body : Buffer.byteLength(body));
  const headers = { Host: 'x', Authorization: `Bearer ${one.user.token}`, 'X-Device-Id': 'laptop' };
  const head = { ...headers, 'Content-Type': 'application/json', 'Content-Length': length };
  socket.write(headOf('POST', `${one.path}/files/${route}`, head));
  if (typeof body === 'string') socket.write(body);
  return socket;
}
