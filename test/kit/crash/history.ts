import { createHash } from 'node:crypto';
import { TestAssets } from '../assets.js';
import { replay } from '../oracles.js';
import { sha256, type TestUser, TestWorkspace } from '../index.js';

/** One row of the change log. */
export interface Change {
  readonly action: 'upsert' | 'delete';
  readonly contentHash: string;
}

/** What a workspace contains, as the service answers. */
export interface Sight {
  /** By path, oldest first. */
  readonly changes: ReadonlyMap<string, readonly Change[]>;
  /** By label. */
  readonly checkpoints: ReadonlySet<string>;
  /** By token. */
  readonly assets: ReadonlySet<string>;
}

/** What was acknowledged to the clients of one workspace. */
export class WorkspaceHistory {
  readonly changes = new Map<string, Change[]>();
  readonly checkpoints = new Map<string, string>();
  readonly assets = new Map<string, Buffer>();
  /** Paths, labels and tokens whose last operation got no answer. */
  readonly unsure = new Set<string>();
  /** Keys whose bytes were not checked since they were written. */
  private readonly unread = new Set<string>();

  constructor(readonly id: string) {}

  as(user: TestUser): TestWorkspace {
    return new TestWorkspace(user, this.id);
  }

  add(path: string, change: Change): void {
    this.changes.set(path, [...(this.changes.get(path) ?? []), change]);
    this.unread.add(path);
  }

  addAsset(token: string, bytes: Buffer): void {
    this.assets.set(token, bytes);
    this.unread.add(token);
  }

  async look(user: TestUser): Promise<Sight> {
    const workspace = this.as(user);
    const changes = new Map<string, Change[]>();
    for (const { encryptedPath, action, contentHash } of await workspace.log()) {
      const before = changes.get(encryptedPath) ?? [];
      changes.set(encryptedPath, [...before, { action, contentHash }]);
    }
    const labels = (await workspace.checkpoints()).map(({ encryptedLabel }) => encryptedLabel);
    const tokens = await TestAssets.of(workspace).tokens();
    return { changes, checkpoints: new Set(labels), assets: new Set(tokens) };
  }

  /** Expects everything acknowledged as it was, and nothing else, except for what is unsure. */
  expectIn(sight: Sight): void {
    const known = <T>(entries: Iterable<readonly [string, T]>): [string, T][] =>
      [...entries]
        .filter(([key]) => !this.unsure.has(key))
        .map(([key, value]): [string, T] => [key, value])
        .sort(([a], [b]) => (a < b ? -1 : 1));
    const names = (keys: Iterable<string>): string[] =>
      [...keys].filter((key) => !this.unsure.has(key)).sort();
    expect(known(sight.changes)).toEqual(known(this.changes));
    expect(names(sight.checkpoints)).toEqual(names(this.checkpoints.keys()));
    expect(names(sight.assets)).toEqual(names(this.assets.keys()));
  }

  /** Downloads every version and asset that was acknowledged since the last time. */
  async expectBytes(user: TestUser): Promise<void> {
    const workspace = this.as(user);
    const unread = [...this.unread];
    this.unread.clear();
    await inTurns(unread, async (key) => {
      if (this.changes.has(key)) await this.expectVersions(workspace, key);
      else if (this.assets.has(key)) await this.expectAsset(workspace, key);
    });
    const live = replay(await workspace.log());
    expect((await workspace.list()).map((file) => file.encrypted_path).sort()).toEqual(
      [...live.keys()].sort(),
    );
  }

  private async expectVersions(workspace: TestWorkspace, path: string): Promise<void> {
    const versions = await workspace.versions(path);
    const upserts = (this.changes.get(path) ?? []).filter(({ action }) => action === 'upsert');
    expect(versions.map((version) => version.content_hash).reverse()).toEqual(
      upserts.map(({ contentHash }) => contentHash),
    );
    for (const { id, content_hash } of versions) {
      const { body } = await workspace.version(path, id).expect(200);
      expect(sha256(body as Buffer)).toBe(content_hash);
    }
  }

  private async expectAsset(workspace: TestWorkspace, token: string): Promise<void> {
    const { text } = await TestAssets.of(workspace).get(token).expect(200);
    expect(Buffer.from(text, 'base64').equals(this.assets.get(token) ?? Buffer.alloc(0))).toBe(true);
  }
}

/** What was acknowledged about the tokens of an account: name → id, and whether it is revoked. */
export class TokenHistory {
  readonly tokens = new Map<string, { readonly id: string; readonly isRevoked: boolean }>();
  readonly unsure = new Set<string>();

  async look(user: TestUser): Promise<Map<string, { id: string; isRevoked: boolean }>> {
    const { body } = await user.get('/api/v1/auth/tokens').expect(200);
    const listed = body.tokens as { id: string; name: string; revoked_at: string | null }[];
    return new Map(listed.map(({ id, name, revoked_at }) => [name, { id, isRevoked: revoked_at !== null }]));
  }

  async expectIn(user: TestUser): Promise<void> {
    const seen = await this.look(user);
    for (const name of this.unsure) seen.delete(name);
    const known = new Map([...this.tokens].filter(([name]) => !this.unsure.has(name)));
    expect(seen).toEqual(known);
  }
}

/** Runs the work for eight items at a time. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** The bytes for a seed. */
export function bytesOf(seed: string, size: number): Buffer {
  const block = createHash('sha512').update(seed).digest();
  return Buffer.alloc(size, block);
}
