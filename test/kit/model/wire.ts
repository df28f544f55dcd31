import { kdfOf, wrappedKeyOf } from '../key-slots.js';
import { itemsIn, resultsIn, sequenceOf } from './batches.js';
import { byPath } from './checkpoints.js';
import { GUESS, PROOF, SALT } from './key-slots.js';
import { versionName } from './files.js';
import type { HttpAnswer, HttpRequest } from './http-client.js';
import type { Names } from './names.js';
import type { Answer, Kind, Of, Operation } from './operations.js';
import { hashOf } from './words.js';

/** Operations that are requests. */
export type Asked = Exclude<Operation, { kind: 'night' | 'subscribe' }>;
type AskedKind = Asked['kind'];

type Id = (name: string) => string;

const inWorkspace = (id: Id, { workspace }: { workspace: string }, rest = ''): string =>
  `/api/v1/workspaces/${id(workspace)}${rest}`;
const onPath = (id: Id, operation: { workspace: string; path: string }, rest = ''): string =>
  inWorkspace(id, operation, `/files/${operation.path}${rest}`);
const onCheckpoint = (id: Id, operation: { workspace: string; checkpoint: string }, rest = ''): string =>
  inWorkspace(id, operation, `/checkpoints/${id(operation.checkpoint)}${rest}`);
const onSlot = (
  id: Id,
  operation: Of<'put slot' | 'delete slot'>,
  method: string,
  content: object = {},
): HttpRequest => ({
  method,
  path: inWorkspace(id, operation, `/key-slots/${operation.slot}`),
  headers: operation.ifMatch === null ? {} : { 'if-match': `"${operation.ifMatch}"` },
  body: { verificationHash: operation.isGuess ? GUESS : PROOF, ...content },
});
const onAssets = (id: Id, { workspace }: { workspace: string }, method: string, path = ''): HttpRequest => ({
  method,
  path: `/api/assets${path}`,
  headers: { 'x-workspace-id': id(workspace) },
});

