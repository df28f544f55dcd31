import { createECDH } from 'node:crypto';
import { DataSource } from 'typeorm';
import { WorkspaceEntity } from '../../../src/domain/workspaces/index.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { exportOf, filesIn } from '../../kit/exports.js';
import { startService, type TestService, type TestUser } from '../../kit/index.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** By table: the exported file, and a text that it contains for `userWithEverything`. */
const EXPORTED: Readonly<Record<string, readonly [file: string, text: string]>> = {
  access_tokens: ['tokens-000001.jsonl', '"name":"script"'],
  assets: ['assets-000001.jsonl', '"content":"attachments/'],
  audit_events: ['audit-000001.jsonl', '"action":"token.minted"'],
  auth_accounts: ['account.json', '"provider":"oidc:https://login.example.org","subject":"the subject"'],
  auth_passkeys: ['account.json', '"name":"Phone","createdAt"'],
  auth_sessions: ['sessions-000001.jsonl', '"userAgent":"Browser of mine"'],
  auth_two_factors: ['account.json', '"secondFactor":{"kind":"totp","isConfirmed":true,"createdAt"'],
  blobs: ['contents/', 'the content of a note'],
  changes: ['changes-000001.jsonl', '"action":"upsert"'],
  checkpoints: ['checkpoints-000001.jsonl', '"encryptedLabel":"bGFiZWw"'],
  devices: ['devices-000001.jsonl', '"platform":"ios"'],
  files: ['files-000001.jsonl', '"encryptedPath":"b25l"'],
  key_slots: ['key-slots-000001.jsonl', '"wrappedKey":"AAAA"'],
  key_sessions: ['key-sessions-000001.jsonl', '"workspaceId"'],
  known_networks: ['networks-000001.jsonl', '"network":"network:203.0.113.7"'],
  mail_links: ['account.json', '"purpose":"change-email","email":"next@example.org"'],
  muted_notices: ['account.json', '"mutedNotices":[{"notice":"payment-failed"'],
  mail_notices: ['notices-000001.jsonl', '"notice":"trial-ends"'],
  payment_customers: ['account.json', '"paymentCustomer":"cus_1"'],
  payment_events: ['payments-000001.jsonl', '"id":"evt_1"'],
  push_subscriptions: ['push-subscriptions-000001.jsonl', '"service":"https://push.example.org"'],
  storage_accounts: ['account.json', '"attachmentStorage":{"usedBytes"'],
  subscriptions: ['account.json', '"providerSubscriptionId":"sub_1"'],
  users: ['account.json', '"administratorSince":"2'],
  versions: ['versions-000001.jsonl', '"content":"contents/'],
  workspaces: ['workspace.json', '"name":"Diary"'],
};

const OF_THE_SERVICE = 'of the service, not of an account';
const SHORT_LIVED = 'gone within a day, and of no use outside the service';

/** Tables that are not exported, with the reason, which docs/reference/export-format.md gives too. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  asset_idempotency_keys: SHORT_LIVED,
  auth_jwks: OF_THE_SERVICE,
  auth_verifications: 'secrets: one-time tokens, and sign-ins that have not finished',
  blob_leftovers: OF_THE_SERVICE,
  blob_stores: OF_THE_SERVICE,
  database_identity: OF_THE_SERVICE,
  doctor_runs: OF_THE_SERVICE,
  ended_sessions: SHORT_LIVED,
  instances: OF_THE_SERVICE,
  invitations: 'of addresses that have no account',
  job_runs: OF_THE_SERVICE,
  kill_switch: OF_THE_SERVICE,
  mail_queue: 'a queue of mails, which have links that are secrets',
  migrations: OF_THE_SERVICE,
  owed_cancellations: 'of accounts that are deleted',
  presence: 'who is connected at the moment',
  rate_limits: SHORT_LIVED,
  shared_commits: OF_THE_SERVICE,
  retention_marks: OF_THE_SERVICE,
  retention_progress: OF_THE_SERVICE,
  retention_queue: OF_THE_SERVICE,
  trusted_time: OF_THE_SERVICE,
  wrong_passwords: SHORT_LIVED,
};

/** Property of a workspace → its name in the export. */
const OTHER_NAMES: Readonly<Record<string, string>> = { headCursor: 'cursor' };

/** Columns of a workspace that are not exported. */
const COLUMNS_LEFT_OUT: Readonly<Record<string, string>> = {
  userId: 'the account itself',
  verificationHash: 'knowing it counts as proof of the master key',
  deletedAt: 'deleted workspaces are not exported',
};

/** Stands for every secret: the keys of second factors, passkeys, mail links and so on. */
const SECRET = 'KEY-THAT-STAYS-HERE';

async function withWorkspace(user: TestUser): Promise<TestUser> {
  await user.workspace('Diary');
  return user;
}

