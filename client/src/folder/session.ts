import { WrongFolder } from './errors.js';
import type { Disk, Random } from './ports.js';
import type { FolderState } from './state.js';

interface Marker {
  readonly folder: string;
  readonly stamp: string;
}

/**
 * Ties a folder to its state. The marker in the folder and the state share a stamp, which is renewed before any change. A
 * state or folder from a backup, a copy of the folder, or a folder that another program has synced has another stamp. Then
 * the state is discarded, and everything is merged by content.
 */
export class Session {
  private constructor(
    private readonly disk: Disk,
    private readonly state: FolderState,
    private readonly random: Random,
    private readonly workspace: string,
  ) {}

  /** @throws WrongFolder when the folder is not the one that was synced, for example an empty mount point */
  static async open(disk: Disk, state: FolderState, random: Random, workspace: string): Promise<Session> {
    const session = new Session(disk, state, random, workspace);
    const marker = await session.marker();
    const known = state.identity;
    if (known && marker && marker.folder !== known.folder)
      throw new WrongFolder('this is another folder than the one that was synced here: nothing was touched');
    if (known && !marker && state.synced.size > 0)
      throw new WrongFolder(
        'the folder has lost its marker .cloud-sync/folder.json, as when a disk is not mounted: nothing was touched',
      );
    const isOurs =
      known && marker && [known.stamp, known.next].includes(marker.stamp) && known.workspace === workspace;
    if (!isOurs) {
      await state.forget();
      const folder = known?.folder ?? marker?.folder ?? session.word();
      await session.replaceMarker(folder, marker && textOf(marker));
    } else if (marker.stamp !== known.stamp) {
      state.add({ t: 'stamp', ...marker, workspace }); // killed during the renewal
      await state.sync();
    }
    return session;
  }

  /** The id of this session; no copy of folder and state has the same. */
  get stamp(): string {
    return this.state.identity?.stamp ?? '';
  }

  /** @throws WrongFolder when the folder was replaced meanwhile */
  async check(): Promise<void> {
    const marker = await this.marker();
    const known = this.state.identity;
    if (marker?.folder !== known?.folder || marker?.stamp !== known?.stamp)
      throw new WrongFolder('the folder was unmounted, exchanged or synced by another program: stopped');
  }

  /** Sets a new stamp, so that earlier copies can be told apart from now on. Durable at once. */
  async renew(): Promise<void> {
    const known = this.state.identity;
    if (known) await this.replaceMarker(known.folder, textOf(known));
  }

  private async replaceMarker(folder: string, expected: string | undefined): Promise<void> {
    const { workspace } = this;
    const stamp = this.word();
    const before = this.state.identity?.stamp ?? stamp;
    this.state.add({ t: 'stamp', folder, workspace, stamp: before, next: stamp });
    await this.state.sync();
    await this.disk.writeMarker(textOf({ folder, stamp }), expected);
    this.state.add({ t: 'stamp', folder, workspace, stamp });
    await this.state.sync();
  }

  private word(): string {
    return Array.from(this.random.bytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  private async marker(): Promise<Marker | undefined> {
    const text = await this.disk.readMarker();
    if (text === undefined) return undefined;
    const { folder, stamp } = parsedMarker(text);
    if (typeof folder === 'string' && typeof stamp === 'string') return { folder, stamp };
    throw new WrongFolder('the marker .cloud-sync/folder.json is broken: nothing was touched');
  }
}

const textOf = ({ folder, stamp }: Marker): string => `${JSON.stringify({ folder, stamp })}\n`;

function parsedMarker(text: string): Partial<Record<keyof Marker, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Partial<Marker>;
  } catch {
    return {};
  }
}
