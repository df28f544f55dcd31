import { sha256 } from '../../../client/src/folder/contents.js';
import { FolderSync } from '../../../client/src/folder/engine.js';
import { DiskError, WrongFolder } from '../../../client/src/folder/errors.js';
import type { MassDeletion } from '../../../client/src/folder/plan.js';
import type { Report } from '../../../client/src/folder/report.js';
import { IGNORE_FILE, Rules } from '../../../client/src/folder/rules.js';
import { Random } from '../random.js';
import { sealed, sealedPath, SimulatedCipher } from './cipher.js';
import { SimulatedDisk } from './disk.js';
import { Ledger } from './ledger.js';
import { SimulatedNetwork } from './network.js';
import { copyOf, Person } from './person.js';
import { SimulatedServer } from './server.js';
import { Bytes, SimulatedStateFile } from './state-file.js';
import { Killed, Steps } from './steps.js';
import { type Nature, Volume } from './volume.js';

export interface SyncPlan {
  readonly seed: number;
  /** The step at which the process is killed. */
  readonly killAt: number | undefined;
  readonly killWhen?: () => boolean;
  /** The share of unflushed data that survives; undefined: only the process dies. */
  readonly power: number | undefined;
  readonly faults: number;
  /** Actions before a step. */
  readonly meanwhile: readonly { readonly at: number; readonly happen: () => void | Promise<void> }[];
}

export const QUIETLY: SyncPlan = { seed: 1, killAt: undefined, power: undefined, faults: 0, meanwhile: [] };

/** A computer with a folder. */
export class Device {
  volume: Volume;
  state = new Bytes();
  /** The disk while it is not mounted. */
  unmounted: Volume | undefined;
  clockAhead = 0;
  report: Report | undefined;
  isRunning = false;
  isRefused = false;
  /** The person's answer to mass deletions, and the questions. */
  answer = true;
  asked: [direction: string, count: number, of: number][] = [];
  readonly person: Person;

  constructor(
    readonly name: string,
    private readonly world: World,
    readonly nature: Nature,
  ) {
    this.volume = this.newVolume();
    this.person = new Person(() => this.volume, world.ledger);
  }

  newVolume(): Volume {
    return new Volume(this.nature, () => this.now(), this.world.ledger);
  }

  now(): number {
    return this.world.ms + this.clockAhead;
  }

  /** One run of the client, until it ends or is killed. */
  async sync({ seed, killAt, killWhen, power, faults, meanwhile }: SyncPlan = QUIETLY): Promise<void> {
    if (this.isRunning) return; // the lock of the state allows one run
    this.isRunning = true;
    this.isRefused = false;
    this.report = undefined;
    const steps = new Steps(new Random(seed), killAt, killWhen);
    for (const { at, happen } of meanwhile) steps.before(at, happen);
    try {
      await this.run(steps, faults, seed);
    } catch (error) {
      if (error instanceof WrongFolder) this.isRefused = true;
      else if (error instanceof DiskError)
        this.report = undefined; // the disk cannot even hold the marker
      else if (!(error instanceof Killed)) throw error;
    } finally {
      this.isRunning = false;
    }
    this.judge(faults);
    if (steps.isKilled && power !== undefined) {
      this.state.losePower(power);
      this.volume.losePower(power);
    }
  }

  /** A sync may stop only because of the network, an exchanged folder, or rules that cannot be read. */
  private judge(faults: number): void {
    const stopped = this.report?.stopped;
    if (stopped === undefined || faults > 0 || /rules|folder|permission|another file/.test(stopped)) return;
    this.world.ledger.violations.push(`${this.name} stopped: ${stopped}`);
  }

  private async run(steps: Steps, faults: number, seed: number): Promise<void> {
    const { world } = this;
    let folder: FolderSync | undefined = undefined;
    const device = (): string => `${this.name}-${folder?.stamp ?? ''}`;
    const parts = {
      disk: new SimulatedDisk(this.volume, steps),
      remote: new SimulatedNetwork(world.server, steps, device, faults),
      cipher: new SimulatedCipher(() => ++world.nonces),
      clock: {
        now: () => {
          world.ms++;
          return this.now();
        },
        sleep: async (ms: number) => {
          await steps.next();
          world.ms += ms;
        },
      },
      random: { bytes: (count: number) => Uint8Array.from({ length: count }, () => world.random.below(256)) },
    };
    const confirm = ({ direction, paths, of }: MassDeletion): Promise<boolean> => {
      this.asked.push([direction, paths.length, of]);
      return Promise.resolve(this.answer);
    };
    // Every other sync streams its contents through the disk.
    const streamAbove = seed % 2 === 0 ? 0 : undefined;
    const options = { device: this.name, maxFileBytes: 1_000, streamAbove, confirm };
    const stateFile = new SimulatedStateFile(this.state, steps);
    folder = await FolderSync.open({ parts, stateFile, workspace: 'w', options });
    this.report = await folder.sync();
  }
}

/** Devices, a server, and everything that may happen to them. */
export class World {
  ms = 1_764_288_000_250;
  nonces = 0;
  /** Whether a person has exchanged folders, so that the client may refuse one. */
  mayRefuse = false;
  readonly random = new Random(7);
  readonly ledger = new Ledger();
  readonly server = new SimulatedServer();
  readonly devices: Device[];
  private contents = 0;

  constructor(natures: readonly Nature[]) {
    this.devices = natures.map((nature, index) => new Device(`device${index}`, this, nature));
    this.ledger.knows(() => this.server.texts());
  }

