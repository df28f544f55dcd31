import { createHash, randomBytes } from 'node:crypto';
import { QUOTA_BYTES } from '../arena.js';
import type { Peer } from '../peer.js';
import { type Attack, paced, type Scene } from './attack.js';

const MIB = 1024 * 1024;
/** The attack stops a little beyond the quota, to spare the machine's disk. */
const MOST_BYTES = QUOTA_BYTES + 64 * MIB;

/** Uploads files of 1 MiB until the quota stops them, or until they exceed it so far that it evidently does not work. */
const uploads: Attack = {
  name: 'uploads',
  by: 'account',
  run: (scene) => {
    const body = randomBytes(MIB);
    let stored = 0;
    return paced(scene, { perSecond: 15, atOnce: 8 }, async (n) => {
      if (stored >= MOST_BYTES) return;
      const its = Buffer.from(body);
      its.writeUInt32LE(n);
      const status = await put(scene, n, `upload-${n}-${randomBytes(4).toString('hex')}`, its);
      scene.count(String(status));
      if (status === 201) {
        stored += MIB;
        scene.count('stored', MIB);
      }
    });
  },
};

/** Bursts of 200 small uploads to 100 workspaces at once. */
const manyUploads: Attack = {
  name: 'many-uploads',
  by: 'account',
  run: (scene) =>
    paced(scene, { perSecond: 0.2, atOnce: 1 }, async (burst) => {
      await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const status = await put(scene, n, `burst-${burst}-${n}`, randomBytes(2_000));
          scene.count(String(status));
        }),
      );
    }),
};

/** Deletes workspaces with files in quick succession, so that all are purged. */
const purges: Attack = {
  name: 'purges',
  by: 'account',
  run: (scene) => {
    const { doomed } = scene.possessions;
    const peer = scene.peer('hostile', 0);
    return paced(scene, { perSecond: 12, atOnce: 12 }, async (n) => {
      if (n >= doomed.length) return;
      const { status } = await peer.send('DELETE', `/api/v1/workspaces/${doomed[n]}`, { token: scene.token });
      scene.count(String(status));
    });
  },
};

const peers = new WeakMap<Scene, Peer>();

async function put(scene: Scene, n: number, path: string, body: Buffer): Promise<number> {
  const { many } = scene.possessions;
  const peer = peers.get(scene) ?? scene.peer('hostile', 0);
  peers.set(scene, peer);
  const headers = {
    'x-content-hash': createHash('sha256').update(body).digest('hex'),
    'x-device-id': 'hostile',
  };
  const file = `/api/v1/workspaces/${many[n % many.length]}/files/${path}`;
  return (await peer.send('PUT', file, { token: scene.token, headers, body })).status;
}

export const WRITES: readonly Attack[] = [uploads, manyUploads, purges];
