import { randomBytes } from 'node:crypto';
import { downloaded, upload, uploadBatch } from '../../kit/batches.js';
import { sha256, type TestWorkspace } from '../../kit/index.js';
import { headOf, openSocket, received } from '../../kit/raw-http.js';
import { describeWithTestServers } from '../../kit/s3.js';
import { expectNothingLostOrLeft } from '../../kit/stored-blobs.js';
import { NO_ANSWER, SMALL, LARGE, FAULTS, useFaultyStore } from '../../kit/faulty-store.js';

describeWithTestServers('between the service and S3', () => {
  const store = useFaultyStore();

  describe('a download', () => {
    let path: string;
    let body: Buffer;
    beforeAll(async () => {
      path = store.newPath();
      body = randomBytes(LARGE);
      await store.notes.put(path, body).expect(201);
    });

    // A read that is only said to be done has no bytes, so it is not retried: see the next test.
    it.each(FAULTS.slice(0, -1))('hides one fault from the client: %s', async (_, fault) => {
      let met = 0;
      store.trouble(({ method }) => (method === 'GET' && ++met === 1 ? fault : undefined), 3);
      const { body: came } = await store.notes.get(path).timeout(NO_ANSWER).expect(200);
      expect(body.equals(came as Buffer)).toBe(true);
    });

    it.each(FAULTS)(
      'ends in an error or a cut when the store stays away, never as a whole answer: %s',
      async (_, fault) => {
        let met = 0;
        store.trouble(({ method }) => {
          if (method !== 'GET') return undefined;
          return ++met === 1 && fault.kind !== 'delay' ? fault : { kind: 'reset' };
        });
        const answer = await raw(store.notes, path);
        const [head = '', ...rest] = answer.toString('latin1').split('\r\n\r\n');
        const status = Number(head.split(' ')[1]);
        if (status === 503) expect(head).toMatch(/^retry-after: \d+\r?$/im);
        else if (status === 200) expect(rest.join('\r\n\r\n').length).toBeLessThan(body.length);
        else expect(fault.kind).toBe('swallow'); // missing bytes are not retried
      },
    );
  });

  describe('a batch', () => {
    it.each(FAULTS)(
      'upload with a content that fails is stored whole or not at all: %s',
      async (_, fault) => {
        const at = await store.notes.user.workspace();
        const bodies = [300, SMALL, SMALL, 0].map((size) => randomBytes(size));
        const items = bodies.map((body, i) => upload(`item${i}`, body));
        let met = 0;
        store.trouble(({ method, path }) => {
          const isFirst = method === 'PUT' && path.includes(at.id) && ++met === 1;
          return isFirst ? fault : undefined;
        }, 3);
        const { status } = await uploadBatch(at, items).timeout(NO_ANSWER);
        store.heal();
        expect([200, 503]).toContain(status);
        const count = status === 200 ? items.length : 0;
        expect(await at.status()).toEqual({ cursor: count, fileCount: count });
        await uploadBatch(at, items).expect(200);
        expect((await at.status()).cursor).toBe(items.length);
        const received = await downloaded(
          at,
          items.map((_item, i) => `item${i}`),
        );
        expect(received.map(({ content }) => sha256(Buffer.from(content ?? 'none')))).toEqual(
          bodies.map((body) => sha256(body)),
        );
      },
    );

    it.each(FAULTS)('download has whole contents, without one that cannot be read: %s', async (_, fault) => {
      const at = await store.notes.user.workspace();
      const bodies = [300, SMALL, SMALL].map((size) => randomBytes(size));
      const items = bodies.map((body, i) => upload(`item${i}`, body));
      await uploadBatch(at, items).expect(200);
      let bad: string | undefined;
      store.trouble(({ method, path }) => {
        if (method !== 'GET' || !path.includes(at.id)) return undefined;
        bad ??= path;
        return path === bad ? fault : undefined;
      }, 3);
      const received = await downloaded(
        at,
        items.map((_item, i) => `item${i}`),
      );
      store.heal();
      expect(received.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const [i, { content }] of received.entries())
        if (content) expect(sha256(Buffer.from(content))).toBe(sha256(bodies[i]!));
      expect(received.filter(({ content }) => content === undefined).length).toBeLessThanOrEqual(1);
    });

    it('has lost nothing in the store, and a sweep leaves nothing', async () => {
      await store.settled();
      await expectNothingLostOrLeft(store.service.database, store.bucket);
    });
  });

  /** Reads until the connection ends. */
  function raw(notes: TestWorkspace, path: string): Promise<Buffer> {
    const socket = openSocket(notes.user.url);
    const Authorization = `Bearer ${notes.user.token}`;
    socket.write(headOf('GET', notes.file(path), { Host: 'x', Authorization, Connection: 'close' }));
    return received(socket);
  }
});