  device(index: number): Device {
    return this.devices[index % this.devices.length]!;
  }

  /** A new content; all have the same length. */
  newText(): string {
    return `text${String(++this.contents).padStart(4, '0')}`;
  }

  putServerBack(): void {
    if (this.devices.some(({ isRunning }) => isRunning)) this.ledger.excuse(this.server.texts());
    this.server.putBack();
    this.ledger.writeOff();
  }

  /** Copies the folder of one device to the disk of another, with or without its state. */
  copyFolder(from: Device, to: Device, withState: boolean): void {
    if (from === to || from.isRunning || to.isRunning || from.unmounted || to.unmounted) return;
    this.mayRefuse = true;
    this.dropFiles(to);
    to.volume = to.newVolume();
    copyOf(from.volume, to.volume);
    to.state = withState ? from.state.copy() : new Bytes();
  }

  private dropFiles({ volume }: Device): void {
    for (const [path, { text }] of volume.files()) {
      this.ledger.retire(text);
      this.ledger.release(text, 'person', path);
    }
  }

  /** Another client writes paths and contents that no client should. */
  poison(kind: number): void {
    const paths = [
      '',
      '../outside',
      '.git/config',
      'd/.GIT/hooks',
      'a\u0000b',
      '/absolute',
      'b'.repeat(300),
      'does not open.md',
    ];
    const path = paths[kind % paths.length]!;
    const encryptedPath = path === '' ? 'garbage' : sealedPath(path);
    const boundTo = path === 'does not open.md' ? 'another path' : encryptedPath;
    const envelope = sealed(boundTo, new TextEncoder().encode('poison'), ++this.nonces);
    const contentHash = sha256(envelope);
    this.server.upload('stranger', { encryptedPath, contentHash, envelope, base: undefined });
  }

  toggleMount(device: Device): void {
    if (device.isRunning) return;
    this.mayRefuse = true;
    if (device.unmounted) {
      this.dropFiles(device);
      device.volume = device.unmounted;
      device.unmounted = undefined;
    } else {
      device.unmounted = device.volume;
      device.volume = device.newVolume();
    }
  }

  /** Repairs everything and syncs until nothing changes. */
  async comeToRest(): Promise<void> {
    for (const device of this.devices) {
      if (device.unmounted) this.toggleMount(device);
      device.volume.isFull = device.volume.isReadOnly = false;
      for (const [, file] of device.volume.files()) file.isReadable = true;
    }
    for (let round = 0; round < 12; round++) {
      this.ms += 10_000;
      let isQuiet = true;
      for (const device of this.devices) {
        await device.sync();
        if (device.isRefused) {
          if (!this.mayRefuse) this.ledger.violations.push(`${device.name} refuses its own folder`);
          device.state = new Bytes(); // a person decides to sync it
          isQuiet = false;
        }
        const { report } = device;
        if (report?.hasChanged !== false || report.stopped !== undefined || report.unsettled.length > 0)
          isQuiet = false;
      }
      if (isQuiet && round > 0) return;
    }
    this.ledger.violations.push(
      `the devices do not come to rest: ${this.devices.map(({ name, report }) => `${name}: ${shown(report)}`).join('; ')}`,
    );
  }

  /** What does not hold at the end, in words. */
  wrongs(): string[] {
    const wrongs = [...this.ledger.violations];
    const live = new Map([...this.server.live()].map(([path, text]) => [plainOf(path), text]));
    const placed = new Set(live.values());
    for (const device of this.devices) {
      const left = new Set(device.report?.leftOver.map(({ path }) => path));
      const rules = rulesOf(device);
      const isLeft = (path: string): boolean =>
        rules.leftOut(path) !== undefined ||
        isUnder(path, left) ||
        isUnder(path.normalize('NFC'), left) ||
        left.has(sealedPath(path)) ||
        left.has(path);
      const here = new Map<string, string>();
      for (const [path, { text }] of device.volume.files()) {
        if (isLeft(path)) placed.add(text);
        else here.set(path.normalize('NFC'), text);
      }
      for (const [path, text] of live)
        if (!isLeft(path) && here.get(path) !== text)
          wrongs.push(`${device.name} has ${here.get(path) ?? 'nothing'} at ${path}, the server ${text}`);
      for (const [path, text] of here)
        if (!live.has(path))
          wrongs.push(`${device.name} has ${text} at ${path}, which the server does not have`);
    }
    for (const text of this.ledger.current)
      if (!placed.has(text) && !this.ledger.isMovedApart(text))
        wrongs.push(`${text} was saved and nobody removed it, but it is not there any more`);
    return wrongs;
  }
}

const plainOf = (encryptedPath: string): string =>
  encryptedPath.startsWith('e') ? Buffer.from(encryptedPath.slice(1), 'base64url').toString() : encryptedPath;

const isUnder = (path: string, places: ReadonlySet<string>): boolean =>
  path.split('/').some((_, index, all) => places.has(all.slice(0, index + 1).join('/')));

function rulesOf({ volume }: Device): Rules {
  const node = volume.look(IGNORE_FILE);
  return new Rules(node?.kind === 'file' ? node.text : '');
}

function shown(report: Report | undefined): string {
  if (!report) return 'never synced';
  const { uploaded, downloaded, removedHere, deletedThere, conflicts, stopped, leftOver } = report;
  return JSON.stringify({
    up: [...uploaded],
    down: [...downloaded],
    here: [...removedHere],
    there: [...deletedThere],
    conflicts,
    stopped,
    leftOver,
  });
}
