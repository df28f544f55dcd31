import fc, { type Arbitrary } from 'fast-check';
import type { Operation } from './operations.js';
import type { Scope } from './state.js';
import type { Somebody, View } from './view.js';

/** What a client intends; the operation depends on the state at the time. */
export type Intention = (view: View) => Operation;

/** Paths that are easily confused, and one of the maximal length. */
const PATHS = ['b=', 'B', 'l'.repeat(4096)];
const CONTENTS = ['one', 'two', 'three', 'four', 'five', ''];
const ENVELOPES = ['x'.repeat(61), 'y'.repeat(150), 'z'.repeat(100)];
const TOO_SMALL = 'x'.repeat(60);
/** Long enough for the blob store, which takes longer. */
const IN_STORE = '4'.repeat(300);
export const DEVICES = ['laptop', 'phone', 'tablet'];
const TOKENS = ['x', 'y', 'z', 'Z'];
const KEYS = ['key-1', 'key-2'];
const GRANTS: (Scope[] | null)[] = [
  null,
  ['documents:read'],
  ['documents:write'],
  ['documents:read', 'documents:write', 'documents:read'],
  ['assets:read'],
  ['assets:write'],
];

const HOUR = 60 * 60_000;

const INSTANCE = fc.constantFrom<(0 | 1)[]>(0, 1);
const DEVICE = fc.constantFrom(...DEVICES);
const TOKEN = fc.constantFrom(...TOKENS);
const PICK = fc.nat(20);

