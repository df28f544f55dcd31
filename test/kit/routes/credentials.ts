import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { exportSPKI, type JWTHeaderParameters, SignJWT } from 'jose';
import { type Scope, SCOPES } from '../../../src/access/route-access.js';
import { generatePat } from '../../../src/domain/auth/index.js';
import { BASE_URL } from '../index.js';
import { type Household, mint, type Scene } from './scene.js';

/** The part of a request that identifies its sender. */
export interface Proof {
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

/** A credential, and what the specification lets the service see in it. */
export interface Credential {
  readonly name: string;
  /** Undefined when the credential must count as none. */
  readonly bearer?: Bearer;
  readonly proof: (scene: Scene) => Proof | Promise<Proof>;
}

export interface Bearer {
  readonly user: 'owner' | 'stranger' | 'lapsed' | 'lapsedStranger' | 'gone' | 'suspended';
  /** Undefined for a JWT. */
  readonly pat?: { readonly scopes: readonly Scope[]; readonly bound?: 'here' | 'elsewhere' };
}

export const isActive = ({ user }: Bearer): boolean => user === 'owner' || user === 'stranger';

/** Whether the target belongs to the bearer; a stranger aims at things of the owner. */
export const isOwner = ({ user }: Bearer): boolean => user === 'owner' || user === 'lapsed';

/** The household at whose things a credential aims. */
export function householdAimedAt({ owner, lapsed, suspended }: Scene, { bearer }: Credential): Household {
  if (bearer?.user === 'suspended') return suspended;
  return bearer?.user === 'lapsed' ? lapsed : owner;
}

export const bearerHeader = (token: string): Proof => ({ headers: { Authorization: `Bearer ${token}` } });

/** Each of these would be admitted without the fault that it is named for. */
const WORTHLESS: Readonly<Record<string, (scene: Scene) => Proof | Promise<Proof>>> = {
  none: () => ({}),
  'an empty bearer': () => ({ headers: { Authorization: 'Bearer ' } }),
  'a malformed token': () => bearerHeader('a.b.c'),
  'a JWT under another scheme': ({ owner }) => ({ headers: { Authorization: `Basic ${owner.user.token}` } }),
  'a JWT in the query': ({ owner }) => ({
    query: `token=${owner.user.token}&access_token=${owner.user.token}`,
  }),
  'a session token': ({ ownerSession }) => bearerHeader(ownerSession.token),
  'a session cookie': ({ ownerSession }) => ({ headers: { Cookie: ownerSession.cookie, Origin: BASE_URL } }),

  "a stranger's JWT with the owner put in": ({ stranger, owner }) =>
    bearerHeader(withClaims(stranger.user.token, { sub: owner.user.id })),
  'a JWT with a byte of its signature changed': ({ owner }) =>
    bearerHeader(withOtherSignature(owner.user.token)),
  'a JWT without its signature': ({ owner }) => bearerHeader(owner.user.token.replace(/[^.]+$/, '')),
  'signed by another key under our kid': (scene) => forged(scene, { key: STRANGERS.privateKey }),
  'signed by a key that it brings along': (scene) =>
    forged(scene, {
      key: STRANGERS.privateKey,
      header: { jwk: STRANGERS.publicKey.export({ format: 'jwk' }) },
    }),
  'alg none': (scene) => unsigned(scene, 'none'),
  'alg RS256 and no signature': (scene) => unsigned(scene, 'RS256'),
  'HS256 under the public key': async (scene) => {
    const key = new TextEncoder().encode(await exportSPKI(scene.key.publicKey));
    return forged(scene, { key, header: { alg: 'HS256' } });
  },
  PS256: (scene) => forged(scene, { header: { alg: 'PS256' } }),
  RS512: (scene) => forged(scene, { header: { alg: 'RS512' } }),
  'an unknown kid': (scene) => forged(scene, { header: { kid: randomUUID() } }),
  'no kid': (scene) => forged(scene, { header: { kid: undefined } }),
  expired: (scene) => forged(scene, { claims: { exp: secondsFromNow(scene, -1) } }),
  'no exp': (scene) => forged(scene, { claims: { exp: undefined } }),
  'another issuer': (scene) => forged(scene, { claims: { iss: 'https://evil.example' } }),
  'another audience': (scene) => forged(scene, { claims: { aud: 'https://evil.example' } }),
  'nbf ahead': (scene) => forged(scene, { claims: { nbf: secondsFromNow(scene, 600) } }),
  'no sub': (scene) => forged(scene, { claims: { sub: undefined } }),
  'a sub that is no user id': (scene) => forged(scene, { claims: { sub: `${scene.owner.user.id}'--` } }),

  'no sid': (scene) => forged(scene, { claims: { sid: undefined } }),
  'the JWT of an ended session': ({ endedJwt }) => bearerHeader(endedJwt),

  'a revoked PAT': ({ revokedPat }) => bearerHeader(revokedPat),
  'an expired PAT': ({ expiredPat }) => bearerHeader(expiredPat),
  'an unknown PAT': () => bearerHeader(generatePat()),
  'a PAT with a character too much': async ({ owner }) => {
    const { token } = await mint(owner.user, { name: 'lengthened' });
    return bearerHeader(`${token}A`);
  },
  'the PAT of a deleted user': ({ gone }) => bearerHeader(gone.pat),
};

const FULL = { scopes: ['full'] } as const;
const READ = { scopes: ['documents:read'] } as const;
const WRITE = { scopes: ['documents:write'] } as const;

const WORTHY: Readonly<Record<string, Bearer>> = {
  'a JWT': { user: 'owner' },
  ...Object.fromEntries(
    SCOPES.map((scope) => [`a PAT for ${scope}`, { user: 'owner', pat: { scopes: [scope] } } as const]),
  ),
  'a PAT for all but full': { user: 'owner', pat: { scopes: SCOPES.filter((scope) => scope !== 'full') } },
  'a full PAT bound to the workspace': { user: 'owner', pat: { ...FULL, bound: 'here' } },
  'a reading PAT bound to the workspace': { user: 'owner', pat: { ...READ, bound: 'here' } },
  'a writing PAT bound to the workspace': { user: 'owner', pat: { ...WRITE, bound: 'here' } },
  'a full PAT bound elsewhere': { user: 'owner', pat: { ...FULL, bound: 'elsewhere' } },
  'a reading PAT bound elsewhere': { user: 'owner', pat: { ...READ, bound: 'elsewhere' } },
  'a writing PAT bound elsewhere': { user: 'owner', pat: { ...WRITE, bound: 'elsewhere' } },
  'the JWT of another user': { user: 'stranger' },
  'a full PAT of another user': { user: 'stranger', pat: FULL },
  'a reading PAT of another user': { user: 'stranger', pat: READ },
  'a full PAT of another user bound to their workspace': {
    user: 'stranger',
    pat: { ...FULL, bound: 'here' },
  },
  'the JWT of a deleted user': { user: 'gone' },
  'the JWT of a suspended user': { user: 'suspended' },
  'a full PAT of a suspended user': { user: 'suspended', pat: FULL },
  'a JWT without a subscription': { user: 'lapsed' },
  'a full PAT without a subscription': { user: 'lapsed', pat: FULL },
  'a reading PAT without a subscription': { user: 'lapsed', pat: READ },
  'a writing PAT without a subscription': { user: 'lapsed', pat: WRITE },
  'a full PAT bound elsewhere without a subscription': {
    user: 'lapsed',
    pat: { ...FULL, bound: 'elsewhere' },
  },
  'the JWT of another user without a subscription': { user: 'lapsedStranger' },
};

export const CREDENTIALS: readonly Credential[] = [
  ...Object.entries(WORTHLESS).map(([name, proof]) => ({ name, proof })),
  ...Object.entries(WORTHY).map(([name, bearer]) => ({ name, bearer, proof: proofOf(bearer) })),
];

function proofOf({ user, pat }: Bearer): Credential['proof'] {
  return async (scene) => {
    if (user === 'gone') return bearerHeader(scene.gone.jwt);
    if (user === 'suspended') return bearerHeader(pat ? scene.suspended.pat : scene.suspended.user.token);
    const { user: holder, target, elsewhereId } = scene[user];
    if (!pat) return bearerHeader(holder.token);
    const workspaceId = pat.bound && { here: target.workspaceId, elsewhere: elsewhereId }[pat.bound];
    return bearerHeader((await mint(holder, { name: 'matrix', scopes: pat.scopes, workspaceId })).token);
  };
}

/** The same credential for another workspace of its user: a bound token names its workspace. */
export async function boundTo(
  workspaceId: string,
  { user }: Household,
  { bearer }: Credential,
  proof: Proof,
): Promise<Proof> {
  if (bearer?.pat?.bound !== 'here') return proof;
  return bearerHeader((await mint(user, { name: 'spare', scopes: bearer.pat.scopes, workspaceId })).token);
}

const STRANGERS = generateKeyPairSync('rsa', { modulusLength: 2048 });

interface Forgery {
  readonly key?: KeyObject | Uint8Array;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly claims?: Record<string, unknown>;
}

/** The owner's JWT signed by a trusted key, with these changes; undefined omits a claim or a header. */
async function forged(scene: Scene, { key, header, claims }: Forgery): Promise<Proof> {
  const signer = new SignJWT(defined({ ...claimsOf(scene), ...claims }));
  signer.setProtectedHeader(defined({ alg: 'RS256', kid: scene.key.id, ...header }) as JWTHeaderParameters);
  return bearerHeader(await signer.sign(key ?? scene.key.privateKey));
}

function unsigned(scene: Scene, alg: string): Proof {
  const parts = [{ alg, kid: scene.key.id }, claimsOf(scene)].map((part) => encoded(part));
  return bearerHeader(`${parts.join('.')}.`);
}

function claimsOf(scene: Scene): Record<string, unknown> {
  const iat = secondsFromNow(scene, 0);
  const { sid } = claimsIn(scene.owner.user.token);
  return { sub: scene.owner.user.id, sid, iss: BASE_URL, aud: BASE_URL, iat, exp: iat + 900 };
}

const claimsIn = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

const secondsFromNow = ({ service }: Scene, seconds: number): number =>
  Math.floor(service.clock.now().getTime() / 1000) + seconds;

const defined = (record: object): Record<string, unknown> => JSON.parse(JSON.stringify(record));

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

function withClaims(token: string, claims: object): string {
  const [header, payload = '', signature] = token.split('.');
  const known = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return `${header}.${encoded({ ...known, ...claims })}.${signature}`;
}

function withOtherSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  bytes[100]! ^= 1;
  return `${header}.${payload}.${bytes.toString('base64url')}`;
}

/** A forged token without a fault must be admitted, or the forgeries prove nothing. */
export const faultless = (scene: Scene): Promise<Proof> => forged(scene, {});
