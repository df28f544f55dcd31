import fc from 'fast-check';
import { IGNORE_FILE } from '../../../client/src/folder/rules.js';
import { sealedPath } from './cipher.js';
import { QUIETLY, type SyncPlan, World } from './world.js';
import type { Nature } from './volume.js';

/** Few paths, so that devices meet, with names that disks fold or refuse, or that also name a directory. */
export const PATHS = [
  'a.md',
  'A.md',
  'b.md',
  'd/a.md',
  'd/b.md',
  'D/a.md',
  'd',
  'b.md/x',
  'K\u00f6ln.md',
  'Ko\u0308ln.md',
  'e/f/g.md',
  'n'.repeat(40),
  IGNORE_FILE,
];
const DIRECTORIES = ['d', 'D', 'e', 'e/f', 'h', 'b.md'];
const RULES = ['', 'b.md\n', 'd/\n', '*.md\n!a.md\n'];

export interface Act {
  readonly act: keyof typeof ACTS;
  readonly device: number;
  readonly path: number;
  readonly other: number;
}

export type Command =
  | Act
  | {
      readonly act: 'sync';
      readonly device: number;
      readonly seed: number;
      readonly killAt: number | undefined;
      readonly power: number | undefined;
      readonly faults: number;
      readonly meanwhile: readonly { readonly at: number; readonly command: Command }[];
    };

const at = <T>(list: readonly T[], index: number): T => list[index % list.length]!;

/** What can happen between and during syncs. */
const ACTS = {
  save: (world: World, { device, path }: Act) => {
    const name = at(PATHS, path);
    const text = name === IGNORE_FILE ? at(RULES, path) : world.newText();
    if (name === IGNORE_FILE) ACTS.ignore(world, { act: 'ignore', device, path, other: path });
    else world.device(device).person.save(name, text);
  },
  saveEqual: (world: World, { device, path, other }: Act) =>
    world
      .device(device)
      .person.save(at(PATHS.slice(0, -1), path), `equal${String(other % 3).padStart(3, '0')}`),
  replace: (world: World, { device, path }: Act) =>
    world.device(device).person.replace(at(PATHS.slice(0, -1), path), world.newText()),
  delete: (world: World, { device, path }: Act) => world.device(device).person.delete(at(PATHS, path)),
  rename: (world: World, { device, path, other }: Act) =>
    world.device(device).person.rename(at(PATHS.slice(0, -1), path), at(PATHS.slice(0, -1), other)),
  caseRename: (world: World, { device, path }: Act) => {
    const [from, to] = at(
      [
        ['a.md', 'A.md'],
        ['A.md', 'a.md'],
        ['d', 'D'],
        ['D', 'd'],
        ['K\u00f6ln.md', 'K\u00d6LN.md'],
      ],
      path,
    );
    world.device(device).person.rename(from, to);
  },
  moveDirectory: (world: World, { device, path, other }: Act) =>
    world.device(device).person.rename(at(DIRECTORIES, path), at(DIRECTORIES, other)),
  mkdir: (world: World, { device, path }: Act) => world.device(device).person.mkdir(at(DIRECTORIES, path)),
  touch: (world: World, { device, path }: Act) => world.device(device).person.touch(at(PATHS, path)),
  link: (world: World, { device, path }: Act) =>
    world.device(device).person.link(at([...PATHS.slice(0, -1), ...DIRECTORIES], path)),
  unreadable: (world: World, { device, path, other }: Act) =>
    world.device(device).person.setReadable(at(PATHS, path), other % 2 === 0),
  ignore: (world: World, { device, other }: Act) => {
    const { person, volume } = world.device(device);
    const rules = at(RULES, other);
    if (volume.look(IGNORE_FILE)?.kind === 'directory') return;
    person.save(IGNORE_FILE, rules);
    world.ledger.retire(rules);
  },
  clockJump: (world: World, { device, other }: Act) => {
    world.device(device).clockAhead += ((other % 7) - 3) * 1_700;
  },
  wait: (world: World, { other }: Act) => {
    world.ms += (other % 5) * 700;
  },
  fullDisk: (world: World, { device }: Act) => {
    const { volume } = world.device(device);
    volume.isFull = !volume.isFull;
  },
  readOnly: (world: World, { device }: Act) => {
    const { volume } = world.device(device);
    volume.isReadOnly = !volume.isReadOnly;
  },
  mount: (world: World, { device }: Act) => world.toggleMount(world.device(device)),
  keepState: (world: World, { device }: Act) => {
    const { name, state } = world.device(device);
    kept.set(name, state.copy());
  },
  oldState: (world: World, { device }: Act) => {
    const target = world.device(device);
    const old = kept.get(target.name);
    if (old && !target.isRunning) target.state = old.copy();
  },
  loseState: (world: World, { device }: Act) => {
    const target = world.device(device);
    if (!target.isRunning && !target.unmounted) target.state = target.state.empty();
  },
  copyFolder: (world: World, { device, other }: Act) =>
    world.copyFolder(world.device(device), world.device(other), other % 2 === 0),
  backUpServer: (world: World) => world.server.backUp(),
  putServerBack: (world: World) => world.putServerBack(),
  compact: (world: World) => world.server.compact(),
  restoreVersion: (world: World, { path, other }: Act) => {
    const encryptedPath = sealedPath(at(PATHS.slice(0, -1), path).normalize('NFC'));
    world.ledger.retire(world.server.live().get(encryptedPath) ?? ''); // a person has chosen another version
    world.server.restore('browser', encryptedPath, other);
  },
  loseBlob: (world: World, { path }: Act) =>
    world.server.loseBlob(sealedPath(at(PATHS.slice(0, -1), path).normalize('NFC'))),
  poison: (world: World, { other }: Act) => world.poison(other),
};

