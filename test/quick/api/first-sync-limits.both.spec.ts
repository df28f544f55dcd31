import { Agent, request } from 'node:http';
import { insertLargeLog } from '../../../bench/large-log.js';
import { startService, TestSocket, type TestService, type TestUser } from '../../kit/index.js';
import { firstOf, rounds } from '../../kit/rounds.js';

/** The promise is 5,000, which takes minutes; 250 already exceed a user's requests in one minute. */
const FAMILY_NOTES = Number(process.env['FAMILY_NOTES'] ?? 250);
/** `npm test` has a tenth of the notes and a tenth of the limit. */
const PART = rounds(10, 1);
const NOTES = Math.ceil(FAMILY_NOTES / PART);
const LIMIT = 1200 / PART;
const DEVICES = 10;
/** Browsers open 6 connections; native clients up to 16. */
const AT_ONCE = 16;
const PAGE = 1_000;

/** Responses to all devices, counted by status. */
type Statuses = Record<number, number>;

/** Has no `files` when it is refused. */
interface SnapshotPage {
  readonly files: readonly { readonly encryptedPath: string }[];
  readonly nextPageCursor: string | null;
}

/** Syncs an empty device at full speed: a socket, the snapshot in pages, then every note. */
async function firstSync(
  user: TestUser,
  workspaceId: string,
  device: string,
  seen: Statuses,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const path = `/api/v1/workspaces/${workspaceId}`;
  const get = (url: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${user.token}` };
      request(user.url + url, { agent, headers }, (answer) => {
        seen[answer.statusCode!] = (seen[answer.statusCode!] ?? 0) + 1;
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => (text += part));
        answer.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
  const socket = await TestSocket.join({ id: workspaceId, user }, device);
  const paths: string[] = [];
  for (let from: string | null = ''; from !== null;) {
    const page = await get(`${path}/sync/snapshot?limit=${PAGE}${from && `&pageCursor=${from}`}`);
    const { files = [], nextPageCursor = null } = JSON.parse(page) as Partial<SnapshotPage>;
    paths.push(...files.map(({ encryptedPath }) => encryptedPath));
    from = nextPageCursor;
  }
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < paths.length) await get(`${path}/files/${paths[next++]}`);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  agent.destroy();
  await socket.close();
  return paths.length;
}

describe(`the first sync of ${NOTES} notes by ten devices at one address, with ${LIMIT} requests a minute`, () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT) } });
  });
  afterAll(() => service.close());

  const FAMILIES: [string, number][] = [
    ['one user', 1],
    ['five users with two devices each', 5],
    ['ten users', 10],
  ];
  it.each(firstOf(1, FAMILIES))('is never refused: %s', async (_, count) => {
    // The clock stands still, so that no limit is renewed meanwhile.
    service.clock.stopAt(new Date(`2026-05-01T${10 + count}:00:20.000Z`));
    const users = await Promise.all(
      Array.from({ length: count }, (_, n) => service.user(`family-of-${count}-${n}`)),
    );
    const workspaceIds = await Promise.all(
      users.map(async (user) => {
        const { id } = await user.workspace();
        await insertLargeLog((sql, values) => service.database.query(sql, values), id, {
          files: Math.ceil((NOTES * 10) / 9), // a tenth of them is deleted
          changes: 2 * Math.ceil((NOTES * 10) / 9),
        });
        return id;
      }),
    );
    const seen: Statuses = {};
    const synced = await Promise.all(
      Array.from({ length: DEVICES }, (_, n) =>
        firstSync(users[n % count]!, workspaceIds[n % count]!, `device-${n}`, seen),
      ),
    );
    expect(seen).toEqual({ 200: expect.any(Number) });
    for (const notes of synced) expect(notes).toBeGreaterThanOrEqual(NOTES);
  });
});
