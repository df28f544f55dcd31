import { WrongFolder } from '../../../client/src/folder/errors.js';
import { FolderState } from '../../../client/src/folder/state.js';
import { Session } from '../../../client/src/folder/session.js';
import type { Disk } from '../../../client/src/folder/ports.js';
import type { StateRecord } from '../../../client/src/folder/state-records.js';
import { Random } from '../../kit/random.js';
import { Bytes, SimulatedStateFile } from '../../kit/simulator/state-file.js';
import { Killed, Steps } from '../../kit/simulator/steps.js';

const open = (bytes: Bytes, steps = new Steps()) => FolderState.open(new SimulatedStateFile(bytes, steps));

const shown = ({ identity, cursor, remote, odd, synced, sent }: FolderState) =>
  JSON.stringify([identity, cursor, [...remote], [...odd], [...synced], [...sent]], (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );

const stat: [string, string, string] = ['1764288000123456789', '1764288000123456790', '99'];
const synced = (path: string, hash = 'c1'): StateRecord => ({
  t: 'synced',
  path,
  plain: 'p1',
  hash,
  version: 1,
  size: 5,
  stat,
});
const RECORDS: StateRecord[] = [
  { t: 'stamp', folder: 'f', workspace: 'w', stamp: 's1' },
  { t: 'snapshot' },
  { t: 'page', set: [['K\u00f6ln', 'c1', 66, 1]], odd: [['XXX', 'does not open']] },
  { t: 'page', set: [['b', 'c2', 66, 1]], odd: [] },
  { t: 'snapshot-end', cursor: 7 },
  { t: 'sent', path: 'new', plain: 'p3', hash: 'c3', size: 4 },
  { t: 'sent', path: 'new', plain: 'p4', hash: 'c4', size: 4 },
  synced('K\u00f6ln'),
  synced('b', 'c2'),
  { t: 'pull', cursor: 9, set: [['b', 'c5', 70, 2]], gone: ['K\u00f6ln'], odd: [], oddGone: ['XXX'] },
  { t: 'unsynced', path: 'K\u00f6ln' },
  { t: 'stamp', folder: 'f', workspace: 'w', stamp: 's1', next: 's2' },
  synced('new', 'c4'),
  { t: 'forget' },
  { t: 'snapshot' },
  { t: 'page', set: [['d', 'c9', 66, 1]], odd: [] },
];

async function written(records: StateRecord[]): Promise<Bytes> {
  const bytes = new Bytes();
  const state = await open(bytes);
  for (const record of records) state.add(record);
  await state.sync();
  return bytes;
}

describe('the state of a folder', () => {
  it('is read back as it was written', async () => {
    const state = await open(await written(RECORDS.slice(0, 13)));
    expect(state.cursor).toBe(9);
    expect([...state.remote]).toEqual([['b', { contentHash: 'c5', encryptedSize: 70, version: 2 }]]);
    expect(state.identity).toEqual({ folder: 'f', workspace: 'w', stamp: 's1', next: 's2' });
    expect(state.synced.get('b')).toEqual({
      plainHash: 'p1',
      contentHash: 'c2',
      version: 1,
      size: 5,
      stat: {
        kind: 'file',
        size: 5,
        mtimeNs: 1764288000123456789n,
        ctimeNs: 1764288000123456790n,
        ino: 99n,
      },
    });
    expect([...state.sent]).toEqual([]);
    expect([state.odd.size, state.synced.size]).toEqual([0, 2]);
  });

  it('applies a snapshot whole or not at all', async () => {
    const before = await open(await written(RECORDS.slice(0, 4)));
    expect([before.cursor, before.remote.size]).toEqual([undefined, 0]);
    const after = await open(await written(RECORDS.slice(0, 5)));
    expect([after.cursor, after.remote.size, after.odd.size]).toEqual([7, 2, 1]);
  });

  it('returns to an earlier moment when its file is cut at any byte, and continues from there', async () => {
    const { written: whole } = await written(RECORDS);
    const prefixes: string[] = [];
    for (let count = 0; count <= RECORDS.length; count++)
      prefixes.push(shown(await open(await written(RECORDS.slice(0, count)))));
    let earliest = 0;
    for (let length = 0; length <= whole.length; length++) {
      const bytes = new Bytes();
      bytes.written = whole.slice(0, length);
      const state = await open(bytes);
      const at = prefixes.indexOf(shown(state), earliest);
      expect(at).toBeGreaterThanOrEqual(earliest);
      earliest = at;
      state.add(synced('later'));
      await state.sync();
      expect((await open(bytes)).synced.has('later')).toBe(true);
    }
    expect(prefixes[earliest]).toBe(prefixes.at(-1));
  });

  it('returns to an earlier moment when any byte has changed', async () => {
    const { written: whole } = await written(RECORDS);
    const prefixes = new Set<string>();
    for (let count = 0; count <= RECORDS.length; count++)
      prefixes.add(shown(await open(await written(RECORDS.slice(0, count)))));
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = new Bytes();
      bytes.written = whole.map((byte, index) => (index === at ? byte ^ 0x04 : byte));
      expect(prefixes).toContain(shown(await open(bytes)));
    }
  });

  it('keeps all flushed records after a kill and a loss of power at any step', async () => {
    for (let killAt = 1; ; killAt++) {
      const bytes = new Bytes();
      const steps = new Steps(new Random(killAt), killAt);
      const flushed: string[] = [];
      try {
        const state = await open(bytes, steps);
        for (let round = 0; round < 4; round++) {
          for (let file = 0; file < 900; file++) state.add(synced(`${round}-${file % 10}`));
          await state.write();
          await state.sync();
          flushed.push(`${round}-9`);
          await state.compact();
        }
        expect(killAt).toBeGreaterThan(10);
        return;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      }
      bytes.losePower(steps.random.next());
      const state = await open(bytes);
      for (const path of flushed) expect(state.synced.has(path)).toBe(true);
    }
  });

  it.each([0, 1, 7, 1_000])('has no gap after a full disk has stored %i bytes of a write', async (taken) => {
    const bytes = new Bytes();
    const file = new SimulatedStateFile(bytes, new Steps());
    const append = file.append.bind(file);
    const state = await FolderState.open(file);
    for (const record of RECORDS.slice(0, 9)) state.add(record);
    await state.sync();
    file.append = async (more) => {
      await append(more.slice(0, taken));
      throw new Error('no room');
    };
    state.add(RECORDS[9]!); // another device has changed a file
    await expect(state.sync()).rejects.toThrow('no room');
    file.append = append;
    state.add({ t: 'pull', cursor: 11, set: [], gone: [], odd: [], oddGone: [] });
    await state.sync();
    expect(shown(await open(bytes))).toBe(shown(state));
    file.replace = () => Promise.reject(new Error('no room'));
    for (let index = 0; index < 3_000; index++) state.add(synced('often', `c${index}`));
    await expect(state.compact()).rejects.toThrow('no room');
    await state.sync();
    expect(shown(await open(bytes))).toBe(shown(state));
  });

  it('is compacted to its live records without a change of content', async () => {
    const bytes = await written(RECORDS.slice(0, 13));
    const state = await open(bytes);
    state.add({ t: 'sent', path: 'x', plain: 'p', hash: 'c', size: 1 });
    for (let index = 0; index < 3_000; index++) state.add(synced('often', `c${index}`));
    await state.sync();
    const long = bytes.written.length;
    await state.compact();
    expect(bytes.written.length).toBeLessThan(long / 100);
    expect(shown(await open(bytes))).toBe(shown(state));
    state.add(synced('after'));
    await state.sync();
    expect(shown(await open(bytes))).toBe(shown(state));
  });
});