const REQUESTS: { readonly [K in AskedKind]: (operation: Of<K>, id: Id) => HttpRequest } = {
  'create workspace': ({ name }) => ({ method: 'POST', path: '/api/v1/workspaces', body: { name } }),
  'list workspaces': () => ({ method: 'GET', path: '/api/v1/workspaces' }),
  'delete workspace': (operation, id) => ({ method: 'DELETE', path: inWorkspace(id, operation) }),
  'set up encryption': (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/setup-encryption'),
    body: { encryptionSalt: SALT, verificationSalt: SALT, verificationHash: PROOF },
  }),
  'list slots': (operation, id) => ({ method: 'GET', path: inWorkspace(id, operation, '/key-slots') }),
  'put slot': (operation, id) => {
    const { mark: kind, content: label } = operation;
    return onSlot(id, operation, 'PUT', { kind, label, kdf: kdfOf(kind), wrappedKey: wrappedKeyOf(label) });
  },
  'delete slot': (operation, id) => onSlot(id, operation, 'DELETE'),
  put: (operation, id) => ({
    method: 'PUT',
    path: onPath(id, operation),
    headers: uploadHeaders(operation),
    body: Buffer.from(operation.content, 'latin1'),
  }),
  'batch upload': (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/files/batch-upload'),
    headers: { 'content-type': 'application/cbor-seq', 'x-device-id': operation.device },
    body: sequenceOf(operation),
  }),
  'batch download': (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/files/batch-download'),
    body: {
      items: operation.items.map(({ path, has }) => ({
        encryptedPath: path,
        ...(has === null ? {} : { contentHash: hashOf(has) }),
      })),
    },
  }),
  delete: (operation, id) => ({
    method: 'DELETE',
    path: onPath(id, operation),
    headers: { 'x-device-id': operation.device },
  }),
  get: (operation, id) => ({ method: 'GET', path: onPath(id, operation) }),
  'list files': (operation, id) => ({ method: 'GET', path: inWorkspace(id, operation, '/files') }),
  push: (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/sync/push'),
    body: { deviceId: operation.device, baseCursor: operation.base, changes: pushed(operation) },
  }),
  pull: (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/sync/pull'),
    body: { deviceId: operation.device, cursor: operation.cursor, limit: operation.limit ?? undefined },
  }),
  snapshot: (operation, id) => {
    const { workspace, limit, after } = operation;
    const query = new URLSearchParams();
    if (limit !== null) query.set('limit', limit);
    if (after !== null) query.set('pageCursor', id(`file ${workspace}/${after}`));
    return { method: 'GET', path: inWorkspace(id, operation, `/sync/snapshot?${query.toString()}`) };
  },
  status: (operation, id) => ({ method: 'GET', path: inWorkspace(id, operation, '/sync/status') }),
  'list versions': (operation, id) => ({ method: 'GET', path: onPath(id, operation, '/versions') }),
  'get version': (operation, id) => {
    const version = id(versionName(operation.workspace, operation.path, operation.version));
    return { method: 'GET', path: onPath(id, operation, `/versions/${version}`) };
  },
  restore: (operation, id) => {
    const { workspace, of, version, device } = operation;
    const path = onPath(id, operation, `/restore/${id(versionName(workspace, of, version))}`);
    const headers: Record<string, string> = device === null ? {} : { 'x-device-id': device };
    return { method: 'POST', path, headers };
  },
  'create checkpoint': (operation, id) => ({
    method: 'POST',
    path: inWorkspace(id, operation, '/checkpoints'),
    body: { encryptedLabel: operation.label, kind: operation.mark },
  }),
  'list checkpoints': (operation, id) => ({
    method: 'GET',
    path: inWorkspace(id, operation, '/checkpoints'),
  }),
  'delete checkpoint': (operation, id) => ({ method: 'DELETE', path: onCheckpoint(id, operation) }),
  summary: (operation, id) => {
    const query = operation.from === null ? '' : `?fromCursor=${operation.from}`;
    return { method: 'GET', path: onCheckpoint(id, operation, `/summary${query}`) };
  },
  manifest: (operation, id) => ({ method: 'GET', path: onCheckpoint(id, operation, '/restore-manifest') }),
  'note state': (operation, id) => {
    const query = new URLSearchParams({ encPath: operation.path }).toString();
    return { method: 'GET', path: onCheckpoint(id, operation, `/note-state?${query}`) };
  },
  'create asset': (operation, id) => {
    const { token, envelope, key } = operation;
    const { headers, ...request } = onAssets(id, operation, 'POST');
    const data = Buffer.from(envelope, 'latin1').toString('base64');
    const keyed = key === null ? headers : { ...headers, 'idempotency-key': key };
    return { ...request, headers: keyed ?? {}, body: { encryptedFilename: token, data } };
  },
  'get asset': (operation, id) => onAssets(id, operation, 'GET', `/${operation.token}`),
  'rename asset': (operation, id) => ({
    ...onAssets(id, operation, 'PATCH', `/${operation.token}`),
    body: { newEncryptedFilename: operation.to },
  }),
  'delete asset': (operation, id) => onAssets(id, operation, 'DELETE', `/${operation.token}`),
  'delete assets': (operation, id) => ({
    ...onAssets(id, operation, 'POST', '/batch-delete'),
    body: { tokens: operation.tokens },
  }),
  'list assets': (operation, id) => onAssets(id, operation, 'GET', '/list'),
  usage: (operation, id) => onAssets(id, operation, 'GET', '/usage'),
  mint: () => ({ method: 'POST', path: '/api/v1/auth/tokens' }),
  revoke: ({ token }, id) => ({ method: 'DELETE', path: `/api/v1/auth/tokens/${id(token)}` }),
  'list tokens': () => ({ method: 'GET', path: '/api/v1/auth/tokens' }),
};

/** The request, without its bearer. */
export function requestOf(operation: Asked, names: Names, now: number): HttpRequest {
  const make = REQUESTS[operation.kind] as (operation: Asked, id: Id) => HttpRequest;
  const request = make(operation, (name) => names.idOf(name));
  if (operation.kind !== 'mint') return request;
  const { name, scopes, workspace, lifetimeMs } = operation;
  const expiresAt = lifetimeMs === null ? {} : { expiresAt: new Date(now + lifetimeMs).toISOString() };
  const bound = workspace === null ? {} : { workspaceId: names.idOf(workspace) };
  return { ...request, body: { name, ...(scopes ? { scopes } : {}), ...expiresAt, ...bound } };
}

