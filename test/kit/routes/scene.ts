import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { EndedSessions, Suspensions, UserSessions } from '../../../src/domain/auth/index.js';
import { Mail } from '../../../src/platform/mail/index.js';
import { Subscriptions } from '../../../src/domain/billing/index.js';
import { verificationHash } from '../../../crypto/src/index.js';
import { WorkspacesOfUser } from '../../../src/domain/workspaces/index.js';
import { assetToken, TestAssets } from '../assets.js';
import { automationPath, TestVault } from '../automation.js';
import { BASE_URL, startService, type TestService, TestUser, TestWorkspace } from '../index.js';
import { RECOVERY_SLOT } from '../key-slots.js';
import type { Route, Target } from './route-table.js';

/** Of maximal length, so that every spelling that adds a character is malformed. */
const NOTE_PATH = `${'n'.repeat(1021)}.md`;

/** Settings for pages that need mail; nothing listens there. */
const MAIL = {
  SMTP_URL: 'smtp://127.0.0.1:9',
  MAIL_FROM: 'sync@example.org',
  EMAIL_VERIFICATION: 'optional',
};

/** All users of the tests, with their things. */
export interface Scene {
  readonly service: TestService;
  /** A user with everything that requests aim at, and a subscription. */
  readonly owner: Household;
  /** Another such user, who aims at things of the owner. */
  readonly stranger: Household;
  /** Two more, whose subscriptions have ended. */
  readonly lapsed: Household;
  readonly lapsedStranger: Household;
  /** A suspended user with all of that, and a token from before. */
  readonly suspended: Household & { readonly pat: string };
  /** A deleted user, with tokens from before. */
  readonly gone: { readonly jwt: string; readonly pat: string };
  /** Invalid tokens of the owner. */
  readonly revokedPat: string;
  readonly expiredPat: string;
  /** A JWT of the owner whose session has ended. */
  readonly endedJwt: string;
  readonly ownerSession: { readonly token: string; readonly cookie: string };
  /** A signing key that the service trusts, so that a forged token has no fault but the one under test. */
  readonly key: { readonly id: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };
}

/** A user, the contents of one of their workspaces, and the id of another one. */
export interface Household {
  readonly user: TestUser;
  readonly target: Target;
  readonly elsewhereId: string;
}

export async function setScene(): Promise<Scene> {
  const service = await startService({ env: { LOG_LEVEL: 'warn', ...MAIL } });
  await service.app.get(Mail).beforeApplicationShutdown(); // sending would change the queue
  const key = await trustedKey(service);
  const expiredPat = await expiredPatOf(service, 'owner');
  const ownerSession = await sessionOf(service, 'session-owner');

  const scene = {
    ...{ service, key, expiredPat, ownerSession },
    owner: await household(service, 'owner'),
    stranger: await household(service, 'stranger'),
    lapsed: await household(service, 'lapsed'),
    lapsedStranger: await household(service, 'lapsed-stranger'),
    suspended: await suspendedHousehold(service),
    gone: await goneUser(service),
  };
  const endedJwt = await endedJwtOf(service, scene.owner.user);
  const revoked = await mint(scene.owner.user, { name: 'revoked' });
  await scene.owner.user.delete(`/api/v1/auth/tokens/${revoked.id}`).expect(200);
  for (const { user } of [scene.lapsed, scene.lapsedStranger]) {
    await service.app.get(Subscriptions).grant(user.id, 'expired', null);
  }
  return { ...scene, endedJwt, revokedPat: revoked.token };
}

export async function mint(user: TestUser, body: object): Promise<{ id: string; token: string }> {
  return (await user.post('/api/v1/auth/tokens').send(body).expect(201)).body;
}

async function endedJwtOf(service: TestService, { id, email }: TestUser): Promise<string> {
  const { token } = await TestUser.logIn(service.url, 'again', email);
  const [, claims = ''] = token.split('.');
  const { sid } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sid: string };
  await service.app.get(UserSessions).end(id, sid, { actor: 'user' });
  await service.app.get(EndedSessions).look();
  return token;
}

/** An empty workspace, whatever the user's subscription. */
export async function bareWorkspace({ app }: TestService, userId: string): Promise<string> {
  return (await app.get(WorkspacesOfUser).create(userId, 'bare')).id;
}

/** The target of a household, with a new instance of what a request uses up. */
export async function targetFor(
  service: TestService,
  { user, target }: Household,
  uses: Route['uses'],
): Promise<Target> {
  const workspace = new TestWorkspace(user, target.workspaceId);
  if (uses === 'workspace') return { ...target, workspaceId: await bareWorkspace(service, user.id) };
  if (uses === 'keySlot') await putKeySlot(workspace, target);
  if (uses === 'checkpoint') return { ...target, checkpointId: await checkpointIn(workspace) };
  if (uses === 'keySession') return { ...target, keySession: await keySessionIn(workspace, target) };
  if (uses === 'note') await reviveNote(workspace, target);
  if (uses === 'device') return { ...target, deviceId: await deviceOf(user) };
  if (uses === 'asset') return { ...target, assetToken: await assetIn(workspace) };
  if (uses === 'file') await workspace.put(target.encryptedPath, `content ${randomUUID()}`).expect(200);
  return target;
}

