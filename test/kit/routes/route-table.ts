import { randomBytes, randomUUID } from 'node:crypto';
import { type Scope, SCOPES } from '../../../src/access/route-access.js';
import { STYLESHEET } from '../../../src/web/layout/page-assets.js';
import { cborSequence, upload } from '../batches.js';
import { DEV_LOGIN_KEY, sha256 } from '../index.js';
import { RECOVERY_SLOT } from '../key-slots.js';
import { AUTOMATION_ROUTES } from './automation-routes.js';

/**
 * A route of the contract as data: who may use it, and a valid request. routes.spec.ts compares this table
 * with the router and the declared policies; access-matrix-*.spec.ts send every route with every credential.
 *
 * A new route is one more row. Take its access and flags from the specification, never from the controller, which is
 * what is checked here; give an example that answers `status`, and name the tables that it may write. A new kind of
 * thing in a path (a device, an asset) becomes a part of `Target` and is made in scene.ts.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'ALL';
  /** As the router has it. */
  readonly path: string;
  /** Scopes, any of which admits a personal access token (`full` always does); `interactive`: a JWT only. */
  readonly access: 'public' | 'interactive' | readonly Scope[];
  /** 402 without an active subscription. */
  readonly needsSubscription?: true;
  /** Except for a token that has this scope by name. */
  readonly unlessGranted?: Scope;
  /** 404 unless `:id`, or where the path has none the workspace in the example, belongs to the caller. */
  readonly ownsWorkspace?: true;
  /** The same without a guard, because the body names the workspace, or the path under another name. */
  readonly namesWorkspace?: true;
  /** 404 unless the thing in the path, which belongs to a user and to no workspace, is the caller's. */
  readonly ownsItem?: true;
  /** Succeeds even when its object does not exist. */
  readonly isIdempotent?: true;
  /** 403 for a token that is bound to a workspace. */
  readonly isUnbound?: true;
  /** Never 429. */
  readonly isUnlimited?: true;
  /** 404, not 401, for the JWT of a deleted user. */
  readonly seesDeletedUsers?: true;
  /** A GET without the HEAD that every other GET has. */
  readonly hasNoHead?: true;

  /** For people: its errors are pages, and its pages hold a form for one browser alone. */
  readonly isPage?: true;
  /** A page that answers like an unknown address: JSON, unless the client asks for HTML. */
  readonly looksUnknown?: true;
  /** Other statuses, by name of the credential. */
  readonly statusFor?: Readonly<Record<string, number>>;

  /** A valid request; by default the plain method and path. */
  readonly example?: (target: Target) => Example;
  /** The status of the example; 200 by default. */
  readonly status?: number;
  /** The status when the subscription has ended, if neither `status` nor 402. */
  readonly statusWhenLapsed?: number;
  /** The change that makes the example a 400, which comes after every other refusal. */
  readonly broken?: Example;
  /** The status for a malformed parameter other than the workspace; 404 by default. */
  readonly malformed?: 200 | 400;
  /** Tables that the example may write; none by default. */
  readonly writes?: readonly string[];
  /** What the example uses up, so that each successful request needs another one. */
  readonly uses?:
    'workspace' | 'file' | 'checkpoint' | 'keySlot' | 'asset' | 'device' | 'note' | 'keySession';
}

/** The things of one user that requests aim at. */
export interface Target {
  readonly workspaceId: string;
  /** A live file in it, and a version of another file. */
  readonly encryptedPath: string;
  readonly versionedPath: string;
  readonly versionId: string;
  readonly checkpointId: string;
  /** One of two key slots in it, and the proof of its master key in hex. */
  readonly keySlotId: string;
  readonly verificationHash: string;
  readonly assetToken: string;
  /** A live note that the key opens, at a path of maximal length; a version of it; a live key session. */
  readonly notePath: string;
  readonly noteVersionId: string;
  readonly keySession: string;
  /** Base64. */
  readonly masterKey: string;
  /** A registered device of the user. */
  readonly deviceId: string;
  /** A personal access token of the user. */
  readonly tokenId: string;
}

export interface Example {
  /** Values of the path's parameters; `:id` is the workspace by default. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is text or bytes. */
  readonly body?: object | string | Buffer;
}