let kept = new Map<string, ReturnType<World['devices'][number]['state']['copy']>>();

const FREQUENT = [
  'save',
  'save',
  'save',
  'replace',
  'delete',
  'delete',
  'rename',
  'caseRename',
  'saveEqual',
] as const;
const RARE = (Object.keys(ACTS) as (keyof typeof ACTS)[]).filter(
  (act) => !(FREQUENT as readonly string[]).includes(act),
);
const number = fc.nat({ max: 999 });
const device = fc.nat({ max: 4 });

const act = fc.record({
  act: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...FREQUENT) },
    { weight: 2, arbitrary: fc.constantFrom(...RARE) },
  ),
  device,
  path: number,
  other: number,
});
const plainSync = fc.record({
  act: fc.constant('sync' as const),
  device,
  seed: number,
  killAt: fc.constant(undefined),
  power: fc.constant(undefined),
  faults: fc.constant(0),
  meanwhile: fc.constant([]),
});
const troubledSync = fc.record({
  act: fc.constant('sync' as const),
  device,
  seed: number,
  killAt: fc.option(fc.integer({ min: 1, max: 160 }), { nil: undefined, freq: 2 }),
  power: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 2 }),
  faults: fc.constantFrom(0, 0, 5, 30),
  meanwhile: fc.array(
    fc.record({
      at: fc.integer({ min: 1, max: 120 }),
      command: fc.oneof({ weight: 3, arbitrary: act }, { weight: 1, arbitrary: plainSync }),
    }),
    { maxLength: 4 },
  ),
});

const nature: fc.Arbitrary<Nature> = fc.record({
  foldsCase: fc.boolean(),
  givesNfd: fc.boolean(),
  wholeSeconds: fc.boolean(),
  maxName: fc.constantFrom(255, 255, 36),
});

export interface Sequence {
  readonly natures: readonly Nature[];
  readonly commands: readonly Command[];
}

export const sequence: fc.Arbitrary<Sequence> = fc.record({
  natures: fc.array(nature, { minLength: 3, maxLength: 5 }),
  commands: fc.array(
    fc.oneof(
      { weight: 5, arbitrary: act },
      { weight: 2, arbitrary: plainSync },
      { weight: 3, arbitrary: troubledSync },
    ),
    { minLength: 4, maxLength: 40, size: 'max' },
  ),
});

/** Plays a sequence until the world is at rest. @returns what does not hold */
export async function played({ natures, commands }: Sequence): Promise<string[]> {
  kept = new Map();
  const world = new World(natures);
  for (const command of commands) {
    world.ms += 37;
    await perform(world, command);
  }
  await world.comeToRest();
  return world.wrongs();
}

async function perform(world: World, command: Command): Promise<void> {
  if (command.act !== 'sync') {
    ACTS[command.act](world, command);
    return;
  }
  const plan: SyncPlan = {
    ...QUIETLY,
    ...command,
    meanwhile: command.meanwhile.map(({ at: step, command: inner }) => ({
      at: step,
      happen: () => perform(world, inner),
    })),
  };
  await world.device(command.device).sync(plan);
}