/** The answer in the names of the model. */
export function answerTo(operation: Asked, answer: HttpAnswer, names: Names): Answer {
  const { status, headers, body } = answer;
  if (status >= 400) return { status, body: fieldsOfError(body) };
  if (operation.kind === 'get' || operation.kind === 'get version')
    return { status, body: { content: body.toString('latin1'), etag: headers.etag } };
  if (operation.kind === 'get asset') {
    const envelope = Buffer.from(body.toString(), 'base64').toString('latin1');
    return { status, body: { envelope, size: Number(headers['x-asset-size-bytes']) } };
  }
  if (operation.kind === 'batch download') return { status, body: itemsIn(body) };
  const words = names.inWords(JSON.parse(body.toString()));
  if (operation.kind === 'batch upload') {
    const { results, ...rest } = words as { results: Parameters<typeof resultsIn>[0] };
    return { status, body: { ...rest, results: resultsIn(results) } };
  }
  const isProjection = operation.kind === 'summary' || operation.kind === 'manifest';
  return { status, body: isProjection ? byPath(words as Parameters<typeof byPath>[0]) : words };
}

const NAMING: ReadonlySet<Kind> = new Set([
  'put',
  'batch upload',
  'create workspace',
  'create checkpoint',
  'mint',
  'list versions',
]);

interface Told {
  readonly id?: string;
  readonly token?: string;
  readonly versions?: readonly { id: string; version: number }[];
  readonly results?: readonly { encryptedPath: string; id: string | null }[];
}

/** Learns the ids in an answer. */
export function learnFrom(operation: Asked, { status, body }: HttpAnswer, names: Names): void {
  if (status >= 400 || !NAMING.has(operation.kind)) return;
  const { id, token, versions = [], results = [] } = JSON.parse(body.toString()) as Told;
  switch (operation.kind) {
    case 'put':
      names.learn(`file ${operation.workspace}/${operation.path}`, id);
      break;
    case 'batch upload':
      for (const result of results)
        names.learn(`file ${operation.workspace}/${result.encryptedPath}`, result.id);
      break;
    case 'create workspace':
    case 'create checkpoint':
    case 'mint':
      names.learn(operation.name, id);
      if (operation.kind === 'mint') names.learn(`raw ${operation.name}`, token);
      break;
    case 'list versions':
      for (const version of versions)
        names.learn(versionName(operation.workspace, operation.path, version.version), version.id);
      break;
    default:
  }
}

/** Every error must be flat and have a text. */
function fieldsOfError(body: Buffer): unknown {
  const told = JSON.parse(body.toString()) as { error?: unknown };
  const { error, ...fields } = told;
  return typeof error === 'string' && error !== '' ? fields : told;
}

function uploadHeaders({
  content,
  device,
  ifMatch,
  ifAbsent,
  isMislabelled,
}: Of<'put'>): Record<string, string> {
  const tags = ifMatch?.map((one) => (one === '*' ? '*' : `"${hashOf(one)}"`)).join(', ');
  return {
    'content-type': 'application/octet-stream',
    'x-content-hash': hashOf(isMislabelled ? `not ${content}` : content),
    'x-device-id': device,
    ...(tags === undefined ? {} : { 'if-match': tags }),
    ...(ifAbsent ? { 'if-none-match': '*' } : {}),
  };
}

function pushed({ rows, hasUpsert }: Of<'push'>): object[] {
  return rows.map(({ path, content }, index) => ({
    encryptedPath: path,
    action: hasUpsert && index === rows.length - 1 ? 'upsert' : 'delete',
    ...(content === null ? {} : { contentHash: hashOf(content), encryptedSize: content.length }),
  }));
}

/** Projections name versions by their ids alone. */
export const tellsVersions = (kind: Kind): boolean => kind === 'manifest' || kind === 'note state';

/** The versions that a request names. */
export function versionsIn(operation: Asked): string[] {
  if (operation.kind !== 'get version' && operation.kind !== 'restore') return [];
  const { workspace, path, version } = operation;
  return [versionName(workspace, operation.kind === 'restore' ? operation.of : path, version)];
}