function markerDisk(steps = new Steps()) {
  const disk = {
    marker: undefined as string | undefined,
    async readMarker() {
      await steps.next();
      return disk.marker;
    },
    async writeMarker(text: string) {
      await steps.next();
      disk.marker = text;
    },
  };
  return disk;
}

const asDisk = (disk: ReturnType<typeof markerDisk>) => disk as unknown as Disk;
let seed = 0;
const random = () => ({
  bytes: (count: number) => Uint8Array.from({ length: count }, () => (seed += 7) % 251),
});

async function start(
  disk: ReturnType<typeof markerDisk>,
  bytes: Bytes,
  workspace = 'w',
  steps = new Steps(),
) {
  const state = await open(bytes, steps);
  const session = await Session.open(asDisk(disk), state, random(), workspace);
  return { state, session };
}

async function syncedFolder() {
  const disk = markerDisk();
  const bytes = new Bytes();
  const { state, session } = await start(disk, bytes);
  state.add(synced('f'));
  await session.renew();
  return { disk, bytes, session };
}

describe('the marker of a folder', () => {
  it('is created at first, and the state is used while the two match', async () => {
    const { disk, bytes } = await syncedFolder();
    const { state, session } = await start(disk, bytes);
    expect(state.synced.size).toBe(1);
    expect(JSON.parse(disk.marker!)).toEqual({ folder: state.identity?.folder, stamp: session.stamp });
    await session.check();
  });

  it('is required: an empty mount point is refused', async () => {
    const { disk, bytes } = await syncedFolder();
    disk.marker = undefined;
    await expect(start(disk, bytes)).rejects.toThrow(WrongFolder);
    await expect(start(disk, bytes)).rejects.toThrow(/nothing was touched/);
  });

  it.each(['', '{', 'null', '{"folder":1}'])('is refused when it is broken: %j', async (text) => {
    const { disk, bytes } = await syncedFolder();
    disk.marker = text;
    await expect(start(disk, bytes)).rejects.toThrow(WrongFolder);
  });

  it('reveals another folder, which is refused', async () => {
    const { bytes } = await syncedFolder();
    const other = await syncedFolder();
    await expect(start(other.disk, bytes)).rejects.toThrow(/another folder/);
  });

  it('is required during a session too', async () => {
    const { disk, session } = await syncedFolder();
    disk.marker = undefined;
    await expect(session.check()).rejects.toThrow(WrongFolder);
  });

  it('reveals a state from a backup, which is forgotten', async () => {
    const { disk, bytes, session } = await syncedFolder();
    const old = bytes.copy();
    await session.renew();
    const { state } = await start(disk, old);
    expect([state.synced.size, state.cursor]).toEqual([0, undefined]);
    expect((await start(disk, old)).state.identity?.folder).toBe(state.identity?.folder);
  });

  it('reveals that a copy of the folder was synced meanwhile', async () => {
    const { disk, bytes } = await syncedFolder();
    const copy = { ...markerDisk(), marker: disk.marker };
    copy.readMarker = async () => Promise.resolve(copy.marker);
    copy.writeMarker = async (text) => void (copy.marker = await Promise.resolve(text));
    const { session } = await start(copy, bytes);
    await session.renew();
    expect((await start(disk, bytes)).state.synced.size).toBe(0);
  });

  it('keeps the id of the folder when the state is lost', async () => {
    const { disk } = await syncedFolder();
    const { folder } = JSON.parse(disk.marker!) as { folder: string };
    const { state } = await start(disk, new Bytes());
    expect([state.identity?.folder, state.synced.size]).toEqual([folder, 0]);
  });

  it('reveals another vault, for which the state is forgotten', async () => {
    const { disk, bytes } = await syncedFolder();
    const { state } = await start(disk, bytes, 'rotated');
    expect([state.synced.size, state.identity?.workspace]).toEqual([0, 'rotated']);
  });

  it('still matches the state when its renewal is killed at any step', async () => {
    for (let killAt = 1; ; killAt++) {
      const { disk, bytes } = await syncedFolder();
      const steps = new Steps(new Random(killAt), killAt);
      const dying = Object.assign(markerDisk(steps), { marker: disk.marker });
      const isDead = await start(dying, bytes, 'w', steps)
        .then(({ session }) => session.renew())
        .then(
          () => false,
          (error: unknown) => error instanceof Killed,
        );
      const living = Object.assign(markerDisk(), { marker: dying.marker });
      const { state: after, session: again } = await start(living, bytes);
      expect(after.synced.size).toBe(1);
      expect(again.stamp).not.toBe('');
      if (!isDead) return;
    }
  });
});
