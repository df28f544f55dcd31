import { stat } from 'node:fs/promises';
import { OperatorError } from '../../platform/config/index.js';
import { diskSpace } from '../../platform/storage/index.js';

const LOOK_EVERY_MS = 250;

/** What stays free above the reserve, as a part of it: what is written between two looks, and until the process has ended. */
const MARGIN = 1.5;

interface Disks {
  /** Where `work` writes. */
  readonly path: string;
  readonly dataDir: string;
  /** What `path` is, for people. */
  readonly subject: string;
  /** Free bytes on the disk of DATA_DIR below which uploads are refused; 0: none. */
  readonly reserve: number;
}

/**
 * Does `work` while the disk of DATA_DIR has room: a backup on the same disk must not make the service refuse uploads. On a disk
 * of its own it may use all there is. Danger: `work` goes on after the error; the caller must remove its files and end.
 * @throws OperatorError when the room runs out, even before it begins
 */
export async function whileThereIsRoom<T>(disks: Disks, work: () => Promise<T>): Promise<T> {
  if (!(await isShared(disks))) return work();
  await expectRoom(disks);
  let timer: NodeJS.Timeout | undefined;
  const outOfRoom = new Promise<never>((_, reject) => {
    timer = setInterval(() => void expectRoom(disks).catch(reject), LOOK_EVERY_MS);
  });
  try {
    return await Promise.race([work(), outOfRoom]);
  } finally {
    clearInterval(timer);
  }
}

async function isShared({ path, dataDir, reserve }: Disks): Promise<boolean> {
  if (reserve === 0) return false;
  const [one, other] = await Promise.all([stat(path), stat(dataDir)]);
  return one.dev === other.dev;
}

async function expectRoom({ path, reserve, subject }: Disks): Promise<void> {
  const { free = Infinity } = await diskSpace(path);
  if (free >= reserve * MARGIN) return;
  throw new OperatorError(
    `The disk of ${subject} is that of DATA_DIR and too full for a backup: uploads need its last ${reserve} bytes; use another disk.`,
  );
}
