import { STYLESHEET } from '../../../src/web/layout/page-assets.js';
import { assetToken, envelope, TestAssets } from '../assets.js';
import type { TestVault } from '../automation.js';
import { DEV_LOGIN_KEY } from '../service.js';
import { sha256, type TestWorkspace } from '../workspace.js';

export const CALLBACK = 'https://editor.example.org/callback';

/** Objects for requests to refer to, by parameter; a name after a group of operations is only for that group. */
export type Things = Map<string, readonly unknown[]>;

/** Creates one object of each kind in an empty workspace. */
export async function furnished(workspace: TestWorkspace, vault: TestVault): Promise<Things> {
  const { user, id } = workspace;
  const paths = ['YQ', 'Yg', 'Yw', 'ZA==', 'e'.repeat(4096)];
  for (const path of paths) await workspace.put(path, `content of ${path.slice(0, 2)}`).expect(201);
  await workspace.put('YQ', 'newer').expect(200);
  await vault.create('note.md', 'some text').expect(201);
  const token = assetToken();
  await TestAssets.of(workspace).create(token).expect(201);
  const device = await user.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201);
  const versions = await workspace.versions('YQ');
  const hashes = versions.map((version) => version.content_hash);
  const noteVersions: { versionId: string }[] = (await vault.history('note.md').expect(200)).body.versions;
  const tags = [...hashes.map((hash) => `"${hash}"`), '*', `"${sha256('x')}"`, 'W/"a"'];
  return new Map<string, readonly unknown[]>([
    ...['id', 'workspaceId', 'X-Workspace-Id', 'workspace'].map((name) => [name, [id]] as const),
    ...['encPath', 'encryptedPath'].map((name) => [name, [...paths, 'bmV3', 'bmV3ZXI']] as const),
    ...['cursor', 'baseCursor', 'fromCursor'].map((name) => [name, [0, 1, 2, 3, 5, 6, 7]] as const),
    ...['deviceId', 'X-Device-Id'].map((name) => [name, ['laptop', 'phone', device.body.id]] as const),
    ...['token', 'tokens', 'encryptedFilename', 'newEncryptedFilename'].map(
      (name) => [name, [token, 'token-a', 'token-b', 'token-c']] as const,
    ),
    ...['Sync', 'Notes', 'Search'].map((group) => [`${group} limit`, ['1', '2', '1000', '0.5', '']] as const),
    ['Versions encPath', ['YQ']],
    ['vid', versions.map((version) => version.id)],
    ['cpId', [(await workspace.checkpoint()).id]],
    ['action', ['delete']],
    ['contentHash', hashes],
    ['If-Match', tags],
    ['If-None-Match', tags],
    ['If-Range', tags],
    ['Range', ['bytes=0-', 'bytes=0-0', 'bytes=-3', 'bytes=5-2', 'bytes=99-', 'bytes=0-1,3-4', 'items=0-1']],
    ['Idempotency-Key', ['key-1', 'key-2', 'key-3']],
    ['data', [61, 62, 100, 3000].map((size) => envelope(size).toString('base64'))],
    ['devices id', [device.body.id]],
    ['path', ['note.md', 'other.md', 'a/b/c.md']],
    ['History path', ['note.md']],
    ['versionId', noteVersions.map(({ versionId }) => versionId)],
    ['prefix', ['', 'n', 'a/']],
    ['q', ['text', 'some text', 'nothing']],
    ['key', [vault.masterKey.toString('base64')]],
    ['expiresAt', ['2099-01-01T00:00:00Z', '2099-12-31', '9999-12-31T23:59:59.999+14:00', null]],
    ['confirm', [...Array<string>(40).fill('somebody@example.org'), user.email]],
    ['email', [user.email, 'new@example.org']],
    ['p256dh', ['BL00bDYeLUn03mz20KY9ZlxPdltOpNHJvdVXJYaoNYHQg3Vocz7gyb1rugY2RL1koRs3iuNkaysXAq6dX7qN2kI']],
    ['auth', ['xrMrGo8P6rKVmRN-MHeJAw']],
    ['endpoint', ['https://push.example.org/a', 'https://push.example.org/b']],
    ['client_state', ['a-state-of-the-app_0123456789']],
    ['return_to', [CALLBACK]],
    ['intent', ['sign-in', 'sign-up', 'continue']],
    ['X-Dev-Login-Key', [DEV_LOGIN_KEY]],
    ['PageAssets name', [STYLESHEET.name]],
  ]);
}