/** Shrinks to the first choice. */
const weighted = <T>(...choices: [number, Arbitrary<T>][]): Arbitrary<T> =>
  fc.oneof({ withCrossShrink: true }, ...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** Null, except for one in `many`. */
export const oneIn = <T>(many: number, value: Arbitrary<T>): Arbitrary<T | null> =>
  weighted<T | null>([many - 1, fc.constant(null)], [1, value]);
const SELDOM = weighted([40, fc.constant(false)], [1, fc.constant(true)]);

const PATH = weighted([8, fc.constant('a')], [4, fc.constant('b')], [3, fc.constantFrom(...PATHS)]);
const CONTENT = weighted([12, fc.constantFrom(...CONTENTS)], [1, fc.constant(IN_STORE)]);
const ENVELOPE = weighted(
  [12, fc.constantFrom(...ENVELOPES)],
  [1, fc.constant(IN_STORE)],
  [1, fc.constant(TOO_SMALL)],
);

const LABEL = weighted([12, fc.constant('bGFiZWw')], [6, fc.constant('00ff')], [1, fc.constant('no label')]);

const OWNER_OR_TOKEN: [number, Arbitrary<Somebody>][] = [
  [80, fc.constant('owner')],
  [9, PICK],
  [1, fc.constant('nobody')],
  [1, fc.constant('forger')],
];
const OWNER: Arbitrary<Somebody> = weighted(...OWNER_OR_TOKEN);
const ANYBODY: Arbitrary<Somebody> = weighted<Somebody>(...OWNER_OR_TOKEN, [2, fc.constant('stranger')]);

type Parts = Readonly<Record<string, Arbitrary<unknown>>>;
type Values<P extends Parts> = { [K in keyof P]: P[K] extends Arbitrary<infer T> ? T : never };
type From = Pick<Extract<Operation, { kind: 'status' }>, 'by' | 'at'>;
type In = From & { readonly workspace: string };

function request<P extends Parts>(
  by: Arbitrary<Somebody>,
  parts: P,
  make: (from: From, values: Values<P>, view: View) => Operation,
): Arbitrary<Intention> {
  return fc.record({ by, at: INSTANCE, values: fc.record(parts) }).map(
    ({ by, at, values }) =>
      (view: View) =>
        make({ by: view.caller(by), at }, values as Values<P>, view),
  );
}

function inWorkspace<P extends Parts>(
  parts: P,
  make: (place: In, values: Values<P>, view: View) => Operation,
): Arbitrary<Intention> {
  return request(ANYBODY, { ...parts, place: PICK }, (from, values, view) =>
    make(
      { ...from, workspace: view.workspace(values.place as number) },
      values as unknown as Values<P>,
      view,
    ),
  );
}

function onPath<P extends Parts>(
  parts: P,
  make: (place: In & { path: string }, values: Values<P>, view: View) => Operation,
): Arbitrary<Intention> {
  return inWorkspace({ ...parts, path: PATH }, (place, values, view) =>
    make({ ...place, path: view.path(values.path as string) }, values as unknown as Values<P>, view),
  );
}

/** On a path that mostly exists. */
function onKnownPath<P extends Parts>(
  parts: P,
  make: (place: In & { path: string }, values: Values<P>, view: View) => Operation,
): Arbitrary<Intention> {
  return inWorkspace({ ...parts, path: PATH }, (place, values, view) => {
    const path = view.knownPath(place.workspace, values.path as string);
    return make({ ...place, path }, values, view);
  });
}

/** Contents that an upload requires; `*` is any, `=` the present one. */
const DEMAND = fc.array(fc.constantFrom('=', '*', ...CONTENTS.slice(0, 2)), { minLength: 1, maxLength: 2 });

const put = onPath(
  { content: CONTENT, device: DEVICE, demand: oneIn(8, DEMAND), ifAbsent: SELDOM, isMislabelled: SELDOM },
  (place, { content, device, demand, ifAbsent, isMislabelled }, view) => {
    const found = view.liveContent(place.workspace, place.path) ?? 'none';
    const named = demand?.map((one) => (one === '=' ? found : one)) ?? null;
    const ifMatch = named?.includes('*') ? ['*'] : named;
    return { kind: 'put', ...place, content, device, ifMatch, ifAbsent, isMislabelled };
  },
);

const ITEM = fc.record({
  path: PATH,
  content: CONTENT,
  demand: oneIn(6, fc.constantFrom('=', '*', ...CONTENTS.slice(0, 2))),
  ifAbsent: SELDOM,
  isMislabelled: SELDOM,
});

/** Few paths and contents, so that some repeat and some exist already. */
const uploadBatch = onPath(
  { device: DEVICE, items: fc.array(ITEM, { minLength: 1, maxLength: 6 }) },
  ({ path: first, ...place }, { device, items: drawn }, view) => {
    const items = drawn.map(({ path: drawnPath, demand, ...item }, index) => {
      const path = index === 0 ? first : drawnPath;
      const ifMatch = demand === '=' ? (view.liveContent(place.workspace, path) ?? 'none') : demand;
      return { path, ifMatch, ...item };
    });
    return { kind: 'batch upload', ...place, device, items };
  },
);

/** `=`: the present content. */
const HAS = oneIn(2, fc.constantFrom('=', '=', ...CONTENTS));
const downloadBatch = onPath(
  { items: fc.array(fc.record({ path: PATH, has: HAS }), { minLength: 1, maxLength: 6 }) },
  ({ path: first, ...place }, { items: drawn }, view) => {
    const items = drawn.map(({ path: drawnPath, has }, index) => {
      const path = index === 0 ? first : drawnPath;
      return { path, has: has === '=' ? (view.liveContent(place.workspace, path) ?? null) : has };
    });
    return { kind: 'batch download', ...place, items };
  },
);

const deletion = onKnownPath({ device: DEVICE }, (place, { device }) => ({
  kind: 'delete',
  ...place,
  device,
}));

/** The difference of a base cursor from what the device has pulled, or from the head. */
const BASE = fc.record({ from: fc.constantFrom('device', 'head'), offset: fc.integer({ min: -4, max: 1 }) });
const ROWS = fc.array(fc.record({ path: PATH, content: oneIn(3, CONTENT) }), { minLength: 1, maxLength: 4 });

const push = onKnownPath(
  { device: DEVICE, base: BASE, rows: ROWS, hasUpsert: SELDOM },
  ({ path, ...place }, { device, base: { from, offset }, rows, hasUpsert }, view) => {
    const { workspace } = place;
    const near = from === 'head' ? view.head(workspace) : view.cursor(workspace, device);
    const [{ content } = { content: null }, ...rest] = rows;
    const base = Math.max(near + offset, 0);
    return { kind: 'push', ...place, device, base, rows: [{ path, content }, ...rest], hasUpsert };
  },
);

const restore = onKnownPath(
  { pick: PICK, of: oneIn(15, PATH), device: weighted<string | null>([3, DEVICE], [1, fc.constant(null)]) },
  (place, { pick, of, device }, view) => {
    const version = view.version(place.workspace, of ?? place.path, pick);
    return { kind: 'restore', ...place, version, of: of ?? place.path, device };
  },
);

const pull = inWorkspace(
  {
    device: DEVICE,
    limit: fc.constantFrom(null, 1, 2, 3, 0, 2.5),
    astray: SELDOM,
    offset: fc.integer({ min: -2, max: 3 }),
  },
  (place, { device, limit, astray, offset }, view) => {
    const own = view.cursor(place.workspace, device);
    const cursor = astray ? view.head(place.workspace) + offset : own;
    return { kind: 'pull', ...place, device, cursor, limit };
  },
);

const snapshot = inWorkspace(
  { device: DEVICE, limit: fc.constantFrom('2', '1', '3.9', null, '', 'many', '-1') },
  (place, { device, limit }, view) => {
    const after = view.walkedUntil(place.workspace, device);
    return { kind: 'snapshot', ...place, device, limit, after };
  },
);

const createCheckpoint = inWorkspace(
  { label: LABEL, mark: fc.constantFrom('manual', 'auto') },
  (place, { label, mark }, view) => {
    return { kind: 'create checkpoint', ...place, name: view.fresh('checkpoint'), label, mark };
  },
);

function onCheckpoint<P extends Parts>(
  parts: P,
  make: (place: In & { checkpoint: string }, values: Values<P>, view: View) => Operation,
): Arbitrary<Intention> {
  return inWorkspace({ ...parts, pick: PICK }, (place, values, view) => {
    const checkpoint = view.checkpoint(place.workspace, values.pick as number);
    return make({ ...place, checkpoint }, values, view);
  });
}

const deleteCheckpoint = onCheckpoint({}, (place) => ({ kind: 'delete checkpoint', ...place }));
const summary = onCheckpoint({ from: oneIn(2, fc.nat(40)) }, (place, { from }, view) => ({
  ...{ kind: 'summary', ...place },
  from: from === null ? null : from % (view.head(place.workspace) + 2),
}));
const manifest = onCheckpoint({}, (place) => ({ kind: 'manifest', ...place }));
const noteState = onCheckpoint({ path: PATH }, (place, { path }, view) => ({
  ...{ kind: 'note state', ...place },
  path: view.path(path),
}));

/** Few, so that most exist; more passwords than are allowed. */
const SLOTS = [1, 2, 3, 4, 5, 6].map((number) => `00000000-0000-4000-8000-00000000000${number}`);
const ON_SLOT = {
  slot: fc.constantFrom(...SLOTS),
  isGuess: SELDOM,
  condition: oneIn(4, fc.constantFrom('met', 'met', 'missed')),
};
const timeIn = (view: View, workspace: string, slot: string, condition: string | null): string | null =>
  condition === null ? null : view.slotTime(condition === 'met' ? workspace : 'none', slot);
const putSlot = inWorkspace(
  {
    ...ON_SLOT,
    mark: fc.constantFrom('password', 'password', 'recovery', 'passkey'),
    content: fc.constantFrom('one', 'two', 'three'),
  },
  (place, { slot, isGuess, condition, mark, content }, view) => {
    const ifMatch = timeIn(view, place.workspace, slot, condition);
    return { kind: 'put slot', ...place, slot, isGuess, ifMatch, mark, content };
  },
);
const deleteSlot = inWorkspace(ON_SLOT, (place, { slot, isGuess, condition }, view) => {
  const ifMatch = timeIn(view, place.workspace, slot, condition);
  return { kind: 'delete slot', ...place, slot, isGuess, ifMatch };
});
const setUpEncryption = inWorkspace({}, (place) => ({ kind: 'set up encryption', ...place }));

const createAsset = inWorkspace(
  { token: TOKEN, envelope: ENVELOPE, key: oneIn(2, fc.constantFrom(...KEYS)) },
  (place, { token, envelope, key }) => ({ kind: 'create asset', ...place, token, envelope, key }),
);
const onAsset = (kind: 'get asset' | 'delete asset'): Arbitrary<Intention> =>
  inWorkspace({ token: TOKEN }, (place, { token }, view) => ({
    ...{ kind, ...place },
    token: view.knownAsset(place.workspace, token),
  }));
const renameAsset = inWorkspace({ token: TOKEN, to: TOKEN }, (place, { token, to }, view) => ({
  ...{ kind: 'rename asset', ...place, to },
  token: view.knownAsset(place.workspace, token),
}));
const deleteAssets = inWorkspace(
  { tokens: fc.uniqueArray(TOKEN), isTwice: SELDOM, isNone: SELDOM },
  (place, { tokens, isTwice, isNone }) => ({
    ...{ kind: 'delete assets', ...place },
    tokens: [...tokens, ...(isTwice ? tokens.slice(0, 1) : []), ...(isNone ? ['no token'] : [])],
  }),
);

const mint = request(
  OWNER,
  {
    scopes: fc.constantFrom(...GRANTS),
    place: oneIn(3, PICK),
    hours: oneIn(3, fc.integer({ min: -1, max: 100 })),
  },
  (from, { scopes, place, hours }, view) => {
    const workspace = place === null ? null : view.workspace(place);
    const lifetimeMs = hours === null ? null : hours * HOUR;
    return { kind: 'mint', ...from, name: view.fresh('token'), scopes, workspace, lifetimeMs };
  },
);
const revoke = request(ANYBODY, { pick: PICK }, (from, { pick }, view) => ({
  ...{ kind: 'revoke', ...from },
  token: view.caller(pick),
}));

const createWorkspace = request(OWNER, {}, (from, _, view) => ({
  ...{ kind: 'create workspace', ...from, name: view.fresh('workspace') },
}));
const deleteWorkspace = inWorkspace({}, (place) => ({ kind: 'delete workspace', ...place }));

const readAccount = (kind: 'list workspaces' | 'list tokens'): Arbitrary<Intention> =>
  request(OWNER, {}, (from) => ({ kind, ...from }));
const readWorkspace = (
  kind: 'list files' | 'list slots' | 'status' | 'list checkpoints' | 'list assets' | 'usage',
): Arbitrary<Intention> => inWorkspace({}, (place) => ({ kind, ...place }));
const readPath = (kind: 'get' | 'list versions'): Arbitrary<Intention> =>
  onKnownPath({}, (place) => ({ kind, ...place }));
const getVersion = onKnownPath({ pick: PICK }, (place, { pick }, view) => ({
  ...{ kind: 'get version', ...place },
  version: view.version(place.workspace, place.path, pick),
}));

const night = INSTANCE.map((at) => (): Operation => ({ kind: 'night', at }));

/** Operations that change something. */
export const WRITING = weighted<Intention>(
  [50, put],
  [12, uploadBatch],
  [5, deletion],
  [9, push],
  [8, restore],
  [12, createCheckpoint],
  [2, deleteCheckpoint],
  [7, createAsset],
  [2, renameAsset],
  [2, onAsset('delete asset')],
  [2, deleteAssets],
  [2, setUpEncryption],
  [5, putSlot],
  [3, deleteSlot],
  [3, mint],
  [2, revoke],
  [1, createWorkspace],
  [1, deleteWorkspace],
  [2, night],
);

const READING = weighted<Intention>(
  [8, pull],
  [6, snapshot],
  [4, summary],
  [4, manifest],
  [3, noteState],
  [3, readPath('list versions')],
  [3, getVersion],
  [2, readPath('get')],
  [4, downloadBatch],
  [2, readWorkspace('list files')],
  [2, readWorkspace('list slots')],
  [1, readWorkspace('status')],
  [1, readWorkspace('list checkpoints')],
  [1, readWorkspace('list assets')],
  [1, readWorkspace('usage')],
  [1, onAsset('get asset')],
  [1, readAccount('list workspaces')],
  [1, readAccount('list tokens')],
);

export const ANYTHING = weighted([2, WRITING], [1, READING]);

/** Never sent together with others, because their order could not be determined. */
export const SUBSCRIBING: Arbitrary<Intention> = fc
  .constantFrom(true, false, true)
  .map((isSubscribed) => (): Operation => ({ kind: 'subscribe', isSubscribed }));

/** How far the clock moves, in ms: mostly far enough for something to expire. */
export const ADVANCE = weighted(
  [4, fc.integer({ min: 23, max: 60 }).map((hours) => hours * HOUR)],
  [2, fc.integer({ min: 1, max: 90 }).map((minutes) => minutes * 60_000)],
  [1, fc.integer({ min: 5, max: 40 }).map((days) => days * 24 * HOUR)],
);