const READ: readonly Scope[] = ['documents:read'];
const WRITE: readonly Scope[] = ['documents:write'];
const EITHER: readonly Scope[] = ['documents:read', 'documents:write'];
/** Full access alone. */
const FULL: readonly Scope[] = ['full'];
const WORKSPACE = '/api/v1/workspaces/:id';
const FILE = `${WORKSPACE}/files/:encPath`;
const SYNC = `${WORKSPACE}/sync`;
const ASSETS = '/api/assets';
const CHECKPOINT = `${WORKSPACE}/checkpoints/:cpId`;
const KEY_SLOT = `${WORKSPACE}/key-slots/:slotId`;
const DEVICES = '/api/v1/devices';
const ACCOUNT = '/account';
const NOT_JSON = { body: '{"broken":' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const CLIENT_STATE = 'client_state=a-state-of-the-app_0123456789';
const FROM_A_DEVICE = { 'X-Device-Id': 'laptop' };
const CONTENT = ['workspaces', 'files', 'versions', 'changes', 'blobs'];
const STORED = ['workspaces', 'assets', 'blobs', 'storage_accounts'];
const ADMIN_PARAMS = { userId: '00000000-0000-4000-8000-000000000000', action: 'suspend' };
const ofFile = ({ encryptedPath }: Target): Example => ({ params: { encPath: encryptedPath } });
const ofVersion = ({ versionedPath, versionId }: Target): Example => ({
  params: { encPath: versionedPath, vid: versionId },
});
const ofCheckpoint = ({ checkpointId }: Target): Example => ({ params: { cpId: checkpointId } });
const ofKeySlot = ({ keySlotId, verificationHash }: Target, content: object = {}): Example => ({
  params: { slotId: keySlotId },
  body: { verificationHash, ...content },
});
const byHeader = ({ workspaceId }: Target): Example => ({ headers: { 'X-Workspace-Id': workspaceId } });
const ofAsset = (target: Target): Example => ({ ...byHeader(target), params: { token: target.assetToken } });
const pushSubscription = ({ workspaceId, deviceId }: Target): object => ({
  workspaceId,
  deviceId,
  endpoint: 'https://push.example.org/subscription',
  keys: {
    p256dh: 'BL00bDYeLUn03mz20KY9ZlxPdltOpNHJvdVXJYaoNYHQg3Vocz7gyb1rugY2RL1koRs3iuNkaysXAq6dX7qN2kI',
    auth: 'xrMrGo8P6rKVmRN-MHeJAw',
  },
});
const newToken = (): string => randomBytes(18).toString('base64url');

export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/', access: 'public', isPage: true },
  { method: 'GET', path: '/readme', access: 'public', isPage: true },
  { method: 'GET', path: '/health', access: 'public', isUnlimited: true },
  { method: 'GET', path: '/openapi.json', access: 'public' },
  { method: 'GET', path: '/docs', access: 'public' },
  {
    method: 'GET',
    path: '/docs/:group',
    access: 'public',
    example: () => ({ params: { group: 'files' } }),
  },
  { method: 'GET', path: '/health/ready', access: 'public', isUnlimited: true },
  {
    method: 'ALL',
    path: '/api/auth/*',
    access: 'public',
    hasNoHead: true,
    example: () => ({ params: { '*': 'jwks' } }),
  },
  {
    method: 'POST',
    path: '/api/v1/auth/dev-login',
    access: 'public',
    example: () => ({
      headers: { 'X-Dev-Login-Key': DEV_LOGIN_KEY },
      body: { email: 'logged-in@example.org', name: 'Logged in' },
    }),
    broken: NOT_JSON,
    writes: ['users', 'mail_links', 'auth_sessions'],
  },

  { method: 'GET', path: '/api/v1/auth/me', access: SCOPES, seesDeletedUsers: true },
  {
    method: 'DELETE',
    path: '/api/v1/auth/me',
    access: 'interactive',
    // Another address than the caller's: success would delete the caller. See test/quick/api/account.both.spec.ts.
    example: () => ({ body: { confirm: 'somebody-else@example.org' } }),
    status: 400,
    broken: NOT_JSON,
  },
  { method: 'GET', path: '/api/v1/auth/me/export', access: 'interactive', writes: ['audit_events'] },
  { method: 'GET', path: '/api/v1/auth/tokens', access: 'interactive' },
  {
    method: 'POST',
    path: '/api/v1/auth/tokens',
    access: 'interactive',
    example: () => ({ body: { name: 'minted' } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['access_tokens', 'audit_events', 'mail_queue'],
  },
  {
    method: 'DELETE',
    path: '/api/v1/auth/tokens/:id',
    access: 'interactive',
    ownsItem: true,
    example: ({ tokenId }) => ({ params: { id: tokenId } }),
    writes: ['access_tokens', 'audit_events', 'mail_queue'],
  },

  { method: 'GET', path: '/api/v1/subscription', access: EITHER },
  {
    method: 'POST',
    path: '/api/v1/subscription/trial',
    access: FULL,
    isUnbound: true,
    statusWhenLapsed: 409,
    writes: ['subscriptions'],
  },
  // No provider is configured.
  { method: 'GET', path: '/api/v1/subscription/portal-url', access: FULL, isUnbound: true, status: 503 },
  { method: 'POST', path: '/api/v1/subscription/checkout-url', access: FULL, isUnbound: true, status: 503 },
  {
    method: 'POST',
    path: '/api/v1/webhooks/payment',
    access: 'public',
    isUnlimited: true,
    example: () => ({
      body: {
        id: 'evt_about_nobody',
        type: 'customer.subscription.updated',
        data: { object: { id: 'sub_of_nobody', customer: 'cus_of_nobody', status: 'active' } },
      },
    }),
    broken: NOT_JSON,
  },

  { method: 'GET', path: '/api/v1/workspaces', access: READ },
  {
    method: 'POST',
    path: '/api/v1/workspaces',
    access: FULL,
    needsSubscription: true,
    isUnbound: true,
    example: () => ({ body: { name: 'created' } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['workspaces'],
  },
  { method: 'GET', path: WORKSPACE, access: READ, ownsWorkspace: true },
  {
    method: 'DELETE',
    path: WORKSPACE,
    access: FULL,
    ownsWorkspace: true,
    writes: [...CONTENT, 'checkpoints', 'access_tokens', 'push_subscriptions', 'audit_events'],
    uses: 'workspace',
  },
  {
    method: 'POST',
    path: `${WORKSPACE}/setup-encryption`,
    access: FULL,
    ownsWorkspace: true,
    example: () => ({
      body: {
        encryptionSalt: 'ab'.repeat(32),
        verificationHash: sha256('password'),
        verificationSalt: 'cd'.repeat(16),
      },
    }),
    broken: NOT_JSON,
    writes: ['workspaces'],
    uses: 'workspace',
  },
  {
    method: 'POST',
    path: `${WORKSPACE}/verify-password`,
    access: READ,
    ownsWorkspace: true,
    example: () => ({ body: { verificationHash: sha256('password') } }),
    broken: NOT_JSON,
  },

  { method: 'GET', path: `${WORKSPACE}/key-slots`, access: READ, ownsWorkspace: true },
  {
    method: 'PUT',
    path: KEY_SLOT,
    access: FULL,
    ownsWorkspace: true,
    example: (target) => ofKeySlot(target, RECOVERY_SLOT),
    broken: NOT_JSON,
    malformed: 400,
    writes: ['key_slots', 'audit_events'],
  },
  {
    method: 'DELETE',
    path: KEY_SLOT,
    access: FULL,
    ownsWorkspace: true,
    example: (target) => ofKeySlot(target),
    broken: NOT_JSON,
    malformed: 400,
    writes: ['key_slots', 'audit_events'],
    uses: 'keySlot',
  },

  { method: 'GET', path: `${WORKSPACE}/files`, access: READ, ownsWorkspace: true },
  {
    method: 'PUT',
    path: FILE,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: () => ({
      params: { encPath: randomBytes(9).toString('base64url') },
      headers: {
        ...FROM_A_DEVICE,
        'X-Content-Hash': sha256('new'),
        'Content-Type': 'application/octet-stream',
      },
      body: 'new',
    }),
    status: 201,
    broken: { headers: FROM_A_DEVICE },
    malformed: 400,
    writes: CONTENT,
  },
  { method: 'GET', path: FILE, access: READ, ownsWorkspace: true, example: ofFile, malformed: 400 },
  {
    method: 'POST',
    path: `${WORKSPACE}/files/batch-upload`,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: () => ({
      headers: { ...FROM_A_DEVICE, 'Content-Type': 'application/cbor-seq' },
      body: cborSequence([upload(randomBytes(9).toString('base64url'), 'new')]),
    }),
    broken: { body: 'not CBOR' },
    writes: CONTENT,
  },
  {
    method: 'POST',
    path: `${WORKSPACE}/files/batch-download`,
    access: READ,
    ownsWorkspace: true,
    example: ({ encryptedPath }) => ({ body: { items: [{ encryptedPath }] } }),
    broken: { body: { items: [] } },
  },
  {
    method: 'DELETE',
    path: FILE,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: (target) => ({ ...ofFile(target), headers: FROM_A_DEVICE }),
    broken: { headers: {} },
    malformed: 400,
    writes: ['workspaces', 'files', 'changes'],
    uses: 'file',
  },

  {
    method: 'GET',
    path: `${FILE}/versions`,
    access: READ,
    ownsWorkspace: true,
    example: ofFile,
    malformed: 400,
  },
  { method: 'GET', path: `${FILE}/versions/:vid`, access: READ, ownsWorkspace: true, example: ofVersion },
  {
    method: 'POST',
    path: `${FILE}/restore/:vid`,
    access: WRITE,
    ownsWorkspace: true,
    example: ofVersion,
    broken: { headers: { 'X-Device-Id': 'two words' } },
    writes: CONTENT,
  },

  {
    method: 'GET',
    path: `${WORKSPACE}/ws`,
    access: READ,
    ownsWorkspace: true,
    status: 426,
  },
  {
    method: 'GET',
    path: `${WORKSPACE}/trash`,
    access: READ,
    ownsWorkspace: true,
    broken: { query: 'pageCursor=x' },
  },
  {
    method: 'GET',
    path: `${SYNC}/status`,
    access: READ,
    needsSubscription: true,
    ownsWorkspace: true,
  },
  {
    method: 'GET',
    path: `${SYNC}/snapshot`,
    access: READ,
    needsSubscription: true,
    ownsWorkspace: true,
    broken: { query: 'pageCursor=x' },
  },
  {
    method: 'POST',
    path: `${SYNC}/push`,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: ({ encryptedPath }) => ({
      body: { deviceId: 'laptop', baseCursor: 0, changes: [{ encryptedPath, action: 'delete' }] },
    }),
    broken: NOT_JSON,
    writes: ['workspaces', 'files', 'changes'],
    uses: 'file',
  },
  {
    method: 'POST',
    path: `${SYNC}/pull`,
    access: READ,
    needsSubscription: true,
    ownsWorkspace: true,
    example: () => ({ body: { deviceId: 'laptop', cursor: 0 } }),
    broken: NOT_JSON,
  },

  {
    method: 'POST',
    path: `${WORKSPACE}/checkpoints`,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: () => ({ body: { encryptedLabel: 'bGFiZWw', kind: 'manual' } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['checkpoints'],
  },
  { method: 'GET', path: `${WORKSPACE}/checkpoints`, access: READ, ownsWorkspace: true },
  {
    method: 'DELETE',
    path: CHECKPOINT,
    access: WRITE,
    needsSubscription: true,
    ownsWorkspace: true,
    example: ofCheckpoint,
    writes: ['checkpoints', 'retention_marks'], // versions that it pinned may be thinned
    uses: 'checkpoint',
  },
  {
    method: 'GET',
    path: `${CHECKPOINT}/summary`,
    access: READ,
    ownsWorkspace: true,
    example: ofCheckpoint,
    broken: { query: 'fromCursor=x' },
  },
  {
    method: 'GET',
    path: `${CHECKPOINT}/restore-manifest`,
    access: READ,
    ownsWorkspace: true,
    example: ofCheckpoint,
  },
  {
    method: 'GET',
    path: `${CHECKPOINT}/note-state`,
    access: READ,
    ownsWorkspace: true,
    example: (target) => ({ ...ofCheckpoint(target), query: `encPath=${target.encryptedPath}` }),
    broken: { query: '' },
  },

  { method: 'GET', path: `${ASSETS}/list`, access: ['assets:read'], ownsWorkspace: true, example: byHeader },
  {
    method: 'GET',
    path: `${ASSETS}/usage`,
    access: ['assets:read'],
    ownsWorkspace: true,
    example: ({ workspaceId }) => ({ query: `workspaceId=${workspaceId}` }),
  },
  {
    method: 'POST',
    path: ASSETS,
    access: ['assets:write'],
    ownsWorkspace: true,
    example: (target) => ({
      ...byHeader(target),
      body: { encryptedFilename: newToken(), data: randomBytes(61).toString('base64') },
    }),
    status: 201,
    broken: NOT_JSON,
    writes: STORED,
  },
  {
    method: 'GET',
    path: `${ASSETS}/:token`,
    access: ['assets:read'],
    ownsWorkspace: true,
    example: ofAsset,
    malformed: 400,
  },
  {
    method: 'PATCH',
    path: `${ASSETS}/:token`,
    access: FULL,
    ownsWorkspace: true,
    example: (target) => ({ ...ofAsset(target), body: { newEncryptedFilename: newToken() } }),
    broken: NOT_JSON,
    malformed: 400,
    writes: ['workspaces', 'assets'],
    uses: 'asset',
  },
  {
    method: 'DELETE',
    path: `${ASSETS}/:token`,
    access: FULL,
    ownsWorkspace: true,
    isIdempotent: true,
    example: ofAsset,
    malformed: 400,
    writes: STORED,
    uses: 'asset',
  },
  {
    method: 'POST',
    path: `${ASSETS}/batch-delete`,
    access: FULL,
    ownsWorkspace: true,
    example: (target) => ({ ...byHeader(target), body: { tokens: [target.assetToken] } }),
    broken: NOT_JSON,
    writes: STORED,
    uses: 'asset',
  },
  { method: 'POST', path: `${ASSETS}/import`, access: SCOPES, status: 400 },

  ...AUTOMATION_ROUTES,

  { method: 'GET', path: '/api/v1/usage', access: EITHER },
  { method: 'GET', path: DEVICES, access: EITHER },
  {
    method: 'POST',
    path: DEVICES,
    access: EITHER,
    example: () => ({ body: { name: 'Laptop', platform: 'linux' } }),
    status: 201,
    broken: NOT_JSON,
    writes: ['devices'],
  },
  {
    method: 'DELETE',
    path: `${DEVICES}/:id`,
    access: FULL,
    isUnbound: true,
    ownsItem: true,
    example: ({ deviceId }) => ({ params: { id: deviceId } }),
    writes: ['devices', 'push_subscriptions'],
    uses: 'device',
  },
  { method: 'GET', path: `${DEVICES}/vapid-public-key`, access: EITHER },
  {
    method: 'POST',
    path: `${DEVICES}/push-subscription`,
    access: EITHER,
    namesWorkspace: true,
    example: (target) => ({ body: pushSubscription(target) }),
    status: 201,
    broken: NOT_JSON,
    writes: ['push_subscriptions'],
  },
  {
    method: 'DELETE',
    path: `${DEVICES}/push-subscription/:workspaceId/:deviceId`,
    access: EITHER,
    namesWorkspace: true,
    example: ({ workspaceId, deviceId }) => ({ params: { workspaceId, deviceId } }),
    malformed: 200, // a malformed device id has no subscription
    writes: ['push_subscriptions'],
  },

  // Forms without the token of a page are refused; test/quick/api tests them with it.
  {
    method: 'GET',
    path: '/auth/desktop-handoff',
    access: 'public',
    isPage: true,
    example: () => ({ query: CLIENT_STATE }),
    broken: { query: 'client_state=short' },
  },
  {
    method: 'POST',
    path: '/auth/desktop-handoff',
    access: 'public',
    isPage: true,
    example: () => ({ headers: FORM, body: CLIENT_STATE }),
    status: 403,
    broken: { headers: FORM, body: 'client_state=short' },
  },
  {
    method: 'GET',
    path: '/auth/web-handoff',
    access: 'public',
    isPage: true,
    example: () => ({ query: `${CLIENT_STATE}&return_to=https://editor.example.org` }),
    status: 400, // no callback is configured
  },
  {
    method: 'POST',
    path: '/auth/web-handoff',
    access: 'public',
    isPage: true,
    example: () => ({ headers: FORM, body: `${CLIENT_STATE}&return_to=https://editor.example.org` }),
    status: 400,
  },
  // Without a provider these are 404; test/deep/api/single-sign-on tests them with one.
  { method: 'POST', path: '/auth/single-sign-on', access: 'public', isPage: true, status: 404 },
  { method: 'GET', path: '/auth/single-sign-on/callback', access: 'public', isPage: true, status: 404 },
  {
    method: 'GET',
    path: '/auth/assets/:name',
    access: 'public',
    example: () => ({ params: { name: STYLESHEET.name } }),
  },
  { method: 'GET', path: ACCOUNT, access: 'public', isPage: true },
  ...['', '/sign-out', '/sessions/end', '/sessions/end-others', '/devices/remove'].map(accountForm),
  ...['/tokens', '/tokens/revoke', '/billing', '/password'].map(accountForm),
  ...['', '/accounts/:userId', '/service', '/invitations', '/audit'].map(adminPage),
  ...['/confirm', '/accounts/:userId/:action', '/service/kill-switch', '/service/doctor'].map(adminForm),
  ...['/invitations', '/invitations/revoke'].map(adminForm),
  {
    ...accountRedirect('/activity'),
    statusFor: { 'a session cookie': 200 },
  },
  { method: 'GET', path: `${ACCOUNT}/invitation`, access: 'public', isPage: true, status: 404 },
  { ...accountForm('/invitation'), status: 404 },
  ...['/name', '/trial', '/workspaces/rename', '/workspaces/delete', '/export', '/delete'].map(accountForm),
  ...['/name', '/workspaces/rename', '/workspaces/delete', '/export', '/delete'].map(accountRedirect),
  ...['/factor/set-up', '/factor/confirm', '/factor/codes', '/factor/remove'].map(accountForm),
  ...['/passkeys/confirm', '/passkeys/rename', '/passkeys/remove'].map(accountForm),
  ...['/factor/:form', '/passkeys/:form'].map(accountRedirect),
  ...['/forgot', '/reset', '/verify', '/verify/send', '/email', '/new-address'].map(accountForm),
  { method: 'GET', path: `${ACCOUNT}/email`, access: 'public', isPage: true, status: 303 },
  accountForm('/single-sign-on/disconnect'),
  accountRedirect('/single-sign-on/disconnect'),
  accountForm('/notices'),
  accountRedirect('/notices'),
  // Mail providers post without a form; a token that the service has not made is refused.
  { method: 'GET', path: `${ACCOUNT}/unsubscribe`, access: 'public', isPage: true, status: 422 },
  { method: 'POST', path: `${ACCOUNT}/unsubscribe`, access: 'public', isPage: true, status: 422 },
  linkPage('/new-address'),
  { method: 'GET', path: `${ACCOUNT}/forgot`, access: 'public', isPage: true },
  linkPage('/reset'),
  linkPage('/verify'),
  { method: 'GET', path: `${ACCOUNT}/tokens`, access: 'public', isPage: true, status: 303 },
  { method: 'GET', path: `${ACCOUNT}/billing`, access: 'public', isPage: true, status: 303 },
  { method: 'GET', path: `${ACCOUNT}/password`, access: 'public', isPage: true, status: 303 },
];

/** 404 for everybody but administrators. */
function adminPage(path: string): Route {
  const example = { params: ADMIN_PARAMS };
  return {
    method: 'GET',
    path: `/admin${path}`,
    access: 'public',
    isPage: true,
    looksUnknown: true,
    example: () => example,
    status: 404,
  };
}

function adminForm(path: string): Route {
  const example = { headers: FORM, body: '', params: ADMIN_PARAMS };
  return { ...adminPage(path), method: 'POST', example: () => example };
}

function accountForm(path: string): Route {
  const example = { headers: FORM, body: '' };
  return {
    method: 'POST',
    path: ACCOUNT + path,
    access: 'public',
    isPage: true,
    example: () => example,
    status: 403,
  };
}

/** Moves the token of a link from the address to a cookie, even an invalid one. */
function linkPage(path: string): Route {
  return {
    method: 'GET',
    path: ACCOUNT + path,
    access: 'public',
    isPage: true,
    status: 422,
    statusFor: { 'a JWT in the query': 303 },
  };
}

function accountRedirect(path: string): Route {
  const example = path.includes(':form') ? { params: { form: 'remove' } } : {};
  return {
    method: 'GET',
    path: ACCOUNT + path,
    access: 'public',
    isPage: true,
    example: () => example,
    status: 303,
  };
}

/** The name of a route: `GET /api/v1/workspaces`. */
export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

/** Well-formed ids of things that do not exist. */
export const absentTarget = (): Target => ({
  workspaceId: randomUUID(),
  encryptedPath: 'YWJzZW50',
  versionedPath: 'YWJzZW50',
  versionId: randomUUID(),
  checkpointId: randomUUID(),
  keySlotId: randomUUID(),
  verificationHash: sha256(randomUUID()),
  assetToken: newToken(),
  notePath: 'absent.md',
  noteVersionId: randomUUID(),
  keySession: `ks_${randomBytes(32).toString('base64url')}`,
  masterKey: randomBytes(32).toString('base64'),
  deviceId: randomUUID(),
  tokenId: randomUUID(),
});
