import { json, type Peer } from '../peer.js';
import { type Attack, headerLines, holding, paced, type Scene } from './attack.js';
import { inTurn } from '../turns.js';

/** Requests restore manifests and summaries of a large log, many at a time. */
const manifests: Attack = {
  name: 'manifests',
  by: 'account',
  run: (scene) => {
    const { workspaceId, checkpointId } = scene.possessions.large;
    const checkpoint = `/api/v1/workspaces/${workspaceId}/checkpoints/${checkpointId}`;
    return asking(scene, { perSecond: 10, atOnce: 30 }, (n) =>
      n % 3 === 0 ? `${checkpoint}/summary?fromCursor=0` : `${checkpoint}/restore-manifest`,
    );
  },
};

/** Lists tokens and workspaces, many at a time, and creates more of both while that is allowed. */
const lists: Attack = {
  name: 'lists',
  by: 'account',
  run: (scene) => {
    const peer = scene.peer('hostile', 0);
    const more = paced(scene, { perSecond: 3, atOnce: 3 }, async (n) => {
      const [path, body] =
        n % 4 === 0
          ? ['/api/v1/auth/tokens', { name: 'one more' }]
          : ['/api/v1/workspaces', { name: 'one more' }];
      const { status } = await peer.sendJson('POST', path, body, { token: scene.token });
      scene.count(`${path === '/api/v1/workspaces' ? 'workspace' : 'token'} ${status}`);
    });
    const listing = asking(scene, { perSecond: 10, atOnce: 30 }, (n) =>
      n % 2 === 0 ? '/api/v1/auth/tokens' : '/api/v1/workspaces',
    );
    return Promise.all([more, listing]).then(() => undefined);
  },
};

/** Searches with a new key session each time, so that each search builds an index. */
const search: Attack = {
  name: 'search',
  by: 'account',
  run: (scene) => {
    const { workspaceIds } = scene.possessions.vaults;
    const peer = scene.peer('hostile', 0);
    return paced(scene, { perSecond: 4, atOnce: 40 }, async (n) => {
      const workspaceId = inTurn(workspaceIds, n);
      const keySession = await openKeySession(scene, peer, workspaceId);
      if (keySession === undefined) return;
      const { status } = await peer.send('GET', `${automation(workspaceId)}/search?q=word`, {
        token: scene.token,
        headers: { 'x-key-session': keySession },
      });
      scene.count(String(status));
    });
  },
};

/** Requests large notes without reading them, and sends large notes that stop after 2 MB. */
const largeNotes: Attack = {
  name: 'large-notes',
  by: 'account',
  run: async (scene) => {
    const { workspaceIds, largeNote } = scene.possessions.vaults;
    const first = inTurn(workspaceIds, 0);
    const path = automation(first);
    const keySession = await openKeySession(scene, scene.peer('hostile', 0), first);
    if (keySession === undefined) return;
    const own = headerLines({ Authorization: `Bearer ${scene.token}`, 'X-Key-Session': keySession });
    await holding(scene, { role: 'hostile', count: 30, opensPerSecond: 5 }, (socket, n, headers) => {
      if (n % 2 === 0) {
        socket.write(`GET ${path}/notes/${largeNote} HTTP/1.1\r\n${headers}${own}\r\n`);
      } else {
        const length = headerLines({ 'Content-Type': 'application/json', 'Content-Length': '8000000' });
        socket.write(`PUT ${path}/notes/${largeNote} HTTP/1.1\r\n${headers}${own}${length}\r\n{"content":"`);
        socket.write(Buffer.alloc(2_000_000, 'x'));
      }
    });
  },
};

const automation = (workspaceId: string): string => `/api/v1/automation/workspaces/${workspaceId}`;

async function openKeySession(scene: Scene, peer: Peer, workspaceId: string): Promise<string | undefined> {
  const { key } = scene.possessions.vaults;
  const answer = await peer.sendJson(
    'POST',
    `${automation(workspaceId)}/key-sessions`,
    { key },
    { token: scene.token },
  );
  scene.count(`key session ${answer.status}`);
  return answer.status === 201 ? json<{ keySession: string }>(answer).keySession : undefined;
}

function asking(
  scene: Scene,
  pace: { perSecond: number; atOnce: number },
  path: (n: number) => string,
): Promise<void> {
  const peers = scene.target.urls.map((_, n) => scene.peer('hostile', n));
  return paced(scene, pace, async (n) => {
    const { status } = await inTurn(peers, n).send('GET', path(n), { token: scene.token });
    scene.count(String(status));
  });
}

export const QUEUES: readonly Attack[] = [manifests, lists, search, largeNotes];