async function userWithEverything() {
  const user = await service.user('everything');
  const workspace = await user.workspace('Diary');
  await TestVault.setUp(workspace);
  await workspace.put('b25l', 'the content of a note').expect(201);
  await workspace.checkpoint('bGFiZWw');
  await TestAssets.of(workspace).create(assetToken(), envelope(100)).expect(201);
  const device = (await user.post('/api/v1/devices').send({ name: 'Phone', platform: 'ios' }).expect(201))
    .body;
  const keys = {
    p256dh: createECDH('prime256v1').generateKeys('base64url'),
    auth: Buffer.alloc(16).toString('base64url'),
  };
  const endpoint = `https://push.example.org/${SECRET}`;
  await user
    .post('/api/v1/devices/push-subscription')
    .send({ workspaceId: workspace.id, deviceId: device.id, endpoint, keys })
    .expect(201);
  await user.post('/api/v1/auth/tokens').send({ name: 'script' }).expect(201);
  for (const statement of [
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, access_token, updated_at)
     VALUES ($1, 'the subject', 'oidc:https://login.example.org', '${SECRET}', now())`,
    `INSERT INTO auth_passkeys (user_id, name, public_key, credential_id, counter, device_type, backed_up, created_at)
     VALUES ($1, 'Phone', '${SECRET}', '${SECRET}', 0, 'singleDevice', false, now())`,
    `INSERT INTO auth_two_factors (user_id, secret, backup_codes, verified) VALUES ($1, '${SECRET}', '{${SECRET}}', true)`,
    `INSERT INTO auth_sessions (user_id, token, expires_at, updated_at, user_agent)
     VALUES ($1, '${SECRET}', now() + interval '1 day', now(), 'Browser of mine')`,
    `INSERT INTO auth_verifications (identifier, value, expires_at) VALUES ('${SECRET}', $1::uuid::text, now())`,
    `INSERT INTO muted_notices VALUES ($1, 'payment-failed', now())`,
    `INSERT INTO key_slots (workspace_id, id, kind, kdf, wrapped_key, created_at, updated_at)
     SELECT id, gen_random_uuid(), 'recovery', '{}', decode('000000', 'hex'), now(), now() FROM workspaces WHERE user_id = $1`,
    `INSERT INTO known_networks VALUES ($1, 'network:203.0.113.7', now())`,
    `INSERT INTO mail_links (user_id, purpose, token_hash, email, requested_at, expires_at)
     VALUES ($1, 'change-email', '${SECRET}', 'next@example.org', now(), now())`,
    `INSERT INTO mail_notices VALUES ($1, 'trial-ends', now())`,
    `INSERT INTO mail_queue (user_id, recipient, template, parameters, queued_at, due_at)
     VALUES ($1, 'x@example.org', 'x', '{"link":"${SECRET}"}', now(), now() + interval '1 day')`,
    `INSERT INTO payment_customers VALUES ($1, 'cus_1', now())`,
    `INSERT INTO payment_events (event_id, user_id, subscription_id, kind, cause, occurred_at, received_at, fate)
     VALUES ('evt_1', $1, 'sub_1', 'created', 'x', now(), now(), 'applied')`,
    `INSERT INTO subscriptions (user_id, plan, status, updated_at, provider_subscription_id)
     VALUES ($1, 'pro', 'active', now(), 'sub_1')
     ON CONFLICT (user_id) DO UPDATE SET provider_subscription_id = excluded.provider_subscription_id`,
    'UPDATE users SET promoted_at = now() WHERE id = $1',
  ])
    await service.database.query(statement, [user.id]);
  return user;
}

describe('the export of an account', () => {
  it('covers each table of the schema, or omits it for a stated reason', async () => {
    const tables = await service.database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`,
    );
    const decided = [...Object.keys(EXPORTED), ...Object.keys(LEFT_OUT)].sort();
    expect(tables.map(({ name }) => name).sort()).toEqual(decided);
  });

  it('has each column of a workspace, or omits it for a stated reason', async () => {
    const files = await filesIn(await exportOf(await service.user('columns').then(withWorkspace)));
    const [, text] = [...files].find(([name]) => name.endsWith('/workspace.json'))!;
    const exported = Object.keys(JSON.parse(text.toString()) as object);
    const columns = service.app.get(DataSource).getMetadata(WorkspaceEntity).columns;
    const names = columns.map(({ propertyName }) => OTHER_NAMES[propertyName] ?? propertyName);
    expect(names.filter((name) => !(name in COLUMNS_LEFT_OUT) && !exported.includes(name))).toEqual([]);
  });

  it('contains the user’s rows of the exported tables, and no secret', async () => {
    const files = await filesIn(await exportOf(await userWithEverything()));
    const missing = Object.entries(EXPORTED).filter(([, [file, text]]) => {
      const found = [...files].filter(([name]) => name.endsWith(file) || name.includes(`/${file}`));
      return !found.some(([, content]) => compact(content).includes(text));
    });
    expect(missing).toEqual([]);
    const text = Buffer.concat([...files.values()]).toString('latin1');
    for (const form of ['latin1', 'hex', 'base64', 'base64url'] as const)
      expect(text).not.toContain(Buffer.from(SECRET).toString(form));
  });
});

/** JSON without whitespace; other content unchanged. */
function compact(content: Buffer): string {
  try {
    return JSON.stringify(JSON.parse(content.toString()));
  } catch {
    return content.toString();
  }
}