export async function household(service: Pick<TestService, 'user'>, name: string): Promise<Household> {
  const user = await service.user(name);
  const workspace = await user.workspace();
  await workspace.put('YQ', 'content').expect(201);
  await workspace.put('Yg', 'content with versions').expect(201);
  const { body } = await user.get(`${workspace.file('Yg')}/versions`).expect(200);
  const vault = await TestVault.setUp(workspace);
  await vault.create(NOTE_PATH, 'text').expect(201);
  const slot = { keySlotId: randomUUID(), verificationHash: await proofOf(vault) };
  for (const keySlotId of [slot.keySlotId, randomUUID()]) await putKeySlot(workspace, { ...slot, keySlotId });
  return {
    user,
    target: {
      workspaceId: workspace.id,
      encryptedPath: 'YQ',
      versionedPath: 'Yg',
      versionId: body.versions[0].id,
      checkpointId: await checkpointIn(workspace),
      ...slot,
      assetToken: await assetIn(workspace),
      notePath: NOTE_PATH,
      noteVersionId: (await vault.history(NOTE_PATH).expect(200)).body.versions[0].versionId,
      keySession: vault.keySession,
      masterKey: vault.masterKey.toString('base64'),
      deviceId: await deviceOf(user),
      tokenId: (await mint(user, { name: 'to be revoked' })).id,
    },
    elsewhereId: (await user.workspace('elsewhere')).id,
  };
}

async function suspendedHousehold(service: TestService): Promise<Scene['suspended']> {
  const home = await household(service, 'suspended');
  const { token: pat } = await mint(home.user, { name: 'from before' });
  await service.app.get(Suspensions).suspend(home.user.id);
  return { ...home, pat };
}

/** The proof of the vault's master key. */
async function proofOf({ workspace, masterKey }: TestVault): Promise<string> {
  const { body } = await workspace.user.get(`${workspace.path}/key-slots`).expect(200);
  return verificationHash(masterKey, body.verificationSalt);
}

async function putKeySlot(
  { user, path }: TestWorkspace,
  { keySlotId, verificationHash }: Pick<Target, 'keySlotId' | 'verificationHash'>,
): Promise<void> {
  const slot = { verificationHash, ...RECOVERY_SLOT };
  await user
    .put(`${path}/key-slots/${keySlotId}`)
    .send(slot)
    .expect(({ ok }) => expect(ok).toBe(true));
}

async function checkpointIn(workspace: TestWorkspace): Promise<string> {
  const checkpoint = { encryptedLabel: 'bGFiZWw', kind: 'manual' };
  return (await workspace.user.post(`${workspace.path}/checkpoints`).send(checkpoint).expect(201)).body.id;
}

async function keySessionIn({ user, id }: TestWorkspace, { masterKey }: Target): Promise<string> {
  const opened = user.post(`${automationPath(id)}/key-sessions`).send({ key: masterKey });
  return (await opened.expect(201)).body.keySession;
}

async function reviveNote({ user, id }: TestWorkspace, { keySession, notePath }: Target): Promise<void> {
  const request = user.post(`${automationPath(id)}/notes`).set('X-Key-Session', keySession);
  const { status } = await request.send({ path: notePath, content: 'text' });
  if (status !== 201 && status !== 409) throw new Error(`the note is not there: ${status}`);
}

async function deviceOf(user: TestUser): Promise<string> {
  return (await user.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201)).body.id;
}

async function assetIn(workspace: TestWorkspace): Promise<string> {
  const token = assetToken();
  await TestAssets.of(workspace).create(token).expect(201);
  return token;
}

async function expiredPatOf(service: TestService, name: string): Promise<string> {
  const expiresAt = new Date(service.clock.now().getTime() + 60_000).toISOString();
  const { token } = await mint(await service.user(name), { name: 'expired', expiresAt });
  service.clock.advance(120_000);
  return token;
}

async function goneUser(service: TestService): Promise<Scene['gone']> {
  const user = await service.newcomer('gone');
  const { token } = await mint(user, { name: 'left behind' });
  await service.database.query('DELETE FROM users WHERE id = $1', [user.id]);
  return { jwt: user.token, pat: token };
}

async function sessionOf({ url }: TestService, name: string): Promise<Scene['ownerSession']> {
  const answer = await supertest(url)
    .post('/api/auth/sign-up/email')
    .set('Origin', BASE_URL)
    .send({ email: `${name}@example.org`, name, password: 'correct horse battery staple' })
    .expect(200);
  const cookie = (answer.get('Set-Cookie') ?? []).map((one) => one.split(';')[0]).join('; ');
  return { token: answer.body.token, cookie };
}

/** Call before the first token is verified, so that the service reads it with its own keys. */
async function trustedKey({ database }: TestService): Promise<Scene['key']> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const id = randomUUID();
  await database.query(
    `INSERT INTO auth_jwks (id, public_key, private_key, alg, created_at) VALUES ($1, $2, 'none', 'RS256', '2001-01-01')`,
    [id, JSON.stringify(publicKey.export({ format: 'jwk' }))],
  );
  return { id, privateKey, publicKey };
}
